"""TLS of a real server: versions, client certificates, changed files, slow and broken clients."""

import contextlib
import http.client
import os
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.config.web import load_web
from esewatch.expose.http import tls as tls_module
from esewatch.expose.http.connection import Limits
from esewatch.expose.http.tls import Tls, tls_of
from esewatch.expose.http.web import WebConfiguration
from esewatch.model import ConfigError
from tests.expose.serving import ask, connect, port_of, serving, wait_until
from tests.support.certificates import (
    Pair,
    authority,
    client,
    encrypted,
    self_signed,
    trusting,
)
from tests.support.patience import PATIENCE

TLS = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
CLIENTS = f"{TLS}  client_ca_file: ca.pem\n  client_auth_type: RequireAndVerifyClientCert\n"


def configured(folder: Path, text: str = TLS, pair: Pair | None = None) -> WebConfiguration:
    (pair or self_signed("one")).put(folder, "server")
    authority().put(folder, "ca")
    (folder / "web.yml").write_text(text)
    return WebConfiguration(folder / "web.yml")


def refused(folder: Path, text: str = TLS, pair: Pair | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        configured(folder, text, pair)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{folder}/", "")


def test_pages_come_over_tls_1_2_and_1_3_and_not_without(tmp_path: Path) -> None:
    with serving(web=configured(tmp_path)) as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = trusting(tmp_path, minimum_version=version, maximum_version=version)
            answer = ask(server, "/metrics", context=context)
            assert answer.status == 200
            assert b"ese_known_bad_pages" in answer.body
        with connect(server) as plain:
            plain.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"ese_" not in plain.recv(1000)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
def test_tls_1_1_is_not_spoken(tmp_path: Path) -> None:
    with serving(web=configured(tmp_path)) as server:
        context = trusting(tmp_path)
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(ssl.SSLError):
            ask(server, "/-/healthy", context=context)


def test_a_kept_connection_answers_each_request(tmp_path: Path) -> None:
    with serving(web=configured(tmp_path)) as server:
        kept = http.client.HTTPSConnection(
            "127.0.0.1", port_of(server), timeout=PATIENCE, context=trusting(tmp_path)
        )
        with contextlib.closing(kept):
            ports = set()
            for _ in range(3):
                kept.request("GET", "/-/healthy")
                assert kept.getresponse().read() == b"Healthy.\n"
                ports.add(kept.sock.getsockname())
        assert len(ports) == 1


def test_ciphers_versions_and_curve_are_those_chosen(tmp_path: Path) -> None:
    self_signed("one").put(tmp_path, "server")

    def context(more: str) -> ssl.SSLContext:
        (tmp_path / "web.yml").write_text(f"{TLS}{more}")
        settings = load_web(tmp_path / "web.yml").tls
        assert settings is not None
        return tls_of(settings).context

    chosen = context(
        "  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA]\n"
    )
    names = [each["name"] for each in chosen.get_ciphers() if each["protocol"] != "TLSv1.3"]
    assert names == [
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-RSA-CHACHA20-POLY1305",
        "ECDHE-ECDSA-AES128-SHA",
    ]
    assert chosen.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    least = context("  cipher_suites: [TLS_AES_128_GCM_SHA256]\n").minimum_version
    assert least == ssl.TLSVersion.TLSv1_3
    free = context("  prefer_server_cipher_suites: false\n  curve_preferences: [CurveP384]\n")
    assert not free.options & ssl.OP_CIPHER_SERVER_PREFERENCE
    assert context("  max_version: TLS12\n").maximum_version == ssl.TLSVersion.TLSv1_2


def test_files_that_cannot_serve_are_one_line_at_the_start(tmp_path: Path) -> None:
    one, other = self_signed("one"), self_signed("other")
    assert refused(tmp_path, pair=Pair(one.certificate, other.key)) == (
        "web.yml: server.key: not the key of the certificate server.pem"
    )
    assert refused(tmp_path, pair=encrypted(one)) == (
        "web.yml: server.key: the key is encrypted: write it without a password"
    )
    assert refused(tmp_path, pair=Pair(b"x", b"y")) == (
        "web.yml: server.pem, server.key: no certificate and key in PEM form"
    )
    assert refused(tmp_path, TLS.replace("server.key", "none.key")) == (
        "web.yml: none.key: not there, or not a regular file"
    )
    assert refused(tmp_path, CLIENTS.replace("ca.pem", "web.yml")) == (
        "web.yml: web.yml: no certificate in PEM form"
    )
    assert refused(tmp_path, pair=self_signed("small", bits="-newkey rsa:1024")) == (
        "web.yml: server.pem: too weak for OpenSSL: EE_KEY_TOO_SMALL"
    )
    os.mkfifo(tmp_path / "pipe")
    assert refused(tmp_path, TLS.replace("server.pem", "pipe")) == (
        "web.yml: pipe: not there, or not a regular file"
    )


@pytest.mark.parametrize("name", ["server.pem", "server.key", "ca.pem"])
def test_a_file_that_goes_while_it_is_read_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tls_module, "_refuse_unreadable", lambda file: None)
    said = refused(tmp_path, CLIENTS.replace(name, "gone"))
    assert "gone" in said
    assert said.endswith("cannot be read: No such file or directory")


