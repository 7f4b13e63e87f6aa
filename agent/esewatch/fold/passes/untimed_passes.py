"""Passes that ended at an unknown time, from the facts that are kept of them."""

from esewatch.fold.passes.completions import WALL_CLOCK
from esewatch.fold.passes.passes import COMPLETES
from esewatch.fold.state.state import Database, Pass
from esewatch.fold.state.untimed import Ended


def untimed_passes(database: Database) -> list[Pass]:
    """The last read is the first."""
    return [
        _pass(task, ended)
        for ended in reversed(database.untimed.ends)
        for task in COMPLETES.get(ended.event_id, ())
    ]


def _pass(task: str, ended: Ended) -> Pass:
    seconds = ended.figures.get("seconds")
    wall = ended.event_id in WALL_CLOCK
    return Pass(
        task=task,
        started=None,
        ended=None,
        outcome="completed",
        completion_event=ended.event_id,
        work_seconds=None if wall or seconds is None else float(seconds),
        wall_seconds=float(seconds) if wall and seconds is not None else None,
        invocations=_integer(ended, "invocations"),
        pages_seen=_integer(ended, "pages_seen"),
        pages_freed=_integer(ended, "pages_freed"),
        bad_checksums=_integer(ended, "bad_checksums"),
        run_bad_checksums=_integer(ended, "run_bad_checksums"),
        days=_integer(ended, "days"),
    )


def _integer(ended: Ended, name: str) -> int | None:
    value = ended.figures.get(name)
    return None if value is None else int(value)
