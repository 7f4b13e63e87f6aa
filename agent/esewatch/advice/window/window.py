"""Advice on the length of the maintenance window, and where there is none (semantics.md 5 and 6).

Nothing about advice is stored: a verdict of an earlier moment is derived by judging the kept
history as of that moment. Business hours are in no input and no setting, so that `move` is
said only where backups are in the way.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple, get_args

import msgspec

from esewatch.advice.base.finding import Finding, cycles_torn, defrag_overdue, moment, span
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.history.history import History, as_copy
from esewatch.advice.history.ledger import KNOWN_LONG, NEVER, verification_deadline
from esewatch.advice.window.evidence import (
    LEAST_DAYS,
    PERIOD_DAYS,
    Evidence,
    Timeline,
    beside_its_time,
)
from esewatch.advice.window.past_windows import Used, restarts
from esewatch.advice.window.window_rules import (
    RULES,
    Action,
    RuleInput,
    RuleOutcome,
    certainty,
    judge,
)
from esewatch.config import Policy
from esewatch.fold.channels.clock_guard import AHEAD_SECONDS
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.rollups import DAY_SECONDS, day_of, day_start
from esewatch.fold.state.state import Pass

CYCLES = 3
LEAST_ALLOWED = CYCLES * 12 * 3600.0
"""Seconds in which it should complete."""
LEAST_INTERVALS = 2
LATEST = 8


class Cycles(NamedTuple):
    silent: float
    """Seconds at work without a completion; since events were last missing."""
    allowed: float | None
    """Seconds; None where the expected interval is unknown."""
    completed: float | None
    lost: bool
    """Events are missing since."""
    torn: int
    """Cycles in a row, up to the last one, that were interrupted or resumed (passes/runs.py)."""
    known: bool
    """It is watched and known for long: what is missing is reported."""
    logged: bool
    """Its log has an event of a pass (704 alone, too), or a start of its instance: it would have
    shown a completion."""

    @property
    def late(self) -> bool:
        overdue = self.allowed is not None and self.silent > self.allowed
        return self.known and self.logged and overdue


def cycles(history: History, now: float) -> Cycles:
    completed = _completions(history.defrag_passes, now)[-1:]
    since = completed[0] if completed else history.first_seen or math.inf
    gaps = [end for begin, end, _ in history.event_gaps if end > since and begin < now]
    known_long = history.first_seen > 0 and now - history.first_seen >= KNOWN_LONG
    return Cycles(
        silent=at_work(history.off, max([since, *gaps]), now),
        allowed=allowed_seconds(history, now),
        completed=completed[0] if completed else None,
        lost=bool(gaps),
        torn=history.defrag_torn,
        known=known_long and history.tier == "watched",
        logged=bool(history.defrag_passes or history.defrag_torn) or history.started is not None,
    )


def allowed_seconds(history: History, now: float = math.inf) -> float | None:
    label, process = history.database.lower(), history.process.lower()
    if not (process.startswith("dfsr") or label.endswith("dfsr.db")):
        return LEAST_ALLOWED
    ends = _completions(history.defrag_passes, now)[-LATEST:]
    between = [at_work(history.off, one, two) for one, two in pairwise(ends)]
    return max(LEAST_ALLOWED, CYCLES * median(between)) if len(between) >= LEAST_INTERVALS else None


def overdue_defrag(history: History, now: float) -> Finding | None:
    if history.model != "garbage_collection" or history.tier != "watched" or history.off == NEVER:
        return None
    found = cycles(history, now)
    if found.late and found.allowed is not None:
        return defrag_overdue(found.completed, found.silent, found.allowed)
    return cycles_torn(found.torn) if found.torn >= CYCLES else None


def _completions(passes: Sequence[Pass], now: float) -> list[float]:
    """Those that ended up to `now`, or later by no more than clocks differ."""
    ends = (each.ended for each in passes if each.outcome == "completed")
    until = now + AHEAD_SECONDS
    return sorted(end for end in ends if end is not None and -math.inf < end <= until)


RemarkName = Literal[
    "cycles",
    "no_completion",
    "cycles_interrupted",
    "unknown",
    "background",
    "scan_late",
    "passive",
    "application",
]
REMARKS: tuple[RemarkName, ...] = get_args(RemarkName)


class Remark(NamedTuple):
    rule: RemarkName
    reasons: tuple[str, ...]


def background_advice(history: History, policy: Policy, now: float) -> Remark | None:
    """The remark on a database that has no window to judge, as of `now`; None: it has one."""
    if history.model == "garbage_collection":
        return _cycles(history, now)
    if history.model == "background":
        return _background(history, policy, now)
    if history.model == "application":
        return Remark("application", ("The application decides when this database is maintained.",))
    if history.role == "passive" and not history.defrag_runs and not history.checksum_passes:
        return Remark("passive", (_PASSIVE,))
    return None


_PASSIVE = (
    "Nothing maintains this passive copy. To verify it, run a page scan of a snapshot, or eseutil"
    " /k while replay is suspended."
)


def _cycles(history: History, now: float) -> Remark:
    about = "Online defragmentation is part of garbage collection; it has no window."
    found = cycles(history, now)
    if found.late and found.allowed is not None:
        since = "" if found.completed is not None else " since the first record"
        if found.lost:
            since = " since the last gap in its events"
        late = (
            f"It has not completed for {span(found.silent)} of uptime{since}; the limit is"
            f" {span(found.allowed)}."
        )
        return Remark("no_completion", (about, late))
    if found.lost:
        return Remark("unknown", (about, "Its completions are unknown: events are missing."))
    if found.known and not found.logged:
        unread = "its log shows neither a pass nor a start of its instance"
        return Remark("unknown", (about, f"Its completions are unknown: {unread}."))
    if found.torn >= CYCLES:
        torn_apart = f"Each of its last {found.torn} cycles was interrupted or resumed."
        return Remark("cycles_interrupted", (about, torn_apart))
    return Remark("cycles", (about,))


def _background(history: History, policy: Policy, now: float) -> Remark:
    about = "The engine is meant to scan the database in the background; it has no window."
    passes = history.checksum_passes
    ends = [each.ended for each in passes if each.outcome == "completed" and each.ended is not None]
    last = max((end for end in ends if end <= now), default=None)
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    since = running.started if running is not None and running.started is not None else last
    if since is None or not 0 <= since <= now:
        return Remark("background", (about, "The start of its scan is not known."))
    passed = at_work(history.off, since, now)
    if since == last:
        later = f", and its computer was on for {span(passed)} since" if passed else ""
        took = f"The last pass ended at {moment(since)}{later}"
    elif running is not None and running.interrupted and running.last_event in history.failures:
        failed = moment(running.last_event)
        took = f"The pass that began {span(passed)} ago ended with an error at {failed}"
    else:
        took = f"The pass has been running for {span(passed)}"
    allowed = verification_deadline(as_copy(history, policy))
    against = f"{took}; the deadline is {span(allowed.seconds)} ({allowed.reason})."
    if passed <= allowed.seconds:
        return Remark("background", (about, against))
    remedy = (
        "To verify it sooner, run a page scan of a snapshot. A smaller database is scanned faster."
    )
    return Remark("scan_late", (about, against, remedy))


ACTIONS: tuple[Action, ...] = get_args(Action)
REASONS: tuple[str, ...] = (*(name for name, _ in RULES), *REMARKS)
"""Names of all rules that decide, with a window and without."""
JUDGED_DAYS = 7
CHANGES: frozenset[Action] = frozenset({"shrink", "grow", "move"})
"""Actions that a person takes."""
NEWS_SECONDS = 8 * DAY_SECONDS
"""Advice is news for so long: it must stand for a day, and is shown for a week."""


class WindowAdvice(msgspec.Struct, frozen=True, kw_only=True):
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
    changed: bool = False
    """An action that was not advised 8 days before."""


def window_advice(history: History, policy: Policy, now: float) -> WindowAdvice:
    """The advice for one database as of `now` (epoch seconds, finite).

    Its confidence is how much more than the least evidence there is, times agreement.
    The first is 0.5 at the floor and 1 at twice the floor, for windows and for days (or
    passes), whichever is less, times the share of the run time that counters cover (0.5 where
    there are none). The second is the share of the verdicts of the last 7 days, one a day,
    that were the same action. The third is the probability that the ratio is where the rule takes
    it to be (`certainty`). It is 0 without evidence, and 1 where no window is to be judged.
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
    earlier = at._replace(time=now - NEWS_SECONDS)
    return WindowAdvice(
        action=action,
        rule=rule,
        configured_seconds=configured,
        recommended_seconds=recommended,
        confidence=_confidence(at, rule, verdict.action),
        reasons=(*verdict.reasons, *remarks, *_shared(history)),
        evidence=at.evidence,
        changed=action in CHANGES and action_at(earlier) != action,
    )


