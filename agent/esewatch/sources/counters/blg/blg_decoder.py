"""Binary performance logs into readings, each sample once, across restarts."""

import math
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from functools import partial
from itertools import repeat
from typing import Final

import msgspec

from esewatch.ese.counters.counter_feeds import present
from esewatch.ese.counters.counter_names import unknown_counters
from esewatch.model import CountersSeen, Reading, Record
from esewatch.sources.counters.blg.buffers import (
    CATALOGUE,
    HEADER_EVENT,
    NAMES,
    SAMPLE,
    Buffers,
    Joiner,
    Tell,
    WholeBody,
    buffer_size,
    silent,
)
from esewatch.sources.counters.blg.catalogue import Entry, read_catalogue, read_names
from esewatch.sources.counters.blg.columns import ColumnBuilder, Values
from esewatch.sources.counters.blg.samples import SampleReader
from esewatch.sources.counters.blg.trace_header import (
    CIRCULAR,
    LoggedZone,
    TraceHeader,
    read_trace_header,
)
from esewatch.sources.counters.pdh_clock import (
    ClockState,
    PdhClock,
    contradicted,
    shares_offset,
)
from esewatch.sources.files.decoder import NO_ZONE, Fed

_TICKS: Final = 10_000_000
_QUARTER: Final = 900 * _TICKS
_FARTHEST: Final = 15 * 4
"""Quarters of an hour; no time zone is farther from UTC."""
_EPOCH: Final = 11_644_473_600 * _TICKS
_START: Final = datetime(1970, 1, 1)
_LAST: Final = 25 * 10**17
"""In the year 9523."""


