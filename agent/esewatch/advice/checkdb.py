"""The judgement of databases of SQL Server by their own checks. The same as in alerts/checkdb.yml,
from the same values as the metrics `sqlserver_*`."""

import math
from collections.abc import Iterable
from typing import Literal, get_args

import msgspec

from esewatch.advice.forecast.verdict import blind_computers
from esewatch.config import Settings, policy_for
from esewatch.fold.state.checkdb_results import Checks, SqlDatabase, errors_left
from esewatch.fold.state.state import State

KNOWN_FOR = 14 * 86400.0
"""A database that was first seen a shorter time ago (seconds) is not overdue yet."""

CheckState = Literal["errors", "overdue", "blind", "broken_off", "unknown", "ok"]
CHECK_STATES: tuple[CheckState, ...] = get_args(CheckState)
"""Worst first."""


class CheckdbJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """Of one database of SQL Server. Times are epoch seconds; None is never or unknown."""

    computer: str
    database: str
    state: CheckState
    completed: float | None
    """End of the latest full check; one by its pages alone is in `by_pages`."""
    seconds: float | None
    by_pages: float | None
    age: float
    """Seconds without a full check: since the first check of any kind where none was full."""
    allowed: float | None
    """The age that the policy allows; None without a limit."""
    errors: float | None
    """Left in the database by the latest check of the kind that left more."""
    aborted: float | None
    """Last time at which a check was aborted that has not completed since."""


def judged_checks(
    state: State, settings: Settings, now: float, *, live: bool = True
) -> tuple[CheckdbJudgement, ...]:
    """Every database of SQL Server, worst first, then the one longest without a full check.

    `live`: as of `now`; else those of a computer as of its latest check, as a file of checks has
    no later record.
    """
    blind = blind_computers(state.sources.values())
    ends = {} if live else last_checks(state.sql_databases.values(), now)
    found = [
        _judged(each, settings, ends.get(each.computer, now), each.computer in blind)
        for each in state.sql_databases.values()
    ]
    return tuple(
        sorted(
            found,
            key=lambda each: (
                CHECK_STATES.index(each.state), -each.age, each.computer, each.database,
            ),
        )
    )  # fmt: skip


def last_checks(databases: Iterable[SqlDatabase], now: float) -> dict[str, float]:
    """By computer the time of its latest check: later events are not in a log of checks."""
    ends: dict[str, float] = {}
    for each in databases:
        ends[each.computer] = max(ends.get(each.computer, 0.0), min(each.last_seen, now))
    return ends


def _judged(entry: SqlDatabase, settings: Settings, now: float, blind: bool) -> CheckdbJudgement:
    within = policy_for(settings, entry.database, entry.computer).checkdb_within
    allowed = within if math.isfinite(within) else None
    full = entry.full.completed
    age = max(0.0, now - (entry.first_seen if full is None else full))
    left = [errors_left(entry, kind) for kind in (entry.full, entry.physical)]
    errors = max((each for each in left if each is not None), default=None)
    aborted = max(filter(None, map(_broken_off, (entry.full, entry.physical))), default=None)
    late = allowed is not None and age > allowed
    state: CheckState = "ok"
    if errors:
        state = "errors"
    elif blind:
        state = "blind"
    elif late and now - entry.first_seen > KNOWN_FOR:
        state = "overdue"
    elif aborted is not None:
        state = "broken_off"
    elif late or (full is None and allowed is not None):
        state = "unknown"
    return CheckdbJudgement(
        computer=entry.computer,
        database=entry.database,
        state=state,
        completed=full,
        seconds=entry.full.seconds,
        by_pages=entry.physical.completed,
        age=age,
        allowed=allowed,
        errors=errors,
        aborted=aborted,
    )


def _broken_off(checks: Checks) -> float | None:
    """Time at which a check was aborted, unless one of the kind has completed since."""
    if checks.aborted is None or (checks.completed or 0.0) >= checks.aborted:
        return None
    return checks.aborted
