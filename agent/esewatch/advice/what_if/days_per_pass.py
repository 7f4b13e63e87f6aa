"""Simulated days per pass, from the work and the nights of the database's own past."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from esewatch.advice.base.estimate import SHARES, Estimate, WhatIfChange, ranged
from esewatch.advice.base.finding import counted, span
from esewatch.advice.base.prediction_interval import PredictionInterval
from esewatch.advice.findings.scan_collisions import Loss
from esewatch.advice.forecast.simulate_passes import NIGHTS, simulate_passes
from esewatch.advice.forecast.window_usage import Pattern, Rhythm, WorkNight, pattern
from esewatch.advice.history.history import History
from esewatch.advice.history.rates import DAY, seconds_now, whole_passes
from esewatch.advice.what_if.scan_pace import ScanPace, scan_pace
from esewatch.advice.window.past_windows import openings_used
from esewatch.config.calendar import CALENDAR
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

TASKS: Final = {"defrag": "online defragmentation", "checksum": "the scan"}


class PassTime(NamedTuple):
    """Days from the start of a pass to the start of the next, and the seconds of work of one."""

    days: Estimate
    seconds: Estimate


class _Past(NamedTuple):
    """The passes of a task, and its runs, sorted."""

    task: str
    passes: Sequence[Pass]
    runs: Sequence[Run]


class _Use(NamedTuple):
    """Seconds of work in each past night, and the days from one to the next."""

    seconds: Sequence[float]
    between: float
    said: str


class _Slower(PredictionInterval):
    """Distribution of the next value after `values`, scaled by `times`, with `more` added."""

    def __init__(self, values: Iterable[float], times: float, more: float) -> None:
        super().__init__(values)
        self._times, self._more = times, more

    def quantile(self, share: float) -> float:
        """The quantile of the values, changed likewise."""
        return super().quantile(share) * self._times + self._more


def pass_time(
    task: str, history: History, change: WhatIfChange, now: float, loss: Loss | None = None
) -> PassTime:
    """The time of a pass of `task` (defrag, checksum) after the change."""
    past = _past(task, history, now)
    wholes = whole_passes(past.passes, past.runs, history.event_gaps)
    totals = [each for each in seconds_now(wholes, history.pages, history.sizes) if each > 0]
    if not totals:
        missing = Estimate(sentence=f"there is no complete pass of {TASKS[task]} yet")
        return PassTime(missing, missing)
    pace = scan_pace(history, change, totals, loss) if task == "checksum" else ScanPace()
    if isinstance(pace, str):
        return PassTime(Estimate(sentence=pace), Estimate(sentence=pace))
    grown = 1 + (change.growth or 0.0)
    factors = (pace.low, pace.likely, pace.high)
    made = {each: _Slower(totals, each * grown, pace.more * grown) for each in factors}
    spreads = [made[each] for each in factors]
    said = [f"from {counted(len(totals), 'complete pass', 'complete passes')}", *_sized(change)]
    works = [each.quantile(share) for each, share in zip(spreads, SHARES, strict=True)]
    sentence = "; ".join([*said, *pace.said])
    seconds = ranged(works, sentence, sentence)
    if wholes[-1].wall:
        return PassTime(ranged((work / DAY for work in works), sentence, sentence), seconds)
    used = _use(past, history, change, now)
    if isinstance(used, str):
        return PassTime(Estimate(sentence=used), seconds)
    return PassTime(_played(spreads, used, "; ".join([*said, used.said, *pace.said])), seconds)


def _past(task: str, history: History, now: float) -> _Past:
    """The known facts of the task at `now`; none at a time that no calendar holds."""
    if not CALENDAR[0] <= now <= CALENDAR[1]:
        return _Past(task, [], [])
    passes, runs = history.defrag_passes, history.defrag_runs
    if task == "checksum":
        passes, runs = history.checksum_passes, history.scan_runs
    sane = [
        run
        for run in runs
        if 0 <= run.start <= now and (run.end is None or run.start <= run.end <= now)
    ]
    ended = [each for each in passes if each.ended is None or 0 <= each.ended <= now]
    return _Past(task, ended, sorted(sane, key=lambda run: run.start))


def _sized(change: WhatIfChange) -> list[str]:
    if not change.growth:
        return []
    much = "larger" if change.growth > 0 else "smaller"
    return [f"the work is assumed to be {abs(change.growth):.0%} {much}, like the size"]


def _use(past: _Past, history: History, change: WhatIfChange, now: float) -> _Use | str:
    """The usage of nights after the change: as before, in proportion to the window. A
    str: why not.
    """
    found = pattern(past.runs, past.passes, history.window, now, history.event_gaps)
    if found is None or not any(night.seconds > 0 for night in found.nights):
        return f"the nights on which {TASKS[past.task]} runs are not known yet"
    seconds = [night.seconds for night in found.nights]
    said = f"as used in {counted(len(seconds), 'past night', 'past nights')}"
    window = found.rhythm.window
    weekly = 7 - len(found.rhythm.closed) if window is None else len(set(window.days))
    if window is not None and past.task == "defrag" and _halved(history, past, now):
        seconds = [min(each, window.duration / 2) for each in seconds]
    if change.window is not None:
        if window is None or window.duration <= 0:
            kept = "its runs do not follow the configured window"
            return "no window is configured" if history.window is None else kept
        seconds = [each * change.window / window.duration for each in seconds]
        said += f", scaled from {span(window.duration)} to {span(change.window)}"
    return _Use(seconds, 7 / weekly, said)


def _halved(history: History, past: _Past, now: float) -> bool:
    """True if the scan follows in the second half (P1); observed, not configured."""
    since = max(CALENDAR[0], now - 28 * DAY)
    ran = [each for each in openings_used(history, past.runs, since, now) if each.ran]
    return 2 * sum(each.scanned > 0 for each in ran) > len(ran)


def _played(spreads: Sequence[_Slower], used: _Use, sentence: str) -> Estimate:
    """The simulated passes, counted in nights: a pass that ends leaves the rest of its night
    unused.
    """
    nights = [WorkNight(((0.0, each),), each) for each in (min(one, DAY) for one in used.seconds)]
    by_the_day = Pattern(Rhythm(None), nights, None, [])
    played = {spread: simulate_passes(spread, 0.0, by_the_day, 0.0) for spread in set(spreads)}
    days = []
    for spread, share in zip(spreads, SHARES, strict=True):
        ends = played[spread]
        # The rhythm's first whole day after 0 begins at DAY.
        nights_taken = (ends[math.ceil(share * len(ends)) - 1] - DAY) / DAY
        count = math.ceil(nights_taken) if math.isfinite(nights_taken) else math.inf
        days.append(max(1.0, count) * used.between)
    return ranged(days, sentence, f"it may take more than {NIGHTS} nights: {sentence}")
