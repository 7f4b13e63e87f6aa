"""Signals of the daemon, and its notifications to the service manager that sends them."""

import contextlib
import logging
import os
import queue
import signal
import socket
import sys
import threading
from types import FrameType
from typing import Literal

from esewatch.daemon.loop import Daemon
from esewatch.threads import Worker

log = logging.getLogger("esewatch")

Request = Literal["stop", "reload", "ended"]

WAIT_SECONDS = 1.0
"""A wait has a limit: on Windows no signal ends one without."""


class SignalRequests:
    """Requests in the order in which they came. To be made in the main thread, which takes signals.

    SIGTERM and SIGINT are `stop`, SIGHUP is `reload`: one of them waits, however many came. One
    that came before, and was held by `early`, is there at once.
    """

    def __init__(self) -> None:
        # A signal may come in the middle of anything, so of `put` too.
        self._queue: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._reload_waits = False
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._stop)
        if sys.platform != "win32":
            signal.signal(signal.SIGHUP, self._reload)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._queue.put("stop")

    def _reload(self, _signal: int, _frame: FrameType | None) -> None:
        if not self._reload_waits:
            self._reload_waits = True
            self._queue.put("reload")

    def ended(self) -> None:
        """The daemon has ended by itself; from any thread."""
        self._queue.put("ended")

    def next(self) -> Request | None:
        """The next one, None when none came within a second. For the main thread."""
        try:
            request = self._queue.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            return None
        if request == "reload":
            self._reload_waits = False
        return request


class Reloads:
    """Takes the configuration up, one at a time, and once more when asked meanwhile.

    In a thread of its own: a reload may wait for a source, and a request to stop must not.
    """

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._asked = threading.Event()
        Worker(self._work)

    def ask(self) -> None:
        """Take it up soon; returns at once."""
        self._asked.set()

    def _work(self) -> None:
        while True:
            # The daemon has said why. A defect must not be the end of all reloads to come.
            with contextlib.suppress(Exception):
                self._asked.wait()
                self._asked.clear()
                self._daemon.reload()


def tell_signals_taken() -> None:
    """Tell the service manager, where it wants to know: for it the start is done.

    It takes a reload before that for a part of the start and sends nothing (systemd 252), so
    what such a reload is for must be read after it. The protocol is that of sd_notify(3): a
    datagram to the socket that NOTIFY_SOCKET names.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if sys.platform == "win32" or not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            manager.send(b"READY=1")
    except OSError as error:
        log.warning("the service manager did not learn that the start is done: %s", error)
