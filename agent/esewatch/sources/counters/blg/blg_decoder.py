"""Binary performance logs into readings, each sample once, across restarts."""

import math
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo
from functools import partial
from typing import Final

import msgspec

from esewatch.ese.counters.counter_feeds import present
from esewatch.model import CountersSeen, Record
from esewatch.sources.counters.blg.blg_clock import BlgClock
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
)
from esewatch.sources.counters.blg.catalogue import Entry, read_catalogue, read_names
from esewatch.sources.counters.blg.columns import ColumnBuilder, Values
from esewatch.sources.counters.blg.samples import SampleReader
from esewatch.sources.counters.blg.trace_header import CIRCULAR, TraceHeader, read_trace_header
from esewatch.sources.counters.counter_row import readings
from esewatch.sources.counters.pdh_clock import ClockState
from esewatch.sources.files.decoder import Fed

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
        self,
        head: bytes,
        saved: bytes,
        *,
        computer: str,
        zone: tzinfo | None,
        ese_only: bool,
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
        for whole in _wholes(walk, head, _silent):
            if whole.type != CATALOGUE or not self._catalogue:  # how far a head goes may change
                self._describe(whole, _silent)
        self._first = self._catalogue
        if self._context.catalogue:
            self._take_catalogue(zlib.decompress(self._context.catalogue), 0, _silent)
        self._under = self._kept = self._catalogue
        """The catalogue of the sample that the data begins with."""
        zone = zone or (self.header.zone if self.header else None)
        self._clock = BlgClock(zone, self._context.clock, self._context.proved)

    @property
    def entries(self) -> list[Entry]:
        """The catalogue."""
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
                self._sample(whole, [], _silent)
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
        self._keep_catalogue(self._catalogue if last is None else self._under)
        context.phase, context.used = walk.place_of(data, fed.consumed)
        self._told_to = len(data) - fed.consumed
        self._tell_once(len(data), tell)
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

    def _keep_catalogue(self, body: bytes) -> None:
        """Keep what the samples behind the position are read by, unless the head has it."""
        if body != self._kept:
            self._kept = body
            self._context.catalogue = b"" if body == self._first else zlib.compress(body, 1)

    def _sample(self, whole: WholeBody, records: list[Record], tell: Tell) -> None:
        self.is_counter_log = True
        if not self._entries:
            self._once("catalogue", whole.seen, "samples without the catalogue of counters", tell)
            return
        if self._samples is None:
            self._samples = SampleReader(self._entries, self._names, self._columns)
        taken = self._samples.read(
            whole.data,
            whole.start,
            whole.end,
            lambda _, reason: tell(whole.seen, reason),
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


def _silent(_at: int, _reason: str) -> None:
    """Damage that is read a second time is not reported again."""


def _tell(fed: Fed, told_to: int, at: int, reason: str) -> None:
    if at >= told_to:
        fed.unreadable.append((at, reason))


def _wholes(walk: Buffers, data: bytes, tell: Tell) -> Iterator[WholeBody]:
    joiner = Joiner(data, tell)
    for event in walk.events(data, tell):
        if (whole := joiner.add(event)) is not None:
            yield whole


def _readings(groups: list[Values], time: float, records: list[Record], *, blanks: bool) -> None:
    """`blanks`: also those without value and total, so that it shows that they are there."""
    for labels, values, firsts in groups:
        found = readings(time, labels, values, firsts)
        if not blanks and math.isnan(sum(values)):
            found = [each for each in found if each.value == each.value or each.kind == "total"]
        records += found
