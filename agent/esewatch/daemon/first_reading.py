"""Progress of first readings: the log, the status page and `/-/ready` say the same."""

import logging
import time
from collections.abc import Callable

import msgspec

from esefiles.base.units import size
from esewatch.advice.base.finding import counted
from esewatch.expose.formatting import duration
from esewatch.model import Batch

log = logging.getLogger(__name__)

EVERY_SECONDS = 10.0


class _Begun(msgspec.Struct, gc=False):
    time: float
    ahead: int
    """Bytes that were not read when the reading began."""
    told: float
    records: int = 0


class FirstReadings:
    """The first readings that are under way. `clock` gives seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.words: dict[str, str] = {}
        """Source -> the words of its last line."""
        self.clock = clock
        self._begun: dict[str, _Begun] = {}

    def note(self, name: str, batch: Batch) -> None:
        """Take in a batch of a first reading; logs one line each `EVERY_SECONDS`."""
        now = self.clock()
        begun = self._begun.setdefault(name, _Begun(now, batch.backlog_bytes, now))
        begun.records += len(batch.records)
        if now - begun.told >= EVERY_SECONDS:
            begun.told = now
            self.words[name] = said(
                begun.records,
                batch.backlog_files,
                batch.backlog_bytes,
                (begun.ahead - batch.backlog_bytes) / (now - begun.time),
            )
            log.info("%s: first reading: %s", name, self.words[name])

    def end(self, name: str) -> None:
        """The source was read to its end, or is none any more."""
        self._begun.pop(name, None)
        self.words.pop(name, None)


def said(records: int, files: int, left: int, rate: float) -> str:
    """Records read, and files and bytes left, in words. `left` in bytes, 0 where it is not known;
    `rate` in bytes a second, not said where it is not above 0: then more is written than read."""
    words = counted(records, "record")
    if left:
        words += f", {size(left)} in {counted(files, 'file')} left"
        if rate > 0:
            words += f", {size(rate)} a second, about {duration(round(left / rate))}"
    return words
