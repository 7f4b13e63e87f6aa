"""The kept transitions of a database, as rows of fixed size in one array of bytes.

A thousand databases with 512 transitions each fit in 35 MB; as objects they need
four times as much.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from math import isnan, nan
from struct import Struct, error
from zlib import crc32

import msgspec

from esewatch.fold.state.state import Transition

FIELDS = ("seconds", "invocations", "days", "pages_seen", "pages_freed", "bad_checksums")
"""The numbers of an event that passes are derived from."""

_OF_RUN = {"run_pages": "invocations", "run_bad_checksums": "bad_checksums"}
ATTACHMENT = frozenset({325, 326, 327, 328})
PLACES = {
    721: {"pass_started_day": "pages_freed"},
    722: {"pass_started_day": "pages_freed"},
    732: _OF_RUN,
    735: {**_OF_RUN, "threshold_days": "pages_freed"},
    737: _OF_RUN,
    738: {"resume_page": "pages_seen"},
    **{each: {"instance": "invocations"} for each in ATTACHMENT},
}
"""Further numbers, by event, that lie where it has no number of its own: rows keep their size."""

STARTS = frozenset({700, 702, 717, 718, 719, 720, 736, 738})
ENDS = frozenset({701, 703, 721, 722, 732, 735, 737})
TOLD = ENDS | ATTACHMENT | {738, 744}
"""Events whose numbers are kept: ends, and progress reports of a running scan; of attached and
detached databases the name of the instance (`name_number`)."""

_HEAD = Struct("<dQH?")
_TAIL = Struct(f"<{len(FIELDS)}d")
_ROW = Struct(f"{_HEAD.format}{_TAIL.format[1:]}")
ROW_BYTES = _ROW.size
_NO_NUMBERS = _TAIL.pack(*[nan] * len(FIELDS))
_time_at = Struct("<d").unpack_from
_NUMBERS = 4
_NAMES = {
    event: tuple(
        {place: name for name, place in further.items()}.get(each, each) for each in FIELDS
    )
    for event, further in PLACES.items()
}
"""Event -> meaning of the numbers in its rows, where that is not FIELDS."""
_MOST = 2**64 - 1
_NONE: dict[str, int | float] = {}


def name_number(instance: str) -> int:
    """A number that stands for the name of an instance; 0 for none."""
    return crc32(instance.lower().encode("utf-8", "surrogatepass"))


def names(event_id: int) -> tuple[str, ...]:
    return _NAMES.get(event_id, FIELDS)


def pack(transitions: Iterable[Transition]) -> bytearray:
    """The rows of these transitions, which must be sorted."""
    return bytearray(b"".join(map(_pack, transitions)))


def unpack(rows: bytes | bytearray, only: Collection[int] | None = None) -> Iterator[Transition]:
    """The transitions of rows, oldest first; `only` those of these events."""
    for row in _ROW.iter_unpack(rows):
        time, record_id, event_id, history = row[:_NUMBERS]
        if only is not None and event_id not in only:
            continue
        fields = _NONE
        if event_id in TOLD:
            numbers = zip(names(event_id), row[_NUMBERS:], strict=True)
            fields = {name: number for name, number in numbers if not isnan(number)}
        yield Transition(time, record_id, event_id, fields, history)


def event_ids(rows: bytes | bytearray) -> set[int]:
    return {row[2] for row in _ROW.iter_unpack(rows)}


def count(rows: bytes | bytearray) -> int:
    return len(rows) // ROW_BYTES


def insert(rows: bytearray, new: Transition) -> None:
    """Insert `new` at its place in the order of time and record id, if it is not there already."""
    if not rows or _time_at(rows, len(rows) - ROW_BYTES)[0] < new.time:
        rows += _pack(new)  # as most are
        return
    at = count(rows)
    order = _order(new.time, new.record_id, new.event_id)
    if _order_at(rows, at - 1) > order:
        at = bisect_right(range(at), order, key=lambda place: _order_at(rows, place))
    if (
        new.record_id
        and at
        and _HEAD.unpack_from(rows, (at - 1) * ROW_BYTES)[:3]
        == (new.time, new.record_id, new.event_id)
    ):
        return
    rows[at * ROW_BYTES : at * ROW_BYTES] = _pack(new)


def raise_times(rows: bytearray, after: int, since: float, time: float) -> None:
    """Transitions with higher numbers than `after` and times from `since` on were at `time`."""
    kept = list(unpack(rows))
    late = [each for each in kept if each.record_id > after and since <= each.time < time]
    if late:
        rows[:] = pack(each for each in kept if each not in late)
        for each in late:
            insert(rows, msgspec.structs.replace(each, time=time))


SAME_SECONDS = 1.0
"""Of two inputs one may round the time of an event."""


def poorer(rows: bytearray, event_id: int, time: float, numbers: int) -> Transition | None:
    """The nearest transition of that event at about that time that has fewer numbers."""
    near = [
        each
        for each in unpack(rows, {event_id} & TOLD)
        if abs(each.time - time) <= SAME_SECONDS and len(each.fields) < numbers
    ]
    return min(near, key=lambda each: abs(each.time - time), default=None)


def remove(rows: bytearray, known: Transition) -> None:
    rows[:] = pack(each for each in unpack(rows) if each != known)


def take(rows: bytearray, number: int) -> list[Transition]:
    size = number * ROW_BYTES
    taken = list(unpack(rows[:size]))
    del rows[:size]
    return taken


def _pack(transition: Transition) -> bytes:
    record_id = min(max(transition.record_id, 0), _MOST)
    head = _HEAD.pack(transition.time, record_id, transition.event_id, transition.history)
    fields = transition.fields
    if not fields:
        return head + _NO_NUMBERS
    told = names(transition.event_id)
    try:
        return head + _TAIL.pack(*[fields.get(name, nan) for name in told])
    except error:  # an integer beyond 1.8e308, out of a damaged record
        return head + _TAIL.pack(*[_number(fields.get(name, nan)) for name in told])


def _number(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return nan


def _order(time: float, record_id: int, event_id: int) -> tuple[float, int, int]:
    """Time, record id, and where both say nothing: a start before an end. A domain controller
    starts and completes within one second, and a console lists the younger one first."""
    return (time, record_id, 0 if event_id in STARTS else 2 if event_id in ENDS else 1)


def _order_at(rows: bytearray, place: int) -> tuple[float, int, int]:
    time, record_id, event_id, _ = _HEAD.unpack_from(rows, place * ROW_BYTES)
    return _order(time, record_id, event_id)
