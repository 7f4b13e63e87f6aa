"""Maintenance of a database with another window, throttle or size.

Every range is computed from this database's own passes, nights, logs and latencies, or says that it
is published and not measured here.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

import msgspec

from esewatch.advice.base.finding import counted, span
from esewatch.advice.findings.scan_collisions import Loss, scans_in, throughput_lost
from esewatch.advice.forecast.forecast import MOST_NIGHTS, PredictionInterval, simulate_passes
from esewatch.advice.forecast.window_usage import Pattern, Rhythm, WorkNight, pattern
from esewatch.advice.history.history import History, as_copy, histories
from esewatch.advice.history.ledger import verification_deadline
from esewatch.advice.history.passes import DAY, seconds_now, whole_passes
from esewatch.advice.what_if.estimate import (
    SHARES,
    Estimate,
    Fit,
    ScanPace,
    WhatIfChange,
    fit,
    middle,
    ranged,
    scan_pace,
    zeroes_already,
)
from esewatch.advice.window.past_windows import openings_used
from esewatch.config import Policy, Settings, policy_for
from esewatch.config.calendar import CALENDAR
from esewatch.fold.passes.passes import views_in
from esewatch.fold.passes.runs import Run
from esewatch.fold.state import rollups
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import DAY_SECONDS, HOUR_SECONDS, Day, Hour, day_of
from esewatch.fold.state.state import Pass, State

CHECKSUM, ZEROING = 0.10, 0.20
"""Share of RPC latency that a scan adds, and one that zeroes pages (published facts P1: about)."""
EITHER_WAY: Final = 2.0
"""A published figure is taken as right within this factor."""
LEAST_HOURS = 7
"""Hours with work, and without it, before measured figures replace the published ones."""
LEAST_NIGHTS = 3
AT_WORK = 0.5
"""Share of an hour that makes it one of work; one without has none."""
LONGEST_HOURS = 24
"""Longest time of a running run that is used here."""


class _Seen(NamedTuple):
    """By night, the added share; hours of work that were compared, hours without."""

    nights: Sequence[float]
    inside: int
    outside: int


def added_rpc_latency(
    history: History, hours: Sequence[Hour], change: WhatIfChange, now: float
) -> Estimate:
    """The share of RPC latency that its scan adds while it runs (0.1: a tenth more). `hours` are
    those of its computer. Without a scan that of online defragmentation."""
    zeroing = bool(change.zeroing) or zeroes_already(history)
    if (change.parallel or 1) > 1:
        return Estimate(sentence="there are no published figures for several scans at once")
    is_scan = bool(history.scan_runs) or zeroing
    what = "the scan" if is_scan else "online defragmentation"
    seen = _seen(hours, history.scan_runs if is_scan else history.defrag_runs, history, now)
    enough = (
        seen.inside >= LEAST_HOURS
        and seen.outside >= LEAST_HOURS
        and len(seen.nights) >= LEAST_NIGHTS
    )
    compared = (
        f"{seen.inside} hours with {what} and {seen.outside} without it at the same time of day"
    )
    if enough:
        times = ZEROING / CHECKSUM if change.zeroing and not zeroes_already(history) else 1.0
        said = f"measured here in {len(seen.nights)} nights, {compared}"
        if times != 1.0:
            said += f"; published: {times:g} times as much with zeroing"
        said += "; includes other work of the computer in these hours"
        return ranged((each * times for each in middle(seen.nights)), said, said)
    if not is_scan:
        few = f"there are no published figures for {what}, and too few hours here: {compared}"
        return Estimate(sentence=few)
    prior = ZEROING if zeroing else CHECKSUM
    why = f"too few hours here: {compared}" if hours else "RPC latency was not sampled here"
    said = f"published as about {prior:.0%}, shown as half to twice that; {why}"
    return ranged((prior / EITHER_WAY, prior, prior * EITHER_WAY), said, said)


def _seen(hours: Sequence[Hour], runs: Sequence[Run], history: History, now: float) -> _Seen:
    """Ratios of sums, hour of the day by hour of the day, so that a quiet night is no gain."""
    means = {
        each.hour: each.seconds / each.samples
        for each in hours
        if each.samples > 0 and 0 < each.seconds / each.samples < math.inf
    }
    work = _covered(runs, means, now)
    any_work = _covered([*history.scan_runs, *history.defrag_runs], means, now)
    idle: dict[int, list[float]] = {}
    for hour, mean in means.items():
        if hour not in any_work:
            idle.setdefault(hour % 24, []).append(mean)
    usual = {each: sum(found) / len(found) for each, found in idle.items()}
    nights: dict[int, tuple[float, float]] = {}
    times: set[int] = set()
    inside = 0
    for hour, share in work.items():
        expected = usual.get(hour % 24)
        if share < AT_WORK or expected is None:
            continue
        inside += 1
        times.add(hour % 24)
        night = day_of(hour * HOUR_SECONDS)
        taken, due = nights.get(night, (0.0, 0.0))
        nights[night] = (taken + means[hour], due + expected)
    outside = sum(len(idle[each]) for each in times)
    added = [taken / due - 1 for taken, due in nights.values()]
    return _Seen([each for each in added if math.isfinite(each)], inside, outside)


def _covered(runs: Iterable[Run], known: dict[int, float], now: float) -> dict[int, float]:
    """The known hours in which something ran, with the share of each."""
    covered: dict[int, float] = {}
    for run in runs:
        end = min(now if run.end is None else run.end, run.start + LONGEST_HOURS * HOUR_SECONDS)
        if not 0 <= run.start < end < math.inf:
            continue
        for hour in range(int(run.start // HOUR_SECONDS), int(end // HOUR_SECONDS) + 1):
            begin = hour * HOUR_SECONDS
            part = min(end, begin + HOUR_SECONDS) - max(run.start, begin)
            if hour in known and part > 0:
                covered[hour] = covered.get(hour, 0.0) + part / HOUR_SECONDS
    return covered


TASKS: Final = {"defrag": "online defragmentation", "checksum": "the scan"}


class PassTime(NamedTuple):
    """Days from the start of a pass to the start of the next, and the seconds of work of one."""

    days: Estimate
    seconds: Estimate


class _Past(NamedTuple):
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
        return super().quantile(share) * self._times + self._more


def pass_time(
    task: str, history: History, change: WhatIfChange, now: float, loss: Loss | None = None
) -> PassTime:
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
    """The usage of nights after the change: as before, in proportion to the window. A str: why
    not."""
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
    unused."""
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
    return ranged(days, sentence, f"it may take more than {MOST_NIGHTS} nights: {sentence}")


