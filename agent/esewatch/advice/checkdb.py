"""The judgement of databases of SQL Server by their own checks."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, get_args

import msgspec

from esewatch.advice.base.finding import Severity
from esewatch.advice.judgement import blind_computers
from esewatch.config import Settings, policy_for
from esewatch.fold.state.checkdb_results import Checks, SqlDatabase, errors_left
from esewatch.fold.state.state import State

KNOWN_FOR = 14 * 86400.0
"""A database that was first seen a shorter time ago (seconds) is not overdue yet."""

CheckState = Literal["errors", "overdue", "blind", "broken_off", "unknown", "ok"]
CHECK_STATES: tuple[CheckState, ...] = get_args(CheckState)
"""Worst first."""
CheckFinding = Literal["checkdb_aborted", "checkdb_failed", "checkdb_overdue"]
CHECK_FINDINGS: Mapping[CheckFinding, Severity] = {
    "checkdb_failed": "critical",
    "checkdb_overdue": "warning",
    "checkdb_aborted": "warning",
}
"""Worst first."""
UNREAD = frozenset({"checkdb_aborted", "checkdb_overdue"})
"""A check that completed ends them, which a log that is read to its end shows."""


class CheckdbJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """Of one database of SQL Server. Times are epoch seconds; None is never or unknown."""

    computer: str
    database: str
    state: CheckState
    findings: tuple[CheckFinding, ...]
    """Of UNREAD none where a source of its computer is not read to its end."""
    blind: bool
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
    """Last time at which a check was aborted, and neither one of its kind nor a full one has
    completed since."""


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
    times = [_aborted(entry.full, None), _aborted(entry.physical, full)]
    aborted = max((each for each in times if each is not None), default=None)
    late = allowed is not None and age > allowed
    there: dict[CheckFinding, bool] = {
        "checkdb_failed": bool(errors),
        "checkdb_overdue": late and now - entry.first_seen > KNOWN_FOR,
        # Later the database is overdue.
        "checkdb_aborted": aborted is not None and (allowed is None or now - aborted <= allowed),
    }
    findings = tuple(name for name in CHECK_FINDINGS if there[name])
    if blind:
        findings = tuple(name for name in findings if name not in UNREAD)
    unknown = late or (full is None and allowed is not None)
    return CheckdbJudgement(
        computer=entry.computer,
        database=entry.database,
        state=next(_states(findings, blind=blind, unknown=unknown)),
        findings=findings,
        blind=blind,
        completed=full,
        seconds=entry.full.seconds,
        by_pages=entry.physical.completed,
        age=age,
        allowed=allowed,
        errors=errors,
        aborted=aborted,
    )


def _states(
    findings: tuple[CheckFinding, ...], *, blind: bool, unknown: bool
) -> Iterator[CheckState]:
    """All that apply, worst first."""
    if "checkdb_failed" in findings:
        yield "errors"
    if blind:
        yield "blind"
    if "checkdb_overdue" in findings:
        yield "overdue"
    if "checkdb_aborted" in findings:
        yield "broken_off"
    yield "unknown" if unknown else "ok"


def _aborted(checks: Checks, full: float | None) -> float | None:
    """Time at which a check was aborted, unless one of the kind has completed since, or the `full`
    one."""
    completed = max(checks.completed or 0.0, full or 0.0)
    return checks.aborted if checks.aborted is not None and completed < checks.aborted else None
