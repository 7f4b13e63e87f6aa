"""Advice on the length of the maintenance window (semantics.md 6).

Nothing about advice is stored: a verdict of an earlier moment is derived by judging the kept
history as of that moment. Business hours are in no input and no setting, so that `move` is
said only where backups are in the way.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

from esewatch.advice.base.finding import span
from esewatch.advice.history.history import History
from esewatch.advice.window.background_advice import REMARKS, background_advice
from esewatch.advice.window.evidence import LEAST_DAYS, Evidence, Timeline, uncounted
from esewatch.advice.window.past_windows import Used
from esewatch.advice.window.window_rules import RULES, Action, RuleInput, RuleOutcome, judge
from esewatch.config import Policy
from esewatch.fold.state.rollups import day_of, day_start

ACTIONS: tuple[Action, ...] = get_args(Action)
REASONS: tuple[str, ...] = (*(name for name, _ in RULES), *REMARKS)
"""Names of all rules that decide, with a window and without."""
JUDGED_DAYS = 7


class WindowAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Advice for the window of one database, with its reason."""

    action: Action
    rule: str
    """Name of the rule that decided, one of REASONS."""
    configured_seconds: float | None = None
    recommended_seconds: float | None = None
    """None where no window is configured or nothing can be said."""
    confidence: float = 0.0
    """0 to 1, see `window_advice`."""
    reasons: tuple[str, ...] = ()
    """Sentences with their figures."""
    evidence: Evidence = Evidence()


def window_advice(history: History, policy: Policy, now: float) -> WindowAdvice:
    """The advice for one database as of `now` (epoch seconds, finite).

    Its confidence is how much more than the least evidence there is, times agreement.
    The first is 0.5 at the floor and 1 at twice the floor, for windows and for days (or
    passes), whichever is less, times the share of the run time that counters cover (0.5 where
    there are none). The second is the share of the verdicts of the last 7 days, one a day,
    that were the same action. It is 0 without evidence, and 1 where no window is to be judged.
    """
    configured = history.window.duration if history.window is not None else None
    remark = background_advice(history, policy, now)
    if remark is not None:
        return WindowAdvice(
            action="not_applicable",
            rule=remark.rule,
            configured_seconds=configured,
            confidence=1.0,
            reasons=remark.reasons,
        )
    timeline = Timeline(history, policy, now)
    at = RuleInput(timeline, policy, now)
    rule, verdict = judge(at)
    action, recommended, remarks = _length(at, verdict, configured)
    return WindowAdvice(
        action=action,
        rule=rule,
        configured_seconds=configured,
        recommended_seconds=recommended,
        confidence=_confidence(at, verdict.action),
        reasons=(*verdict.reasons, *remarks, *_shared(history)),
        evidence=at.evidence,
    )


def action_at(at: RuleInput) -> Action:
    """The action that is advised as of a moment."""
    configured = at.timeline.history.window
    return _length(at, judge(at)[1], configured.duration if configured is not None else None)[0]


def _length(
    at: RuleInput, verdict: RuleOutcome, configured: float | None
) -> tuple[Action, float | None, tuple[str, ...]]:
    """The action that is left once its length is known, that length, and remarks."""
    action = verdict.action
    if action == "insufficient_evidence":
        return action, None, ()
    if configured is None:
        return action, None, ("No window is configured, so no length is recommended.",)
    if action not in ("shrink", "grow"):
        return action, configured, ()
    begin = at.timeline.begin(at.time)
    least = least_length(at.timeline.openings_until(at.time, begin))
    seconds = fitted(configured, action, verdict.factor, least)
    if seconds != configured:
        return action, seconds, ()
    if action == "shrink":
        kept = f"Keep the window of {span(configured)}: less than {span(least)} is not advised."
    else:
        kept = f"Keep the window of {span(configured)}: it cannot be longer."
    return "keep", configured, (kept,)


def _confidence(at: RuleInput, action: Action) -> float:
    found = at.evidence
    if action == "insufficient_evidence":
        return 0.0
    windows = found.windows / (2.0 * max(1, at.policy.min_windows))
    length = max(found.days / (2.0 * LEAST_DAYS), found.passes / 2.0)
    depth = min(1.0, windows, length) * (0.5 if uncounted(found) else found.counter_coverage)
    today = day_of(at.time)
    earlier = [at._replace(time=day_start(today - ago)) for ago in range(1, JUDGED_DAYS)]
    same = 1 + sum(judge(each)[1].action == action for each in earlier)
    return round(depth * same / JUDGED_DAYS, 2)


def _shared(history: History) -> tuple[str, ...]:
    if history.shares_instance <= 1:
        return ()
    return (
        f"This advice is for all {history.shares_instance} databases of instance"
        f" {history.ese_instance} together, because they share its counters.",
    )


STEP = 900.0
"""Lengths are whole quarters of an hour."""
LEAST = 3600.0
OTHER_TASKS = 900.0
"""Seconds of a window's tasks other than defragmentation and scan (published facts P1)."""
LONGEST = 86400.0


def least_length(openings: Sequence[Used]) -> float:
    """The length in seconds that a window must keep, by what the scan took in `openings`.

    One hour; with a scan, whose half of the window it is, twice its usual need and what the
    other tasks take. Usual: nine of ten openings took no more.
    """
    needs = sorted(each.scanned for each in openings if each.scanned > 0)
    if not needs:
        return LEAST
    usual = needs[math.ceil(0.9 * len(needs)) - 1]
    return max(LEAST, _up(OTHER_TASKS + 2 * usual))


def fitted(
    configured: float, direction: Literal["shrink", "grow"], factor: float, least: float
) -> float:
    """The length nearest to `configured` x `factor` that is allowed; `configured` if none is.

    At most half as long or twice as long, never under `least`, never over a day.
    """
    if direction == "shrink":
        wanted = max(_down(configured * factor), _up(configured / 2), least)
        return min(configured, wanted)
    wanted = min(_up(configured * min(factor, 2.0)), _down(configured * 2), LONGEST)
    return max(configured, wanted)


def _down(seconds: float) -> float:
    return math.floor(seconds / STEP) * STEP


def _up(seconds: float) -> float:
    return math.ceil(seconds / STEP) * STEP
