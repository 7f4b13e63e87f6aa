"""Deadline of a pass (semantics.md 5)."""

from collections.abc import Sequence

from esewatch.advice.base.time_at_work import Stretch, at_work
from esewatch.fold.state.state import Pass


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
