"""TLS of the HTTP side: the settings as contexts of Python's ssl."""

import contextlib
import ipaddress
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from esewatch.config.web import TlsServer
from esewatch.model import ConfigError

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CURVES = {
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
    "X25519": "X25519",
}
_CLIENTS = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_AES = {"AES_128_CBC_SHA": "AES128-SHA", "AES_256_CBC_SHA": "AES256-SHA"}
_NAMES = ("DNS", "IP Address", "URI", "email")
"""Alternative names that are text; a directory's name is a tree, others Python does not read."""
_TOO_WEAK = ("EE_KEY_TOO_SMALL", "CA_KEY_TOO_SMALL", "CA_MD_TOO_WEAK")
_RECORD = 16 << 10
"""Bytes of a record of TLS at most."""
_LARGEST = 1 << 20
"""Bytes of a certificate or key file."""


class Tls(NamedTuple):
    context: ssl.SSLContext
    allowed_sans: frozenset[str]
    """Alternative names of clients that may come in; empty: all."""

    def admits(self, certificate: Mapping[str, Any] | None) -> bool:
        """True if a client with this certificate (as of `getpeercert`) may come in."""
        if not self.allowed_sans:
            return True
        named = (certificate or {}).get("subjectAltName", ())
        return any(kind in _NAMES and _normal(text) in self.allowed_sans for kind, text in named)

    def secured(self) -> "Secured":
        return Secured(self)


class Secured:
    """TLS of one connection, in memory: the bytes of its two directions, opened and sealed."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = tls.context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._agreed = False
        self.ended = False
        """The client has said that it sends no more."""

    def opened(self, data: bytes) -> bytes:
        """The plain bytes of the client. Raises ssl.SSLError where it fails or is not allowed in,
        ValueError for a certificate whose names are no text; `to_send` then says why."""
        if self.ended:  # no more of it is taken: it would be kept until the connection ends
            return b""
        self._incoming.write(data)
        said = bytearray()
        with contextlib.suppress(ssl.SSLWantReadError):
            if not self._agreed:
                self._object.do_handshake()
                if not self._tls.admits(self._object.getpeercert()):
                    raise ssl.SSLError("this certificate is not allowed in")
                self._agreed = True
            try:
                while part := self._object.read(_RECORD):
                    said += part
            except ssl.SSLZeroReturnError:
                pass
            self.ended = True
        return bytes(said)

    def sealed(self, data: bytes) -> bytes:
        """The bytes that say this to the client. Raises ssl.SSLError where it has failed."""
        self._object.write(data)
        return self._outgoing.read()

    def to_send(self) -> bytes:
        return self._outgoing.read()

    def goodbye(self) -> bytes:
        with contextlib.suppress(ssl.SSLError):
            self._object.unwrap()
        return self._outgoing.read()


def tls_of(settings: TlsServer) -> Tls:
    """The context of settings whose paths are absolute. Raises ConfigError, one line."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    if not settings.prefer_server_cipher_suites:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    _choose_ciphers(context, settings)
    for curve in settings.curve_preferences:
        context.set_ecdh_curve(_CURVES[curve])
    _load_certificate(context, settings)
    _load_authority(context, settings)
    context.verify_mode = _CLIENTS[settings.client_auth_type]
    return Tls(context, frozenset(map(_normal, settings.client_allowed_sans)))


def _choose_ciphers(context: ssl.SSLContext, settings: TlsServer) -> None:
    chosen = [_openssl_name(each) for each in settings.cipher_suites if "_WITH_" in each]
    if settings.cipher_suites and not chosen:
        if settings.max_version == "TLS12":
            raise ConfigError("cipher_suites: names none for TLS 1.2, and max_version is TLS12")
        context.minimum_version = ssl.TLSVersion.TLSv1_3
    if chosen:
        try:
            context.set_ciphers(":".join(chosen))
        except ssl.SSLError as error:
            raise ConfigError("cipher_suites: OpenSSL of this machine has none of them") from error


def _openssl_name(name: str) -> str:
    """`ECDHE-RSA-AES128-GCM-SHA256` of `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` (RFC 5289)."""
    exchange, _, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if cipher == "CHACHA20_POLY1305_SHA256":
        cipher = "CHACHA20-POLY1305"
    cipher = _AES.get(cipher, cipher.replace("AES_", "AES").replace("_", "-"))
    return f"{exchange.replace('_', '-')}-{cipher}"


def _load_authority(context: ssl.SSLContext, settings: TlsServer) -> None:
    file, inline = settings.client_ca_file, settings.client_ca
    if file is not None:
        _refuse_unreadable(file)
    try:
        if file is not None or inline is not None:
            context.load_verify_locations(file, cadata=inline)
            # As in Go: every certificate that is named is trusted, a root or not.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        elif settings.client_auth_type != "NoClientCert":
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"{file or 'client_ca'}: no certificate in PEM form") from error
    except OSError as error:
        raise ConfigError(f"{file}: {_unreadable(error)}") from error


def _load_certificate(context: ssl.SSLContext, settings: TlsServer) -> None:
    cert, key = settings.cert_file or "cert", settings.key_file or "key"

    def refuse() -> str:
        raise ConfigError(f"{key}: the key is encrypted: write it without a password")

    try:
        with (
            _as_file(settings.cert_file, settings.cert) as cert_file,
            _as_file(settings.key_file, settings.key) as key_file,
        ):
            # Without the callback OpenSSL would ask at the terminal.
            context.load_cert_chain(cert_file, key_file, refuse)
    except OSError as error:
        raise ConfigError(_why(error, cert, key)) from error


@contextlib.contextmanager
def _as_file(file: str | None, text: str | None) -> Iterator[str]:
    """A file to load: OpenSSL takes no text, so that is one for a moment, for nobody else."""
    if file is not None:
        _refuse_unreadable(file)
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="esewatch-") as folder:
        made = Path(folder, "pem")
        made.touch(0o600)
        made.write_text(text or "", encoding="utf-8")
        yield str(made)


def _why(error: OSError, cert: str, key: str) -> str:
    if not isinstance(error, ssl.SSLError):  # exchanged between the look and the reading
        return f"{cert}, {key}: {_unreadable(error)}"
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"{key}: not the key of the certificate {cert}"
    if error.reason in _TOO_WEAK:
        return f"{cert}: too weak for OpenSSL: {error.reason}"
    return f"{cert}, {key}: no certificate and key in PEM form"


def _refuse_unreadable(file: str) -> None:
    try:
        if not Path(file).is_file():
            raise ConfigError(f"{file}: not there, or not a regular file")
        with Path(file).open("rb") as stream:
            too_large = len(stream.read(_LARGEST + 1)) > _LARGEST
    except OSError as error:
        raise ConfigError(f"{file}: {_unreadable(error)}") from error
    if too_large:
        raise ConfigError(f"{file}: larger than {_LARGEST} bytes")


def _unreadable(error: OSError) -> str:
    return f"cannot be read: {error.strerror}"


def _normal(name: str) -> str:
    """Addresses in one form; OpenSSL writes IPv6 out in full."""
    try:
        return str(ipaddress.ip_address(name.strip()))
    except ValueError:
        return name
