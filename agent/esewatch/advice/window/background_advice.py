"""Advice for databases whose maintenance has no window (semantics.md 5)."""

from typing import Literal, NamedTuple, get_args

from esewatch.advice.base.finding import moment, span
from esewatch.advice.base.time_at_work import at_work
from esewatch.advice.history.history import History, as_copy
from esewatch.advice.history.ledger import verification_deadline
from esewatch.advice.window.garbage_collection import CYCLES, cycles
from esewatch.config import Policy

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
    """The rule that applied, and sentences."""

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
        took = f"The last pass ended {span(passed)} ago"
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
