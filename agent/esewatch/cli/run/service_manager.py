"""The service control manager of Windows, through advapi32; for Windows only. Names and numbers are
those of winsvc.h, winerror.h and winnt.h."""

import ctypes
import sys
from collections.abc import Callable
from ctypes import wintypes

from esewatch.cli.run.service import State

assert sys.platform == "win32"

NAME = "esewatch"

_OWN_PROCESS = 0x10
_STATES: dict[State, int] = {"stopped": 1, "stop pending": 3, "running": 4}
_ACCEPT_STOP, _ACCEPT_SHUTDOWN = 0x1, 0x4
_CONTROL_STOP, _CONTROL_INTERROGATE, _CONTROL_SHUTDOWN = 1, 4, 5
_NO_ERROR, _CALL_NOT_IMPLEMENTED, _SERVICE_SPECIFIC_ERROR = 0, 120, 1066
_EVENT_ERROR = 1
_EVENT = 1
"""The installer names EventCreate.exe for our source, whose events 1 to 1000 are their text."""
_STOP_MILLISECONDS = 15_000
"""The daemon ends within 5 seconds."""


class _Status(ctypes.Structure):
    """SERVICE_STATUS."""

    _fields_ = (
        ("type", wintypes.DWORD),
        ("state", wintypes.DWORD),
        ("accepts", wintypes.DWORD),
        ("exit_code", wintypes.DWORD),
        ("specific_exit_code", wintypes.DWORD),
        ("checkpoint", wintypes.DWORD),
        ("wait_hint", wintypes.DWORD),
    )


_MAIN = ctypes.WINFUNCTYPE(None, wintypes.DWORD, ctypes.POINTER(wintypes.LPWSTR))
_HANDLER = ctypes.WINFUNCTYPE(
    wintypes.DWORD, wintypes.DWORD, wintypes.DWORD, wintypes.LPVOID, wintypes.LPVOID
)


class _Entry(ctypes.Structure):
    """SERVICE_TABLE_ENTRYW."""

    _fields_ = (("name", wintypes.LPWSTR), ("main", _MAIN))


_advapi = ctypes.WinDLL("advapi32", use_last_error=True)
_advapi.StartServiceCtrlDispatcherW.argtypes = (ctypes.POINTER(_Entry),)
_advapi.StartServiceCtrlDispatcherW.restype = wintypes.BOOL
_advapi.RegisterServiceCtrlHandlerExW.argtypes = (wintypes.LPCWSTR, _HANDLER, wintypes.LPVOID)
_advapi.RegisterServiceCtrlHandlerExW.restype = wintypes.HANDLE
_advapi.SetServiceStatus.argtypes = (wintypes.HANDLE, ctypes.POINTER(_Status))
_advapi.SetServiceStatus.restype = wintypes.BOOL
_advapi.RegisterEventSourceW.argtypes = (wintypes.LPCWSTR, wintypes.LPCWSTR)
_advapi.RegisterEventSourceW.restype = wintypes.HANDLE
_advapi.ReportEventW.argtypes = (
    wintypes.HANDLE, wintypes.WORD, wintypes.WORD, wintypes.DWORD, wintypes.LPVOID,
    wintypes.WORD, wintypes.DWORD, ctypes.POINTER(wintypes.LPCWSTR), wintypes.LPVOID,
)  # fmt: skip
_advapi.DeregisterEventSource.argtypes = (wintypes.HANDLE,)


class WindowsManager:
    """Implements `service.Manager` for a service that has its process for itself."""

    def __init__(self) -> None:
        self._handle: int | None = None
        # Kept here: Windows calls it until the process ends.
        self._handler = _HANDLER(self._ordered)
        self._stop: Callable[[], None] | None = None

    def dispatch(self, main: Callable[[], None]) -> None:
        """Let the manager call `main`. Raises OSError (1063: it has not started this process)."""
        entry = _MAIN(lambda _count, _words: main())
        table = (_Entry * 2)(_Entry(NAME, entry))
        if not _advapi.StartServiceCtrlDispatcherW(table):
            raise ctypes.WinError(ctypes.get_last_error())

    def register(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._handle = _advapi.RegisterServiceCtrlHandlerExW(NAME, self._handler, None)
        if not self._handle:
            raise ctypes.WinError(ctypes.get_last_error())

    def report(self, state: State, status: int = 0) -> None:
        """Tell the state: `status` other than 0 stands in the error of the service manager."""
        told = _Status(
            type=_OWN_PROCESS,
            state=_STATES[state],
            accepts=_ACCEPT_STOP | _ACCEPT_SHUTDOWN if state == "running" else 0,
            exit_code=_SERVICE_SPECIFIC_ERROR if status else _NO_ERROR,
            specific_exit_code=status,
            wait_hint=_STOP_MILLISECONDS if state == "stop pending" else 0,
        )
        _advapi.SetServiceStatus(self._handle, told)

    def complain(self, text: str) -> None:
        if source := _advapi.RegisterEventSourceW(None, NAME):
            texts = (wintypes.LPCWSTR * 1)(text)
            _advapi.ReportEventW(source, _EVENT_ERROR, 0, _EVENT, None, 1, 0, texts, None)
            _advapi.DeregisterEventSource(source)

    def _ordered(self, control: int, _kind: int, _data: object, _context: object) -> int:
        if control in {_CONTROL_STOP, _CONTROL_SHUTDOWN} and self._stop is not None:
            self._stop()
        elif control != _CONTROL_INTERROGATE:
            return _CALL_NOT_IMPLEMENTED
        return _NO_ERROR
