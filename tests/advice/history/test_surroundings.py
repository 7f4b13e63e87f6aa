"""What is reported of a database beside its own events: whose errors and damage are whose."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from esewatch.advice.history.derived import derived
from esewatch.advice.history.surroundings import surroundings
from esewatch.fold.commands import acknowledge
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import EngineErrorKind
from esewatch.model import Record
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database

SHADOW = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\MDB06\\priv06.edb"
CACHE = "C:\\Users\\a\\AppData\\Local\\Microsoft\\Windows\\WebCache\\WebCacheV01.dat"
BROWSER: dict[str, Any] = {
    "provider": "ESENT",
    "process": "taskhostw",
    "ese_instance": "WebCacheLocal",
}


def unknown_error(time: float, **changes: Any) -> Record:
    return event(7777, time, level="error", **{"database": "", **changes})


def errors(records: list[Record], path: str) -> set[int]:
    folder = folder_of(records)
    told = surroundings(folder.state, folder.settings)
    return set(told(folder.state.databases["ex01", path.lower()]).errors)


def test_an_error_of_the_instance_of_an_ignored_file_is_its_computers_in_any_order() -> None:
    bad = event(474, HOUR, database=CACHE, fields={"page_number": 3}, **BROWSER)
    error = unknown_error(2 * HOUR, **BROWSER)
    served = event(326, 0, database=CACHE, **BROWSER)
    for records in ([served, bad, error], [error, bad, served], [error, served, bad]):
        assert errors([event(700, 0), *records], DATABASE) == {7777}


def test_an_error_of_an_instance_with_a_database_is_not_that_of_another() -> None:
    other = event(700, 0, database="d:\\other.edb", ese_instance="SG07")
    records = [event(700, 0), other, unknown_error(HOUR)]
    assert errors(records, DATABASE) == {7777}
    assert errors(records, "d:\\other.edb") == set()


@pytest.mark.parametrize("event_id", [538, 540, 545])
def test_a_report_of_a_copy_whose_active_one_is_not_known_counts_once(event_id: int) -> None:
    """540 is of both copies: the reporter has it already as its own."""
    folder = folder_of([event(717, 0), event(event_id, HOUR, level="error")])
    database = the_database(folder)
    told = surroundings(folder.state, folder.settings)(database).damage
    found = known_damage(database, told)
    assert {kind: each.count for kind, each in found.items()} == {"suspect": 1}


@pytest.mark.parametrize("event_id", [538, 545])
def test_a_copy_differs_that_was_active_for_as_long_as_a_replay_may_lag(event_id: int) -> None:
    for days, latched in ((13, "suspect"), (15, "divergence")):
        active = event(736, 0)
        passive = event(717, HOUR, computer="EX02")
        told = event(event_id, days * DAY, computer="EX02", level="error")
        folder = folder_of([active, passive, told])
        beside = surroundings(folder.state, folder.settings)
        found = {
            key: set(known_damage(each, beside(each).damage))
            for (key, _), each in folder.state.databases.items()
        }
        assert found == {"ex01": {latched}, "ex02": set()}


def reported(records: Sequence[Record], path: str) -> Mapping[EngineErrorKind, tuple[int, float]]:
    folder = folder_of(records)
    told = surroundings(folder.state, folder.settings)
    return told(folder.state.databases["ex01", path.lower()]).reported


def test_a_failure_item_is_of_the_databases_of_its_instance_and_memory_of_all_of_the_computer() -> (
    None
):
    other = event(700, 0, database="d:\\other.edb", ese_instance="SG07")
    item = event(3006, HOUR, level="error", database="")
    memory = event(907, 2 * HOUR, level="error", database="", **BROWSER)
    records = [event(700, 0), other, item, memory]

    of_all: Mapping[EngineErrorKind, tuple[int, float]] = {"memory": (1, EPOCH + 2 * HOUR)}
    assert reported(records, DATABASE) == {"corruption_item": (1, EPOCH + HOUR), **of_all}
    assert reported(records, "d:\\other.edb") == of_all


def test_what_was_acknowledged_by_the_name_of_one_database_is_reported_of_none() -> None:
    beside = event(700, 0, database="d:\\beside.edb")
    other = event(700, 0, database="d:\\other.edb", ese_instance="SG07")
    item = event(3006, HOUR, level="error", database="")
    memory = event(907, 2 * HOUR, level="error", database="", **BROWSER)
    folder = folder_of([event(700, 0), beside, other, item, memory])
    acknowledge(folder, "ex01", LABEL, [], surroundings(folder.state, folder.settings))

    told = surroundings(folder.state, folder.settings)
    assert [told(each).reported for each in folder.state.databases.values()] == [{}, {}, {}]


def test_what_an_instance_logs_is_not_of_a_snapshot_of_its_files() -> None:
    unnamed: dict[str, Any] = {"process": "dfsrs", "ese_instance": "", "provider": "ESENT"}
    records: list[Record] = [
        event(700, 0, **unnamed),
        event(474, HOUR, database=SHADOW, fields={"page_number": 3}, **unnamed),
        event(569, 2 * HOUR, **{**unnamed, "database": ""}),
    ]
    state = folder_of(records).state
    told = surroundings(state, folder_of([]).settings)
    found = told(state.databases["ex01", LABEL]).damage
    damage = found["revert_snapshot"]
    assert (damage.count, damage.times) == (1, [EPOCH + 2 * HOUR])
    assert found["suspect"].times == [EPOCH + HOUR]
    assert told(state.databases["ex01", SHADOW]).damage == {}


@pytest.mark.parametrize(
    ("records", "damaged"),
    [
        ([], False),
        ([event(474, 0.0, fields={"page_number": 17})], True),
        ([event(539, 0.0)], True),
        ([event(721, 0.0)], False),
    ],
)
def test_a_bad_page_and_reported_damage_are_damage(records: list[Record], damaged: bool) -> None:
    folder = folder_of([event(700, -HOUR), *records])
    assert derived(folder.state, folder.settings).is_damaged(folder.state) is damaged
