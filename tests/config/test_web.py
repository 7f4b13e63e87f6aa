"""Web configurations: what is taken, and what is said about those that are not."""

import re
from pathlib import Path
from typing import get_args

import bcrypt
import msgspec
import pytest

from esewatch.config.web import (
    Cipher,
    Headers,
    HttpServerConfig,
    RateLimit,
    TlsServer,
    WebSettings,
    load_web,
)
from esewatch.model import ConfigError

HASH = "$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG"
TLS = "tls_server_config:\n  cert_file: a.pem\n  key_file: /k/b.pem\n"


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "web.yml"
    file.write_text(text, encoding="utf-8")
    return file


def refused(tmp_path: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_web(written(tmp_path, text))
    return str(caught.value).replace(f"{tmp_path}/", "")


def test_a_whole_file_is_taken(tmp_path: Path) -> None:
    settings = load_web(
        written(
            tmp_path,
            f"""{TLS}  client_ca_file: sub/ca.pem
  client_auth_type: RequireAndVerifyClientCert
  client_allowed_sans: [prometheus.example, "::1"]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [X25519]
http_server_config:
  http2: true
  headers:
    Content-Security-Policy: frame-ancestors 'none'
    X-Frame-Options: deny
    X-Content-Type-Options: nosniff
    X-XSS-Protection:
    Strict-Transport-Security: max-age=63072000
basic_auth_users:
  alice: {HASH}
  bob: "{HASH}"
""",
        )
    )
    assert settings.tls is not None
    assert settings.files() == [f"{tmp_path}/a.pem", "/k/b.pem", f"{tmp_path}/sub/ca.pem"]
    assert not settings.tls.prefer_server_cipher_suites
    assert settings.tls.client_allowed_sans == ["prometheus.example", "::1"]
    assert settings.http.headers.set() == {
        "content-security-policy": "frame-ancestors 'none'",
        "x-frame-options": "deny",
        "x-content-type-options": "nosniff",
        "strict-transport-security": "max-age=63072000",
    }
    assert settings.users == {"alice": HASH, "bob": HASH}


@pytest.mark.parametrize("text", ["", "# nothing\n", "basic_auth_users: {}\n", "---\n"])
def test_an_empty_file_asks_for_nothing(tmp_path: Path, text: str) -> None:
    settings = load_web(written(tmp_path, text))
    assert (settings.tls, settings.users, settings.files()) == (None, {}, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "tls_server_confg: {}\n",
            'web.yml:1: tls_server_confg: unknown key "tls_server_confg", '
            'did you mean "tls_server_config"?',
        ),
        (
            "tls_server_config:\n  cert_flie: a\n  key_file: b\n",
            'web.yml:2: tls_server_config.cert_flie: unknown key "cert_flie", '
            'did you mean "cert_file"?',
        ),
        (
            "tls_server_config:\n  cert_file: a\n",
            'web.yml:2: tls_server_config: missing key "key_file" or "key"',
        ),
        (
            f"{TLS}  min_version: TLS10\n",
            'web.yml:4: tls_server_config.min_version: found "TLS10", allowed: TLS12, TLS13',
        ),
        (
            f"{TLS}  min_version: TLS13\n  max_version: TLS12\n",
            "web.yml:5: tls_server_config.max_version: TLS12 is below min_version TLS13",
        ),
        (
            f"{TLS}  client_auth_type: RequireAnyClientCert\n",
            "web.yml:4: tls_server_config.client_auth_type: RequireAnyClientCert takes any "
            "certificate, which Python's ssl cannot and which proves nothing; use "
            "RequireAndVerifyClientCert",
        ),
        (
            f"{TLS}  client_ca_file: c\n",
            "web.yml:4: tls_server_config.client_ca_file: has no use without client_auth_type",
        ),
        (
            f"{TLS}  client_ca_file: c\n  client_auth_type: VerifyClientCertIfGiven\n"
            "  client_allowed_sans: [a]\n",
            "web.yml:6: tls_server_config.client_allowed_sans: needs client_auth_type "
            "RequireAndVerifyClientCert",
        ),
        (
            f"{TLS}  curve_preferences: [X25519, CurveP256]\n",
            "web.yml:4: tls_server_config.curve_preferences: Python's ssl takes one curve; name "
            "one, or leave the key out",
        ),
        (
            f"{TLS}  key: |\n    -----BEGIN PRIVATE KEY-----\n    c2VjcmV0\n",
            "web.yml:4: tls_server_config.key: there is key_file too; name one of them",
        ),
        (
            f"{TLS}  client_ca: |\n    -----BEGIN CERTIFICATE-----\n    c2VjcmV0\n",
            "web.yml:4: tls_server_config.client_ca: has no use without client_auth_type",
        ),
        (
            "tls_server_config:\n  cert: ''\n  key_file: k\n",
            "web.yml:2: tls_server_config.cert: found something else, allowed: PEM, -----BEGIN ...",
        ),
        (
            "rate_limit:\n  interval: 1s\n",
            "web.yml:2: rate_limit: a burst of 0 lets nobody in; name one of 1 or more",
        ),
        (
            "rate_limit:\n  interval: 1 second\n  burst: 2\n",
            'web.yml:2: rate_limit.interval: found "1 second", allowed: a duration such as 500ms '
            "or 1m30s, or 0",
        ),
        (
            "http_server_config:\n  headers:\n    Server: x\n",
            'web.yml:3: http_server_config.headers.Server: unknown key "Server", allowed: '
            "Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, X-XSS-Protection, "
            "Strict-Transport-Security",
        ),
        (
            'http_server_config:\n  headers:\n    X-XSS-Protection: "0\\r\\nSet-Cookie: a"\n',
            'web.yml:3: http_server_config.headers.X-XSS-Protection: found "0\\u000d\\u000aSet-'
            'Cookie: a", allowed: one line of ASCII text',
        ),
        (
            "http_server_config:\n  http2: maybe\n",
            'web.yml:2: http_server_config.http2: found "maybe", allowed: true or false',
        ),
        (
            f'basic_auth_users:\n  "a:b": {HASH}\n',
            "web.yml:2: basic_auth_users: a name must not be empty or have a colon in it",
        ),
        (
            "basic_auth_users:\n  alice:\n",
            "web.yml:2: basic_auth_users.alice: found something else, allowed: a bcrypt hash, "
            "$2y$10$..., of cost 4 to 15",
        ),
    ],
)
def test_a_wrong_file_is_answered_with_line_place_and_what_is_allowed(
    tmp_path: Path, text: str, said: str
) -> None:
    assert refused(tmp_path, text) == said


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0.0), ("1s", 1.0), ("1h", 3600.0), ("1m30s", 90.0), ("500ms", 0.5), ("1.5h", 5400.0)],
)
def test_an_interval_is_written_as_go_writes_durations(
    tmp_path: Path, text: str, seconds: float
) -> None:
    found = load_web(written(tmp_path, f"rate_limit: {{interval: {text}, burst: 2}}\n"))
    assert found.rate_limit == RateLimit(interval=seconds, burst=2)


