import msgspec
import pytest

from esewatch.advice.checkdb import judged_checks
from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.commands import forget
from esewatch.fold.folder import Folder
from esewatch.fold.state.checkdb_results import MAX_NAME, MAX_RESULTS, SqlDatabase
from esewatch.model import Batch, EsewatchError, Event, FieldValue
from tests.support.records import DAY, EPOCH, HOUR, checkdb, folder_of


def aborted(time: float) -> Event:
    fields: dict[str, FieldValue] = {"command": "CHECKDB", "physical_only": 0, "state": 6}
    return checkdb(time, event_id=5235, fields=fields)


def the_entry(folder: Folder) -> SqlDatabase:
    (entry,) = folder.state.sql_databases.values()
    return entry


def shown(folder: Folder) -> dict[tuple[str, str], float]:
    """(metric without its prefix, physical_only) -> value, of the only database."""
    return {
        (
            sample.name.removeprefix("sqlserver_checkdb_"),
            sample.labels["physical_only"],
        ): sample.value
        for family in families(folder.state, folder.settings, EPOCH)
        for sample in family.samples
        if sample.name.startswith("sqlserver_checkdb_")
    }


def test_the_latest_check_counts_in_whatever_order_they_come() -> None:
    old, new = checkdb(0, 2), checkdb(DAY, 3)
    for events in ([old, new], [new, old]):
        entry = the_entry(folder_of(events))

        assert (entry.full.errors, entry.full.left, entry.full.completed) == (5, 3, EPOCH + DAY)
        assert (entry.first_seen, entry.last_seen) == (EPOCH, EPOCH + DAY)


def test_a_physical_check_is_none_of_the_whole() -> None:
    found = shown(folder_of([checkdb(0, full=False), checkdb(DAY, 4, full=False)]))

    assert found == {
        ("errors_total", "false"): 0,
        ("errors_total", "true"): 4,
        ("last_completion_timestamp_seconds", "true"): EPOCH + DAY,
        ("last_duration_seconds", "true"): 600,
        ("last_errors", "true"): 4,
    }


def test_errors_stay_until_a_check_of_the_kind_or_a_later_full_one_finds_none() -> None:
    events = [checkdb(0, 4, full=False), checkdb(0, 4)]

    def left(*more: Event) -> tuple[float, float]:
        found = shown(folder_of([*events, *more]))
        return found["last_errors", "false"], found["last_errors", "true"]

    assert left() == (4, 4)
    assert left(checkdb(HOUR, full=False)) == (4, 0)
    assert left(checkdb(HOUR)) == (0, 0)
    assert left(checkdb(HOUR), checkdb(2 * HOUR, 1, full=False)) == (0, 1)


def test_what_was_repaired_is_not_left() -> None:
    fields = {**checkdb(0).fields, "errors": 7, "repaired": 5}
    entry = the_entry(folder_of([checkdb(0, fields=fields)]))
    more = the_entry(folder_of([checkdb(0, fields={**fields, "repaired": 9})]))

    assert (entry.full.errors, entry.full.left, more.full.left) == (7, 2, 0)


def test_a_check_without_its_time_has_no_duration() -> None:
    fields = {key: value for key, value in checkdb(0).fields.items() if key != "seconds"}
    found = shown(folder_of([checkdb(0), checkdb(DAY, fields=fields)]))

    assert found["last_completion_timestamp_seconds", "false"] == EPOCH + DAY
    assert ("last_duration_seconds", "false") not in found


def test_a_check_of_less_than_a_second_has_a_duration_of_0() -> None:
    found = shown(folder_of([checkdb(0, fields={**checkdb(0).fields, "seconds": 0})]))

    assert found["last_duration_seconds", "false"] == 0


def test_one_that_was_broken_off_completes_nothing_and_clears_no_errors() -> None:
    entry = the_entry(folder_of([checkdb(0, 3), aborted(DAY), aborted(HOUR)]))

    assert (entry.full.completed, entry.full.left) == (EPOCH, 3)
    assert entry.full.aborted == EPOCH + DAY


def test_the_same_result_from_two_logs_is_counted_once() -> None:
    folder = folder_of(
        [checkdb(0, 3), checkdb(1.5, 3), checkdb(0, 3), checkdb(1.5, 2), checkdb(60, 3)]
    )

    assert the_entry(folder).full.errors == 3 + 2 + 3
    assert folder.state.sources["logs"].duplicates == 2