def action_at(at: RuleInput) -> Action:
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


def _confidence(at: RuleInput, rule: str, action: Action) -> float:
    found = at.evidence
    if action == "insufficient_evidence":
        return 0.0
    windows = found.windows / (2.0 * max(1, at.policy.min_windows))
    length = max(found.days / (2.0 * LEAST_DAYS), found.passes / 2.0)
    depth = min(1.0, windows, length) * (0.5 if found.uncounted else found.counter_coverage)
    today = day_of(at.time)
    earlier = [at._replace(time=day_start(today - ago)) for ago in range(1, JUDGED_DAYS)]
    same = 1 + sum(judge(each)[1].action == action for each in earlier)
    return round(depth * certainty(at, rule) * same / JUDGED_DAYS, 2)


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
    """The length nearest to `configured` x `factor` that is allowed; `configured` if none is. At
    most half as long or twice as long, never under `least`, never over a day."""
    if direction == "shrink":
        wanted = max(_down(configured * factor), _up(configured / 2), least)
        return min(configured, wanted)
    wanted = min(_up(configured * min(factor, 2.0)), _down(configured * 2), LONGEST)
    return max(configured, wanted)


def _down(seconds: float) -> float:
    return math.floor(seconds / STEP) * STEP


def _up(seconds: float) -> float:
    return math.ceil(seconds / STEP) * STEP