WITHOUT_WINDOW = {
    "garbage_collection": "its maintenance is part of garbage collection, every 12 hours",
    "background": "it is scanned in the background at the engine's own pace, without a window"
    " or throttle",
    "application": "the application decides when it is maintained",
}
NO_CHANGE = WhatIfChange()


class Environment(NamedTuple):
    rpc_latency: Sequence[Hour] = ()
    """Of its computer, oldest first."""
    loss: Loss | None = None
    """The cost of scanning beside others; None where no other shares its disks."""


ALONE = Environment()


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The answers for one database. None: the change does not ask for it, or it does not apply."""

    change: WhatIfChange
    not_applicable: str = ""
    """The parts of the change that cannot apply to it: a sentence without a full stop."""
    defrag_days: Estimate | None = None
    """Days from the start of a pass of online defragmentation to the start of the next."""
    defrag_days_now: Estimate | None = None
    scan_days: Estimate | None = None
    scan_days_now: Estimate | None = None
    scan_in_window: Fit | None = None
    """Fit of a whole scan within one opening's half."""
    scan_in_time: Fit | None = None
    rpc_latency: Estimate | None = None
    defrag_log_bytes: Estimate | None = None
    """A night."""
    zeroing_log_bytes: Estimate | None = None
    """A night, beside those of online defragmentation."""

    @property
    def applies(self) -> bool:
        return self.scan_days is not None


def what_ifs(
    state: State, settings: Settings, change: WhatIfChange, now: float
) -> dict[DatabaseKey, WhatIf]:
    scans = scans_in(state, settings)
    passes = {
        each.key: views_in(state, state.databases[each.key])["checksum"].passes for each in scans
    }
    losses = throughput_lost(scans, passes, now)
    found = {}
    for key, each in histories(state, settings).items():
        host = state.hosts.get(each.computer)
        hours = list(rollups.hours(host.rpc_latency)) if host is not None else []
        policy = policy_for(settings, each.database, each.computer)
        found[key] = what_if(each, policy, change, now, Environment(hours, losses.get(key)))
    return found


def what_if(
    history: History, policy: Policy, change: WhatIfChange, now: float, around: Environment = ALONE
) -> WhatIf:
    if history.model == "window":
        return _windowed(history, policy, change, now, around)
    about = WITHOUT_WINDOW[history.model]
    if history.model != "background" or change.growth is None:
        return WhatIf(change=change, not_applicable=about)
    grown = WhatIfChange(growth=change.growth)
    scan = pass_time("checksum", history, grown, now)
    return WhatIf(
        change=change,
        not_applicable="" if grown == change else about,
        scan_days=scan.days,
        scan_days_now=pass_time("checksum", history, NO_CHANGE, now).days,
        scan_in_time=_in_time(history, policy, scan.days, change),
    )


