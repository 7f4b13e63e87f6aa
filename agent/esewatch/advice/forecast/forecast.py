"""Forecast of the end of a running pass, from the task's own history.

The engine logs when a pass begins, is resumed, interrupted and completed, and at its end how
long it worked. So the work of a whole pass is estimated from past passes (`PredictionInterval`),
the work left is that minus the work of its runs so far, and the nights to do it in are drawn from
the past nights of the task (`window_usage`) and simulated. Current engines scan without a window
and log their progress every six hours (744): they are judged by time and pages (`rest_of_scan`).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice, pairwise
from math import exp, log, sqrt
from statistics import fmean
from typing import Final, Literal, NamedTuple

import msgspec

from esewatch.advice.base.time_at_work import Stretch, at_work
from esewatch.advice.forecast.window_usage import Pattern, WorkNight, capped, finish, pattern
from esewatch.advice.history.ledger import Gap
from esewatch.advice.history.passes import (
    DAY,
    Mark,
    growth,
    is_amount,
    seconds_now,
    whole_passes,
    worked,
)
from esewatch.config import Window
from esewatch.config.calendar import CALENDAR, Opening
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

HORIZON: Final = 2 * 365 * DAY
"""Seconds. A later end has no date."""
SILENT: Final = 7 * DAY
"""A pass without an event for this long may no longer exist (semantics.md 2)."""
AHEAD: Final = 90
"""Days for which growth is extrapolated."""
UNHEARD: Final = "nothing was read of its computer for too long"
PAST: Final = "it should have ended since the last record that was read"
UNSEEN: Final = "the start of the running pass was not seen"


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Forecast of the end of the running pass of `task`.

    `p50` and `p90` are epoch seconds, never before now, p50 <= p90. None: unknown; `reason` says
    why in a sentence, and is empty when both are known. `progress` (0 to 1) is known where the work
    or the pages of whole passes are. `days_per_pass` is at the present size and rhythm,
    `days_per_pass_later` with 90 days more of the same growth. `passes` and `nights` are the sizes
    of the samples; `pattern` is the source of its openings.
    """

    task: str
    p50: float | None = None
    p90: float | None = None
    reason: str = ""
    progress: float | None = None
    days_per_pass: float | None = None
    days_per_pass_later: float | None = None
    passes: int = 0
    nights: int = 0
    pattern: Literal["", "configured", "observed", "continuous"] = ""
    deadline: float | None = None
    """Its deadline (epoch seconds), None without one."""

    @property
    def late(self) -> bool:
        """True if it may well (p90) be done after its deadline; False where either is unknown."""
        return self.p90 is not None and self.deadline is not None and self.p90 > self.deadline


class Course(NamedTuple):
    """The input of the forecast of one task of one database. Times are epoch seconds.

    `passes` are oldest first with the open one last, `runs` sorted. `pages` are those of the
    database now, `sizes` (day since the epoch, bytes) by day. `marks` are the pages that the
    running pass was known to have seen (744, and 738's resume page). `gaps` are times from which
    records were missed. `deadline` is when it should be done, passed through.
    """

    passes: Sequence[Pass]
    runs: Sequence[Run]
    window: Window | None = None
    pages: float | None = None
    sizes: Sequence[tuple[int, float]] = ()
    marks: Sequence[Mark] = ()
    gaps: Sequence[Gap] = ()
    deadline: float | None = None


def withdrawn(of: Forecast, reason: str = UNHEARD) -> Forecast:
    return Forecast(task=of.task, reason=reason, deadline=of.deadline)


def unless_past(of: Forecast, now: float) -> Forecast:
    """The forecast, as long as its dates are to come at `now`."""
    return of if of.p90 is None or of.p90 >= now else withdrawn(of, PAST)


def forecast(task: str, course: Course, now: float) -> Forecast:
    """The forecast of the running pass of `task` as of `now` (epoch seconds). Data of `course` from
    later times are not used."""
    base = Forecast(task=task, deadline=course.deadline)
    if not CALENDAR[0] <= now <= CALENDAR[1]:
        return msgspec.structs.replace(base, reason="the clock of this machine is wrong")
    course = _as_of(course, now)
    wholes = whole_passes(course.passes, course.runs, course.gaps)
    totals = seconds_now(wholes, course.pages, course.sizes)
    base = msgspec.structs.replace(base, passes=len(totals))
    if wholes[-1].wall if wholes else bool(course.marks):
        base = msgspec.structs.replace(base, pattern="continuous")
        return _paced(_continuous(base, totals, course, now), totals, 1.0, 0.0, course)
    found = pattern(course.runs, course.passes, course.window, now, course.gaps)
    if found is None:
        return _without(base, "the nights on which it runs are not known yet", course)
    base = msgspec.structs.replace(
        base,
        nights=len(found.nights),
        pattern="observed" if found.rhythm.window is None else "configured",
    )
    result = _windowed(base, totals, found, course, now)
    share, between = _pace(found, now)
    return _paced(result, totals, share, between, course)


