"""The service as Windows sees it: advapi32 is one of ours, all before it is what runs there."""

import ctypes
import importlib.util
import queue
import sys
import threading
from collections.abc import Callable
from ctypes import wintypes
from pathlib import Path

import pytest

from esewatch.cli.run import service
from esewatch.cli.run.service import Manager, run_as_service
from esewatch.model import EsewatchError
from tests.support.patience import PATIENCE

STOP, PAUSE, INTERROGATE, SHUTDOWN = 1, 2, 4, 5
NOT_STARTED_BY_MANAGER, NO_SUCH_SERVICE, NOT_IMPLEMENTED = 1063, 1060, 120
HANDLE = 4711
MAIN = ctypes.CFUNCTYPE(None, wintypes.DWORD, ctypes.c_void_p)
HANDLER = ctypes.CFUNCTYPE(
    wintypes.DWORD, wintypes.DWORD, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p
)


class Entry(ctypes.Structure):
    """SERVICE_TABLE_ENTRYW."""

    _fields_ = (("lpServiceName", wintypes.LPWSTR), ("lpServiceProc", ctypes.c_void_p))


class Status(ctypes.Structure):
    """SERVICE_STATUS."""

    _fields_ = (
        ("dwServiceType", wintypes.DWORD),
        ("dwCurrentState", wintypes.DWORD),
        ("dwControlsAccepted", wintypes.DWORD),
        ("dwWin32ExitCode", wintypes.DWORD),
        ("dwServiceSpecificExitCode", wintypes.DWORD),
        ("dwCheckPoint", wintypes.DWORD),
        ("dwWaitHint", wintypes.DWORD),
    )


RUNNING = {"dwServiceType": 0x10, "dwCurrentState": 4, "dwControlsAccepted": 0x5}
STOP_PENDING = {"dwServiceType": 0x10, "dwCurrentState": 3, "dwWaitHint": 15_000}
STOPPED = {"dwServiceType": 0x10, "dwCurrentState": 1}


class Advapi:
    """What advapi32 has for services: functions of C, which see what Windows would see.

    As there, the service is called in a thread of its own and ordered from another one.
    """

    def __init__(self) -> None:
        self.refusal = self.not_registered = self.last_error = 0
        self.names: list[str | None] = []
        self.told: list[dict[str, int]] = []
        self.answers: list[int] = []
        self.events: list[tuple[str | None, int, int, list[str | None]]] = []
        self.sources: list[str | None] = []
        self.no_event_log = False
        self.orders: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._handler = 0
        self.StartServiceCtrlDispatcherW = ctypes.CFUNCTYPE(wintypes.BOOL, ctypes.c_void_p)(
            self._dispatch
        )
        self.RegisterServiceCtrlHandlerExW = ctypes.CFUNCTYPE(
            ctypes.c_void_p, wintypes.LPCWSTR, ctypes.c_void_p, ctypes.c_void_p
        )(self._register)
        self.SetServiceStatus = ctypes.CFUNCTYPE(
            wintypes.BOOL, ctypes.c_void_p, ctypes.POINTER(Status)
        )(self._tell)
        self.RegisterEventSourceW = ctypes.CFUNCTYPE(
            ctypes.c_void_p, wintypes.LPCWSTR, wintypes.LPCWSTR
        )(self._open_source)
        self.ReportEventW = ctypes.CFUNCTYPE(
            wintypes.BOOL, ctypes.c_void_p, wintypes.WORD, wintypes.WORD, wintypes.DWORD,
            ctypes.c_void_p, wintypes.WORD, wintypes.DWORD, ctypes.c_void_p, ctypes.c_void_p,
        )(self._write_event)  # fmt: skip
        self.DeregisterEventSource = ctypes.CFUNCTYPE(wintypes.BOOL, ctypes.c_void_p)(
            self._close_source
        )

    def _open_source(self, computer: str | None, name: str) -> int:
        assert computer is None
        self.sources.append(name)
        return 0 if self.no_event_log else HANDLE

    def _write_event(self, source: int, kind: int, *rest: int | None) -> int:
        category, number, user, count, size, texts, data = rest
        assert (source, category, user, size, data) == (HANDLE, 0, None, 0, None)
        assert number is not None
        read = ctypes.cast(texts or 0, ctypes.POINTER(wintypes.LPCWSTR))
        self.events.append((self.sources[-1], kind, number, [read[n] for n in range(count or 0)]))
        return 1

    def _close_source(self, source: int) -> int:
        assert source == HANDLE
        self.sources.pop()
        return 1

    def _dispatch(self, table: int) -> int:
        if self.refusal:
            self.last_error = self.refusal
            return 0
        entries = ctypes.cast(table, ctypes.POINTER(Entry))
        # The last entry is empty, else Windows would read on.
        self.names += [entries[0].lpServiceName, entries[1].lpServiceName]
        thread = threading.Thread(target=MAIN(entries[0].lpServiceProc), args=(0, None))
        thread.start()
        while not self.not_registered and (order := self.orders.get(timeout=PATIENCE)) is not None:
            self.answers.append(HANDLER(self._handler)(order, 0, None, None))
        thread.join(PATIENCE)
        return 1

    def _register(self, name: str, handler: int, _context: None) -> int:
        if self.not_registered:
            self.last_error = self.not_registered
            return 0
        self.names.append(name)
        self._handler = handler
        return HANDLE

    def _tell(self, handle: int, status: "ctypes._Pointer[Status]") -> int:
        told = {name: getattr(status[0], name) for name, *_ in Status._fields_}
        self.told.append({name: value for name, value in told.items() if value})
        if handle != HANDLE or told["dwCurrentState"] == STOPPED["dwCurrentState"]:
            self.orders.put(None)
        return 1


