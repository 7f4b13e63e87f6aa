"""Whose errors of the engine are shown: those of instances with a database to speak of."""

from typing import Any

import msgspec
import pytest

from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.state.state import Database, Instance, State

COUNTS = "ese_engine_errors_total"
OPEN = "ese_engine_errors_open"
TIMES = "ese_engine_error_last_timestamp_seconds"


def shown(state: State, name: str, **settings: Any) -> dict[tuple[str, str], float]:
    """(instance, kind) -> value."""
    return {
        (sample.labels["ese_instance"], sample.labels["kind"]): sample.value
        for family in families(state, Settings(**settings), 1000.0)
        for sample in family.samples
        if sample.name == name
    }


def known(label: str, instance: str = "SG06", process: str = "MSExchangeIS") -> State:
    database = Database(computer="ex01", database=label, ese_instance=instance, process=process)
    failed = Instance(computer="ex01", ese_instance=instance, errors={"io": (2, 900.0)})
    return State(
        databases={("ex01", label): database}, instances={("ex01", instance.lower()): failed}
    )


@pytest.mark.parametrize(
    ("label", "process"), [("e:\\mdb06\\priv06.edb", "MSExchangeIS"), ("c:\\app\\app.edb", "app")]
)
def test_there_are_the_kinds_that_were_logged(label: str, process: str) -> None:
    state = known(label, process=process)

    assert shown(state, COUNTS) == {("SG06", "io"): 2}
    assert shown(state, TIMES) == {("SG06", "io"): 900.0}


def test_of_ignored_databases_and_of_none_there_is_nothing() -> None:
    ignored, none = known("c:\\windows\\temp\\tmp.edb"), known("e:\\a.edb")
    none.databases.clear()

    assert shown(ignored, COUNTS) == shown(none, COUNTS) == {}


def test_damaged_memory_concerns_the_computer_whichever_instance_met_it() -> None:
    state = known("e:\\mdb06\\priv06.edb")
    cache = Instance(computer="ex01", ese_instance="cache", named_by_event=True)
    cache.errors = {"memory": (1, 900.0), "io": (1, 900.0)}
    cache.error_times = {"memory": [900.0], "io": [900.0]}
    elsewhere = msgspec.structs.replace(cache, computer="ex02")
    state.instances |= {("ex01", "cache"): cache, ("ex02", "cache"): elsewhere}

    assert shown(state, COUNTS) == {("SG06", "io"): 2, ("cache", "memory"): 1}
    assert shown(state, OPEN)["cache", "memory"] == 1
    state.databases["ex01", "e:\\mdb06\\priv06.edb"].acknowledged = 900.0
    assert shown(state, OPEN)["cache", "memory"] == 0


def test_an_instance_without_an_error_or_that_is_not_known_has_nothing() -> None:
    quiet, unknown = known("e:\\mdb06\\priv06.edb"), known("e:\\mdb06\\priv06.edb")
    quiet.instances["ex01", "sg06"].errors = {}
    unknown.instances.clear()

    assert shown(quiet, COUNTS) == shown(unknown, COUNTS) == {}


def test_an_acknowledgement_of_any_database_of_an_instance_counts() -> None:
    state = known("e:\\mdb06\\priv06.edb")
    second = Database(
        computer="ex01", database="e:\\two.edb", ese_instance="sg06", acknowledged=950.0
    )
    state.databases["ex01", "e:\\two.edb"] = second
    state.instances["ex01", "sg06"].error_times = {"io": [600.0, 900.0]}
    rules = [DatabaseRule(match="*two.edb")]

    assert shown(state, OPEN, databases=rules) == {("SG06", "io"): 0}


def test_what_is_open_is_told_of_kinds_that_were_logged() -> None:
    state = known("e:\\mdb06\\priv06.edb")
    (instance,) = state.instances.values()
    instance.errors["recovery"] = (1, 500.0)
    instance.error_times = {"io": [600.0, 900.0], "recovery": [500.0]}
    instance.mounted = 550.0

    assert shown(state, OPEN) == {("SG06", "io"): 2, ("SG06", "recovery"): 0}

    (database,) = state.databases.values()
    database.acknowledged = 600.0
    assert shown(state, OPEN)["SG06", "io"] == 1