def _as_of(course: Course, now: float) -> Course:
    """The data known at `now` only; a pass that ended later is open."""
    passes = [
        each
        if each.ended is None or each.ended <= now
        else Pass(task=each.task, started=each.started, ended=None, outcome="open", last_event=now)
        for each in course.passes
        if (each.started if each.started is not None else each.last_event) <= now
    ]
    runs = [
        run if run.end is None or run.end <= now else Run(run.start, None)
        for run in course.runs
        if run.start <= now
    ]
    marks = [mark for mark in course.marks if mark.time <= now]
    return course._replace(passes=passes, runs=runs, marks=marks)


def _running(course: Course) -> Pass | None:
    last = course.passes[-1] if course.passes else None
    return last if last is not None and last.outcome == "open" else None


def _without(base: Forecast, reason: str, course: Course) -> Forecast:
    reason = reason if _running(course) is not None else "no pass is running"
    return msgspec.structs.replace(base, reason=reason)


def _continuous(base: Forecast, totals: list[float], course: Course, now: float) -> Forecast:
    running = _running(course)
    if running is None:
        return _without(base, "", course)
    rest = rest_of_scan(running.started, totals, course.marks, course.pages)
    if rest is None:
        return _without(base, _unknown(totals, course), course)
    usual = rest.left.quantile(0.5)
    if now - max(running.last_event, rest.since) > max(SILENT, 2 * usual):
        return _without(base, "it has logged nothing for longer than a pass takes", course)
    elapsed = now - rest.since
    dates = [rest.since + rest.left.beyond(elapsed, share) for share in (0.5, 0.9)]
    progress = elapsed / rest.left.beyond(elapsed, 0.5) if rest.seen is None else rest.seen
    return _dated(base, dates, progress, now)


def _unknown(totals: Sequence[float], course: Course) -> str:
    if totals:
        return UNSEEN
    completed = any(each.outcome == "completed" for each in course.passes)
    none = "no completed pass has one," if completed else "there is no completed pass"
    sized = course.pages is not None and is_amount(course.pages)
    lacks = "too few counts of pages" if sized else "the size of the database is not known"
    return f"its duration is not known: {none} and {lacks}"


