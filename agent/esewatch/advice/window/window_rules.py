"""The rules of window advice in their order: the first one that applies decides."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple

from esewatch.advice.base.finding import investigate, listed, moment, span
from esewatch.advice.window.evidence import Evidence, Timeline, intervals
from esewatch.advice.window.past_windows import backed_up
from esewatch.config import Policy
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import DAY_SECONDS, day_of, day_start
from esewatch.fold.state.state import Pass

Action = Literal["shrink", "keep", "grow", "move", "insufficient_evidence", "not_applicable"]

QUIET_DAYS = 14
MASS_DELETION = 5.0
"""Times its median of 28 days that a day frees after a mass deletion."""
MEDIAN_DAYS = 28
LEAST_MEDIAN_DAYS = 7
SOON = 3 * DAY_SECONDS
"""Passes that finish within this are no sign of a window that is too short."""
OFTEN_DAYS = 2.0
LEAST_COMPLETIONS = 3


class RuleInput(NamedTuple):
    timeline: Timeline
    policy: Policy
    time: float

    @property
    def evidence(self) -> Evidence:
        return self.timeline.at(self.time)

    @property
    def week_before(self) -> Evidence:
        """The evidence as of the last noon that was a week ago or more."""
        return self.timeline.at(day_start(day_of(self.time - 7 * DAY_SECONDS)))


class RuleOutcome(NamedTuple):
    """Result of a rule. `factor`: so many times as long should the window be."""

    action: Action
    reasons: tuple[str, ...]
    factor: float = 1.0


Rule = Callable[[RuleInput], RuleOutcome | None]


def _evidence(at: RuleInput) -> RuleOutcome | None:
    """Without counters the rules that need no ratio still hold."""
    found = at.evidence
    if not found.missing or (found.uncounted and not found.lacks_events):
        return None
    return RuleOutcome("insufficient_evidence", found.missing)


def _bad_pages(at: RuleInput) -> RuleOutcome | None:
    history, now = at.timeline.history, at.timeline.now
    # What a clock that is ahead reports is known now.
    standing = [bad for bad in history.bad_pages if min(bad.first, now) <= at.time]
    damage = {
        kind: each for kind, each in history.damage.items() if min(each.times[0], now) <= at.time
    }
    found = investigate(standing, damage, history.io_errors, at.time)
    if found is None:
        return None
    kinds, causes = {bad.kind for bad in standing}, set(found.causes)
    wrong = (
        "its bad pages" if kinds - {"corrected"} else "its corrected pages" if kinds else "",
        "its damage" if causes - {"io"} else "",
        "its I/O errors" if "io" in causes else "",
    )
    first = listed([each for each in wrong if each])
    return RuleOutcome("keep", (f"Do not change the window yet: first resolve {first}.",))


def _quiet(at: RuleInput) -> RuleOutcome | None:
    history = at.timeline.history
    since = at.time - QUIET_DAYS * DAY_SECONDS
    for what, times in (
        ("a change of the engine's version", history.engine_changes),
        ("a change of the copy's role", history.role_changes),
        ("a mass deletion", _mass_deletions(at, since)),
    ):
        recent = [time for time in times if since < time <= at.time]
        if recent:
            when = moment(max(recent))
            reason = f"No advice in the {QUIET_DAYS} days after {what} ({when})."
            return RuleOutcome("keep", (reason,))
    return None


def _mass_deletions(at: RuleInput, since: float) -> list[float]:
    """Ends of the days on which far more was freed than usual.

    A day that still read more than `ratio_high` pages for one freed had no mass of them, nor had
    one that freed no more than another of the 28 days: it is only uneven. Nor had
    one that freed no more than a ratio of `ratio_high` frees of `min_pages_read` pages.
    """
    days, policy = at.timeline.days, at.policy
    if at.timeline.history.sampled_since is None:
        return []
    found = []
    for index in range(bisect_left(days, day_of(since), key=lambda day: day.day), len(days)):
        day = days[index]
        if day_start(day.day) >= at.time:
            break
        read = max(day.pages_read, policy.min_pages_read)
        if read >= policy.ratio_high * day.pages_freed:
            continue
        first = bisect_left(days, day.day - MEDIAN_DAYS, key=lambda each: each.day)
        usual = [each.pages_freed for each in days[first:index] if each.pages_read > 0]
        if len(usual) < LEAST_MEDIAN_DAYS or day.pages_freed <= max(usual):
            continue
        if day.pages_freed > MASS_DELETION * median(usual):
            found.append(min(day_start(day.day + 1), at.time))
    return found


def _late(at: RuleInput) -> RuleOutcome | None:
    timeline, history = at.timeline, at.timeline.history
    limit = at.policy.defrag_complete_within
    waited, idle = _waited(at, history.defrag_passes, timeline.runs)
    if waited > limit:
        reason = (
            f"Online defragmentation has not completed a pass for {span(waited)}{_without(idle)};"
            f" the limit is {span(limit)}."
        )
        # It takes at least as long as it waited so far; a low ratio may ask for more.
        ratio = at.evidence.ratio
        lacking = at.policy.ratio_low / ratio if ratio else 1.0
        return RuleOutcome("grow", (reason,), max(waited / limit, lacking) if limit > 0 else 2.0)
    begin = timeline.begin(at.time)
    if not any(begin <= run.start <= at.time for run in timeline.scan_runs):
        return None
    allowed = timeline.scan_deadline
    waited, idle = _waited(at, history.checksum_passes, timeline.scan_runs)
    if waited > allowed.seconds:
        reason = (
            f"The database scan has not completed a pass for {span(waited)}{_without(idle)};"
            f" the limit is {span(allowed.seconds)} ({allowed.reason})."
        )
        return RuleOutcome("grow", (reason,), waited / allowed.seconds)
    return None


def _waited(at: RuleInput, passes: Sequence[Pass], runs: Sequence[Run]) -> tuple[float, float]:
    """Seconds without a completion, since the last one, else since the first start; and those that
    do not count.

    Of a pass whose start is not in the events the first run is: it was under way then. What was
    before a break in the evidence is not known, or of another window. Time in which
    the task is not known to have run does not count.
    """
    ends = _up_to((p.ended for p in passes if p.outcome == "completed"), at.time)
    begun = (*(p.started for p in passes), *(run.start for run in runs))
    known = ends or _up_to(begun, at.time)
    if not known:
        return 0.0, 0.0
    since = max(known) if ends else min(known)
    since = max(since, at.timeline.last_break(at.time))
    idle = at.timeline.idle(runs, since, at.time)
    return at.time - since - idle, idle


def _without(idle: float) -> str:
    return f" (not counting {span(idle)} without any known run)" if idle else ""


def _up_to(times: Iterable[float | None], time: float) -> list[float]:
    return [each for each in times if each is not None and -math.inf < each <= time]


def _backup(at: RuleInput) -> RuleOutcome | None:
    found = backed_up(at.timeline.openings_until(at.time))
    if found is None:
        return None
    return RuleOutcome(
        "move", (f"{found[0].upper()}{found[1:]}.", "Move the window or the backup.")
    )


def _low_but_soon(at: RuleInput) -> RuleOutcome | None:
    """A warm cache lowers the ratio: only reads from disk are counted."""
    if at.evidence.highest >= at.policy.ratio_low or not _within(at, SOON, least=1):
        return None
    return RuleOutcome(
        "keep",
        (
            _low(at),
            f"But passes finish within {span(SOON)}, so a longer window is not needed. Reads from"
            " the cache are not counted, which lowers the ratio.",
        ),
    )


def _low_twice(at: RuleInput) -> RuleOutcome | None:
    ratio, before = at.evidence.ratio, at.week_before
    if not ratio or at.evidence.highest >= at.policy.ratio_low:
        return None
    if before.missing or before.ratio is None:
        doubt = (
            "A longer window is advised when the ratio of a week earlier is known to be low, too."
        )
        lacked = [f"Missing then: {sentence}" for sentence in before.missing]
        return RuleOutcome("keep", (_low(at), doubt, *lacked))
    earlier = f"A week earlier the ratio was {before.shown}"
    if before.highest >= at.policy.ratio_low:
        if before.ratio < at.policy.ratio_low:
            # Below the limit as it is counted: without its reason the sentence would contradict it.
            earlier += f", of too few pages freed to tell: by chance up to {before.highest:,.0f}"
        doubt = f"{earlier}; a longer window is advised when it is low in both weeks."
        return RuleOutcome("keep", (_low(at), doubt))
    reasons = (_low(at), f"{earlier}, which is low, too.")
    return RuleOutcome("grow", reasons, at.policy.ratio_low / ratio)


def _low(at: RuleInput) -> str:
    return f"{_read_for(at.evidence)}, below {at.policy.ratio_low:g}: much is left to free."


def _read_for(found: Evidence) -> str:
    return (
        f"Online defragmentation read {found.shown} pages for each one freed"
        f" ({found.pages_read:,.0f} and {found.pages_freed:,.0f} in"
        f" {span(found.days * DAY_SECONDS)})"
    )


def _freed_none(found: Evidence) -> str:
    return f"Online defragmentation read {found.pages_read:,.0f} pages and freed none"


def _high(at: RuleInput) -> RuleOutcome | None:
    found, high = at.evidence, at.policy.ratio_high
    if found.missing or found.lowest <= high:
        return None
    if found.ratio is None:
        reason = f"{_freed_none(found)}: nothing is left to free."
    else:
        reason = f"{_read_for(found)}, above {high:g}: little is left to free."
    limit = at.policy.defrag_complete_within
    if not _within(at, limit, least=2):
        doubt = f"But its last two passes are not known to have finished within {span(limit)}."
        return RuleOutcome("keep", (reason, doubt))
    on_time = f"Its last two passes finished within {span(limit)}."
    factor = high / found.ratio if found.ratio else 0.0
    # Cutting off what is not used, because passes end long before the window does, changes nothing.
    used = at.timeline.openings_until(at.time, at.timeline.begin(at.time))
    if shares := [each.share for each in used if each.ran]:
        factor *= sum(shares) / len(shares)
    return RuleOutcome("shrink", (reason, on_time), factor)


def _often(at: RuleInput) -> RuleOutcome | None:
    found = at.evidence
    if found.pages_read and found.lowest < at.policy.ratio_low:
        return None
    done = at.timeline.completed(at.time, at.timeline.begin(at.time))
    between = intervals(done)
    if len(done) < LEAST_COMPLETIONS or at.time - max(p.ended or 0.0 for p in done) > SOON:
        return None
    # To a tenth of a day, as it is shown: every other night is 2 days and some minutes.
    usual = round(sum(between) / len(between) / DAY_SECONDS, 1)
    if usual > OFTEN_DAYS:
        return None
    every = "day" if usual == 1 else f"{usual:g} days"
    reason = (
        f"Online defragmentation completed {len(done)} passes, one every {every}: a shorter window"
        " is enough."
    )
    return RuleOutcome("shrink", (reason,), usual * DAY_SECONDS / SOON)


def _no_ratio(at: RuleInput) -> RuleOutcome | None:
    return (
        RuleOutcome("insufficient_evidence", at.evidence.missing) if at.evidence.missing else None
    )


def _otherwise(at: RuleInput) -> RuleOutcome | None:
    found, low, high = at.evidence, at.policy.ratio_low, at.policy.ratio_high
    if not found.pages_read:
        return RuleOutcome("keep", ("Online defragmentation read no page from disk.",))
    if found.lowest < low <= found.highest or found.lowest <= high < found.highest:
        read = _read_for(found) if found.ratio is not None else _freed_none(found)
        most = "any number" if math.isinf(found.highest) else f"{found.highest:,.0f}"
        return RuleOutcome(
            "keep",
            (
                f"{read}: too few pages freed to tell. By chance alone the ratio may be"
                f" {found.lowest:,.0f} to {most}, and the limits are {low:g} and {high:g}.",
            ),
        )
    return RuleOutcome("keep", (f"{_read_for(found)}, between {low:g} and {high:g}.",))


def certainty(at: RuleInput, rule: str) -> float:
    """The probability that the ratio is where the rule that decided takes it to be; 1 for a rule
    that asks for none."""
    found, low, high = at.evidence, at.policy.ratio_low, at.policy.ratio_high
    if not found.pages_read:
        return 1.0
    if rule in {"ratio_low", "ratio_low_but_soon"}:
        return 1.0 - found.beyond(low)
    if rule == "ratio_high":
        return found.beyond(high)
    if rule == "completes_often":
        return found.beyond(low)
    return found.beyond(low) - found.beyond(high) if rule == "otherwise" else 1.0


def _within(at: RuleInput, seconds: float, *, least: int) -> bool:
    """True if the last two passes (at least `least`) and the open one keep to `seconds`."""
    open_pass = at.timeline.running(at.timeline.history.defrag_passes, at.time)
    if open_pass is not None and at.time - (open_pass.started or at.time) > seconds:
        return False
    last = at.timeline.completed(at.time)[-2:]
    return len(last) >= least and all(_elapsed(done) <= seconds for done in last)


def _elapsed(done: Pass) -> float:
    """Seconds from start to end; infinite when nothing tells."""
    if done.started is not None and done.ended is not None and done.ended >= done.started:
        return done.ended - done.started
    return done.days * DAY_SECONDS if done.days is not None and done.days >= 0 else math.inf


RULES: tuple[tuple[str, Rule], ...] = (
    ("evidence", _evidence),
    ("bad_pages", _bad_pages),
    ("quiet", _quiet),
    ("backup", _backup),
    ("late", _late),
    ("ratio_low_but_soon", _low_but_soon),
    ("ratio_low", _low_twice),
    ("ratio_high", _high),
    ("completes_often", _often),
    ("no_ratio", _no_ratio),
    ("otherwise", _otherwise),
)


def judge(at: RuleInput) -> tuple[str, RuleOutcome]:
    for name, rule in RULES:
        verdict = rule(at)
        if verdict is not None:
            return name, verdict
    raise AssertionError("the last rule says something always")
