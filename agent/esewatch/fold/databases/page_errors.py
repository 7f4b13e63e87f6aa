"""Page errors, as far as they are kept beside the latched pages (semantics.md 3).

Spans: times as sorted, disjoint (first, last): a flood of them takes little room. Rows: bad pages
beyond the first thousand, sorted, 8 bytes each: page number, last time. Failures: events whose
error is a page error, whatever they report.

A backup, a pass, a start or a recovery that ends with -1018 met a bad page, though its event names
none: an entry without a place stands for it, unless an event names a page of that kind around then.
"""

import math
from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from esewatch.ese.events.from_strings import has_own_messages
from esewatch.fold.state.state import BAD_KINDS, BadKind, Failure, FailureKind
from esewatch.model import Event

Span = tuple[float, float]
REPORTS: Final = frozenset({104, 214, 217, 218, 244, 454, 494, 495, 705, 723, 724, 734, 2002})
"""Events with such an error: its place in each is in the catalogue."""
ERRORS: Final[Mapping[int, FailureKind]] = {
    -1018: "uncorrectable",
    -1118: "wrong_page",
    -1019: "no_data",
    -1119: "lost_flush",
    **dict.fromkeys((-1021, -1022, -1121), "io"),
    -1206: "logical",
}
"""JET_err of the engine: read verify failure, bad physical page number, page not initialised, lost
flush; disk I/O, read I/O and disk read errors; database corrupted."""

NEAR_SECONDS: Final = 3600.0
MAX_FAILURES: Final = 64
MAX_SPANS: Final = 64


def failure_of(event: Event) -> FailureKind | None:
    """The kind of failure that the error of an event reports, None for another error."""
    if event.event_id not in REPORTS or has_own_messages(event.provider):
        return None
    error = event.fields.get("error")
    return ERRORS.get(error) if isinstance(error, int) else None


def keep(failures: list[Failure], new: Failure) -> None:
    """Keep a failure in the order of time; of each kind the last 64."""
    insort(failures, new)
    same = [each for each in failures if each.kind == new.kind]
    if len(same) > MAX_FAILURES:
        failures.remove(same[0])


def unnamed(
    failures: Iterable[Failure], named: Mapping[BadKind, list[Span]]
) -> dict[BadKind, list[Failure]]:
    """The failures of pages by kind, without those near which an event names a page of the kind."""
    found: dict[BadKind, list[Failure]] = {}
    told = sorted(failures)
    for kind in BAD_KINDS:
        spans = named.get(kind, ())
        left = [
            each
            for each in told
            if each.kind == kind
            and not holds(spans, each.time - NEAR_SECONDS, each.time + NEAR_SECONDS)
        ]
        if left:
            found[kind] = left
    return found


def holds(spans: Sequence[Span], start: float, end: float) -> bool:
    """True if a span has a part from `start` to `end`."""
    place = bisect_right(spans, (end, math.inf))
    return place > 0 and spans[place - 1][1] >= start


def add_time(spans: list[Span], time: float, *, within: float, most: int) -> None:
    """Add a time; times at most `within` seconds apart are one span, and of more than `most` spans
    the two that lie closest."""
    if not holds(spans, time, time):
        insort(spans, (time, time))
        place = bisect_left(spans, (time, time))
        for at in (place + 1, place):
            if 0 < at < len(spans) and spans[at][0] - spans[at - 1][1] <= within:
                _join(spans, at)
        if len(spans) > most:
            gaps = [after[0] - before[1] for before, after in pairwise(spans)]
            _join(spans, gaps.index(min(gaps)) + 1)


def _join(spans: list[Span], at: int) -> None:
    spans[at - 1 : at + 1] = [(spans[at - 1][0], spans[at][1])]


ROWS_SLACK = 1000
"""So many more are admitted before any are dropped: one walk for all of them."""
_MOST = 2**32 - 1


def add_page(rows: bytearray, page: int, time: float, *, most: int) -> None:
    """Add a page, or renew it; of more than `most` rows the youngest stay. Times are kept in whole
    seconds, rounded up: no scan that began before an error clears it."""
    if not 0 <= page <= _MOST:
        return
    known = array("Q", bytes(rows))
    first = page << 32
    row = first | min(max(0, math.ceil(time)), _MOST)
    place = bisect_left(known, first)
    if place < len(known) and known[place] >> 32 == page:
        known[place] = max(known[place], row)
    else:
        known.insert(place, row)
    if len(known) > most + ROWS_SLACK:
        youngest = sorted(known, key=lambda each: each & _MOST)[-most:]
        known = array("Q", sorted(youngest))
    rows[:] = known.tobytes()


def read_pages(rows: bytes | bytearray) -> Iterator[tuple[int, float]]:
    """(page, last time) of each row."""
    for row in array("Q", bytes(rows)):
        yield row >> 32, float(row & _MOST)


def drop_pages(rows: bytearray, first: int, end: int, time: float) -> None:
    """Drop pages `first` to `end` whose last time is not after `time`."""
    known = array("Q", bytes(rows))
    kept = [row for row in known if row & _MOST > time or not first <= row >> 32 <= end]
    rows[:] = array("Q", kept).tobytes()
