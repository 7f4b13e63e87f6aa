"""The process of the daemon: what the system lets it have, and its end, to be started again, when
nobody folds or serves any more."""

import socket
import subprocess
import sys
import threading
from typing import cast

import pytest

from esewatch.cli import main
from esewatch.cli.run.process import Request, SignalRequests, _external_url, _wait
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.server import HttpServer
from tests.support.crashes import Crashed, crashing

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
    assert _external_url(address, None) == expected


@pytest.mark.parametrize("url", ["esewatch:19703", "ftp://a", "https://a/?x=1", "https://", " "])
def test_an_external_url_that_is_none_is_refused(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "--web.external-url", url])

    assert ended.value.code == 2
    assert "not an address such as https://esewatch:19703" in capsys.readouterr().err


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