class BlgClock:
    """From the local times of one log's samples, in their order, to UTC.

    Best is a clock in UTC that is stored beside the sample; its difference to the local time,
    rounded to a quarter of an hour, is the offset, whatever the clocks of other machines are off.
    Else a configured time zone, else, and where that one has no offset of it in the year of the
    first sample, the one that is stored in the log.
    """

    def __init__(
        self,
        zone: tzinfo | None,
        logged: LoggedZone | None,
        state: ClockState,
        proved: int | None,
    ) -> None:
        self._zone, self._logged, self._state = zone, logged, state
        self._local: PdhClock | None = None
        self.contradicted = False
        self.proved = proved
        """Seconds west of UTC, as the last clock in UTC proved them."""
        self.west: int | None = None
        """Those of the last sample."""

    def utc(self, local: int, clocks: list[int]) -> float | None:
        """Epoch seconds of a local time (100 ns since 1601); None where it is no time. `clocks`:
        the time of the sample in UTC, as far as it is stored."""
        if not _EPOCH <= local < _LAST:
            return None
        quarters = [
            round((clock - local) / _QUARTER)
            for clock in clocks
            if abs(clock - local) <= _FARTHEST * _QUARTER
        ]
        if quarters:
            self.proved = max(quarters, key=quarters.count) * 900
        seconds = (local - _EPOCH) / _TICKS
        if self.proved is not None:
            self.west = self.proved
            return seconds + self.proved
        moment = _START + timedelta(microseconds=(local - _EPOCH) // 10)
        self._local = self._local or PdhClock(self._chosen(moment.year), self._state)
        if self._zone is None and self._logged is not None and self._logged.west is not None:
            self.west = self._logged.west
            return seconds + self.west
        found = self._local.at(moment)
        if found is not None:
            self.west = round(found - seconds)
        return found

    @property
    def is_naive(self) -> bool:
        """True if nothing tells the zone of its local times."""
        return self._local is not None and self._zone is None and self._logged is None

    def _chosen(self, year: int) -> tzinfo | None:
        if self._zone is not None and self._logged is not None:
            self.contradicted = not shares_offset(self._zone, self._logged.offsets, year)
        if self.contradicted:
            self._zone = None
        return self._zone or self._logged


ABSENT: Final = {
    0x800007D1: "no such instance",
    0xC0000BB8: "no such object",
    0xC0000BB9: "no such counter",
}
"""Status of a value that is not there, like a blank cell: reported once."""
_STATUS: Final = {0x800007D0: "the computer did not answer", **ABSENT}
_MOST_NAMES: Final = 200_000


class BlgDecoderState(msgspec.Struct, array_like=True):
    """The state with which a decoder continues in the middle of a file."""

    phase: int = 0
    """Place in its buffer at which the data begins, and the used bytes of that buffer."""
    used: int = 0
    handed: bool = False
    """The sample that the data begins with was handed out: the next one is compared with it."""
    clock: ClockState = msgspec.field(default_factory=ClockState)
    proved: int | None = None
    seen_pending: bool = True
    told: set[str] = set()
    catalogue: bytes = b""
    """Compressed: that of the samples from here on, where it is not that of the first ones."""


class BlgDecoder:
    """Decoder of one file. `head` are its first buffers, up to its first sample."""

    def __init__(
        self, head: bytes, saved: bytes, *, computer: str, zone: tzinfo | None, ese_only: bool
    ) -> None:
        self._context = (
            msgspec.msgpack.decode(saved, type=BlgDecoderState) if saved else BlgDecoderState()
        )
        self._size = buffer_size(head)
        self._blanks = not ese_only
        self._columns = ColumnBuilder(computer, ese_only=ese_only)
        self._names: dict[int, str] = {}
        self._catalogue = b""
        self._entries: list[Entry] = []
        self._samples: SampleReader | None = None
        self.header: TraceHeader | None = None
        self.began: float | None = None
        """Time of the first sample."""
        self.west: int | None = None
        """Seconds that its local time is west of UTC, None before any."""
        self.is_counter_log = False
        """True if an event of a counter log was seen."""
        self._seeded = not self._context.handed
        self._told_to = 0
        """Damage in the data is reported up to here."""
        self._done = 0
        """Bytes of the sample that the data begins with, where this decoder has handed it out."""
        walk = Buffers(self._size)
        joiner = Joiner(head, silent)
        for whole in filter(None, map(joiner.add, walk.events(head, silent))):
            if whole.type != CATALOGUE or not self._catalogue:  # how far a head goes may change
                self._describe(whole, silent)
        self._first = self._catalogue
        if self._context.catalogue:
            self._take_catalogue(zlib.decompress(self._context.catalogue), 0, silent)
        self._under = self._kept = self._catalogue
        """The catalogue of the sample that the data begins with."""
        logged = self.header.zone if self.header else None
        self._zone = zone
        self._clock = BlgClock(zone, logged, self._context.clock, self._context.proved)

    @property
    def entries(self) -> list[Entry]:
        return self._entries

    def save(self) -> bytes:
        """The place in the buffer, and the state of the clock."""
        self._context.proved = self._clock.proved
        return msgspec.msgpack.encode(self._context)

    def feed(self, data: bytes, *, final: bool) -> Fed:
        """Every sample is a record. The last one is fed again: the next is compared with it."""
        fed = Fed(consumed=len(data))
        context = self._context
        walk = Buffers(self._size, context.phase, context.used)
        tell = partial(_tell, fed, self._told_to)
        joiner = Joiner(data, tell)
        last = 0 if self._done else None
        for event in walk.events(data, tell, self._done):
            whole = joiner.add(event)
            if whole is None:
                continue
            if whole.type != SAMPLE:
                self._describe(whole, tell)
                continue
            if whole.at or not context.handed:
                self._sample(whole, fed.records, tell)
            elif not self._seeded:
                self._sample(whole, [], silent)
            self._seeded = True
            last, self._done = whole.at, whole.behind - whole.at
            self._under = self._catalogue
        if final:
            joiner.drop(max(0, len(data) - 1))
            if not self._entries and not fed.unreadable:
                self._once("end", len(data), "ends before its first sample", tell)
            context.handed, self._done, last = False, 0, None
        else:
            kept = last if last is not None else joiner.pending
            fed.consumed = len(data) if kept is None else kept
            context.handed = last is not None or (context.handed and not fed.consumed)
        under = self._catalogue if last is None else self._under
        if under != self._kept:
            self._kept = under
            context.catalogue = b"" if under == self._first else zlib.compress(under, 1)
        context.phase, context.used = walk.place_of(data, fed.consumed)
        self._told_to = len(data) - fed.consumed
        self._tell_once(len(data), tell)
        if self._clock.contradicted:
            fed.remarks = [contradicted(str(self._zone))]
        elif self._clock.is_naive:
            fed.remarks = [NO_ZONE]
        return fed

    def _describe(self, whole: WholeBody, tell: Tell) -> None:
        """An event that is no sample: the header, the catalogue, names."""
        body = whole.data[whole.start : whole.end]
        if whole.type == HEADER_EVENT:
            self.header = self.header or read_trace_header(body)
        elif whole.type == CATALOGUE:
            self.is_counter_log = True
            self._take_catalogue(body, whole.seen, tell)
        elif whole.type == NAMES:
            self.is_counter_log = True
            if len(self._names) < _MOST_NAMES:
                self._names.update(read_names(body))

    def _take_catalogue(self, body: bytes, at: int, tell: Tell) -> None:
        if body != self._catalogue:
            self._catalogue = body
            self._entries, damage = read_catalogue(body)
            if damage:
                tell(at, damage)
            self._samples = None

    def _sample(self, whole: WholeBody, records: list[Record], tell: Tell) -> None:
        self.is_counter_log = True
        if not self._entries:
            self._once("catalogue", whole.seen, "samples without the catalogue of counters", tell)
            return
        if self._samples is None:
            self._samples = SampleReader(self._entries, self._names, self._columns)
        taken = self._samples.read(
            whole.data, whole.start, whole.end, lambda _, reason: tell(whole.seen, reason)
        )
        time = self._clock.utc(whole.time, taken.utc)
        if time is None:
            tell(whole.seen, "sample without a time")
            return
        if self.began is None:
            self.began, self.west = time, self._clock.west
        _readings(taken.groups, time, records, blanks=self._blanks)
        if self._context.seen_pending:
            self._context.seen_pending = False
            records += self._seen(time)
            for what in unknown_counters(pair[1:] for pair in self._samples.exposed()):
                self._once(what, whole.seen, what, tell)
        self._tell_unusable(taken.unusable, whole, tell)

    def _seen(self, time: float) -> Iterator[CountersSeen]:
        assert self._samples is not None
        names: dict[str, set[tuple[str, str]]] = {}
        for machine, object_name, counter in self._samples.exposed():
            names.setdefault(self._columns.computer(machine), set()).add((object_name, counter))
        for computer, pairs in names.items():
            if found := present(pairs):
                yield CountersSeen(time=time, computer=computer, present=found)

    def _tell_unusable(self, unusable: Counter[int], whole: WholeBody, tell: Tell) -> None:
        for status in ABSENT.keys() & unusable.keys():
            what = f"values that are not there (status 0x{status:08X}, {ABSENT[status]})"
            del unusable[status]
            self._once(f"status {status}", whole.seen, what, tell)
        if unusable:
            status, _ = unusable.most_common(1)[0]
            known = _STATUS.get(status)
            words = f"status 0x{status:08X}{f', {known}' if known else ''}"
            tell(whole.seen, f"sample with unusable values: {unusable.total()} ({words})")

    def _tell_once(self, at: int, tell: Tell) -> None:
        """Report each part of this log that is not read, once."""
        if self.header is not None and self.header.mode & CIRCULAR:
            what = (
                "circular log, sorted by the numbers of its buffers:"
                " this was never tried on a real one"
            )
            self._once("circular", at, what, tell)
        for kind, example in self._columns.unknown.items():
            what = f"counters of type 0x{kind:08x} are not read, such as {example}"
            self._once(f"type {kind}", at, what, tell)
        if self._samples is not None:
            for kind in self._samples.skipped:
                self._once(f"record {kind}", at, f"records of kind {kind} are not read", tell)
            if nameless := self._samples.nameless:
                what = f"counters of whole objects without a name in the log: {nameless}"
                self._once("nameless", at, what, tell)

    def _once(self, key: str, at: int, reason: str, tell: Tell) -> None:
        if key not in self._context.told:
            self._context.told.add(key)
            tell(at, reason)


def _tell(fed: Fed, told_to: int, at: int, reason: str) -> None:
    if at >= told_to:
        fed.unreadable.append((at, reason))


def _readings(groups: list[Values], time: float, records: list[Record], *, blanks: bool) -> None:
    """`blanks`: also those without value and total, so that it shows that they are there."""
    for (computers, objects, counters, instances, kinds, feeds), values, firsts in groups:
        found = list(
            map(
                Reading,
                repeat(time), computers, objects, counters, instances, values, kinds, feeds, firsts,
            )
        )  # fmt: skip
        if not blanks and math.isnan(sum(values)):
            found = [each for each in found if each.value == each.value or each.kind == "total"]
        records += found
