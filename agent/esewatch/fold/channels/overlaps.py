"""Records that several inputs have: overlapping exports, and copies of a log (semantics.md 2).

Equal records of two inputs are one, as multisets: the largest count of one input, never the sum.
So a record is known where another input had an equal one that this input did not have yet.

Rows by day, sorted by time. Of each computer the last 64 days with a record are kept, of each day
the last 1,024 records, in 50 KB. What is forgotten counts again when another input has it: else a
record that was never read would be taken for known, and a bad page be lost.
"""

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import chain, repeat
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from esewatch.fold.channels.deduplication import Neighbours
from esewatch.fold.identity.identity import is_snapshot, label_kept
from esewatch.fold.identity.owners import instance_name
from esewatch.fold.state.rollups import FURTHEST
from esewatch.fold.state.state import Channel, Database, Host, Instance
from esewatch.model import Batch, Event, FieldValue, FromInput

MAX_DAYS = 64
MAX_RECORDS = 1024
NEAR_MS = 1000
"""Some inputs round to the next second, others cut off what is behind it."""
DAY_MS = 86_400_000
SHOWN = 8
"""So many of its parameters are compared."""
_ALWAYS = ("process", "ese_instance")
_FIRST = ("page_number", "offset")
"""The parameters that tell records of one second apart before others do."""

_ROW = Struct("<IIIIB")
"""Millisecond of the day; hash of provider, id and database; the first and the last input that had
it; whether its log numbers it. Behind it two hashes for each parameter: of its name, of its value.
"""
_HASHES = Struct(f"<{SHOWN}H")
_SIZE = _ROW.size + 2 * _HASHES.size
_time_at = Struct("<I").unpack_from

Days = dict[int, bytearray]
"""Day since 1970 -> its rows."""


Shown = tuple[bytes, bytes]
"""The parameters of an event besides its provider, id and database: the hashes of their names, and
of their values."""


Identity = tuple[int, int, int]
"""The hashes of provider and database together, of the process and of the instance."""


class Admitted(NamedTuple):
    """`is_new`: no other input had the record. `is_richer`: one had it, and showed less of it.
    `days`: those whose rows changed."""

    is_new: bool
    is_richer: bool = False
    days: Collection[int] = ()


class _Found(NamedTuple):
    apart: int
    day: int
    place: int


def identity(event: Event, database: str) -> Identity:
    """The identity of an event of this label; it stays the same from one process to the next."""
    number = crc32(f"{event.provider}\0{database}".lower().encode("utf-8", "replace"))
    return number, _hash(event.process), _hash(event.ese_instance)


def input_of(name: str) -> int:
    return crc32(name.encode("utf-8", "replace"))


def by_input(name: str, batch: Batch) -> Iterable[FromInput]:
    """The records of a batch of the source `name`, each with the number of its input."""
    if not batch.inputs:
        return zip(repeat(input_of(name)), batch.records)
    ends = [*(begin for begin, _ in batch.inputs[1:]), len(batch.records)]
    numbers = (
        repeat(number, end - begin) for (begin, number), end in zip(batch.inputs, ends, strict=True)
    )
    return zip(chain.from_iterable(numbers), batch.records, strict=True)


def admit(days: Days, event: Event, origin: Identity, source: int, *, numbered: bool) -> Admitted:
    """Note a record of the input `source`. `origin` is the `identity` of the event; `numbered`: a
    record number says that it is none of the others of its log."""
    time = event.time
    if time is None or not 0 < time < FURTHEST:
        return Admitted(is_new=True)
    moment = round(time * 1000)
    key = crc32(event.event_id.to_bytes(8, "little", signed=True), origin[0])
    names, values = shown = _shown(event.fields, origin)
    found = _equal(days, moment, key, shown, source, numbered=numbered)
    if found is None:
        day, at = divmod(moment, DAY_MS)
        row = _ROW.pack(at, key, source, source, numbered) + names + values
        return Admitted(True, False, _insert(days, day, at, row))
    rows, place = days[found.day], found.place
    at, _, first, _, was_numbered = _ROW.unpack_from(rows, place)
    _ROW.pack_into(rows, place, at, key, first, source, was_numbered or numbered)
    begin = place + _ROW.size
    before, now = (
        set(_HASHES.unpack(each)) - {0} for each in (rows[begin : begin + _HASHES.size], names)
    )
    is_richer = before < now
    if is_richer:
        rows[begin : place + _SIZE] = names + values
    return Admitted(False, is_richer, (found.day,))


def _insert(days: Days, day: int, at: int, row: bytes) -> tuple[int, ...]:
    """Returns the days that changed."""
    changed: tuple[int, ...] = (day,)
    rows = days.get(day)
    if rows is None:
        rows = days[day] = bytearray()
        if len(days) > MAX_DAYS:
            oldest = min(days)
            del days[oldest]
            changed = (day, oldest)
    place = len(rows)
    if rows and _time_at(rows, place - _SIZE)[0] >= at:
        place = _SIZE * _first_from(rows, at)  # of one time, the last to come is the first to go
    rows[place:place] = row
    if len(rows) > MAX_RECORDS * _SIZE:
        del rows[:_SIZE]
    return changed


