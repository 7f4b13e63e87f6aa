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
from esewatch.config.units import Scalar, Text, text_that
from esewatch.model import ConfigError

MAX_COST = 15
"""Highest cost of a bcrypt hash. Each step doubles the cost of a wrong password; at 15 it is
seconds."""

_BCRYPT = re.compile(r"\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{21}[.Oeu][./A-Za-z0-9]{31}", re.ASCII)
"""Cost, salt and hash. A salt of 16 bytes ends in one of four characters; bcrypt refuses others at
once, and how soon a login is refused would tell its name."""

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
_VERIFIED = ("VerifyClientCertIfGiven", "RequireAndVerifyClientCert")


def _parse_flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _bcrypt(text: str) -> str:
    found = _BCRYPT.fullmatch(text)
    if found is None or not 4 <= int(found[1]) <= MAX_COST:
        raise ValueError(text)
    return text


_HEADER = text_that(lambda text: len(text) <= 4096 and text.isascii() and text.isprintable())
_NEVER = text_that(lambda _: False)
Flag = Annotated[bool, Scalar("true or false", _parse_flag, bool)]
HeaderText = Annotated[str, Scalar("one line of ASCII text", _HEADER, str)]
Hash = Annotated[
    str, Scalar(f"a bcrypt hash, $2y$10$..., of cost 4 to {MAX_COST}", _bcrypt, str, secret=True)
]
Inline = Annotated[
    str,
    Scalar("nothing: Python's ssl reads it from a file, name one", _NEVER, str, secret=True),
]

Limit = Annotated[
    str, Scalar("nothing: the limits are built in, see docs/security.md", _NEVER, str, secret=True)
]


class TlsServer(msgspec.Struct, frozen=True, kw_only=True):
    """`tls_server_config`. Files may be relative to the web configuration until `load_web`."""

    cert_file: Text
    """The server's certificate and those between it and a root (PEM)."""
    key_file: Text
    """Its key (PEM), not encrypted."""
    client_ca_file: Text | None = None
    """Roots of the clients' certificates (PEM)."""
    client_auth_type: ClientAuth = "NoClientCert"
    client_allowed_sans: list[Text] = []
    """Alternative names of clients, one of which a certificate must have."""
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"
    cipher_suites: list[Cipher] = []
    """For TLS 1.2; empty: Python's choice. Those of TLS 1.3 cannot be chosen, as in Go."""
    prefer_server_cipher_suites: Flag = True
    curve_preferences: list[Curve] = []
    cert: Inline | None = None
    key: Inline | None = None
    client_ca: Inline | None = None


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

    http2: Flag = False
    """Accepted and ignored: HTTP/1.1 is served."""
    headers: Headers = Headers()


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    tls: TlsServer | None = msgspec.field(default=None, name="tls_server_config")
    http: HttpServerConfig = msgspec.field(
        default_factory=HttpServerConfig, name="http_server_config"
    )
    users: dict[str, Hash] = msgspec.field(default_factory=dict, name="basic_auth_users")
    """Name -> bcrypt hash of the password; empty: no login."""
    rate_limit: Limit | None = None

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
    if lines := problems.lines(str(path)):
        raise ConfigError("\n".join(lines))
    return _settled(settings, Path(path).absolute().parent)


def _settled(settings: WebSettings, folder: Path) -> WebSettings:
    if settings.tls is None:
        return settings
    found = settings.tls
    authority = found.client_ca_file and str(folder / found.client_ca_file)
    tls = msgspec.structs.replace(
        found,
        cert_file=str(folder / found.cert_file),
        key_file=str(folder / found.key_file),
        client_ca_file=authority,
    )
    return msgspec.structs.replace(settings, tls=tls)


def _check_tls(tree: Node, tls: TlsServer | None, problems: Problems) -> None:
    """Refuse settings that Python does not support, and combinations that contradict."""
    if tls is None or not isinstance(tree.value, dict):
        return
    node = tree.value["tls_server_config"]

    def refuse(key: str, text: str) -> None:
        assert isinstance(node.value, dict)
        item = node.value.get(key, node)
        problems.add(item.line, item.place, text)

    if tls.client_auth_type in _UNVERIFIED:
        refuse(
            "client_auth_type",
            f"{tls.client_auth_type} takes any certificate, which Python's ssl cannot and which "
            "proves nothing; use RequireAndVerifyClientCert",
        )
    elif tls.client_auth_type in _VERIFIED and tls.client_ca_file is None:
        refuse("client_auth_type", f"{tls.client_auth_type} needs client_ca_file")
    elif tls.client_auth_type == "NoClientCert" and tls.client_ca_file is not None:
        refuse("client_ca_file", "has no use without client_auth_type")
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
            problems.add(node.line, node.place, "found nothing, allowed: a bcrypt hash")
