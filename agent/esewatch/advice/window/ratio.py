"""Pages read for each page freed by online defragmentation (published facts P1), and its drift. A
ratio of sums over all that the counters cover, per instance, never a mean of ratios."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from esewatch.advice.base.finding import Detail
from esewatch.advice.history.history import History
from esewatch.advice.window.evidence import ratio_text
from esewatch.advice.window.window import WindowAdvice
from esewatch.config import Policy
from esewatch.fold.state.rollups import DAY_SECONDS, PAGES_FREED, PAGES_READ, Day, day_of
from esewatch.fold.state.state import Instance

Verdict = Literal["above", "within", "below", "none"]


class Ratio(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Read to freed of one instance. `value` is None where there is nothing to divide."""

    verdict: Verdict
    sentence: str
    pages_read: int | None = None
    pages_freed: int | None = None
    value: float | None = None
    shown: str = ""
    """The value for people: not rounded across a limit."""
    days: float | None = None
    """The days that were counted; None for all samples that were taken."""


def defrag_ratio(instance: Instance | None, policy: Policy) -> Ratio:
    totals = instance.totals if instance is not None else {}
    if PAGES_READ not in totals or PAGES_FREED not in totals:
        missing = "Online Defrag Pages Read/sec and Pages Freed/sec are not both in the input"
        return Ratio(verdict="none", sentence=f"no verdict: the counters {missing}")
    read, freed = round(totals[PAGES_READ]), round(totals[PAGES_FREED])
    return _of_pages(read, freed, read / freed if freed > 0 else None, policy)


def judged_ratio(instance: Instance | None, policy: Policy, window: WindowAdvice) -> Ratio:
    """The ratio that the window advice judges: beside "there is no ratio" stands none, and beside a
    ratio no other one."""
    counted = defrag_ratio(instance, policy)
    if window.action == "not_applicable":
        return counted
    found = window.evidence
    if found.missing:
        if counted.value is None:
            return counted
        sentence = f"no verdict: {found.missing[0]}".removesuffix(".")
        return msgspec.structs.replace(counted, verdict="none", sentence=sentence, value=None)
    read, freed = round(found.pages_read), round(found.pages_freed)
    return _of_pages(read, freed, found.ratio, policy, days=found.days)


def _of_pages(
    read: int, freed: int, value: float | None, policy: Policy, *, days: float | None = None
) -> Ratio:
    verdict, sentence = _judge(read, value, policy)
    return Ratio(
        verdict=verdict,
        sentence=sentence,
        pages_read=read,
        pages_freed=freed,
        value=value,
        shown=ratio_text(value, policy, ".4g") if value is not None else "",
        days=days,
    )


def _judge(read: int, value: float | None, policy: Policy) -> tuple[Verdict, str]:
    low, high = f"{policy.ratio_low:g}", f"{policy.ratio_high:g}"
    if read == 0:
        return "none", "no verdict: online defragmentation read no page while counters were taken"
    if read < policy.min_pages_read:
        return "none", f"no verdict: fewer than {policy.min_pages_read:,} pages read"
    if value is None:
        return "above", f"nothing left to free (like over {high}:1)"
    if value > policy.ratio_high:
        return "above", f"above the band {low} to {high}: little is left to free"
    if value < policy.ratio_low:
        return "below", f"below the band {low} to {high}: much is left to free"
    return "within", f"within the band {low} to {high}"


LATEST, BEFORE = 7, 28
"""Days that are compared."""
LEAST_FREED = 1000
"""Pages freed in both, so that neither is chance."""
LESS, MORE = 0.5, 2.0
"""A ratio that is between these times what it was has not changed."""


def ratio_drift(history: History, now: float) -> Detail | None:
    """The detail of a database as of `now` (epoch seconds), None without one.

    Nothing is said where one of the counters was not sampled at some time of these days: a ratio
    of what is not of the same time would drift by itself.
    """
    if history.model != "window" or history.tier != "watched":
        return None
    today = day_of(now)
    since = now - (LATEST + BEFORE + 1) * DAY_SECONDS
    if any(end > since for _, end in history.sampled_alone):
        return None
    latest = _ratio(each for each in history.days if today - LATEST <= each.day < today)
    first = today - LATEST - BEFORE
    before = _ratio(each for each in history.days if first <= each.day < today - LATEST)
    if latest is None or before is None or LESS * before <= latest <= MORE * before:
        return None
    return Detail(
        "defrag_ratio_drift",
        "info",
        f"in {LATEST} days online defragmentation read {latest:,.1f} pages for each page it freed,"
        f" {latest / before:.2f} times the {before:,.1f} of the {BEFORE} days before",
    )


def _ratio(days: Iterable[Day]) -> float | None:
    """None where too little was freed, or nothing read."""
    read = freed = 0.0
    for each in days:
        read += each.pages_read
        freed += each.pages_freed
    return read / freed if freed >= LEAST_FREED and read > 0 else None