_ORDER = {name: float(place) for place, (name, _) in enumerate(RULES)}

# That passes finish soon keeps the window only where those of all databases do.
_ORDER["ratio_low_but_soon"] = _ORDER["ratio_low"] + 0.5


def instance_advice(
    known: Mapping[DatabaseKey, History], own: Mapping[DatabaseKey, WindowAdvice], now: float
) -> dict[DatabaseKey, WindowAdvice]:
    """The window advice of every database as of `now`, that of its instance where it shares one.

    Of those with the same window, the one whose rule comes first in the order of the rules decides:
    a window that is right for one may harm another. `own` is the advice for each by itself. One
    without a window to judge (a passive copy of Exchange 2007) keeps its own, and decides nothing.
    """
    groups: dict[tuple[str, str, str], list[DatabaseKey]] = {}
    for key, each in known.items():
        if own[key].rule in _ORDER and each.shares_instance > 1:
            same = (each.computer, each.ese_instance.lower(), repr(each.window))
            groups.setdefault(same, []).append(key)
    found = {key: own[key] for key in known}
    for members in groups.values():
        decides = _decides(members, known, own, now)
        for key in members:
            found[key] = own[decides]
            if len(members) > 1 and key != decides:
                of = f"This advice is that of {decides[1]}, a database of the same instance."
                reasons = (*own[decides].reasons, of)
                found[key] = msgspec.structs.replace(own[decides], reasons=reasons)
    return found


def _decides(
    members: Sequence[DatabaseKey],
    known: Mapping[DatabaseKey, History],
    own: Mapping[DatabaseKey, WindowAdvice],
    now: float,
) -> DatabaseKey:
    """The database that decides; one that was moved or is gone is not asked where others are."""
    since = now - PERIOD_DAYS * DAY_SECONDS
    heard = [key for key in members if known[key].attached and known[key].last_seen >= since]
    return min(
        heard or members,
        key=lambda key: (_ORDER[own[key].rule], -(own[key].recommended_seconds or 0.0), key),
    )


_ACTION_WORDS = {"insufficient_evidence": "not enough evidence", "not_applicable": "none"}


def window_changes(history: History, policy: Policy, now: float) -> list[tuple[float, str]]:
    """(time, sentence) up to `now`, oldest first; the advice is judged of the last week, daily."""
    if history.window is None or background_advice(history, policy, now) is not None:
        return []
    timeline = Timeline(history, policy, now)
    at = RuleInput(timeline, policy, now)
    days = [day_start(day_of(now) - ago) for ago in range(JUDGED_DAYS - 1, 0, -1)]
    said = [(time, action_at(at._replace(time=time))) for time in (*days, now)]
    found = [
        (time, f"The window advice changed from {_words(before)} to {_words(after)}.")
        for (_, before), (time, after) in pairwise(said)
        if before != after
    ]
    found += [
        (time, f"Until then online defragmentation {beside_its_time(off)}.")
        for time, off in restarts(timeline.openings).items()
        if time <= now
    ]
    return sorted(found)


def _words(action: str) -> str:
    return _ACTION_WORDS.get(action, action)
