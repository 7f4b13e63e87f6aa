"""Completion of a pass: the facts of its event, and the earliest time at which it began."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from esewatch.fold.state.rollups import DAY_SECONDS
from esewatch.fold.state.state import Pass, Transition

LATE = frozenset({733, 735})
WALL_CLOCK = frozenset({732, 735, 737})
"""Completions whose seconds run from start to end and whose bad count is of the last run only."""
COPY_SCAN_END = 732

_COUNTS = (
    "invocations", "pages_seen", "pages_freed", "bad_checksums", "run_bad_checksums", "days"
)  # fmt: skip
DATE_SLACK = 14 * 3600.0
"""The date of a start is local: in the earliest zone midnight comes this much earlier than in
UTC."""


def unknown(task: str, time: float, *, partial: bool = False) -> Pass:
    """A pass with an event at `time`, whose start was not seen; `partial`: it is no whole one."""
    return Pass(
        task=task, started=None, ended=None, outcome="open", last_event=time, partial=partial
    )


def completed(
    task: str, current: Pass, transition: Transition, before: Sequence[Pass], role_changed: float
) -> Pass:
    """The pass `current`, as one of `task`, ended by `transition`; `before` are the passes that
    ended before. `role_changed` is when the copy last changed its role."""
    fields, time = transition.fields, transition.time
    seconds = fields.get("seconds")
    wall = transition.event_id in WALL_CLOCK
    told = figures(transition.event_id, fields)
    if "pages_seen" in told:
        told["pages_seen"] = max(told["pages_seen"], 0)
    if "run_pages" in fields:
        told["run_pages"] = int(fields["run_pages"])
    started = current.started
    if started is None and seconds is not None and (wall or fields.get("invocations") == 1):
        started = time - seconds
    earliest = _earliest(current, started, transition, before)
    # A resumed scan of a copy goes back beyond its start: a change of role may lie there.
    own = earliest is None or role_changed <= earliest
    return msgspec.structs.replace(
        current,
        task=task,
        started=started,
        start_seen=current.start_seen and own,
        earliest=earliest,
        ended=time,
        outcome="completed",
        interrupted=False,
        last_event=time,
        late=current.late or transition.event_id in LATE,
        history=transition.history,
        **told,
    )


def figures(event_id: int, fields: Mapping[str, int | float]) -> dict[str, Any]:
    found: dict[str, Any] = {name: int(fields[name]) for name in _COUNTS if name in fields}
    if "seconds" in fields:
        kind = "wall_seconds" if event_id in WALL_CLOCK else "work_seconds"
        found[kind] = float(fields["seconds"])
    return {"completion_event": event_id, **found}


def _earliest(
    ended: Pass, started: float | None, transition: Transition, before: Sequence[Pass]
) -> float | None:
    """A time before which this completed scan had not begun, None when nothing bounds it. A resumed
    scan of a copy may include pages of the scan before it (semantics.md 2)."""
    event, time, fields = transition.event_id, transition.time, transition.fields
    if event == COPY_SCAN_END and (ended.resumed or not ended.start_seen):
        whole = (each for each in reversed(before) if each.outcome == "completed")
        return next((each.ended for each in whole if each.completion_event == COPY_SCAN_END), None)
    if ended.start_seen or event in WALL_CLOCK:
        return started
    if "pass_started_day" in fields:
        return fields["pass_started_day"] - DATE_SLACK
    return time - (fields["days"] + 1) * DAY_SECONDS if "days" in fields else None


def owns_its_pages(done: Pass) -> bool:
    """True if a completed scan read all of its pages on this computer, in this role.

    Else pages that it counts may have been read on another server (semantics.md 2). A scan of
    Exchange 2007 stays on its server.
    """
    return done.completion_event not in WALL_CLOCK or done.start_seen or read_all_pages(done)


def read_all_pages(done: Pass) -> bool:
    """True if the last run alone read all pages: `run_pages` is its last page minus its first."""
    if done.completion_event not in WALL_CLOCK:
        return True
    return done.run_pages is not None and done.run_pages + 1 >= (done.pages_seen or math.inf)


def count_was_read(done: Pass) -> bool:
    """True if the numbers of the completion are known: text in a language that is not known may
    hide them. 735 and 737 count no bad pages without their summary."""
    if done.completion_event in WALL_CLOCK:
        return done.pages_seen is not None or done.run_bad_checksums is not None
    return done.bad_checksums is not None


def is_clean(done: Pass) -> bool:
    """True if the completion counts pages, and none of them is bad. A count below 0 is none."""
    least = min(done.bad_checksums or 0, done.run_bad_checksums or 0)
    counted = least >= 0 and done.pages_seen != 0
    return counted and count_was_read(done) and not counted_bad(done)


def counted_bad(done: Pass) -> int:
    """Bad pages that the completion counts; the completion of a copy's scan always says 0."""
    if done.completion_event == COPY_SCAN_END:
        return 0
    return max(done.bad_checksums or 0, done.run_bad_checksums or 0)
