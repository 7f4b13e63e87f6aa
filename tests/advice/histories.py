"""Histories of an Exchange 2007 database, built by hand: a window each night, 01:00 UTC."""

import datetime
from collections.abc import Sequence
from typing import Any

from esewatch.advice.history.history import History
from esewatch.config import Window
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, day_of
from esewatch.fold.state.state import Pass

DAY = 86400.0
HOUR = 3600.0
NOON = 1_183_291_200.0
"""2007-07-01 12:00 UTC: "now" of the tests."""


def window(hours: float = 4, **changes: Any) -> Window:
    return Window(**{"start": datetime.time(1), "duration": hours * HOUR, **changes})


def opening(ago: int) -> float:
    """01:00 UTC of the night `ago` nights before that of NOON."""
    return NOON - 11 * HOUR - ago * DAY


def days(count: int, read: float, freed: float, *, ago: int = 0) -> list[Day]:
    """`count` days up to `ago` days before NOON, oldest first."""
    last = day_of(NOON - 1) - ago
    return [Day(last - n, read, freed, 0.0, 0.0, 0.0) for n in reversed(range(count))]


def nightly_runs(count: int, hours: float = 4, *, ago: int = 0) -> list[Run]:
    return [Run(opening(n), opening(n) + hours * HOUR) for n in reversed(range(ago, ago + count))]


def one_pass(started: float | None, ended: float | None, **changes: Any) -> Pass:
    outcome = "open" if ended is None else "completed"
    given: dict[str, Any] = {"task": "defrag", "outcome": outcome, **changes}
    return Pass(started=started, ended=ended, **given)


def passes(every: float, took: float, *, count: int = 14, ago: float = 0.5) -> list[Pass]:
    """`count` whole passes, the last one `ago` days ago; `every` and `took` in days."""
    ends = [NOON - (ago + n * every) * DAY for n in reversed(range(count))]
    return [one_pass(end - took * DAY, end) for end in ends]


def store(
    read: float = 100_000, freed: float = 1_000, *, nights: int = 60, **changes: Any
) -> History:
    """A database in good order: 60 nights of 4 hours, a pass every 5 days that takes 4."""
    given: dict[str, Any] = {
        "computer": "ex01",
        "database": "e:\\mdb06\\priv06.edb",
        "ese_instance": "SG06",
        "model": "window",
        "window": window(),
        "pages": 5_000_000.0,
        "page_size": 8192,
        "days": days(nights, read, freed),
        "sampled_since": NOON - nights * DAY,
        "sampled_until": NOON,
        "defrag_passes": passes(5, 4),
        "defrag_runs": nightly_runs(nights),
        "first_seen": NOON - nights * DAY,
        "last_seen": NOON,
        **changes,
    }
    return History(**given)


def sampled(spans: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """The counters were not sampled in `spans` (days before NOON, from and to)."""
    return {"unsampled": [(NOON - a * DAY, NOON - b * DAY) for a, b in spans]}
