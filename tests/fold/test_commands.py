import msgspec
import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import investigate
from esewatch.advice.history.history import histories
from esewatch.advice.history.passes import failed_tasks
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import default_settings
from esewatch.expose.metrics.families import families
from esewatch.fold.commands import Acknowledged, acknowledge, forget, succeed
from esewatch.fold.databases.integrity import count_pages, io_errors, known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.instances.engine_errors import dealt_with, open_errors
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.state import STATED_SECONDS, UNLOCATED, SourceState, Stated
from esewatch.model import Batch, EsewatchError, PagesScanned, Record
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database

SETTINGS = default_settings()
FAILED = "ese_pass_last_failure_timestamp_seconds"


def pages(folder: Folder) -> list[int]:
    entry = the_database(folder)
    return sorted(bad.page for bad in known_bad_pages(entry, views_in(folder.state, entry)))


def damaged() -> Folder:
    return folder_of(event(474, n * HOUR, n, fields={"page_number": n}) for n in (17, 18, 19))


@pytest.mark.parametrize(("named", "left"), [([17], [18, 19]), ([17, 19], [18]), ([], [])])
def test_pages_taken_as_dealt_with_are_no_longer_known_bad(
    named: list[int], left: list[int]
) -> None:
    folder = damaged()
    assert acknowledge(folder, "", LABEL.upper(), named).pages == 3 - len(left)
    assert pages(folder) == left


@pytest.mark.parametrize("named", [[17], []])
def test_an_error_after_those_that_were_dealt_with_is_known_again(named: list[int]) -> None:
    folder = damaged()
    acknowledge(folder, "ex01", LABEL, named)
    folder.fold("logs", Batch(records=[event(474, DAY, 99, fields={"page_number": 17})]))
    assert 17 in pages(folder)


def test_a_page_that_was_logged_before_and_is_read_later_was_not_dealt_with() -> None:
    later = event(474, 2 * HOUR, 2, fields={"page_number": 20})
    counted = event(721, 3 * HOUR, 3, fields={"seconds": 60, "days": 1, "bad_checksums": 1})
    folder = folder_of([event(700, 0, 1), event(717, HOUR, 4), counted, event(481, DAY, 5)])
    scanned = PagesScanned(
        time=EPOCH + DAY,
        read=EPOCH + DAY,
        computer="EX01.corp.example",
        database=DATABASE,
        bad=1,
        found=((17, "uncorrectable"),),
    )
    folder.open_source("scan", EPOCH)
    folder.fold("scan", Batch(records=[scanned]))
    assert pages(folder) == [UNLOCATED, 17]

    acknowledge(folder, "ex01", LABEL, [])

    assert pages(folder) == []
    folder.fold("logs", Batch(records=[later]))
    assert pages(folder) == [20]


def test_pages_beyond_a_thousand_are_dealt_with_too() -> None:
    folder = folder_of(event(474, n, n + 1, fields={"page_number": n}) for n in range(1200))

    assert acknowledge(folder, "ex01", LABEL, []).pages == 1200

    assert pages(folder) == []
    folder.fold("logs", Batch(records=[event(474, DAY, 2000, fields={"page_number": 7})]))
    assert pages(folder) == [7]


def test_failed_writes_are_taken_as_dealt_with_as_pages_are() -> None:
    folder = folder_of([event(482, HOUR, 1), event(482, 2 * HOUR, 2)])
    entry = the_database(folder)
    assert len(io_errors(entry, None)) == 2
    acknowledge(folder, "ex01", LABEL, [])
    assert io_errors(entry, None) == []


def test_a_repair_from_another_copy_is_told_until_it_is_dealt_with_and_a_later_one_again() -> None:
    def is_told() -> bool:
        (judged,) = advise(folder.state, SETTINGS, EPOCH + 9 * DAY)
        return "corrected_page" in {detail.finding for detail in judged.details}

    folder = folder_of([event(905, HOUR, 1, fields={"page_number": 17})])
    assert is_told()
    acknowledge(folder, "ex01", LABEL, [])
    assert not is_told()
    folder.fold("logs", Batch(records=[event(911, DAY, 2, fields={"page_number": 17})]))
    assert is_told()