def test_only_a_client_with_a_certificate_of_the_authority_comes_in(tmp_path: Path) -> None:
    with serving(web=configured(tmp_path, CLIENTS)) as server:
        own = trusting(tmp_path, own=client("DNS:prometheus"))
        assert ask(server, "/metrics", context=own).status == 200
        for stranger in (None, self_signed("stranger")):
            with pytest.raises(OSError):
                ask(server, "/metrics", context=trusting(tmp_path, own=stranger))
        assert wait_until(lambda: server.connections == 0)


def test_a_certificate_may_be_left_away_but_not_be_a_strangers(tmp_path: Path) -> None:
    text = CLIENTS.replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven")
    with serving(web=configured(tmp_path, text)) as server:
        for own in (None, client("DNS:prometheus")):
            context = trusting(tmp_path, own=own)
            assert ask(server, "/-/healthy", context=context).status == 200
        with pytest.raises(OSError):
            ask(server, "/-/healthy", context=trusting(tmp_path, own=self_signed("stranger")))


@pytest.mark.parametrize(
    ("names", "admitted"),
    [
        ("DNS:other,DNS:prometheus", True),
        ("IP:2001:db8:0:0::7", True),
        ("URI:spiffe://a/b", True),
        ("email:a@b.example", True),
        ("DNS:prometheus.example", False),
        ("IP:2001:db8::8", False),
    ],
)
def test_of_clients_with_a_certificate_only_the_named_come_in(
    tmp_path: Path, names: str, admitted: bool
) -> None:
    sans = '[prometheus, "2001:db8::7", "spiffe://a/b", a@b.example]'
    text = f"{CLIENTS}  client_allowed_sans: {sans}\n"
    with serving(web=configured(tmp_path, text)) as server:
        context = trusting(tmp_path, own=client(names))
        if admitted:
            assert ask(server, "/metrics", context=context).status == 200
        else:
            with pytest.raises(OSError):
                ask(server, "/metrics", context=context)
            assert wait_until(lambda: server.connections == 0)


def test_names_that_are_no_text_neither_let_in_nor_stop_the_others() -> None:
    directory = ("DirName", ((("commonName", "prometheus"),),))
    other = ("othername", "<unsupported>")
    tls = Tls(ssl.create_default_context(), frozenset({"prometheus", "<unsupported>"}))
    assert not tls.admits({"subjectAltName": (directory, other)})
    assert tls.admits({"subjectAltName": (directory, other, ("DNS", "prometheus"))})


def test_a_certificate_in_the_clients_file_is_trusted_though_it_is_no_root(tmp_path: Path) -> None:
    pinned = client("DNS:prometheus")
    web = configured(tmp_path, CLIENTS)
    (tmp_path / "ca.pem").write_bytes(pinned.certificate)
    with serving(web=web) as server:
        assert ask(server, "/-/healthy", context=trusting(tmp_path, own=pinned)).status == 200
        with pytest.raises(OSError):
            ask(server, "/-/healthy", context=trusting(tmp_path, own=client("DNS:other")))


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        (
            "",
            "tls_server_config, client_auth_type RequireAndVerifyClientCert, client_ca, "
            "client_allowed_sans",
        ),
        (TLS, "client_auth_type RequireAndVerifyClientCert, client_ca, client_allowed_sans"),
        (CLIENTS, "client_allowed_sans"),
    ],
)
def test_a_file_that_is_half_written_opens_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, lost: str
) -> None:
    whole = f"{CLIENTS}  client_allowed_sans: [prometheus]\n"
    web = configured(tmp_path, whole)
    with serving(web=web) as server:
        own = trusting(tmp_path, own=client("DNS:prometheus"))
        assert ask(server, "/-/healthy", context=own).status == 200
        (tmp_path / "web.yml").write_text(text)
        for stranger in (None, trusting(tmp_path, own=client("DNS:other"))):
            with pytest.raises((OSError, http.client.HTTPException)):
                ask(server, "/-/healthy", context=stranger)
        assert ask(server, "/-/healthy", context=own).status == 200
        assert not web.successful
        assert (
            caplog.records[-1]
            .getMessage()
            .endswith(f"no longer asks for {lost}: this takes effect at the next start")
        )
        (tmp_path / "web.yml").write_text(f"{whole}# and more\n")
        assert ask(server, "/-/healthy", context=own).status == 200
        assert web.successful


