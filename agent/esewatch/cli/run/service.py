"""`run --windows.service`: the daemon under the service control manager of Windows.

The daemon keeps the main thread, for only there Python takes signals; what the manager says comes
in a thread of its own. Documented in "Service Programs" of the Windows SDK.
"""

import _thread
import logging
import signal
import threading
from collections.abc import Callable
from typing import Literal, Protocol

from esefiles.base import crash
from esefiles.base.command import FAILED
from esewatch.model import EsewatchError

log = logging.getLogger("esewatch")

START_SECONDS = 30.0
"""The manager is to ask for the service within this time."""

AGAIN_SECONDS = 1.0
"""Time between two orders to stop: where nothing handles the signal, Python drops it."""

State = Literal["running", "stop pending", "stopped"]


class Manager(Protocol):
    """The service control manager, as `service_manager` reaches it."""

    def dispatch(self, main: Callable[[], None]) -> None:
        """Let the manager call `main`; returns after it. Raises OSError where no manager asks."""

    def register(self, stop: Callable[[], None]) -> None:
        """Take orders from now on; `stop` is called when the service is to end. From `main`. Raises
        OSError when the manager does not know this service."""

    def report(self, state: State, status: int = 0) -> None:
        """Tell the state; `status` is the exit status of a service that has stopped."""

    def complain(self, text: str) -> None:
        """Write an error of one line into the event log Application; nothing where that fails."""


class _Service:
    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._asked, self._done = threading.Event(), threading.Event()
        self._problem: OSError | None = None
        self._status = FAILED

    def run(self, work: Callable[[], int]) -> int:
        crash.tell_too(self._manager.complain)
        thread = threading.Thread(target=self._dispatch, daemon=True)
        thread.start()
        if not self._asked.wait(START_SECONDS) or self._problem is not None:
            reason = self._problem or "it is silent"
            raise EsewatchError(f"the service control manager did not start this: {reason}")
        try:
            self._status = work()
        except (EsewatchError, OSError) as error:
            # Nobody reads the standard error of a service.
            line = " ".join(str(error).split())
            log.error("%s", line)
            self._manager.complain(line)
        finally:
            self._done.set()
            thread.join(START_SECONDS)
        return self._status

    def _dispatch(self) -> None:
        try:
            self._manager.dispatch(self._main)
        except OSError as error:
            self._refuse(error)

    def _refuse(self, error: OSError) -> None:
        self._problem = error
        self._asked.set()

    def _main(self) -> None:
        try:
            self._manager.register(self._stop)
        except OSError as error:
            # What called this is C: no error gets through it.
            self._refuse(error)
            return
        self._manager.report("running")
        self._asked.set()
        self._done.wait()
        self._manager.report("stopped", self._status)

    def _stop(self) -> None:
        self._manager.report("stop pending")
        _interrupt()
        threading.Thread(target=self._interrupt_again, daemon=True).start()

    def _interrupt_again(self) -> None:
        """Until the work is over: one that is still being loaded takes no signals yet."""
        while not self._done.wait(AGAIN_SECONDS):
            _interrupt()


def _interrupt() -> None:
    """As if SIGTERM were sent: the daemon hears it in its own thread, and ends in good order."""
    _thread.interrupt_main(signal.SIGTERM)


def run_as_service(manager: Manager, work: Callable[[], int]) -> int:
    """Run `work` in this thread, the main one, as a service; its exit status.

    It hears of its end as SIGTERM. An error of it is one line of its log, one event of Windows, and
    status 2. Raises EsewatchError where the manager has not started this process.
    """
    return _Service(manager).run(work)