def _windowed(
    history: History, policy: Policy, change: WhatIfChange, now: float, around: Environment
) -> WhatIf:
    scan = pass_time("checksum", history, change, now, around.loss)
    return WhatIf(
        change=change,
        defrag_days=pass_time("defrag", history, change, now).days,
        defrag_days_now=pass_time("defrag", history, NO_CHANGE, now).days,
        scan_days=scan.days,
        scan_days_now=pass_time("checksum", history, NO_CHANGE, now).days,
        scan_in_window=_in_window(history, scan.seconds, change),
        scan_in_time=_in_time(history, policy, scan.days, change),
        rpc_latency=added_rpc_latency(history, around.rpc_latency, change, now),
        defrag_log_bytes=defrag_log(history, change, now),
        zeroing_log_bytes=zeroing_log(history, change, now) if change.zeroing else None,
    )


def _in_window(history: History, needed: Estimate, change: WhatIfChange) -> Fit:
    length = change.window
    if length is None and history.window is not None:
        length = history.window.duration
    if length is None:
        return Fit(answer="unknown", sentence="no window is configured")
    if needed.values is None:
        return fit(needed, length / 2, "")
    low, _, high = needed.values
    takes = span(low) if span(low) == span(high) else f"{span(low)} to {span(high)}"
    return fit(needed, length / 2, f"it takes {takes}; half of the window is {span(length / 2)}")


def _in_time(history: History, policy: Policy, needed: Estimate, change: WhatIfChange) -> Fit:
    copy = as_copy(history, policy)
    if copy.size_bytes is not None and change.growth is not None:
        copy = msgspec.structs.replace(copy, size_bytes=copy.size_bytes * (1 + change.growth))
    allowed = verification_deadline(copy)
    return fit(needed, allowed.seconds / DAY_SECONDS, f"the deadline is {span(allowed.seconds)}")


LATEST_DAYS = 28
LEAST_DAYS = 7
MOST_BYTES: Final = 1e15
"""A day: damage beyond."""
FIRST_ZEROING = (2.0, 5.0)
"""Factor on the logs of online defragmentation (published facts P1); later passes about as many."""


def defrag_log(history: History, change: WhatIfChange, now: float) -> Estimate:
    """Bytes that online defragmentation would log in a night on which it runs."""
    days = _logged(history, now)
    if len(days) < LEAST_DAYS:
        return Estimate(
            sentence="Online Defrag Log Bytes/sec was sampled on"
            f" {counted(len(days), 'day', 'days')} on which it ran; {LEAST_DAYS} are needed"
        )
    low, likely, high = middle([day.log_bytes for day in days])
    said = f"from {counted(len(days), 'day')}"
    if files := [day.log_generations for day in days if 0 < day.log_generations <= MOST_BYTES]:
        said += f" (median of all log files written: {median(files):,.0f} per day)"
    if history.shares_instance > 1:
        said += f"; for the {history.shares_instance} databases of its instance together"
    if change.window is None:
        return ranged((low, likely, high), said, said)
    if history.window is None or history.window.duration <= 0:
        return Estimate(sentence="no window is configured")
    times = change.window / history.window.duration
    said += (
        f"; published figures are proportional to the window, {times:.2g} times as much, but work"
        " may move to another night: the range goes from no change to all of it"
    )
    low, high = low * min(1.0, times), high * max(1.0, times)
    return ranged((low, likely * math.sqrt(times), high), said, said)


def zeroing_log(history: History, change: WhatIfChange, now: float) -> Estimate:
    """Bytes that a scan which zeroes pages would log in a night, beside online defragmentation."""
    today = defrag_log(history, WhatIfChange(window=change.window), now)
    if today.values is None:
        return today
    low, likely, high = today.values
    if change.zeroing == "first":
        least, most = FIRST_ZEROING
        times = f"the first pass logs {least:g} to {most:g} times as much as online defragmentation"
        factors = (low * least, likely * math.sqrt(least * most), high * most)
    else:
        times = "later passes log about as much as online defragmentation"
        factors = (low, likely, high)
    said = f"published, not measured here: {times}; {today.sentence}"
    return ranged(factors, said, said)


def _logged(history: History, now: float) -> list[Day]:
    if not math.isfinite(now):
        return []
    today = day_of(now)
    return [
        day
        for day in history.days
        if today - LATEST_DAYS <= day.day < today and 0 < day.log_bytes <= MOST_BYTES
    ]
