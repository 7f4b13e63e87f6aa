"""What is said of databases whose maintenance has no window (semantics.md 5)."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from esewatch.advice.findings import span
from esewatch.advice.history import History, as_copy
from esewatch.advice.ledger import verification_deadline
from esewatch.config import Policy
from esewatch.fold.state import Pass

CYCLE_DEADLINE = 36 * 3600.0
"""Three cycles of 12 hours."""
CYCLES = 3

RemarkName = Literal[
    "cycles",
    "no_completion",
    "cycles_interrupted",
    "unknown",
    "background",
    "scan_late",
    "application",
]
REMARKS: tuple[RemarkName, ...] = get_args(RemarkName)


class Remark(NamedTuple):
    """The rule that fired, and sentences."""

    rule: RemarkName
    reasons: tuple[str, ...]


def without_window(history: History, policy: Policy, now: float) -> Remark:
    """The remark on a database of a model other than `window`, as of `now` (epoch seconds)."""
    if history.model == "garbage_collection":
        return _cycles(history, now)
    if history.model == "background":
        return _background(history, policy, now)
    return Remark("application", ("The application decides when this database is maintained.",))


def _cycles(history: History, now: float) -> Remark:
    about = "Online defragmentation is part of garbage collection, every 12 hours: no window."
    since, what = _last_completion(history.defrag_passes, now), "Its last completion"
    if since is None and history.first_seen > 0:
        since, what = history.first_seen, "It was never seen to complete; the first record"
    if since is not None and now - since > CYCLE_DEADLINE:
        gaps = [end for begin, end, _ in history.event_gaps if end > since and begin < now]
        if gaps and now - max(gaps) <= CYCLE_DEADLINE:
            return Remark(
                "unknown", (about, "Whether it completes is unknown: events are missing.")
            )
        late = (
            f"{what} is {span(now - since)} ago; it should complete within {span(CYCLE_DEADLINE)}."
        )
        return Remark("no_completion", (about, late))
    if (torn := _torn_cycles(history.defrag_passes, now)) >= CYCLES:
        torn_apart = f"Its last {torn} cycles in a row were interrupted or resumed."
        return Remark("cycles_interrupted", (about, torn_apart))
    return Remark("cycles", (about,))


def _last_completion(passes: Sequence[Pass], now: float) -> float | None:
    ends = [p.ended for p in passes if p.outcome == "completed" and p.ended is not None]
    return max((end for end in ends if end <= now), default=None)


def _torn_cycles(passes: Sequence[Pass], now: float) -> int:
    """Cycles since the last pass that was done in one of them."""
    torn = 0
    for each in reversed(passes):
        if each.started is not None and each.started > now:
            continue
        cycles = max(each.interruptions + 1, each.invocations or 1)
        if each.outcome == "open" and each.interrupted:
            cycles = each.interruptions
        if each.outcome == "open" and not each.interruptions:
            continue
        if each.outcome != "open" and cycles == 1:
            break
        torn += cycles
    return torn


def _background(history: History, policy: Policy, now: float) -> Remark:
    about = "The database is scanned in the background all the time: no window."
    passes = history.checksum_passes
    last = _last_completion(passes, now)
    running = passes[-1] if passes and passes[-1].outcome == "open" else None
    since = running.started if running is not None and running.started is not None else last
    if since is None or not 0 <= since <= now:
        return Remark("background", (about, "When its scan began is not known."))
    took = (
        f"The pass has been running for {span(now - since)}"
        if since != last
        else f"The last pass ended {span(now - since)} ago"
    )
    allowed = verification_deadline(as_copy(history, policy))
    if not allowed.known:
        doubt = f"{took}; its size is not known, so neither is whether that is long."
        return Remark("background", (about, doubt))
    against = f"{took}; the deadline is {span(allowed.seconds)} ({allowed.reason})."
    if now - since <= allowed.seconds:
        return Remark("background", (about, against))
    remedy = "A page scan of a snapshot verifies it sooner; so does a smaller database."
    return Remark("scan_late", (about, against, remedy))