@pytest.fixture
def advapi() -> Advapi:
    return Advapi()


@pytest.fixture
def manager(advapi: Advapi, monkeypatch: pytest.MonkeyPatch) -> Manager:
    """The manager of Windows, by the advapi32 of the test."""
    libraries = {"advapi32": advapi}

    def problem(code: int) -> OSError:
        return OSError(code, f"error {code}")

    def library(name: str, *, use_last_error: bool) -> Advapi:
        assert use_last_error
        return libraries[name]

    there: dict[str, Callable[..., object]] = {
        "WINFUNCTYPE": ctypes.CFUNCTYPE,
        "WinDLL": library,
        "WinError": problem,
        "get_last_error": lambda: advapi.last_error,
    }
    for name, function in there.items():
        monkeypatch.setattr(ctypes, name, function, raising=False)
    file = Path(service.__file__).with_name("service_manager.py")
    found = importlib.util.spec_from_file_location("service_manager_of_windows", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    with monkeypatch.context() as platform:
        platform.setattr(sys, "platform", "win32")
        found.loader.exec_module(module)
    made: Manager = module.WindowsManager()
    return made


@pytest.mark.parametrize("end", [STOP, SHUTDOWN])
def test_windows_starts_the_service_asks_for_it_and_ends_it_in_good_order(
    end: int, manager: Manager, advapi: Advapi, asked: Callable[[], str]
) -> None:
    def work() -> int:
        for order in (INTERROGATE, PAUSE, end):
            advapi.orders.put(order)
        assert asked() == "stop"
        return 0

    assert run_as_service(manager, work) == 0
    assert advapi.names == ["esewatch", None, "esewatch"]
    assert advapi.told == [RUNNING, STOP_PENDING, STOPPED]
    assert advapi.answers == [0, NOT_IMPLEMENTED, 0]


def test_windows_gets_the_exit_status_of_a_service_that_could_not_start(
    manager: Manager, advapi: Advapi
) -> None:
    failed = {**STOPPED, "dwWin32ExitCode": 1066, "dwServiceSpecificExitCode": 2}

    assert run_as_service(manager, lambda: 2) == 2
    assert advapi.told == [RUNNING, failed]


def test_why_a_service_has_failed_is_an_error_in_the_log_of_windows(
    manager: Manager, advapi: Advapi
) -> None:
    def work() -> int:
        raise EsewatchError("esewatch.yml:2: one\nproblem")

    assert run_as_service(manager, work) == 2
    assert advapi.events == [("esewatch", 1, 1, ["esewatch.yml:2: one problem"])]
    assert advapi.sources == []


def test_a_log_of_windows_that_takes_nothing_does_not_keep_the_service_from_its_end(
    manager: Manager, advapi: Advapi
) -> None:
    def work() -> int:
        raise EsewatchError("one problem")

    advapi.no_event_log = True

    assert run_as_service(manager, work) == 2
    assert advapi.events == []
    assert advapi.told[-1]["dwCurrentState"] == STOPPED["dwCurrentState"]


def test_what_a_person_starts_as_a_service_says_that_windows_did_not(
    manager: Manager, advapi: Advapi
) -> None:
    advapi.refusal = NOT_STARTED_BY_MANAGER

    with pytest.raises(EsewatchError, match=f"did not start this: .*{NOT_STARTED_BY_MANAGER}"):
        run_as_service(manager, lambda: pytest.fail("it has worked"))
    assert advapi.told == []


def test_a_service_that_windows_does_not_know_says_why_at_once(
    manager: Manager, advapi: Advapi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "START_SECONDS", 10.0)
    advapi.not_registered = NO_SUCH_SERVICE

    with pytest.raises(EsewatchError, match=f"did not start this: .*{NO_SUCH_SERVICE}"):
        run_as_service(manager, lambda: pytest.fail("it has worked"))
    assert advapi.told == []
