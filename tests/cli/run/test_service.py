"""`run --windows.service`: what the service control manager is notified of and requests."""

import logging
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from esewatch.cli import main
from esewatch.cli.run import command
from esewatch.cli.run.command import LOG_BYTES, set_up_logging
from esewatch.cli.run.process import SignalRequests
from esewatch.cli.run.service import State, run_as_service
from esewatch.model import EsewatchError
from tests.support.patience import PATIENCE


class Manager:
    """Starts the service and notes what it tells; `order` asks it to stop."""

    def __init__(self, refusal: OSError | None = None) -> None:
        self.told: list[tuple[State, int]] = []
        self.complaints: list[str] = []
        self.refusal = refusal
        self.running = threading.Event()
        self.order: Callable[[], None] | None = None

    def dispatch(self, service: Callable[[], None]) -> None:
        if self.refusal is not None:
            raise self.refusal
        service()

    def register(self, stop: Callable[[], None]) -> None:
        self.order = stop

    def report(self, state: State, status: int = 0) -> None:
        self.told.append((state, status))
        if state == "running":
            self.running.set()

    def complain(self, text: str) -> None:
        self.complaints.append(text)


@pytest.fixture
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_service_runs_until_the_manager_orders_its_end_and_ends_in_good_order(
    asked: Callable[[], str],
) -> None:
    manager = Manager()

    def work() -> int:
        assert threading.current_thread() is threading.main_thread()
        assert manager.running.wait(PATIENCE)
        assert manager.order is not None
        threading.Thread(target=manager.order).start()
        assert asked() == "stop"
        return 0

    assert run_as_service(manager, work) == 0
    assert manager.told == [("running", 0), ("stop pending", 0), ("stopped", 0)]


def test_a_stop_that_is_ordered_while_the_daemon_is_loaded_is_not_lost() -> None:
    """Nothing takes the signal yet, so Python drops it."""
    manager = Manager()
    before = [signal.signal(name, signal.SIG_DFL) for name in (signal.SIGTERM, signal.SIGHUP)]
    interrupts = signal.getsignal(signal.SIGINT)

    def work() -> int:
        assert manager.running.wait(PATIENCE)
        assert manager.order is not None
        manager.order()
        requests = SignalRequests()
        found = [requests.next() for _ in range(5)]
        return 0 if "stop" in found else 1

    try:
        assert run_as_service(manager, work) == 0
    finally:
        signal.signal(signal.SIGINT, interrupts)
        for name, handler in zip((signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(name, handler)
    assert manager.told == [("running", 0), ("stop pending", 0), ("stopped", 0)]


def test_why_the_log_of_a_service_cannot_be_opened_is_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logging_as_before: None
) -> None:
    manager = Manager()
    module = ModuleType("service_manager")
    module.WindowsManager = lambda: manager  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "esewatch.cli.run.service_manager", module)
    monkeypatch.setattr(sys, "platform", "win32")
    file = str(tmp_path / "none" / "esewatch.log")
    options = Namespace(service=True, log_level="info", log_format="logfmt", log_file=file)

    assert command.run(options) == 2
    assert manager.told[-1] == ("stopped", 2)
    assert len(manager.complaints) == 1
    assert "No such file or directory" in manager.complaints[0]
    assert file in manager.complaints[0]


def test_a_service_that_ends_by_itself_has_failed_so_that_it_is_started_again() -> None:
    manager = Manager()

    assert run_as_service(manager, lambda: 2) == 2
    assert manager.told == [("running", 0), ("stopped", 2)]


@pytest.mark.parametrize("error", [EsewatchError("one\nproblem"), OSError("one problem")])
def test_why_a_service_cannot_run_is_one_line_of_its_log(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    manager = Manager()

    def work() -> int:
        raise error

    assert run_as_service(manager, work) == 2
    assert manager.told[-1] == ("stopped", 2)
    assert [record.getMessage() for record in caplog.records] == ["one problem"]
    assert manager.complaints == ["one problem"]


def test_a_process_that_the_manager_did_not_start_says_so_and_does_nothing() -> None:
    manager = Manager(OSError("refused"))

    with pytest.raises(EsewatchError, match="manager did not start this: refused"):
        run_as_service(manager, lambda: pytest.fail("it has worked"))
    assert manager.told == []


@pytest.mark.skipif(sys.platform == "win32", reason="there it is a service")
def test_elsewhere_than_on_windows_the_option_is_refused(
    capsys: pytest.CaptureFixture[str], logging_as_before: None
) -> None:
    assert main(["run", "--windows.service"]) == 2
    assert capsys.readouterr().err == (
        "esewatch: --windows.service works on Windows only: elsewhere use `run` alone\n"
    )


def test_a_log_file_is_followed_by_another_when_it_is_full(
    tmp_path: Path, logging_as_before: None
) -> None:
    file = tmp_path / "esewatch.log"
    set_up_logging("info", "logfmt", str(file))
    log = logging.getLogger("esewatch")

    log.info("first")
    assert file.read_text(encoding="utf-8").endswith('level=info msg="first"\n')
    for _ in range(7):
        log.info("x" * (LOG_BYTES - 1000))
        log.info("y" * 2000)

    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"esewatch.log", *(f"esewatch.log.{number}" for number in range(1, 6))}
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 6 * LOG_BYTES


def test_a_log_file_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_as_before: None
) -> None:
    assert main(["run", "--log.file", str(tmp_path / "none" / "esewatch.log")]) == 2
    assert "No such file or directory" in capsys.readouterr().err
