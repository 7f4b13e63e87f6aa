"""What signals ask of the daemon, and how the service manager hears that they are taken."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from esewatch.cli.run.process import Reloads, SignalRequests, tell_signals_taken
from esewatch.daemon.loop import Daemon
from esewatch.model import EsewatchError
from tests.support.patience import PATIENCE

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    before = [signal.getsignal(each) for each in SIGNALS]
    yield
    for each, handler in zip(SIGNALS, before, strict=True):
        signal.signal(each, handler)


def test_a_reload_that_was_held_back_is_the_first_wish() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    # To this thread: another one, left by other tests, would not hold it.
    signal.pthread_kill(threading.get_ident(), signal.SIGHUP)
    requests = SignalRequests()
    assert requests.next() == "reload"
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_of_many_reloads_one_waits_and_the_end_is_not_behind_them() -> None:
    requests = SignalRequests()
    for _ in range(3):
        for _ in range(100):
            signal.raise_signal(signal.SIGHUP)
        assert requests.next() == "reload"
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)
    assert [requests.next() for _ in range(3)] == ["reload", "stop", "stop"]


def test_nothing_is_wished_for_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esewatch.cli.run.process.WAIT_SECONDS", 0.0)
    assert SignalRequests().next() is None


class SlowDaemon:
    """Its reloads wait until they are let go; the first one fails."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.reloads = 0

    def reload(self) -> None:
        self.begun.release()
        assert self.go.acquire(timeout=PATIENCE)
        self.reloads += 1
        if self.reloads == 1:
            raise self.failure


@pytest.mark.parametrize("failure", [EsewatchError("no"), RuntimeError("a defect")])
def test_what_is_asked_during_a_reload_is_one_more_also_when_the_first_fails(
    failure: Exception,
) -> None:
    daemon = SlowDaemon(failure)
    reloads = Reloads(cast("Daemon", daemon))
    reloads.ask()
    assert daemon.begun.acquire(timeout=PATIENCE)
    for _ in range(50):
        reloads.ask()
    for _ in range(2):
        daemon.go.release()
    assert daemon.begun.acquire(timeout=PATIENCE)
    assert not daemon.begun.acquire(timeout=0.2)


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told_once_at_the_socket_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abstract: bool
) -> None:
    name = f"esewatch-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0{name}" if abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if abstract else name)
        tell_signals_taken()
        assert manager.recv(100) == b"READY=1"


def test_a_service_manager_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell_signals_taken()
    assert caplog.messages == []
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nothing"))
    tell_signals_taken()
    (line,) = caplog.messages
    assert line.startswith("the service manager did not learn that the start is done: ")