def test_a_failure_of_maintenance_is_told_until_it_is_dealt_with_and_a_later_one_again() -> None:
    def told() -> list[float]:
        found = families(folder.state, SETTINGS, EPOCH + 9 * DAY)
        return [s.value for each in found for s in each.samples if each.name == FAILED]

    def tasks() -> list[str]:
        entry = the_database(folder)
        return failed_tasks(views_in(folder.state, entry), entry)

    folder = folder_of([event(718, 0, 1), event(724, HOUR, 2), event(717, DAY, 3)])
    assert (told(), tasks()) == ([EPOCH + HOUR], ["zeroing"])
    acknowledge(folder, "ex01", LABEL, [])
    assert (told(), tasks()) == ([], [])
    folder.fold("logs", Batch(records=[event(718, 2 * DAY, 4), event(724, 3 * DAY, 5)]))
    assert (told(), tasks()) == ([EPOCH + 3 * DAY], ["zeroing"])


BEFORE = (
    event(413, HOUR, 1, database=""),
    event(454, HOUR, 2, database=""),
    event(492, HOUR, 3, database=""),
    event(481, HOUR, 4),
    event(541, HOUR, 5),
    event(447, HOUR, 6),
    event(476, HOUR, 7, fields={"page_number": 17}),
    event(699, HOUR, 8, level="error"),
    event(724, HOUR, 9),
    event(705, HOUR, 10, fields={"error": -1018}),
)
"""Each of another kind, logged at the same time."""


def open_things(folder: Folder) -> set[object]:
    """What is open of the database, by name."""
    entry = the_database(folder)
    found = histories(folder.state, SETTINGS)["ex01", LABEL]
    instance = folder.state.instances["ex01", "sg06"]
    errors = open_errors(instance, dealt_with(entry))
    return {
        *(kind for kind, count in errors.items() if count),
        *found.damage,
        *((bad.page, bad.kind) for bad in found.bad_pages),
        *found.unexplained,
        *found.failed,
        *(["failed reads"] if found.io_errors else []),
    }


@pytest.mark.parametrize("later", range(len(BEFORE)))
def test_what_was_logged_before_and_is_read_later_was_not_shown_and_stands(later: int) -> None:
    shown = [each for at, each in enumerate(BEFORE) if at != later]
    now = [msgspec.structs.replace(each, time=(each.time or 0.0) + DAY) for each in shown]
    folder = folder_of([event(700, 0), *now])
    assert open_things(folder)
    acknowledge(folder, "ex01", LABEL, [], surroundings(folder.state, SETTINGS))
    assert open_things(folder) == set()
    folder.fold("logs", Batch(records=[BEFORE[later]]))
    assert open_things(folder)


def test_five_thousand_bad_pages_are_no_more_when_they_are_reported_again() -> None:
    def reported(time: float) -> list[Record]:
        return [event(474, time + n / 10, fields={"page_number": n}) for n in range(1, 5001)]

    folder = folder_of(reported(0))
    standing = known_bad_pages(the_database(folder), views_in(folder.state, the_database(folder)))
    assert count_pages(standing) == 5000
    folder.fold("logs", Batch(records=reported(DAY)))
    standing = known_bad_pages(the_database(folder), views_in(folder.state, the_database(folder)))
    assert count_pages(standing) == 5000
    told = investigate(standing, {}, [], EPOCH + DAY)
    assert told is not None
    assert told.sentence.startswith("at least 5,000 pages (1-1000 and 4,000 without ")
    assert acknowledge(folder, "ex01", LABEL, []).pages == 5000
    assert pages(folder) == []
    folder.fold("logs", Batch(records=[event(474, 2 * DAY, fields={"page_number": 9000})]))
    assert pages(folder) == [9000]


def test_what_is_not_known_is_named() -> None:
    folder = damaged()
    with pytest.raises(EsewatchError, match=r"not a known bad page of .*: page 20"):
        acknowledge(folder, "ex01", LABEL, [17, 20])
    with pytest.raises(EsewatchError, match="no database 'x' is known on any computer"):
        forget(folder, "", "x")
    with pytest.raises(EsewatchError) as told:
        forget(folder, "ex01", "e:\\mdb\\nope.edb\n")
    assert str(told.value) == "no database 'e:\\mdb\\nope.edb\\n' is known on ex01"
    forget(folder, "EX01", LABEL)
    assert folder.state.databases == {}


