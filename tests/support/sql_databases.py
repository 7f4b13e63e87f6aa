"""Databases of SQL Server with checks, as a fold has them."""

from collections.abc import Iterable
from typing import Any

from esewatch.fold.state.checkdb_results import Checks, SqlDatabase
from esewatch.fold.state.state import State
from tests.expose.examples import DAY, NOW


def sql(database: str = "sales", computer: str = "sql01", **changes: Any) -> SqlDatabase:
    given: dict[str, Any] = {
        "first_seen": NOW - 60 * DAY,
        "last_seen": NOW - DAY,
        "full": Checks(completed=NOW - DAY, seconds=7200.0),
    }
    return SqlDatabase(computer=computer, database=database, **{**given, **changes})


def state_of(databases: Iterable[SqlDatabase]) -> State:
    return State(sql_databases={(each.computer, each.database): each for each in databases})
