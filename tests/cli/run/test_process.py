"""The process of the daemon: what the system lets it have, and its end, to be started again, when
nobody folds or serves any more."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import pytest

from esewatch.cli import main
from esewatch.cli.run.process import Request, SignalRequests, _external_url, _prefix, _wait
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.server import HttpServer, systemd_sockets
from esewatch.model import EsewatchError
from tests.support.crashes import Crashed, crashing
from tests.support.patience import PATIENCE
from tests.support.ports import free_port

LIMITED = """
import resource, sys
from esewatch.cli import main
from esewatch.cli.run import process
limit = resource.RLIMIT_NOFILE
process.load_settings = lambda options, runs: sys.exit(resource.getrlimit(limit)[0])
resource.setrlimit(limit, (100, 200))
main(["run"])
"""
"""Ends where it reads its configuration, with its limit of open files as the status."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_it_may_open_as_many_files_as_the_system_allows_anybody() -> None:
    # 200 files of each source stay open: of six sources they would be more than the usual 1,024.
    assert subprocess.run([sys.executable, "-c", LIMITED], check=False).returncode == 200


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:19703", "http://127.0.0.1:19703"),
        ("0.0.0.0:19703", f"http://{socket.gethostname()}:19703"),
        ("[::]:19703", f"http://{socket.gethostname()}:19703"),
        ("[::1]:80", "http://[::1]:80"),
    ],
)
def test_links_of_alerts_lead_to_the_address_or_the_name_of_the_machine(
    address: str, expected: str
) -> None:
    assert _external_url([address], None) == expected
    assert _external_url(["127.0.0.1:9", address], None) in (expected, "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("given", "url", "expected"),
    [
        (None, None, ""),
        (None, "https://a.example", ""),
        (None, "https://a.example/esewatch/", "/esewatch"),
        ("/", "https://a.example/esewatch", ""),
        ("b/c/", "https://a.example/esewatch", "/b/c"),
        ("/b_c-d.e~1", None, "/b_c-d.e~1"),
    ],
)
def test_everything_is_below_the_path_of_the_external_url_unless_another_is_given(
    given: str | None, url: str | None, expected: str
) -> None:
    assert _prefix(given, url) == expected


@pytest.mark.parametrize("given", ["/a b", "/a//b", "/..", "/a/../b", "/ä", "/a?b", "/%2e"])
def test_a_prefix_that_a_link_would_write_otherwise_is_refused(given: str) -> None:
    with pytest.raises(EsewatchError, match="route-prefix"):
        _prefix(given, None)


@pytest.mark.parametrize("url", ["esewatch:19703", "ftp://a", "https://a/?x=1", "https://", " "])
def test_an_external_url_that_is_none_is_refused(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "--web.external-url", url])

    assert ended.value.code == 2
    assert "not an address such as https://esewatch:19703" in capsys.readouterr().err


PASSED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=sys.argv[2])
os.execv(sys.executable, [sys.executable, "-m", "esewatch", "run", *sys.argv[3:]])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is of Linux")
def test_it_serves_on_the_socket_that_systemd_passes(tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text("{sources: [], journal: j.db}\n")
    words = ("--config.file", tmp_path / "esewatch.yml", "--web.systemd-socket")
    with socket.create_server(("127.0.0.1", 0)) as passed:
        number = passed.fileno()
        agent = subprocess.Popen(
            [sys.executable, "-c", PASSED, str(number), "1", *words], pass_fds=[number]
        )
        try:
            with socket.create_connection(passed.getsockname(), timeout=PATIENCE) as client:
                client.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
        finally:
            agent.terminate()
            assert agent.wait(PATIENCE) == 0


BUSY = """
import sys, threading
import bcrypt
from esewatch.cli import main

def checkpw(password, hashed):
    print("checking", flush=True)
    threading.Event().wait()

bcrypt.checkpw = checkpw
sys.exit(main(["run", *sys.argv[1:]]))
"""
"""An agent whose checks of logins never end."""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM")
def test_its_end_waits_for_no_check_of_a_login(tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text("{sources: [], journal: j.db}\n")
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{a: $2b$15${'.' * 53}}}\n")
    words = ("--config.file", tmp_path / "esewatch.yml", "--web.config.file", tmp_path / "web.yml")
    port = free_port()
    agent = subprocess.Popen(
        [sys.executable, "-c", BUSY, *words, "--web.listen-address", f"127.0.0.1:{port}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with agent, contextlib.ExitStack() as stack:
        stack.callback(agent.kill)
        assert agent.stderr is not None
        assert agent.stdout is not None
        assert any(b"serves" in line for line in agent.stderr)
        for _ in range(3):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            client.sendall(b"GET / HTTP/1.0\r\nAuthorization: Basic YTpi\r\n\r\n")
        assert agent.stdout.readline() == b"checking\n"
        agent.terminate()
        assert agent.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "systemd passed no socket"),
        ({"LISTEN_FDS": "1"}, "systemd passed no socket"),
        ({"LISTEN_FDS": "1", "LISTEN_PID": "1"}, "systemd passed no socket"),
        ({"LISTEN_FDS": "x", "LISTEN_PID": str(os.getpid())}, "systemd passed no socket"),
    ],
)
def test_without_a_socket_of_systemd_it_ends_with_one_line(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(EsewatchError, match=said):
        systemd_sockets()


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is of Linux")
def test_a_socket_of_systemd_that_is_none_of_tcp_is_refused(tmp_path: Path) -> None:
    (tmp_path / "esewatch.yml").write_text("{sources: [], journal: j.db}\n")
    words = ("--config.file", tmp_path / "esewatch.yml", "--web.systemd-socket")
    with socket.socket(socket.AF_UNIX) as passed:
        number = passed.fileno()
        done = subprocess.run(
            [sys.executable, "-c", PASSED, str(number), "1", *words],
            pass_fds=[number],
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(
        "--web.systemd-socket: a socket is not ListenStream= of an address"
    )


class NoRequests:
    """No signal comes, and the thread found no memory to say that it has ended."""

    def next(self) -> Request | None:
        return None


class Server:
    """A server that serves, or no longer does."""

    def __init__(self, *, alive: bool) -> None:
        self._alive = alive

    def is_alive(self) -> bool:
        return self._alive


@pytest.mark.timeout(30)
@pytest.mark.parametrize("serves", [False, True])
def test_a_thread_that_ended_without_a_word_ends_the_process(serves: bool) -> None:
    reader = threading.current_thread()
    if serves:
        reader = threading.Thread(target=lambda: None)
        reader.start()
        reader.join(20)
    requests = cast("SignalRequests", NoRequests())
    server = cast("HttpServer", Server(alive=serves))
    with crashing() as ends, pytest.raises(Crashed):
        _wait(cast("Daemon", None), server, requests, reader)
    assert ends == [70]
