"""Performance counters of this machine, through a running `typeperf`.

Its output is a perfmon log in CSV form, but for three things: the header names no time
zone, a counter without a value is -1, and closing words stand behind the rows.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from esewatch.config import Settings, WindowsCounters
from esewatch.ese.counters.counter_feeds import paths
from esewatch.ese.counters.counter_names import LANGUAGES
from esewatch.model import Batch, Record, SourceError, Unreadable
from esewatch.sources.counters.perfmon_csv import PerfmonDecoder
from esewatch.sources.counters.perfmon_header import is_header
from esewatch.sources.kind import RecordSelection
from esewatch.sources.process import Child, pause

_TYPEPERF: Final = ("typeperf",)
_RUN_SECONDS: Final = 3600.0
"""Instances that appear later are not in the header: after this time it is restarted."""

_SHORTEST_RUN: Final = 4
"""Samples of a run at the longest intervals."""

_SILENCE_SECONDS: Final = 60.0
_LONGEST_LINE: Final = 4 << 20
_LONGEST_WORDS: Final = 200
_NO_ZONE = re.compile(rb'^"\(PDH-CSV 4\.0\)"')
_NO_VALUE: Final = b'"-1"'


def minutes_west() -> int:
    """Minutes from the local time of this machine to UTC, as a perfmon header has them."""
    return -time.localtime().tm_gmtoff // 60


def open(
    entry: WindowsCounters, _settings: Settings, _wanted: RecordSelection
) -> "WindowsCountersSource":
    return WindowsCountersSource(
        entry.name, entry.counters, interval=entry.interval, computer=entry.computer or ""
    )


class WindowsCountersSource:
    """A source over `counters` (paths). Implements `model.Source`.

    Without `counters` it asks for `counter_feeds.paths` in English, and, where typeperf finds none
    of them, in the next language that is known: Windows knows the names of its own alone.
    One sample every `interval` seconds (whole ones). A poll never waits. When typeperf
    fails, every poll is a SourceError until it gives a sample; it is started again after
    longer and longer pauses. There are no positions: samples of the time in which nobody
    read are lost. Raises SourceError for a counter that is no path.
    """

    def __init__(
        self,
        name: str,
        counters: Sequence[str] = (),
        *,
        interval: float = 15.0,
        computer: str = "",
        program: Sequence[str] = _TYPEPERF,
        clock: Callable[[], float] = time.monotonic,
        west: Callable[[], int] = minutes_west,
    ) -> None:
        for counter in counters:
            if not counter.startswith("\\"):
                raise SourceError(
                    f"{name}: {counter!r} is not a counter path: a path begins with \\"
                )
        self.name = name
        self._counters = list(counters)
        self._language = 0
        self._interval = max(1, round(interval))
        self._silence = max(_SILENCE_SECONDS, 4.0 * self._interval)
        self._computer = computer
        self._program = program
        self._clock = clock
        self._west = west
        self._child: Child | None = None
        self._table = _Table(computer, 0)
        self._due = 0.0
        self._heard = 0.0
        self._failures = 0
        self._problem = ""
        self._running = False
        self._told: set[str] = set()

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Nothing to restore."""

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Hand out the available samples. A running machine is never `final`."""
        now = self._clock()
        records: list[Record] = []
        unreadable: list[Unreadable] = []
        try:
            records, unreadable = self._advance(now)
        except SourceError as error:
            self._failed(str(error), now)
        yield Batch(records=records, unreadable=unreadable, caught_up=self._running)
        if self._problem:
            raise SourceError(self._problem)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _advance(self, now: float) -> tuple[list[Record], list[Unreadable]]:
        """Start, read and end typeperf as it is due. Raises SourceError when it fails."""
        if self._child is None:
            if now < self._due:
                return [], []
            self._start(now)
        elif self._west() != self._table.west:
            # Daylight saving time began or ended: which rows belong to which time is ambiguous.
            self.close()
            self._start(now)
        child = self._child
        if child is None:
            return [], []
        before = self._table.rows
        records, reasons = self._table.feed(child.read())
        if self._table.rows > before:
            self._heard = now
            self._running, self._problem, self._failures = True, "", 0
        unreadable = self._new(reasons)
        if child.ended:
            self._finish(child)
        elif now - self._heard > self._silence:
            words = self._table.words or f"no sample for {self._silence:g} s"
            raise SourceError(f"typeperf: {words}; it was ended")
        return records, unreadable

    def _start(self, now: float) -> None:
        samples = max(_SHORTEST_RUN, round(_RUN_SECONDS / self._interval))
        options = ["-f", "CSV", "-si", f"{self._interval}", "-sc", f"{samples}"]
        self._table = _Table(self._computer, self._west())
        self._heard = now
        # However it ends: not more than one start a sample.
        self._due = now + self._interval
        counters = self._counters or paths(LANGUAGES[self._language])
        self._child = Child(self._program, [*counters, *options])

    def _finish(self, child: Child) -> None:
        self.close()
        if not self._table.rows:
            self._language = (self._language + 1) % len(LANGUAGES)
            words = self._table.words or child.complaint or "no sample"
            raise SourceError(
                f"typeperf: {words} (exit status {child.status}); no counter was found: where "
                "Windows is in another language than those of docs/inputs.md, name them in "
                "`counters` (typeperf -q lists them)"
            )

    def _failed(self, reason: str, now: float) -> None:
        self.close()
        self._running = False
        self._problem = reason
        self._failures += 1
        self._due = now + pause(self._interval, self._failures)

    def _new(self, reasons: Sequence[str]) -> list[Unreadable]:
        """The complaints not made before; every run would repeat them."""
        new = [reason for reason in dict.fromkeys(reasons) if reason not in self._told][:100]
        if len(self._told) < 1000:
            self._told.update(new)
        return [Unreadable(path="typeperf", place="", reason=reason) for reason in new]


class _Table:
    """The output of one run, line by line. `west` is that of the machine at its start."""

    def __init__(self, computer: str, west: int) -> None:
        self.west = west
        self.rows = 0
        """Rows that fit the header."""
        self.words = ""
        self._decoder = PerfmonDecoder(b"", computer=computer, zone=None, ese_only=True)
        self._rest = b""
        self._cells = 0

    def feed(self, data: bytes) -> tuple[list[Record], list[str]]:
        """Records and complaints of the whole lines. Raises SourceError for an endless line."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LONGEST_LINE:
            raise SourceError("typeperf: a line does not end within 4 MiB")
        rows, reasons = [], []
        for line in lines:
            row = line.strip()
            if not row.startswith(b'"'):
                self.words = self.words or row[:_LONGEST_WORDS].decode("utf-8", "replace")
            elif is_header(row):
                self._cells = row.count(b'"')
                zone = b'"(PDH-CSV 4.0) (local)(%d)"' % self.west
                rows.append(_NO_ZONE.sub(zone, row))
            elif row.count(b'"') != self._cells:
                # Values without a counter have been seen in the middle of a row.
                reasons.append(
                    "a row does not have as many cells as the header: such rows are left out"
                )
            else:
                self.rows += 1
                rows.append(row.replace(_NO_VALUE, b'" "'))
        fed = self._decoder.feed(b"\n".join(rows) + b"\n", final=True)
        return fed.records, [*reasons, *(reason for _, reason in fed.unreadable)]
