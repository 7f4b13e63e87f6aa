"""RPC latency that maintenance adds on its computer: published, or measured here."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from esewatch.advice.base.estimate import Estimate, WhatIfChange, middle, ranged
from esewatch.advice.history.history import History
from esewatch.advice.what_if.scan_pace import zeroes_already
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import HOUR_SECONDS, Hour, day_of

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
    """The share of RPC latency that its scan adds while it runs (0.1: a tenth more).

    `hours` are those of its computer. Without a scan that of online defragmentation.
    """
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