def test_a_new_certificate_holds_for_the_next_connection(tmp_path: Path) -> None:
    web = configured(tmp_path)
    with serving(web=web) as server:
        first = trusting(tmp_path)
        assert ask(server, "/-/healthy", context=first).status == 200
        self_signed("two").put(tmp_path, "server")
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(server, "/-/healthy", context=first)
        assert web.successful


@pytest.mark.fault(
    "certificate and key do not match",
    provoked="the key replaced alone, then both; then the file deleted",
    lost="nothing: the old certificate stays, one line reports it",
    again="the next connection after the repair",
)
def test_a_broken_change_keeps_what_held_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    web = configured(tmp_path)
    taken_up = web.taken_up
    with caplog.at_level("INFO"), serving(web=web) as server:
        context = trusting(tmp_path)
        (tmp_path / "server.key").write_bytes(self_signed("two").key)
        for _ in range(3):
            assert ask(server, "/-/healthy", context=context).status == 200
        assert (web.successful, web.taken_up) == (False, taken_up)
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "not the key of the certificate" in caplog.text
        self_signed("two").put(tmp_path, "server")
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200
        assert web.successful
        assert web.taken_up > taken_up
        (tmp_path / "web.yml").unlink()
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200
        assert not web.successful
        assert "web.yml: cannot be read" in caplog.records[-1].getMessage()


def test_two_hundred_handshakes_that_stall_hold_nobody(tmp_path: Path) -> None:
    web, context = configured(tmp_path), trusting(tmp_path)
    with serving(web=web) as server, contextlib.ExitStack() as stack:
        stalled = [stack.enter_context(connect(server)) for _ in range(200)]
        for number, each in enumerate(stalled):
            each.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[: number % 12])
        assert wait_until(lambda: server.connections == 200)
        assert ask(server, "/metrics", context=context).status == 200
    limits = Limits(head_seconds=0.1)
    with serving(web=web, limits=limits) as server, connect(server) as silent:
        silent.sendall(b"\x16\x03\x01")
        silent.settimeout(PATIENCE)
        assert silent.recv(1000) == b""
        assert wait_until(lambda: server.connections == 0)