def _first_from(rows: bytearray, at: int) -> int:
    """The number of the first row of this millisecond or a later one."""
    return bisect_left(
        range(len(rows) // _SIZE), at, key=lambda row: _time_at(rows, row * _SIZE)[0]
    )


def _equal(
    days: Days, moment: int, key: int, shown: Shown, source: int, *, numbered: bool
) -> _Found | None:
    """The equal record nearest in time that this input did not have."""
    best: _Found | None = None
    day, at = divmod(moment, DAY_MS)
    if NEAR_MS <= at < DAY_MS - NEAR_MS and (
        not (rows := days.get(day)) or _time_at(rows, len(rows) - _SIZE)[0] < at - NEAR_MS
    ):
        return None  # as mostly
    for day in range((moment - NEAR_MS) // DAY_MS, (moment + NEAR_MS) // DAY_MS + 1):
        rows, at = days.get(day), moment - day * DAY_MS
        if not rows:
            continue
        for place in range(_SIZE * _first_from(rows, at - NEAR_MS), len(rows), _SIZE):
            time, other, first, last, was_numbered = _ROW.unpack_from(rows, place)
            if time > at + NEAR_MS:
                break
            if other != key or source in (first, last) or (numbered and was_numbered):
                continue
            apart = abs(time - at)
            if (best is None or apart < best.apart) and _alike(rows, place, shown):
                best = _Found(apart, day, place)
    return best


def _alike(rows: bytearray, place: int, shown: Shown) -> bool:
    """Are the parameters equal that both show?"""
    names, values = shown
    begin = place + _ROW.size
    middle = begin + _HASHES.size
    if rows[begin : place + _SIZE] == names + values:
        return True
    known = dict(zip(*(_HASHES.unpack_from(rows, place) for place in (begin, middle)), strict=True))
    new = zip(_HASHES.unpack(names), _HASHES.unpack(values), strict=True)
    return all(known.get(name, 0) in (0, value) for name, value in new if value)


def _shown(fields: Mapping[str, FieldValue], origin: Identity) -> Shown:
    order, names, padding = _order(tuple(fields))
    values = [
        _hash(value) if isinstance(value, str) else (hash(value) + 1) & 0xFFFF or 1
        for value in [fields[name] for name in order]
    ]
    return names, _HASHES.pack(*origin[1:], *values, *padding)


@lru_cache(4096)
def _order(names: tuple[str, ...]) -> tuple[tuple[str, ...], bytes, tuple[int, ...]]:
    """The names that are compared, their hashes behind those of the process and the instance, and
    zeros for the places that are left."""
    first = [name for name in _FIRST if name in names]
    # How a date is read, beside its words, depends on the rest of the input.
    read = {f"{name}_date" for name in names}
    order = (*first, *sorted(set(names).difference(first, read)))[: SHOWN - len(_ALWAYS)]
    hashes = [crc32(name.encode()) & 0xFFFF or 1 for name in (*_ALWAYS, *order)]
    padding = (0,) * (SHOWN - len(hashes))
    return order, _HASHES.pack(*hashes, *padding), padding


@lru_cache(4096)
def _hash(text: str) -> int:
    """0 for an empty text, which shows nothing."""
    return (crc32(text.lower().encode("utf-8", "replace")) & 0xFFFF or 1) if text else 0


Names = tuple[str, str, str, str, str, str]
"""Computer, channel, provider, process, instance and path of a database, as logged."""


class Origin:
    """The entities of events that have the same names, looked up once a batch: within it nothing
    known is dropped. None where they were not met yet, or for want of room: then looked for
    again."""

    __slots__ = (
        "channel",
        "computer",
        "database",
        "event_ids",
        "host",
        "hour",
        "identity",
        "instance",
        "instance_name",
        "is_snapshot",
        "neighbours",
        "oldest",
    )

    def __init__(self, computer: str, event: Event) -> None:
        self.computer = computer
        self.instance_name = instance_name(event.ese_instance, event.process)
        self.is_snapshot = is_snapshot(event.database)
        label = label_kept(event.database, bad=True) if event.database else ""
        self.identity = identity(event, label or "")
        self.oldest = math.inf
        """The oldest time of these events that was passed to the computer."""
        self.host: Host | None = None
        """Known as changed, once it stands here; the others too."""
        self.event_ids: dict[int, int] = {}
        """Ids of the provider on the computer that have a count of their own."""
        self.channel: Channel | None = None
        self.neighbours: Neighbours | None = None
        """Of the ranges of the channel."""
        self.instance: Instance | None = None
        self.hour = math.nan
        """The last hour since the epoch that was noted of the instance."""
        self.database: Database | None = None
