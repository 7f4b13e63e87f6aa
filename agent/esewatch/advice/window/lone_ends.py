"""Ends of passes without a logged start, or without a time: their figures count all the same."""

from esewatch.advice.base.finding import counted, moment, span
from esewatch.advice.history.history import History
from esewatch.fold.state.state import Pass

NOTHING = "The events have no start or end of online defragmentation (700-704)."
_DEFRAG = frozenset(range(700, 706))


def pass_figures(done: Pass) -> str:
    """`42,794 pages freed, 34 h 42 min of work, 7 runs over 4 days`; empty without figures."""
    took = done.work_seconds if done.work_seconds is not None else done.wall_seconds
    how = "of work" if done.work_seconds is not None else "from start to end"
    parts = (
        f"{counted(done.pages_freed, 'page')} freed" if done.pages_freed is not None else "",
        f"{counted(done.pages_seen, 'page')} seen" if done.pages_seen is not None else "",
        counted(done.bad_checksums, "bad checksum") if done.bad_checksums is not None else "",
        f"{span(took)} {how}" if took is not None else "",
        _runs(done),
    )
    return ", ".join(part for part in parts if part)


def without_runs(history: History) -> str:
    ended = [done for done in history.defrag_passes if done.outcome == "completed"]
    if ended:
        last = ended[-1]
        return (
            f"Online defragmentation completed at {moment(last.ended or 0.0)}{_told(last)}, but the"
            " events do not have its start."
        )
    without = [done for done in history.untimed_passes if done.task == "defrag"]
    if without:
        return f"Online defragmentation completed{_told(without[0])}, but its events have no time."
    if not _DEFRAG.isdisjoint(history.untimed):
        return "The times of online defragmentation are not known: its events have no time."
    if history.checksum_passes:
        return f"Of the tasks of the window, the events have only the database scan. {NOTHING}"
    return NOTHING


def _told(done: Pass) -> str:
    figures = pass_figures(done)
    return f" ({figures})" if figures else ""


def _runs(done: Pass) -> str:
    runs = counted(done.invocations, "run") if done.invocations is not None else ""
    over = f"over {counted(done.days, 'day')}" if done.days is not None else ""
    return f"{runs} {over}".strip()
