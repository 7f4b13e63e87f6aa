"""Usage of past windows, from which future ones are drawn, and the times when a task may run."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from esewatch.advice.history.ledger import Gap
from esewatch.advice.history.passes import DAY, worked
from esewatch.config import Window
from esewatch.config.calendar import Opening, next_opening, opening_at
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

LATEST_NIGHTS = 42
LEAST_NIGHTS = 3
"""Number of nights that make a pattern, where no window is configured."""
_MARGIN = 900.0
"""Seconds that a run may begin before its window, or end after it."""
_SLOTS = 96
_SLOT = DAY / _SLOTS
_AT_HOME = 0.5
"""Share of the work that must lie in the configured window for it to be used."""
_GOLDEN = 0.6180339887
"""The fractional parts of its multiples fill 0 to 1 evenly (golden ratio)."""
_WEEKS = 3
"""A weekday that often without a run is a day on which nothing runs."""

Stretch = tuple[float, float]
"""From, to: seconds after the opening began."""


class WorkNight(NamedTuple):
    """The usage of one opening: the stretches of work in it, in order. None: skipped."""

    stretches: tuple[Stretch, ...]
    seconds: float


class Rhythm(NamedTuple):
    """Times of openings: those of a window, or whole days as they were observed.

    A day begins at `boundary`, the middle of the longest idle time of day (seconds after midnight
    UTC); `closed` are the weekdays (0 Monday, of that beginning) without work.
    """

    window: Window | None
    boundary: float = 0.0
    closed: frozenset[int] = frozenset()

    def at(self, time: float) -> Opening | None:
        if self.window is not None:
            return opening_at(self.window, time)
        start = (time - self.boundary) // DAY * DAY + self.boundary
        return None if _weekday(start) in self.closed else Opening(start, start + DAY)

    def after(self, time: float) -> Iterator[Opening]:
        """The openings that begin after `time`, without an end."""
        while True:
            if self.window is not None:
                opening = next_opening(self.window, time)
                yield opening
                time = opening.start
                continue
            time = (time - self.boundary) // DAY * DAY + self.boundary + DAY
            if _weekday(time) not in self.closed:
                yield Opening(time, time + DAY)


class Pattern(NamedTuple):
    rhythm: Rhythm
    nights: list[WorkNight]
    tonight: Opening | None
    rest: list[WorkNight]
    """For the current opening: how nights in the same state went on. Empty outside of one."""


def pattern(
    runs: Sequence[Run],
    passes: Sequence[Pass],
    window: Window | None,
    now: float,
    gaps: Sequence[Gap] = (),
) -> Pattern | None:
    """The pattern of `runs` up to `now`; None without a window and with fewer than 3 nights.

    A night counts when a pass was open at its begin or something ran; one in which records were
    missed (`gaps`) does not. A configured window in which less than half of the work was done is
    ignored: the observed days are taken.
    """
    rhythm, openings = _believed(window, runs, now)
    due = _Due(passes)
    openings = [each for each in openings if _counts(each, runs, due, now, gaps)]
    if rhythm.window is None:
        closed = _closed(openings, runs, now)
        rhythm = Rhythm(None, rhythm.boundary, closed)
        openings = [each for each in openings if _weekday(each.start) not in closed]
        if len(openings) < LEAST_NIGHTS:
            return None
    nights = _nights(openings, runs, passes, now, rhythm.window)
    tonight = rhythm.at(now)
    rest = _rest(tonight, nights, runs, now) if tonight is not None else []
    return Pattern(rhythm, nights, tonight, rest)


def finish(night: WorkNight, seconds: float) -> float:
    """Time at which this many `seconds` of its work are done: seconds after the opening began."""
    for begin, end in night.stretches:
        if seconds <= end - begin:
            return begin + seconds
        seconds -= end - begin
    return night.stretches[-1][1] if night.stretches else 0.0


def capped(runs: Sequence[Run], rhythm: Rhythm, now: float) -> list[Run]:
    """`runs` with an end each: a running one lasts to `now`, at most to its window's end. A process
    that was killed logs no end."""
    ended = []
    for run in runs:
        end = now if run.end is None else run.end
        if run.end is None and rhythm.window is not None:
            opening = rhythm.at(run.start + _MARGIN) or rhythm.at(run.start)
            end = min(now, opening.end + _MARGIN) if opening is not None else now
        ended.append(Run(run.start, max(run.start, end)))
    return ended


def _weekday(time: float) -> int:
    return int(time // DAY + 3) % 7


def _believed(
    window: Window | None, runs: Sequence[Run], now: float
) -> tuple[Rhythm, list[Opening]]:
    if window is not None and window.days:
        rhythm = Rhythm(window)
        openings = _openings(rhythm, runs, now)
        if not openings or _is_kept(openings, runs, now):
            return rhythm, openings
    rhythm = Rhythm(None, _boundary(runs, now))
    return rhythm, _openings(rhythm, runs, now)


def _openings(rhythm: Rhythm, runs: Sequence[Run], now: float) -> list[Opening]:
    """The latest openings that are over, oldest first; none from before the first run."""
    a_week = len(set(rhythm.window.days)) if rhythm.window is not None else 7
    first = now - (LATEST_NIGHTS / a_week + 1) * 7 * DAY
    first = max(first, runs[0].start) if runs else now
    found = []
    for opening in rhythm.after(first - DAY):
        if opening.end > now:
            break
        if opening.end > first:
            found.append(opening)
    return found[-LATEST_NIGHTS:]


def _is_kept(openings: Sequence[Opening], runs: Sequence[Run], now: float) -> bool:
    since = openings[0].start - _MARGIN
    latest = [run for run in runs if run.end is not None and run.end > since]
    inside = sum(_night(each, latest, now).seconds for each in openings)
    return inside >= _AT_HOME * worked(latest, since, openings[-1].end + _MARGIN)


def _boundary(runs: Sequence[Run], now: float) -> float:
    """The time of day, seconds after midnight UTC, farthest from the work of all days."""
    load = [0] * _SLOTS
    for run in runs[-4 * LATEST_NIGHTS :]:
        end = now if run.end is None else run.end
        first, last = int(run.start // _SLOT), int(min(end, run.start + DAY) // _SLOT)
        for slot in range(first, min(last + 1, first + _SLOTS)):
            load[slot % _SLOTS] += 1
    least = min(load)
    best, length, start = 0, 0, None
    for slot in range(2 * _SLOTS):
        if load[slot % _SLOTS] > least:
            start = None
            continue
        start = slot if start is None else start
        if slot - start + 1 > length:
            best, length = start, slot - start + 1
    return (best + min(length, _SLOTS) / 2) % _SLOTS * _SLOT


class _Due:
    def __init__(self, passes: Iterable[Pass]) -> None:
        spans = sorted(
            (each.started, math.inf if each.ended is None else each.ended)
            for each in passes
            if each.started is not None
        )
        self._starts = [start for start, _ in spans]
        self._ends = list(accumulate((end for _, end in spans), max))

    def at(self, time: float) -> bool:
        """True if a pass that had begun before `time` had not ended."""
        begun = bisect_left(self._starts, time)
        return begun > 0 and self._ends[begun - 1] > time


def _counts(
    opening: Opening, runs: Sequence[Run], due: _Due, now: float, gaps: Sequence[Gap]
) -> bool:
    """True if there was work to do, and its records are complete."""
    if any(first < opening.end and last > opening.start for first, last, _ in gaps):
        return False
    return due.at(opening.start) or bool(_night(opening, runs, now).stretches)


def _closed(openings: Sequence[Opening], runs: Sequence[Run], now: float) -> frozenset[int]:
    """Weekdays without a run, where on the others something ran at least every second time."""
    ran: dict[int, list[bool]] = {}
    for opening in openings:
        used = bool(_night(opening, runs, now).stretches)
        ran.setdefault(_weekday(opening.start), []).append(used)
    idle = {day for day, used in ran.items() if len(used) >= _WEEKS and not any(used)}
    others = [each for day, used in ran.items() if day not in idle for each in used]
    return frozenset(idle) if 2 * sum(others) >= len(others) > 0 else frozenset()


def _night(opening: Opening, runs: Sequence[Run], now: float) -> WorkNight:
    begin, end = opening.start - _MARGIN, min(opening.end + _MARGIN, now)
    if opening.end - opening.start >= DAY:
        begin, end = opening.start, min(opening.end, now)
    last = bisect_right(runs, end, key=lambda run: run.start)
    stretches: list[Stretch] = []
    for run in reversed(runs[:last]):
        over = end if run.end is None else min(run.end, end)
        if over <= begin:
            break
        if over > run.start:
            stretches.append((max(run.start, begin) - opening.start, over - opening.start))
    stretches.reverse()
    return WorkNight(tuple(stretches), sum(b - a for a, b in stretches))


def _nights(
    openings: Sequence[Opening],
    runs: Sequence[Run],
    passes: Sequence[Pass],
    now: float,
    window: Window | None,
) -> list[WorkNight]:
    """The nights; one that ended with its pass is extended as long as others were."""
    ends = sorted(
        each.ended for each in passes if each.outcome == "completed" and each.ended is not None
    )
    nights = [_night(opening, runs, now) for opening in openings]
    is_cut = [
        bool(night.stretches) and _ends_with(opening.start + night.stretches[-1][1], ends)
        for opening, night in zip(openings, nights, strict=True)
    ]
    ended = sorted(
        night.stretches[-1][1]
        for night, cut in zip(nights, is_cut, strict=True)
        if night.stretches and not cut
    )
    if not ended and window is not None:
        ended = [window.duration]
    return [
        _until(night, ended, place) if cut else night
        for place, (night, cut) in enumerate(zip(nights, is_cut, strict=True))
    ]


def _ends_with(time: float, ends: Sequence[float]) -> bool:
    """True if one of `ends`, which are sorted, is less than a second away."""
    at = bisect_right(ends, time - 1.0)
    return at < len(ends) and ends[at] < time + 1.0


def _until(night: WorkNight, ended: Sequence[float], place: int) -> WorkNight:
    """The night extended like one of those that went on longer; its `place` decides which."""
    begin, end = night.stretches[-1]
    longer = ended[bisect_right(ended, end) :]
    if not longer:
        return night
    over = longer[int(place * _GOLDEN % 1.0 * len(longer))]
    return WorkNight((*night.stretches[:-1], (begin, over)), night.seconds + over - end)


def _rest(
    opening: Opening, nights: Sequence[WorkNight], runs: Sequence[Run], now: float
) -> list[WorkNight]:
    """The rest of past nights that were in the present state at this time of theirs. Without such a
    night: running work goes on to the window's end, idle time stays idle."""
    offset = now - opening.start
    present = _state(
        _night(opening, runs, now), offset, running=bool(runs and runs[-1].end is None)
    )
    alike = [
        tuple((max(a, offset), b) for a, b in night.stretches if b > offset)
        for night in nights
        if _state(night, offset) == present
    ]
    if alike:
        return [WorkNight(left, sum(b - a for a, b in left)) for left in alike]
    if present == "running" and opening.end - opening.start < DAY:
        left = opening.end - now
        return [WorkNight(((offset, offset + left),), left)]
    return [WorkNight((), 0.0)]


def _state(night: WorkNight, offset: float, *, running: bool | None = None) -> str:
    """Of a night at `offset` seconds: before its work, at work, after (some of) it."""
    if running is None:
        running = any(begin <= offset < end for begin, end in night.stretches)
    if running:
        return "running"
    return "after" if any(end <= offset for _, end in night.stretches) else "before"