PEM = "|\n    -----BEGIN CERTIFICATE-----\n    c2VjcmV0\n"
CERTIFIED = f"{TLS}  client_auth_type: VerifyClientCertIfGiven\n"
CIPHERS = "".join(f"    - {name}\n" for name in get_args(Cipher))


@pytest.mark.parametrize(
    "text",
    [
        f"tls_server_config:\n  cert: {PEM}  key: {PEM}",
        f"tls_server_config:\n  cert: {PEM}  key_file: server.key\n",
        f"tls_server_config:\n  cert_file: server.crt\n  key: {PEM}",
        CERTIFIED,
        f"{CERTIFIED}  client_ca: {PEM}",
        f"{TLS}  client_auth_type: RequireAndVerifyClientCert\n",
        f"{CERTIFIED}  cipher_suites:\n{CIPHERS}",
        f"{CERTIFIED}  cipher_suites:\n{CIPHERS}  prefer_server_cipher_suites: false\n",
        f"{CERTIFIED}  max_version: TLS12\nhttp_server_config:\n  http2: false\n",
        f"{CERTIFIED}  curve_preferences:\n    - CurveP256\n",
        "rate_limit:\n  interval: 0\n  burst: 0\n",
        "rate_limit:\n  interval: 1h\n  burst: 1\nhttp_server_config:\n  headers:\n"
        "    X-Frame-Options: deny\n",
    ],
)
def test_shapes_that_exporter_toolkit_takes_are_taken(tmp_path: Path, text: str) -> None:
    settings = load_web(written(tmp_path, text))
    assert (settings.tls is not None) == text.startswith("tls_server_config")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{TLS}  client_auth_type: RequestClientCert\n", "takes any certificate"),
        (f"{TLS}  client_auth_type: RequireAnyClientCert\n", "takes any certificate"),
        (f"{TLS}  client_auth_type: RequireClientCert\n", "takes any certificate"),
        (f"{CERTIFIED}  curve_preferences: [CurveP256, CurveP384]\n", "takes one curve"),
        (f"{CERTIFIED}  curve_preferences: [X25519MLKEM768]\n", 'found "X25519MLKEM768"'),
        (f"{TLS}  cipher_suites: [TLS_RSA_WITH_AES_128_GCM_SHA256]\n", 'found "TLS_RSA_'),
        (f"basic_auth_users:\n  bob: {HASH.replace('$10$', '$18$')}\n", "of cost 4 to 15"),
        ("rate_limit:\n  interval: 1s\n  burst: 0\n", "lets nobody in"),
    ],
)
def test_shapes_that_exporter_toolkit_takes_and_the_guide_says_are_refused(
    tmp_path: Path, text: str, said: str
) -> None:
    assert said in refused(tmp_path, text)