def _windowed(
    base: Forecast, totals: list[float], found: Pattern, course: Course, now: float
) -> Forecast:
    running = _running(course)
    if running is None:
        return _without(base, "", course)
    if running.started is None:
        return _without(base, UNSEEN, course)
    if not totals:
        return _without(base, "no completed pass yet", course)
    if not found.nights:
        return _without(base, "the first night on which it runs is not over yet", course)
    upcoming = list(islice(found.rhythm.after(now), 2))
    between = upcoming[1].start - upcoming[0].start
    if now - running.last_event > max(SILENT, 2 * between):
        return _without(base, "it has logged nothing for seven days or two windows", course)
    length = upcoming[0].end - upcoming[0].start
    if any(last - first > length and last > running.started for first, last, _ in course.gaps):
        return _without(base, "records of more than one window are missing from this pass", course)
    spread = PredictionInterval(totals)
    done = worked(capped(course.runs, found.rhythm, now), running.started, now)
    dates = simulate_passes(spread, done, found, now)
    middle, late = dates[len(dates) // 2], dates[len(dates) * 9 // 10]
    return _dated(base, [middle, late], done / spread.beyond(done, 0.5), now)


def _dated(base: Forecast, dates: list[float], progress: float | None, now: float) -> Forecast:
    p50, p90 = (max(now, date) if date - now <= HORIZON else None for date in dates)
    return msgspec.structs.replace(
        base,
        p50=p50,
        p90=p90,
        progress=progress,
        reason="" if p90 is not None else "it may take longer than can be forecast",
    )


def _pace(found: Pattern, now: float) -> tuple[float, float]:
    """Share of all time in which it works, and the days between two openings."""
    if not found.nights:
        return 0.0, 0.0
    week = list(islice(found.rhythm.after(now), 8))
    between = (week[-1].start - week[0].start) / 7
    return fmean(night.seconds for night in found.nights) / between, between / DAY


def _paced(
    result: Forecast, totals: list[float], share: float, between: float, course: Course
) -> Forecast:
    """The forecast with the days that a pass takes, now and after more growth."""
    if not totals or share <= 0:
        return result
    work = PredictionInterval(totals).quantile(0.5) / share / DAY
    later = None
    slope = growth(course.sizes)
    if slope is not None and is_amount(course.sizes[-1][1]):
        more = max(0.0, 1 + slope * AHEAD / course.sizes[-1][1])
        later = max(between, work * more)
    return msgspec.structs.replace(
        result, days_per_pass=max(between, work), days_per_pass_later=later
    )


def scan_deadline(passes: Sequence[Pass], allowed: float) -> float | None:
    """Due time of the running scan (epoch seconds): `allowed` seconds from its start.

    `allowed` is the result of `ledger.verification_deadline`. Between passes: when the next one
    should be done, counted from the last completion. None where neither is known.
    """
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    if running is not None:
        return None if running.started is None else running.started + allowed
    return _after_last(passes, allowed)


def at_work_until(
    deadline: float | None, allowed: float, off: Sequence[Stretch], now: float
) -> float | None:
    """`deadline`, postponed by the time off within the `allowed` seconds before it."""
    if deadline is None:
        return None
    since = deadline - allowed
    return deadline + max(0.0, now - since - at_work(off, since, now))


def defrag_deadline(
    passes: Sequence[Pass], allowed: float | None, role_changes: Sequence[float] = ()
) -> float | None:
    """Time by which defragmentation should have completed again (epoch seconds).

    Counted from its last completion, or from the first start known, and from the copy's last change
    of role; `allowed` is the policy's `defrag_complete_within`, None without a limit.
    """
    if allowed is None or (due := _after_last(passes, allowed)) is None:
        return None
    return max([due, *(time + allowed for time in role_changes)])


def _after_last(passes: Sequence[Pass], allowed: float) -> float | None:
    ends = [each.ended for each in passes if each.outcome == "completed" and each.ended is not None]
    starts = [each.started for each in passes if each.started is not None]
    known = max(ends) if ends else min(starts, default=None)
    return None if known is None else known + allowed


_ALONE = log(2) / log(5)
"""Scale of both tails of a single value: the 90 % point is twice the value."""
_BLUR = 0.02
"""Range of logarithms that is added to that of the values."""
_LEAST_RANGE = 0.05
"""Of logarithms: values that happened to be equal are not certain."""
_FEW = 1.8
_FEWER = -1.3
_MANY = 0.12
"""Scale of a tail, in ranges of n logarithms: the larger of FEW * (n - 1) ** FEWER and MANY."""
_HIGHEST = 700.0
"""Logarithm of the largest number returned."""


class PredictionInterval:
    """The distribution of the next value after `values`, which are above 0. ValueError: there is
    none."""

    def __init__(self, values: Iterable[float]) -> None:
        logs = sorted(map(log, values))
        if not logs:
            raise ValueError("no values to predict the next one from")
        count = len(logs)
        self._logs = [at + _BLUR * ((place + 0.5) / count - 0.5) for place, at in enumerate(logs)]
        reach = max(self._logs[-1] - self._logs[0], _LEAST_RANGE)
        self._tail = reach * max(_FEW * (count - 1) ** _FEWER, _MANY) if count > 1 else _ALONE

    def quantile(self, share: float) -> float:
        """Quantile: the next value is below it with a probability of `share`, above 0 and below
        1."""
        return exp(min(self._log_at(share), _HIGHEST))

    def beyond(self, reached: float, share: float) -> float:
        """Quantile of a value that is known to be above `reached` (any number)."""
        if reached <= 0:
            return self.quantile(share)
        at = log(reached)
        if at >= self._logs[-1]:
            return exp(min(at - self._tail * log(1 - share), _HIGHEST))
        below = self._share_below(at)
        return max(reached, self.quantile(below + share * (1 - below)))

    def _log_at(self, share: float) -> float:
        logs = self._logs
        place = share * (len(logs) + 1)
        if place <= 1:
            return logs[0] + self._tail * log(place)
        if place >= len(logs):
            return logs[-1] - self._tail * log(len(logs) + 1 - place)
        index = int(place) - 1
        return logs[index] + (place - index - 1) * (logs[index + 1] - logs[index])

    def _share_below(self, at: float) -> float:
        logs = self._logs
        index = bisect_right(logs, at)
        if index == 0:
            place = exp((at - logs[0]) / self._tail)
        else:
            place = index + (at - logs[index - 1]) / (logs[index] - logs[index - 1])
        return place / (len(logs) + 1)


CASES: Final = 200
"""Number of simulated passes for one forecast (Monte Carlo sample size)."""
MOST_NIGHTS: Final = 400

_UNSEEN: Final = 0.5
"""Weight of a night on which nothing runs, in addition to the nights seen."""
_SKIPPED: Final = WorkNight((), 0.0)


def simulate_passes(
    spread: PredictionInterval, done: float, found: Pattern, now: float
) -> list[float]:
    """The end of the pass in each simulated case, sorted; infinite where it did not end.

    Quasi-Monte Carlo: the cases are the whole passes with equal probability, each with nights of
    its own. They are enumerated, not drawn at random: multiples of irrational numbers fill all
    combinations evenly.
    """
    upcoming = found.rhythm.after(now)
    openings: list[Opening] = []
    dates = []
    for case in range(CASES):
        left = spread.beyond(done, (case + 0.5) / CASES) - done
        date = float("inf")
        for place in range(MOST_NIGHTS):
            if place > 0 and place > len(openings):
                openings.append(next(upcoming))
            start, night = _drawn(case, place, openings, found)
            if left <= night.seconds:
                date = start + finish(night, left)
                break
            left -= night.seconds
        dates.append(date)
    return sorted(dates)


def _drawn(
    case: int, place: int, openings: list[Opening], found: Pattern
) -> tuple[float, WorkNight]:
    """The simulated night of this case at that place; place 0 is the rest of the present
    opening."""
    chance = (case + 1) * _STEPS[place] % 1.0
    if place == 0:
        if found.tonight is None:
            return 0.0, _SKIPPED
        return found.tonight.start, found.rest[int(chance * len(found.rest))]
    nights = found.nights
    index = int(chance * (len(nights) + _UNSEEN))
    return openings[place - 1].start, nights[index] if index < len(nights) else _SKIPPED


def _steps(count: int) -> list[float]:
    """Square roots of the first primes: no two of them are in step."""
    primes: list[int] = []
    number = 2
    while len(primes) < count:
        if all(number % prime for prime in primes if prime * prime <= number):
            primes.append(number)
        number += 1
    return [sqrt(prime) % 1.0 for prime in primes]


_STEPS: Final = _steps(MOST_NIGHTS)

_MOST_STRETCHES = 28
"""With 744 every six hours, a week."""
_LEAST_STRETCHES = 4
"""Between marks of one pass, where no whole pass is known: with 744 every six hours, a day."""


class Rest(NamedTuple):
    """The rest of a scan: `left` is the prediction interval of seconds from `since` to its end.
    `seen` is the share of the pages that it had seen then, None without marks."""

    since: float
    left: PredictionInterval
    seen: float | None


def rest_of_scan(
    started: float | None, totals: Sequence[float], marks: Sequence[Mark], pages: float | None
) -> Rest | None:
    """The rest of the scan that began at `started`; None where it is unknown.

    `totals` are the seconds whole passes would take at the present size of `pages`; `marks` are
    sorted. With marks the pages left are taken at the pass' own rate, and the fewer of them were
    seen, the more at that of whole passes; the first pass goes by its own rate alone. Its rate
    varies as much as it did between the marks.
    """
    usable = [
        mark for mark in marks if is_amount(mark.pages) and (started is None or mark.time > started)
    ]
    whole = (
        Rest(started, PredictionInterval(totals), None) if totals and started is not None else None
    )
    if not usable or pages is None or not is_amount(pages):
        return whole
    last = usable[-1]
    # A database that grew meanwhile, or a size that is a day old: something is left to see.
    pages = max(pages, last.pages + 1)
    seen = last.pages / pages
    first = Mark(started, 0.0) if started is not None else usable[0]
    if last.time <= first.time or last.pages <= first.pages:
        return whole
    own = (last.time - first.time) / (last.pages - first.pages)
    stretches = _stretches([first, *usable])
    if not totals and len(stretches) < _LEAST_STRETCHES:
        return None
    paces = [own**seen * (total / pages) ** (1 - seen) for total in totals] or [own]
    left = pages - last.pages
    swings = _swings(stretches, left * len(stretches) / (last.pages - first.pages))
    return Rest(
        last.time,
        PredictionInterval(left * pace * swing for pace in paces for swing in swings),
        seen,
    )


def _swings(paces: Sequence[float], ahead: float) -> list[float]:
    """Deviation of the mean rate of the `ahead` stretches to come from that of those seen. It
    follows the spread of the rates of the stretches, and falls with their number on both sides."""
    middle = fmean(map(log, paces))
    damped = sqrt(1 / max(1.0, ahead) + 1 / len(paces))
    return [exp(damped * (log(pace) - middle)) for pace in paces[-_MOST_STRETCHES:]]


def _stretches(marks: Sequence[Mark]) -> list[float]:
    """Seconds per page between marks."""
    return [
        (b.time - a.time) / (b.pages - a.pages)
        for a, b in pairwise(marks)
        if b.time > a.time and b.pages > a.pages
    ]