def test_what_is_known_of_a_source_goes_with_it() -> None:
    folder = damaged()
    folder.changed.clear()
    succeed(folder, {"renamed": "logs", "new": "new"}, {"renamed": "d1", "new": "d2"})
    (source,) = folder.state.sources.values()
    assert isinstance(source, SourceState)
    assert (source.name, source.settings, source.records) == ("renamed", "d1", 3)
    assert {first for _, first, _ in folder.changed} == {"logs", "renamed", "new"}


def test_open_errors_of_its_instance_are_dealt_with_and_later_ones_are_not() -> None:
    folder = folder_of([event(700, 0, 1), event(481, HOUR, 2), event(492, HOUR, 3, database="")])
    (instance,) = folder.state.instances.values()

    done = acknowledge(folder, "ex01", LABEL, [])

    acknowledged = dealt_with(the_database(folder))
    assert (done.pages, done.errors) == (0, 2)
    assert open_errors(instance, acknowledged) == {"io": 0, "log_sequence": 0}
    folder.fold("logs", Batch(records=[event(482, DAY, 4)]))
    assert open_errors(instance, acknowledged)["io"] == 1


def test_damaged_memory_is_dealt_with_whichever_instance_of_the_computer_met_it() -> None:
    memory = event(907, HOUR, 2, level="error", database="", ese_instance="SG07")
    folder = folder_of([event(700, 0, 1), memory])

    done = acknowledge(folder, "ex01", LABEL, [])

    assert (done.errors, dealt_with(the_database(folder))["memory"]) == (1, EPOCH + HOUR)


def test_a_page_that_is_dealt_with_leaves_the_errors_of_its_instance_open() -> None:
    folder = folder_of([event(474, 0, 1, fields={"page_number": 17}), event(481, HOUR, 2)])

    assert acknowledge(folder, "ex01", LABEL, [17]).errors == 0
    assert dealt_with(the_database(folder)) == {}


ENDS_OF = {"database": ["known_bad_page critical"], "ese_instance": ["io_error critical"]}
OWN_INSTANCE = ("ex01", "sg06")


def test_an_acknowledgement_states_that_nothing_of_it_stands_even_if_nothing_was_known() -> None:
    """Semantics 7: an agent states 0 on `ack` and `forget`, also of what it does not know: one
    without its old journal ends what another one stated."""
    folder = folder_of([event(700, 0)])
    acknowledge(folder, "ex01", LABEL, [], ends=ENDS_OF)

    assert folder.state.stated["ex01", LABEL].over == {"known_bad_page critical": STATED_SECONDS}
    assert folder.state.stated_instances[OWN_INSTANCE].over == {"io_error critical": STATED_SECONDS}
    changed = {("stated", "ex01", LABEL), ("stated_instance", *OWN_INSTANCE)}
    assert changed <= folder.changed


def test_an_acknowledgement_of_some_pages_states_nothing_of_the_rest() -> None:
    folder = folder_of([event(474, 0, fields={"page_number": 17, "error": -1018})])
    acknowledge(folder, "ex01", LABEL, [17], ends=ENDS_OF)

    assert folder.state.stated == {}


@pytest.mark.parametrize("computer", ["ex09", "EX09"])
def test_a_database_that_is_not_known_is_stated_to_be_over_if_its_computer_is_named(
    computer: str,
) -> None:
    for path in ("E:\\MDB06\\Priv06.edb", LABEL):
        folder = folder_of([event(700, 0)])
        done = acknowledge(folder, computer, path, [], ends=ENDS_OF)

        assert done == Acknowledged(0, unknown=True)
        over = {("ex09", LABEL): Stated(over={"known_bad_page critical": STATED_SECONDS})}
        assert folder.state.stated == over
        forget(folder, computer, path, ENDS_OF)
        assert folder.state.stated == over
        with pytest.raises(EsewatchError, match="no database"):
            acknowledge(folder, computer, path, [17], ends=ENDS_OF)
    with pytest.raises(EsewatchError, match="no database"):
        acknowledge(folder, "", "e:\\other.edb", [], ends=ENDS_OF)


def test_a_forgotten_database_of_sql_server_states_nothing() -> None:
    folder = folder_of([])
    folder.state.sql_databases["sql01", "sales"] = SqlDatabase(computer="sql01", database="sales")

    assert forget(folder, "sql01", "sales", ENDS_OF)
    assert folder.state.sql_databases == {}
    assert folder.state.stated == {}  # ENDS_OF names no finding of SQL Server
