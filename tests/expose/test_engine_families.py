"""Whose errors of the engine are shown: those of instances with a database to speak of."""

from typing import Any

from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics import families
from esewatch.fold.state import ENGINE_ERROR_KINDS, Database, Instance, State

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


def test_an_instance_with_a_watched_database_is_born_with_every_kind() -> None:
    state = known("e:\\mdb06\\priv06.edb")

    counts = shown(state, COUNTS)

    assert counts.keys() == {("SG06", kind) for kind in ENGINE_ERROR_KINDS}
    assert counts["SG06", "io"] == 2
    assert sum(counts.values()) == 2
    assert shown(state, TIMES) == {("SG06", "io"): 900.0}


def test_of_observed_databases_there_is_what_happened() -> None:
    state = known("c:\\app\\app.edb", process="app")

    assert shown(state, COUNTS) == {("SG06", "io"): 2}


def test_of_ignored_databases_and_of_none_there_is_nothing() -> None:
    ignored, none = known("c:\\windows\\temp\\tmp.edb"), known("e:\\a.edb")
    none.databases.clear()

    assert shown(ignored, COUNTS) == shown(none, COUNTS) == {}


def test_an_instance_without_a_name_is_shown_by_its_process() -> None:
    unnamed = known("c:\\windows\\ntds\\ntds.dit", instance="")
    unnamed.instances.clear()
    named = known("e:\\mdb06\\priv06.edb")
    named.instances["ex01", ""] = Instance(computer="ex01", ese_instance="", errors={"io": (1, 9)})

    assert shown(unnamed, COUNTS) == {("MSExchangeIS", kind): 0 for kind in ENGINE_ERROR_KINDS}
    assert {name for name, _ in shown(named, COUNTS)} == {"SG06"}


def test_two_databases_of_an_instance_make_one_series_and_the_closer_watched_decides() -> None:
    state = known("c:\\app\\app.edb", process="app")
    second = Database(computer="ex01", database="c:\\app\\two.edb", ese_instance="sg06")
    state.databases["ex01", "c:\\app\\two.edb"] = second
    rules = [DatabaseRule(match="*two.edb")]

    assert len(shown(state, COUNTS, databases=rules)) == len(ENGINE_ERROR_KINDS)


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
