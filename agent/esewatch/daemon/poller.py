"""Polls the sources for batches in a background thread: a source that hangs delays no other.

A file on a share that does not answer keeps its thread in the kernel, and no time limit ends
that. So the thread is left to that source until it answers, and the others get a new one.
"""

import queue
import threading
import time
from collections.abc import Generator, Iterator

from esefiles.base import crash
from esewatch.model import Batch, Source

PATIENCE_SECONDS = 1.0
"""The time that the other sources wait for a batch of one."""


class _Turn:
    def __init__(self, poll: Iterator[Batch]) -> None:
        self._poll = poll
        self._batch: Batch | None = None
        self._error: Exception | None = None
        self.done = threading.Event()

    def take(self) -> None:
        try:
            self._batch = next(self._poll, None)
        except Exception as error:
            crash.if_short(error)
            self._error = error
        self.done.set()

    def result(self) -> Batch | None:
        """The batch, None at the end of the poll. Raises what the source raised."""
        if self._error is not None:
            raise self._error
        return self._batch


def _work(turns: "queue.SimpleQueue[_Turn | None]") -> None:
    while (turn := turns.get()) is not None:
        turn.take()


class Poller:
    """Polls sources for their batches, one at a time as long as none hangs. For one thread; others
    may read `under_way` and `silent`."""

    def __init__(self) -> None:
        self._worker: queue.SimpleQueue[_Turn | None] | None = None
        self.under_way: dict[str, float] = {}
        """Sources that have not answered yet, and since when (monotonic seconds)."""

    def batches(self, source: Source) -> Generator[Batch | None, None, None]:
        """The batches of one poll; None while the source has not answered within the patience.
        Raises the errors of the source. Closed while the source hangs, it abandons the source."""
        poll = source.poll()
        try:
            while True:
                turn = self._begin(source.name, poll)
                if not turn.done.wait(PATIENCE_SECONDS):
                    self.close()
                    while not turn.done.is_set():
                        yield None
                self.under_way.pop(source.name, None)
                if (batch := turn.result()) is None:
                    return
                yield batch
        finally:
            if source.name not in self.under_way and isinstance(poll, Generator):
                poll.close()

    def _begin(self, name: str, poll: Iterator[Batch]) -> _Turn:
        if self._worker is None:
            self._worker = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._worker,), daemon=True).start()
        turn = _Turn(poll)
        self.under_way[name] = time.monotonic()
        self._worker.put(turn)
        return turn

    def silent(self, seconds: float) -> set[str]:
        """Names of the sources that have not answered for so long."""
        now = time.monotonic()
        return {name for name, since in list(self.under_way.items()) if now - since > seconds}

    def close(self) -> None:
        """End the thread as soon as its current source answers; the next turn gets a new one."""
        if self._worker is not None:
            self._worker.put(None)
            self._worker = None