@pytest.mark.parametrize(
    "cipher", ["TLS_RSA_WITH_RC4_128_SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", "ECDHE", "DEFAULT"]
)
def test_ciphers_that_go_calls_insecure_are_unknown(tmp_path: Path, cipher: str) -> None:
    assert f'found "{cipher}", allowed: TLS_' in refused(
        tmp_path, f"{TLS}  cipher_suites: [{cipher}]\n"
    )


@pytest.mark.parametrize(
    "users",
    [
        "\n  alice: sesame-open",
        "\n  alice: $2y$10$sesame-open",
        f"\n  alice: {HASH.replace('$10$', '$31$')}sesame-open",
        f"\n  alice: {HASH.replace('$10$', '$16$')}",
        f"\n  alice: {HASH.replace('$2y', '$1')}",
        "\n  alice:sesame-open",
        " sesame-open",
        " [sesame-open]",
        "\n  alice: [sesame-open]",
        "\n  alice: {sesame-open: b}",
        "\n  alice: !sesame-open",
        "\n  alice: &sesame-open x",
        "\n  alice: *sesame-open",
        "\n  alice: 'sesame-open",
        "\n  alice: @sesame-open",
        "\n  alice: a: sesame-open",
    ],
)
def test_a_password_or_hash_that_is_wrong_is_not_repeated(tmp_path: Path, users: str) -> None:
    said = refused(tmp_path, f"basic_auth_users:{users}\n")
    assert said.startswith("web.yml:")
    assert "sesame" not in said
    assert HASH[7:] not in said


@pytest.mark.parametrize("last", "./05AZOaeuz9")
def test_a_hash_that_bcrypt_does_not_take_is_refused(tmp_path: Path, last: str) -> None:
    text = f"{HASH[:28]}{last}{HASH[29:]}"
    try:
        bcrypt.checkpw(b"x", text.replace("$10$", "$04$").encode())
    except ValueError:
        assert "a bcrypt hash" in refused(tmp_path, f"basic_auth_users:\n  alice: {text}\n")
    else:
        users = load_web(written(tmp_path, f"basic_auth_users:\n  alice: {text}\n")).users
        assert users == {"alice": text}


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_web(tmp_path / "none.yml")
    assert str(caught.value) == f"{tmp_path}/none.yml: cannot be read: No such file or directory"


def test_the_guide_names_every_key_and_its_example_is_valid(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "security.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    settings = load_web(written(tmp_path, example))
    assert settings.tls is not None
    assert list(settings.users) == ["prometheus"]
    for struct in (WebSettings, TlsServer, HttpServerConfig, Headers, RateLimit):
        for field in msgspec.structs.fields(struct):
            assert field.encode_name in page
