"""One GET of an exporter that may be dead, slow, hostile or somebody else."""

import base64
import gzip
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.model import SourceError
from esewatch.sources.counters import scrape as module
from esewatch.sources.counters.scrape import Page, Target, scrape
from tests.support.metrics_server import (
    TEXT,
    Answer,
    Handler,
    MetricsServer,
    drips,
    hangs,
    metrics_server,
    says,
)
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.threads import codes_of_threads


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with metrics_server() as running:
        yield running


def get(server: MetricsServer, timeout: float = PATIENCE, **more: str) -> Page:
    return scrape(Target(server.url, timeout, **more))


def failure(server: MetricsServer, timeout: float = PATIENCE, **more: str) -> str:
    """The one line of a scrape that fails, without the address that it begins with."""
    with pytest.raises(SourceError) as raised:
        get(server, timeout, **more)
    text = str(raised.value)
    assert "\n" not in text
    return text.removeprefix(f"{server.url}: ")


def test_the_body_comes_back_with_its_format(server: MetricsServer) -> None:
    server.answer(says("a 1\n"))
    assert get(server) == Page(b"a 1\n", openmetrics=False)

    kind = "application/openmetrics-text; version=1.0.0; charset=utf-8"
    server.answer(says("a 1\n# EOF\n", headers={"Content-Type": kind}))
    assert get(server) == Page(b"a 1\n# EOF\n", openmetrics=True)


def test_the_path_and_the_query_are_asked_for_and_no_login_is_sent(server: MetricsServer) -> None:
    server.answer(says("a 1\n"))

    scrape(Target(f"{server.url}?collect[]=physical_disk", PATIENCE))

    ((path, headers),) = server.requests()
    assert path == "/metrics?collect[]=physical_disk"
    assert headers["Host"] == f"127.0.0.1:{server.port}"
    assert "Authorization" not in headers


def test_a_gzip_answer_is_unpacked(server: MetricsServer) -> None:
    server.answer(says(gzip.compress(b"a 1\n" * 1000), headers={"Content-Encoding": "gzip"}))

    assert get(server).data == b"a 1\n" * 1000
    assert server.requests()[0][1]["Accept-Encoding"] == "gzip"


def test_a_gzip_bomb_is_given_up_at_the_limit(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2**20)
    bomb = gzip.compress(b"\0" * (64 * 2**20))
    server.answer(says(bomb, headers={"Content-Encoding": "gzip"}))

    assert failure(server) == "the answer has more than 1 MiB"


def test_an_answer_without_end_is_given_up_at_the_limit(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 2**20)

    def endless(handler: Handler) -> None:
        handler.send_response(200)
        handler.end_headers()
        while True:
            handler.wfile.write(b"a 1\n" * 10_000)

    server.answer(endless)

    assert failure(server) == "the answer has more than 1 MiB"


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (b"a 1\n", {"Content-Length": "4000"}, "the answer was cut short"),
        (
            gzip.compress(b"a 1\n" * 1000, mtime=0)[:-12],
            {"Content-Encoding": "gzip"},
            "the compressed answer was cut short",
        ),
        (b"a 1\n", {"Content-Encoding": "br"}, "answered in the encoding 'br'"),
    ],
)
def test_an_answer_that_is_not_whole_or_not_plain_is_refused(
    server: MetricsServer, body: bytes, headers: dict[str, str], reason: str
) -> None:
    server.answer(says(body, headers=headers))

    assert failure(server) == reason


@pytest.mark.parametrize(
    "body", [b"no gzip at all", gzip.compress(b"a 1\n" * 999, mtime=0)[:12] + b"\xff" * 99]
)
def test_a_damaged_gzip_answer_is_one_line(server: MetricsServer, body: bytes) -> None:
    server.answer(says(body, headers={"Content-Encoding": "gzip"}))

    assert failure(server)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (500, "answered 500 Internal Server Error"),
        (404, "answered 404 Not Found"),
        (401, "answered 401 Unauthorized, check basic_auth"),
        (403, "answered 403 Forbidden, check basic_auth"),
        (204, "answered 204 No Content"),
    ],
)
def test_another_status_is_a_failure(server: MetricsServer, status: int, reason: str) -> None:
    server.answer(says("", status))

    assert failure(server) == reason


def test_nobody_listening_is_one_line() -> None:
    with metrics_server(free_port()) as gone:
        pass

    assert failure(gone) == "Connection refused"


def test_garbage_in_the_place_of_http_is_one_line(server: MetricsServer) -> None:
    def garbage(handler: Handler) -> None:
        handler.wfile.write(b"\x00\x01garbage\r\n\r\n")

    server.answer(garbage)

    assert "garbage" in failure(server)


def test_a_closed_connection_is_one_line(server: MetricsServer) -> None:
    def closes(handler: Handler) -> None:
        handler.close_connection = True

    server.answer(closes)

    assert failure(server) == "the server closed the connection without an answer"


@pytest.mark.parametrize("answer", [hangs, drips])
def test_a_server_that_hangs_or_drips_ends_with_the_time_limit(
    server: MetricsServer, answer: Answer
) -> None:
    """Neither answer ends of itself: without the limit this test would not."""
    server.answer(answer)

    assert failure(server, timeout=0.5) == "no complete answer within 0.5 s"