def test_results_older_than_all_that_are_kept_are_not_counted_again() -> None:
    events = [checkdb(each * HOUR, 1) for each in range(MAX_RESULTS + 40)]
    folder = folder_of([*events, *events])

    assert the_entry(folder).full.errors == len(events)
    assert len(the_entry(folder).results) == MAX_RESULTS
    assert len(msgspec.msgpack.encode(the_entry(folder))) < 16_384


@pytest.mark.parametrize(
    "event",
    [
        checkdb(0, fields={**checkdb(0).fields, "command": "CHECKTABLE"}),
        checkdb(0, fields={**checkdb(0).fields, "estimate_only": 1}),
        checkdb(0, fields={"command": "CHECKDB", "physical_only": 0}),
        checkdb(0, fields={}),
        checkdb(0, database=""),
        checkdb(0, database="x" * (MAX_NAME + 1)),
    ],
)
def test_what_is_no_check_of_a_database_is_left_out(event: Event) -> None:
    assert folder_of([event]).state.sql_databases == {}


def test_absurd_numbers_are_no_numbers() -> None:
    fields = {**checkdb(0).fields, "errors": 10**30, "repaired": -5, "seconds": "x"}
    entry = the_entry(folder_of([checkdb(0, fields=fields)]))

    assert (entry.full.errors, entry.full.left, entry.full.seconds) == (0, 0, None)
    assert msgspec.msgpack.encode(entry)


def test_instances_of_one_computer_have_databases_of_their_own() -> None:
    events = [checkdb(0), checkdb(0, provider="MSSQL$PROD"), checkdb(0, computer="SQL02")]

    assert set(folder_of(events).state.sql_databases) == {
        ("sql01", "sales"),
        ("sql01", "prod\\sales"),
        ("sql02", "sales"),
    }


def test_there_are_at_most_max_databases_and_those_that_are_configured() -> None:
    settings = Settings(max_databases=2, databases=[DatabaseRule(match="wanted")])
    events = [checkdb(0, database=name) for name in ("a", "b", "c", "wanted")]
    state = folder_of(events, settings=settings).state

    assert [name for _, name in state.sql_databases] == ["a", "b", "wanted"]
    assert state.databases_dropped == 1


def test_one_that_is_silent_for_the_retention_is_dropped_unless_configured() -> None:
    settings = Settings(databases=[DatabaseRule(match="wanted")])
    folder = folder_of([checkdb(0), checkdb(0, database="wanted")], settings=settings)
    folder.expire(EPOCH + 90 * DAY)
    assert len(folder.state.sql_databases) == 2
    folder.changed.clear()
    folder.expire(EPOCH + 90 * DAY + 1)

    assert set(folder.state.sql_databases) == {("sql01", "wanted")}
    assert folder.changed == {("sql_database", "sql01", "sales")}


def test_one_is_forgotten_by_its_name() -> None:
    folder = folder_of([checkdb(0)])
    forget(folder, "", "SALES")

    assert folder.state.sql_databases == {}
    with pytest.raises(EsewatchError, match="no database 'SALES' is known"):
        forget(folder, "", "SALES")


def test_a_policy_of_its_own_holds_and_never_is_none() -> None:
    settings = Settings(
        databases=[
            DatabaseRule(match="*\\sales", policy={"checkdb_within": 35 * DAY}),
            DatabaseRule(match="scratch", policy={"checkdb_within": float("inf")}),
        ]
    )
    names = (("MSSQL$P", "sales"), ("MSSQLSERVER", "scratch"), ("MSSQLSERVER", "sales"))
    events = [checkdb(0, provider=provider, database=name) for provider, name in names]
    folder = folder_of(events, settings=settings)
    found = {each.database: each.allowed for each in judged_checks(folder.state, settings, EPOCH)}

    assert found == {"p\\sales": 35 * DAY, "sales": 8 * DAY, "scratch": None}


def test_the_configured_devices_of_a_database_are_exposed_once_each() -> None:
    settings = Settings(databases=[DatabaseRule(match="sales", devices=["lun1", "lun2", "lun1"])])
    folder = folder_of([checkdb(0), checkdb(0, database="other")], settings=settings)
    found = [
        (sample.labels, sample.value)
        for family in families(folder.state, settings, EPOCH)
        for sample in family.samples
        if sample.name == "sqlserver_database_device_info"
    ]

    assert found == [
        ({"computer": "sql01", "database": "sales", "device": name}, 1) for name in ("lun1", "lun2")
    ]


def test_a_check_of_an_unknown_time_is_left_out() -> None:
    folder = folder_of([])
    folder.fold("logs", Batch(records=[msgspec.structs.replace(checkdb(0), time=None)]))

    assert folder.state.sql_databases == {}
