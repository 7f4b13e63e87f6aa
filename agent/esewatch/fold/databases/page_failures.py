"""Failures whose error is a page error, whatever event reports them (semantics.md 3).

A backup, a pass, a start or a recovery that ends with -1018 met a bad page, though its event names
none: an entry without a place stands for it, unless an event names a page of that kind around then.
"""

from bisect import insort
from collections.abc import Iterable, Mapping
from typing import Final

from esewatch.ese.events.from_strings import has_own_messages
from esewatch.fold.state import time_spans
from esewatch.fold.state.state import BAD_KINDS, BadKind, Failure, FailureKind
from esewatch.fold.state.time_spans import Span
from esewatch.model import Event

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


def note_named(spans: dict[BadKind, list[Span]], kind: BadKind, time: float) -> None:
    """Note that an event named a bad page of that kind. A time between two that are joined is
    near one of them."""
    time_spans.add(spans.setdefault(kind, []), time, within=2 * NEAR_SECONDS, most=MAX_SPANS)


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
            and not time_spans.holds(spans, each.time - NEAR_SECONDS, each.time + NEAR_SECONDS)
        ]
        if left:
            found[kind] = left
    return found
