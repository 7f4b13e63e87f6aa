"""Runs the lanes of a plan: all at the same time, one scan a device."""

import contextlib
import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from esefiles.base import crash
from esefiles.scans.devices.device_lock import DeviceLock
from esefiles.scans.plan import Lane, ScanTarget

log = logging.getLogger(__name__)

POLL = 0.1
"""Interval of the checks of a lock that is taken, and of `stop`."""

REMIND = 300.0
"""Seconds until the waiting of a lane is reported again."""

GRACE = 0.7
"""Grace period of lanes, in seconds, after the end; one that hangs in a read is abandoned."""


class Waiting(NamedTuple):
    """A lane that has not begun because another scan uses one of its devices."""

    device: str
    holder: int | None
    """Process of the other scan, None where the system does not tell."""
    seconds: float
    """Since when it waits."""

    def __str__(self) -> str:
        """One sentence for a person."""
        what = f"device {self.device}" if self.device else "files on unknown devices"
        who = f" (process {self.holder})" if self.holder else ""
        since = f" for {self.seconds:.0f} s" if self.seconds >= 1 else ""
        return f"{what}: waiting{since} for the end of another scan{who}"


def run_lanes(
    lanes: Sequence[Lane],
    work: Callable[[Lane, ScanTarget], None],
    *,
    stop: threading.Event,
    deadline: float | None = None,
    on_wait: Callable[[Waiting], None] = lambda waiting: log.warning("%s", waiting),
) -> None:
    """Call `work` for each target, in a thread a lane, while the lane's locks are held.

    Returns when all lanes ended, or within a second of `stop` or `deadline` (time.monotonic()):
    `work` must see to it that it ends then; a thread that hangs in a read is left behind, and
    keeps its locks until it comes back. A target may thus have been begun and not ended, or not
    begun. `on_wait` is called in the lane's thread when it finds a lock taken, and every REMIND
    seconds while it waits. An exception of `work` ends its target only; the first one is raised
    at the end, with notes of the others. KeyboardInterrupt sets `stop` and is raised.
    """
    run = _Run(work, stop, math.inf if deadline is None else deadline, on_wait)
    try:
        run.start(lanes)
        while run.running and not run.over():
            run.collect(POLL)
    except BaseException:
        # Control-C: no lane may go on behind the caller's back.
        stop.set()
        run.finish()
        raise
    run.finish()
    run.raise_first()


class _Run:
    """The threads of one call of `run_lanes`."""

    def __init__(
        self,
        work: Callable[[Lane, ScanTarget], None],
        stop: threading.Event,
        deadline: float,
        on_wait: Callable[[Waiting], None],
    ) -> None:
        self._work = work
        self._stop = stop
        self._deadline = deadline
        self._on_wait = on_wait
        self._ended: queue.SimpleQueue[list[Exception]] = queue.SimpleQueue()
        self._errors: list[Exception] = []
        self.running = 0

    def start(self, lanes: Sequence[Lane]) -> None:
        """One thread a lane; none keeps the process alive."""
        for lane in lanes:
            threading.Thread(target=self._lane, args=(lane,), daemon=True).start()
            self.running += 1

    def over(self) -> bool:
        """True if nothing more may begin."""
        return self._stop.is_set() or time.monotonic() >= self._deadline

    def collect(self, seconds: float) -> None:
        """Wait for the end of one lane, at most so long."""
        with contextlib.suppress(queue.Empty):
            self._errors += self._ended.get(timeout=max(0.0, seconds))
            self.running -= 1

    def finish(self) -> None:
        """Wait for the lanes that still run, at most GRACE."""
        until = time.monotonic() + GRACE
        while self.running and time.monotonic() < until:
            self.collect(until - time.monotonic())

    def raise_first(self) -> None:
        """Raise the first exception of `work`, if there was one."""
        if not self._errors:
            return
        first, *others = self._errors
        for other in others:
            first.add_note(f"also: {type(other).__name__}: {other}")
        raise first

    def _lane(self, lane: Lane) -> None:
        errors: list[Exception] = []
        try:
            with contextlib.ExitStack() as held:
                if self._take(lane, held):
                    errors += self._targets(lane)
        except Exception as error:
            crash.if_short(error)
            errors.append(error)
        finally:
            self._ended.put(errors)

    def _targets(self, lane: Lane) -> Iterator[Exception]:
        for target in lane.targets:
            if self.over():
                return
            try:
                self._work(lane, target)
            except Exception as error:
                crash.if_short(error)
                yield error

    def _take(self, lane: Lane, held: contextlib.ExitStack) -> bool:
        """All locks of the lane, in their order so that no two lanes wait for each other."""
        began = time.monotonic()
        for device in lane.locks:
            lock = DeviceLock(device)
            held.callback(lock.release)
            said = -math.inf
            while not lock.acquire():
                now = time.monotonic()
                if now - said >= REMIND:
                    said = now
                    self._on_wait(Waiting(device, lock.holder(), now - began))
                self._stop.wait(min(POLL, max(0.0, self._deadline - now)))
                if self.over():
                    return False
        return True