@pytest.mark.fault(
    "an exporter answers one byte at a time",
    provoked="a real server that sends slowly, with a length and without",
    lost="that scrape; no other source waits for it",
    again="the next scrape",
)
@pytest.mark.parametrize("length", [{"Content-Length": "100000"}, {}])
def test_a_body_that_drips_ends_with_the_time_limit(
    server: MetricsServer, length: dict[str, str]
) -> None:
    def slow(handler: Handler) -> None:
        handler.send_response(200)
        for name, value in length.items():
            handler.send_header(name, value)
        handler.end_headers()
        drips(handler)

    server.answer(slow)

    assert failure(server, timeout=0.5) == "no complete answer within 0.5 s"


def test_a_redirect_on_the_same_server_is_followed(server: MetricsServer) -> None:
    def answer(handler: Handler) -> None:
        if handler.path == "/metrics":
            says("", 302, {"Location": "/windows"})(handler)
        else:
            says("a 1\n")(handler)

    server.answer(answer)

    assert get(server).data == b"a 1\n"
    assert [path for path, _ in server.requests()] == ["/metrics", "/windows"]


def test_a_redirect_in_a_circle_ends(server: MetricsServer) -> None:
    server.answer(says("", 302, {"Location": "/metrics"}))

    assert failure(server) == "answered 302 Found"
    assert len(server.requests()) == module.MAX_REDIRECTS + 1


def test_a_redirect_to_another_server_is_not_followed(
    server: MetricsServer, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("secret")
    with metrics_server() as other:
        server.answer(says("", 302, {"Location": other.url}))

        reason = failure(server, username="u", password_file=str(tmp_path / "password"))

        assert reason == f"redirects to another server, {other.url!r}"
        assert other.requests() == []


@pytest.mark.parametrize("goal", ["file:///etc/passwd", "http://[", "//evil.example/", ""])
def test_a_redirect_to_anything_else_is_one_line(server: MetricsServer, goal: str) -> None:
    server.answer(says("", 302, {"Location": goal}))

    assert failure(server)


def test_the_proxies_of_the_environment_are_not_used(
    server: MetricsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    server.answer(says("a 1\n"))

    assert get(server).data == b"a 1\n"


def test_the_login_is_sent_and_its_password_read_anew(
    server: MetricsServer, tmp_path: Path
) -> None:
    server.answer(says("a 1\n"))
    file = tmp_path / "password"
    sent = []
    for password in ("käse:1\n", "second"):
        file.write_text(password, encoding="utf-8")
        get(server, username="esewatch", password_file=str(file))
        sent.append(server.requests()[-1][1]["Authorization"])

    logins = [base64.b64decode(text.removeprefix("Basic ")).decode() for text in sent]
    assert logins == ["esewatch:käse:1", "esewatch:second"]


def test_a_password_that_cannot_be_read_names_its_file(
    server: MetricsServer, tmp_path: Path
) -> None:
    file = tmp_path / "password"

    assert failure(server, username="u", password_file=str(file)) == (
        f"{file}: password cannot be read: No such file or directory"
    )
    file.write_bytes(b"\xff\xfe")
    assert failure(server, username="u", password_file=str(file)) == (
        f"{file}: password cannot be read: is not text"
    )


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1 that signs itself, and its key behind it."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed (apt-get install openssl)")
    file = tmp_path / "server.pem"
    words = (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ex01 -keyout {file} -out {file}.crt"
    )
    subprocess.run(
        [openssl, *words.split(), "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    crt = Path(f"{file}.crt")
    file.write_text(file.read_text() + crt.read_text())
    return file


def test_a_server_with_tls_is_read_when_its_certificate_is_trusted(
    server: MetricsServer, certificate: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.server.socket = context.wrap_socket(
        server.server.socket, server_side=True, do_handshake_on_connect=False
    )
    server.answer(says(gzip.compress(b"a 1\n"), headers={"Content-Encoding": "gzip"}))
    url = server.url.replace("http:", "https:")

    assert scrape(Target(url, PATIENCE, ca_file=f"{certificate}.crt")).data == b"a 1\n"
    with pytest.raises(SourceError, match=r"(?i)certificate verify failed"):
        scrape(Target(url, PATIENCE))
    with pytest.raises(SourceError, match="No such file"):
        scrape(Target(url, PATIENCE, ca_file="missing.pem"))


def test_tls_with_a_server_that_never_shakes_hands_ends_with_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/metrics"
        with pytest.raises(SourceError, match=r": no complete answer within 0\.5 s$"):
            scrape(Target(url, 0.5))


def test_tls_with_a_server_that_has_none_is_one_line(server: MetricsServer) -> None:
    with pytest.raises(SourceError, match=r"^https://\S+: .*(?i:wrong version number)"):
        scrape(Target(server.url.replace("http:", "https:"), PATIENCE))


def watches() -> list[object]:
    """Threads that watch over an exchange."""
    return [codes for codes in codes_of_threads() if module._watch.__code__ in codes]


def test_no_thread_is_left_behind(server: MetricsServer) -> None:
    server.answer(says("a 1\n", headers={"Content-Type": TEXT}))

    get(server)

    end = time.monotonic() + PATIENCE
    while (left := watches()) and time.monotonic() < end:
        time.sleep(0.01)
    assert not left