def test_a_stalled_handshake_gives_way_when_there_are_too_many(tmp_path: Path) -> None:
    with (
        serving(web=configured(tmp_path), limits=Limits(connections=20)) as server,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(50):
            stack.enter_context(connect(server))
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200
        assert server.connections <= 20


def test_the_end_comes_soon_while_clients_hold_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(web=configured(tmp_path)) as server, contextlib.ExitStack() as stack:
        stack.enter_context(connect(server)).sendall(b"\x16\x03")
        plain = stack.enter_context(connect(server))
        idle = trusting(tmp_path).wrap_socket(plain, server_hostname="127.0.0.1")
        stack.enter_context(idle)
        server.stop()
        assert "not waited for" not in caplog.text


@pytest.mark.parametrize("kind", [b"\x14", b"\x15", b"\x16", b"\x17", b"\x80"])
def test_a_record_longer_than_tls_has_is_not_waited_for(tmp_path: Path, kind: bytes) -> None:
    with serving(web=configured(tmp_path)) as server, connect(server) as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(kind + b"\x03\x03\xff\xff" + bytes(65535))
            while client.recv(1000):
                pass
        assert wait_until(lambda: server.connections == 0)
        assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200


def test_keys_are_agreed_on_once(tmp_path: Path) -> None:
    """TLS 1.2 lets a client ask for it again and again, which costs the server more than it."""
    tls = configured(tmp_path).tls()
    assert tls is not None
    assert tls.context.options & ssl.OP_NO_RENEGOTIATION


def test_a_client_that_leaves_without_a_word_is_answered_what_it_asked(tmp_path: Path) -> None:
    """It closes its side of TCP, and says no close_notify before."""
    with serving(web=configured(tmp_path)) as server:
        secured = trusting(tmp_path).wrap_socket(connect(server), server_hostname="127.0.0.1")
        with secured:
            secured.sendall(b"GET /computer HTTP/1.1\r\nHost: x\r\n\r\n")
            socket.socket.shutdown(secured, socket.SHUT_WR)
            assert secured.recv(12) == b"HTTP/1.1 200"
        assert wait_until(lambda: server.connections == 0)


def test_a_client_that_sends_its_request_with_the_handshake_is_answered(tmp_path: Path) -> None:
    """The last flight of the handshake and the request arrive in one piece."""
    with serving(web=configured(tmp_path)) as server:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        speaker = trusting(tmp_path).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
        with socket.create_connection(("127.0.0.1", port_of(server)), timeout=PATIENCE) as plain:
            while True:
                try:
                    speaker.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    plain.sendall(outgoing.read())
                    incoming.write(plain.recv(65536))
            speaker.write(b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            plain.sendall(outgoing.read())
            received = bytearray()
            while b"Healthy" not in received:
                incoming.write(plain.recv(65536))
                with contextlib.suppress(ssl.SSLWantReadError):
                    received += speaker.read(65536)
        assert received.startswith(b"HTTP/1.1 200")


def inline(name: str, pem: bytes) -> str:
    """A key of `tls_server_config` with PEM in the place of a file."""
    return f"  {name}: |\n" + "".join(f"    {line}\n" for line in pem.decode().splitlines())


def test_certificate_key_and_authority_may_stand_in_the_file_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are files for a moment, which nobody else may read and which do not stay."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    one = self_signed("one")
    text = (
        f"tls_server_config:\n{inline('cert', one.certificate)}{inline('key', one.key)}"
        f"{inline('client_ca', authority().certificate)}"
        "  client_auth_type: RequireAndVerifyClientCert\n"
    )
    modes: list[int] = []
    load = ssl.SSLContext.load_cert_chain

    def note(context: ssl.SSLContext, cert: str, key: str, *password: Callable[[], str]) -> None:
        if str(temporary) in str(cert):
            modes.extend(Path(file).stat().st_mode & 0o777 for file in (cert, key))
            modes.append(Path(cert).parent.stat().st_mode & 0o777)
        load(context, cert, key, *password)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", note)
    with serving(web=configured(tmp_path, text)) as server:
        own = trusting(tmp_path, own=client("DNS:prometheus"))
        assert ask(server, "/-/healthy", context=own).status == 200
        with pytest.raises(OSError):
            ask(server, "/-/healthy", context=trusting(tmp_path))
    assert modes == [0o600, 0o600, 0o700]
    assert list(temporary.iterdir()) == []


def test_what_stands_in_the_file_itself_is_named_by_its_key(tmp_path: Path) -> None:
    one, other = self_signed("one"), self_signed("other")
    begin = f"tls_server_config:\n{inline('cert', one.certificate)}"
    assert refused(tmp_path, begin + inline("key", other.key)) == (
        "web.yml: key: not the key of the certificate cert"
    )
    assert refused(tmp_path, begin + inline("key", encrypted(one).key)) == (
        "web.yml: key: the key is encrypted: write it without a password"
    )
    text = CLIENTS.replace("  client_ca_file: ca.pem\n", inline("client_ca", b"-----BEGIN x"))
    assert refused(tmp_path, text) == "web.yml: client_ca: no certificate in PEM form"


@pytest.mark.parametrize("kind", ["VerifyClientCertIfGiven", "RequireAndVerifyClientCert"])
def test_without_an_authority_the_roots_of_the_system_verify_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    authority().put(tmp_path, "system")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
    text = CLIENTS.replace("  client_ca_file: ca.pem\n", "").replace(
        "RequireAndVerifyClientCert", kind
    )
    with serving(web=configured(tmp_path, text)) as server:
        own = trusting(tmp_path, own=client("DNS:prometheus"))
        assert ask(server, "/-/healthy", context=own).status == 200
        with pytest.raises(OSError):
            ask(server, "/-/healthy", context=trusting(tmp_path, own=self_signed("stranger")))
        if kind == "VerifyClientCertIfGiven":
            assert ask(server, "/-/healthy", context=trusting(tmp_path)).status == 200


def test_an_authority_that_is_taken_away_while_it_runs_stays(tmp_path: Path) -> None:
    web = configured(tmp_path, CLIENTS)
    (tmp_path / "web.yml").write_text(CLIENTS.replace("  client_ca_file: ca.pem\n", ""))
    with serving(web=web) as server:
        own = trusting(tmp_path, own=client("DNS:prometheus"))
        assert ask(server, "/-/healthy", context=own).status == 200
        assert not web.successful
