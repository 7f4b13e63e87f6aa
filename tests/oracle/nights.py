"""The nights of a maintenance window: which there were, and what ran in each of them.

The window is that of semantics, section 6; how its nights are read is what docs/advice.md says,
quoted with (docs).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from tests.oracle.facts import seconds
from tests.oracle.history import DAY
from tests.oracle.judgement import WINDOW
from tests.oracle.subject import Subject

Stretch = tuple[float, float]
Run = tuple[float, float | None]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
NEAR = 600.0
"""So much beside the times of the window is at its times."""
MOMENT = 60.0
"""What is logged so close together happened together."""


class Night(NamedTuple):
    """One opening of the window, where it really was."""

    start: float
    end: float
    ran: bool
    """Online defragmentation ran in it."""
    off: float | None
    """By how much it stopped after its time (before: below 0); None where nothing tells."""
    scanned: float
    """Seconds of database scan."""
    hindered: bool
    """A backup stopped its work, or kept it waiting."""


class Work(NamedTuple):
    """What is known to have run, and when passes completed or failed."""

    runs: Sequence[Run]
    scans: Sequence[Run]
    completed: Sequence[float]
    failed: Sequence[float]
    scans_completed: Sequence[float]
    backups: Sequence[Stretch]


def configured(subject: Subject, configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """The window of the database as configured; empty where none is."""
    windows = configuration.get("windows") or {}
    found: Mapping[str, Any] = windows.get(subject.entry.get("window"), {})
    return found


def days_of(window: Mapping[str, Any]) -> list[int]:
    """The days of the week on which it opens, Monday first."""
    return sorted({DAYS.index(str(each).lower()[:3]) for each in window.get("days", DAYS)})


def length(subject: Subject, configuration: Mapping[str, Any]) -> float:
    """From one of its windows to the end of the next, at most."""
    window = configured(subject, configuration)
    lasts = seconds(window.get("duration", ""))
    if lasts is None:
        return WINDOW
    days = days_of(window)
    return max(b - a for a, b in pairwise([*days, days[0] + 7])) * DAY + lasts


def day_begin(time: float) -> float:
    """The noon, UTC, that its day began at: "Days begin at noon UTC, so that a night is in one"."""
    return (time - DAY / 2) // DAY * DAY + DAY / 2


def openings(window: Mapping[str, Any], begin: float, until: float) -> list[Stretch]:
    """Those that began from `begin` on, up to the first one after `until`.

    "A window is a local start and an elapsed duration, also across a change of the clock."
    """
    zone = ZoneInfo(str(window.get("timezone", "UTC")))
    clock = re.match(r"(\d+):(\d+)", str(window["start"]))
    lasts = seconds(window["duration"])
    assert clock
    assert lasts
    found: list[Stretch] = []
    date = datetime.fromtimestamp(begin, UTC).date() - timedelta(days=2)
    while not found or found[-1][0] <= until:
        if date.weekday() in days_of(window):
            start = datetime(
                date.year, date.month, date.day, int(clock[1]), int(clock[2]), tzinfo=zone
            ).timestamp()
            found += [(start, start + lasts)] if start >= begin else []
        date += timedelta(days=1)
    return found


def stretches(subject: Subject, ids: Iterable[int], now: float) -> list[Run]:
    """When a task whose events these are ran: from a start or resume to its end.

    What is over a day ahead of the clock opens nothing.

    One whose end was not logged before the next start is not known; the last may go on.
    """
    stops = [event for event in subject.life if event.id in (103, 104)]
    known = [event for event in subject.owned if event.id in ids and event.time <= now + DAY]
    mine = [*known, *subject.leaves]
    found: list[Run] = []
    begun: float | None = None
    for event in sorted({*stops, *mine}, key=lambda each: each.order):
        if event.id in (700, 702, 717, 718, 719, 720):
            begun = event.when
        elif begun is not None:
            found.append((begun, event.when))
            begun = None
    return found if begun is None else [*found, (begun, None)]


def nights(window: Mapping[str, Any], begin: float, until: float, work: Work) -> list[Night]:
    """Those that began up to `until`; none where no window is configured."""
    if not window:
        return []
    found = openings(window, begin, until)
    return [night(one, following[0], work) for one, following in pairwise(found)]


def night(opening: Stretch, after: float, work: Work) -> Night:
    """What became of an opening; `after` is when the next one begins.

    "Where a night began beside the configured start, by no more than half of the window, and lasted
    as long, it is that night: after a change of the clock, or of the hours by one or two" (docs).
    """
    start, end = opening
    half = max(NEAR, min(end - start, after - end) / 2)
    runs = [run for run in work.runs if start - half <= run[0] < after - half]
    moved = runs[0][0] - start if runs else 0.0
    if NEAR < abs(moved) <= (end - start) / 2 and runs[-1][1] is not None:
        here = off_by(runs, work, opening)
        there = off_by(runs, work, (start + moved, end + moved), completed_too=True)
        if here is None:
            moved = min(0.0, moved)
        elif not here or there:
            moved = 0.0
        start, end = start + moved, end + moved
    due = time_given(runs, work.scans, start, end)
    beside = [each for each in work.backups if each[0] < end and each[1] > start]
    return Night(
        start,
        end,
        any(run[0] < end and (run[1] is None or run[1] >= start) for run in runs),
        None if beside else off_by(runs, work, (start, end)),
        sum(max(0.0, min(end, b) - max(start, a)) for a, b in work.scans if b is not None),
        bool(beside) and hindered(runs, work, (start, end), due),
    )


def time_given(runs: Sequence[Run], scans: Sequence[Run], start: float, end: float) -> float:
    """When its time ends: "where a scan follows, each has its half" (docs)."""
    if not runs:
        return end
    stop = end if runs[-1][1] is None else runs[-1][1]
    latest = max(end, stop + MOMENT)
    follows = any(stop - MOMENT <= scan[0] < latest for scan in scans if scan[1] is not None)
    return (start + end) / 2 if follows else end


def off_by(
    runs: Sequence[Run], work: Work, opening: Stretch, completed_too: bool = False
) -> float | None:
    """How long after its time its last run stopped; None where nothing tells.

    "A night whose pass completed or failed before its time shows nothing of the window's end."
    """
    if not runs or runs[-1][1] is None:
        return None
    start, end = opening
    due, stop = time_given(runs, work.scans, start, end), runs[-1][1]
    near = NEAR * (due - start) / (end - start)
    if not completed_too and stop <= due + near and is_near([*work.completed, *work.failed], stop):
        return None
    return 0.0 if abs(stop - due) <= near else stop - due


def hindered(runs: Sequence[Run], work: Work, opening: Stretch, due: float) -> bool:
    """Whether a backup "stopped online defragmentation or the scan before its time, or kept
    defragmentation waiting for 15 minutes" (docs).
    """
    start, end = opening
    for each, given, completed in (
        (runs, due, work.completed),
        (work.scans, end, work.scans_completed),
    ):
        for _, stop in each:
            if stop is None or is_near(completed, stop):
                continue
            beside = any(a - MOMENT <= stop <= b + MOMENT for a, b in work.backups)
            if beside and start - MOMENT <= stop < given - NEAR:
                return True
    waited = 0.0
    for a, b in work.backups:
        low, high = max(a, start), min(b, due)
        if low < high and not any(start <= done <= high for done in work.completed):
            ran = (min(high, high if y is None else y) - max(low, x) for x, y in runs)
            waited += high - low - sum(max(0.0, each) for each in ran)
    return waited >= 900


def is_near(times: Iterable[float], time: float) -> bool:
    """Whether one of the times is this one."""
    return any(abs(each - time) <= MOMENT for each in times)


def restarts(found: Sequence[Night]) -> list[float]:
    """Moments up to which the nights were those of another window.

    "Another length is another window, and the evidence begins anew." (docs) Two nights in a row
    tell of it: both stopped after their time, or both equally long before it, by more than half
    an hour, and two nights behind them kept to their time.
    """
    told = [night for night in found if night.off is not None]
    ran = [night for night in found if night.ran or night.off is not None]
    longer = [b for a, b in pairwise(told) if (a.off or 0.0) > 0 and (b.off or 0.0) > 0]
    other = [
        b
        for a, b in pairwise(ran)
        if a.off and b.off and abs(a.off - b.off) <= NEAR and min(a.off, b.off) < -1800
        if sum(night.start > b.start and night.off == 0 for night in told) >= 2
    ]
    return sorted({night.end + max(0.0, night.off or 0.0) for night in (*longer, *other)})
