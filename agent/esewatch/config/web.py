"""The web configuration: TLS, headers and users of the HTTP side, in exporter-toolkit's form.

The keys are those of prometheus/exporter-toolkit, docs/web-configuration.md. What Python's
ssl cannot do, or what would be weaker than it looks, is refused with the reason.
"""

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from esewatch.config.build import Problems, build
from esewatch.config.files import read_tree
from esewatch.config.tree import Node
from esewatch.config.units import Count, Scalar, Text, TrueFalse, text_that
from esewatch.model import ConfigError

MAX_COST = 15
"""Highest cost of a bcrypt hash. Each step doubles the cost of a wrong password; at 15 it is
seconds."""

_BCRYPT = re.compile(r"\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}", re.ASCII)
"""Cost, salt and hash. A salt of 16 bytes ends in one of four characters; bcrypt refuses others at
once, and how soon a login is refused would tell its name."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ns|us|ms|s|m|h)", re.ASCII)
_INTERVAL = re.compile(f"(?:{_PART.pattern})+", re.ASCII)

ClientAuth = Literal[
    "NoClientCert",
    "RequestClientCert",
    "RequireAnyClientCert",
    "RequireClientCert",
    "VerifyClientCertIfGiven",
    "RequireAndVerifyClientCert",
]
Version = Literal["TLS12", "TLS13"]
Curve = Literal["CurveP256", "CurveP384", "CurveP521", "X25519"]
Cipher = Literal[
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
]
"""Those that Go's tls.CipherSuites() names."""

_UNVERIFIED = ("RequestClientCert", "RequireAnyClientCert", "RequireClientCert")


def _interval(text: str) -> float:
    """Seconds of a duration as Go writes it."""
    if text != "0" and not _INTERVAL.fullmatch(text):
        raise ValueError(text)
    return sum((float(number) * _UNITS[unit] for number, unit in _PART.findall(text)), 0.0)


def _bcrypt(text: str) -> str:
    found = _BCRYPT.fullmatch(text)
    if found is None or not 4 <= int(found[1]) <= MAX_COST:
        raise ValueError(text)
    return text


_HEADER = text_that(lambda text: len(text) <= 4096 and text.isascii() and text.isprintable())
HeaderText = Annotated[str, Scalar("one line of ASCII text", _HEADER, str)]
Hash = Annotated[
    str, Scalar(f"a bcrypt hash, $2y$10$..., of cost 4 to {MAX_COST}", _bcrypt, str, secret=True)
]
Pem = Annotated[
    str, Scalar("PEM, -----BEGIN ...", text_that(lambda text: "-----BEGIN " in text), str, True)
]
Interval = Annotated[float, Scalar("a duration such as 500ms or 1m30s, or 0", _interval, str)]


class TlsServer(msgspec.Struct, frozen=True, kw_only=True):
    """`tls_server_config`. Files may be relative to the web configuration until `load_web`."""

    cert_file: Text | None = None
    """The server's certificate and those between it and a root (PEM)."""
    cert: Pem | None = None
    """The same, in the place of a file."""
    key_file: Text | None = None
    """Its key (PEM), not encrypted."""
    key: Pem | None = None
    client_ca_file: Text | None = None
    """Roots of the clients' certificates (PEM); none: those of the system."""
    client_ca: Pem | None = None
    client_auth_type: ClientAuth = "NoClientCert"
    client_allowed_sans: list[Text] = []
    """Alternative names of clients, one of which a certificate must have."""
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: list[Cipher] = []
    """For TLS 1.2; empty: Python's choice. Those of TLS 1.3 cannot be chosen, as in Go."""
    prefer_server_cipher_suites: TrueFalse = True
    curve_preferences: list[Curve] = []


class Headers(msgspec.Struct, frozen=True, kw_only=True):
    """`http_server_config.headers`: added to each answer; empty: not."""

    content_security_policy: HeaderText = msgspec.field(default="", name="Content-Security-Policy")
    x_frame_options: Literal["deny", "sameorigin"] | None = msgspec.field(
        default=None, name="X-Frame-Options"
    )
    x_content_type_options: Literal["nosniff"] | None = msgspec.field(
        default=None, name="X-Content-Type-Options"
    )
    x_xss_protection: HeaderText = msgspec.field(default="", name="X-XSS-Protection")
    strict_transport_security: HeaderText = msgspec.field(
        default="", name="Strict-Transport-Security"
    )

    def set(self) -> dict[str, str]:
        """Name (lower case) -> text of those that are set."""
        fields = msgspec.structs.fields(self)
        found = {each.encode_name.lower(): getattr(self, each.name) for each in fields}
        return {name: text for name, text in found.items() if text}


class HttpServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """`http_server_config`."""

    http2: TrueFalse = False
    """Accepted and ignored: HTTP/1.1 is served."""
    headers: Headers = Headers()


class RateLimit(msgspec.Struct, frozen=True, kw_only=True):
    """`rate_limit`: a token bucket of all requests."""

    interval: Interval = 0.0
    """Seconds until one more request may come; 0: any number."""
    burst: Count = 0
    """Requests that may come at once."""


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    tls: TlsServer | None = msgspec.field(default=None, name="tls_server_config")
    http: HttpServerConfig = msgspec.field(
        default_factory=HttpServerConfig, name="http_server_config"
    )
    users: dict[str, Hash] = msgspec.field(default_factory=dict, name="basic_auth_users")
    """Name -> bcrypt hash of the password; empty: no login."""
    rate_limit: RateLimit = RateLimit()

    def files(self) -> list[str]:
        if self.tls is None:
            return []
        named = (self.tls.cert_file, self.tls.key_file, self.tls.client_ca_file)
        return [each for each in named if each is not None]


def load_web(path: str | Path) -> WebSettings:
    """The settings of a web configuration file, with absolute paths. Raises ConfigError with one
    line a problem: `web.yml:3: tls_server_config.cert_flie: ...`."""
    tree = read_tree(path)
    problems = Problems()
    settings = build(tree, WebSettings, problems)
    if settings is not msgspec.UNSET:
        _check_tls(tree, settings.tls, problems)
        _check_users(tree, problems)
        _check_rate(tree, settings.rate_limit, problems)
    if lines := problems.lines(str(path)):
        raise ConfigError("\n".join(lines))
    return _settled(settings, Path(path).absolute().parent)


def _settled(settings: WebSettings, folder: Path) -> WebSettings:
    if settings.tls is None:
        return settings
    found = settings.tls
    names = ("cert_file", "key_file", "client_ca_file")
    files = {name: file and str(folder / file) for name in names if (file := getattr(found, name))}
    tls = msgspec.structs.replace(found, **files)
    return msgspec.structs.replace(settings, tls=tls)


def _check_tls(tree: Node, tls: TlsServer | None, problems: Problems) -> None:
    """Refuse settings that Python does not support, and combinations that contradict."""
    if tls is None or not isinstance(tree.value, dict):
        return
    node = tree.value["tls_server_config"]

    def refuse(key: str, text: str) -> None:
        assert isinstance(node.value, dict)
        problems.of(node.value.get(key, node), text)

    if tls.client_auth_type in _UNVERIFIED:
        refuse(
            "client_auth_type",
            f"{tls.client_auth_type} takes any certificate, which Python's ssl cannot and which "
            "proves nothing; use RequireAndVerifyClientCert",
        )
    misspelt = bool(problems.lines(""))
    for name in ("cert", "key", "client_ca"):
        given = [each for each in (name, f"{name}_file") if getattr(tls, each) is not None]
        if len(given) == 2:
            refuse(name, f"there is {name}_file too; name one of them")
        elif given and name == "client_ca" and tls.client_auth_type == "NoClientCert":
            refuse(given[0], "has no use without client_auth_type")
        elif not given and name != "client_ca" and not misspelt:
            refuse("", f'missing key "{name}_file" or "{name}"')
    if tls.client_allowed_sans and tls.client_auth_type != "RequireAndVerifyClientCert":
        refuse("client_allowed_sans", "needs client_auth_type RequireAndVerifyClientCert")
    if tls.min_version > tls.max_version:
        refuse("max_version", f"{tls.max_version} is below min_version {tls.min_version}")
    if len(tls.curve_preferences) > 1:
        refuse("curve_preferences", "Python's ssl takes one curve; name one, or leave the key out")


def _check_users(tree: Node, problems: Problems) -> None:
    users: Any = tree.value.get("basic_auth_users") if isinstance(tree.value, dict) else None
    if users is None or not isinstance(users.value, dict):
        return
    for name, node in users.value.items():
        if not name or ":" in name or not name.isprintable():
            problems.add(node.line, users.place, "a name must not be empty or have a colon in it")
        elif node.value is None:
            problems.of(node, "found nothing, allowed: a bcrypt hash")


def _check_rate(tree: Node, limit: RateLimit, problems: Problems) -> None:
    if limit.interval and not limit.burst and isinstance(tree.value, dict):
        node = tree.value["rate_limit"]
        problems.of(node, "a burst of 0 lets nobody in; name one of 1 or more")
