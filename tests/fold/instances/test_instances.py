"""Stops, backups, the engine's version and restores, as the events of an instance tell them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.advise import advise
from esewatch.advice.history.history import histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.instances.instances import (
    MAX_ENGINES,
    MAX_ERRORS,
    MAX_LIFE,
    engine_changes,
    restores,
)
from esewatch.fold.passes.passes import MAX_TRANSITIONS, SLACK
from esewatch.fold.state.state import Instance
from esewatch.model import Batch, CopyChecked, Event
from tests.support.decoding import event_from_strings
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of


def instance_of(*events: Event, settings: Any = None) -> Instance:
    (instance,) = folder_of(events, settings=settings).state.instances.values()
    return instance


def start(time: float, *version: str, record_id: int | None = None) -> Event:
    """102 of SG06 as the strings of a log have it."""
    decoded = event_from_strings(
        provider="ESE",
        event_id=102,
        strings=["MSExchangeIS", "3392", "SG06: ", "0", *version],
        time=EPOCH + time,
        computer="EX01",
        channel="Application",
        record_id=record_id,
    )
    assert decoded is not None
    return decoded


def told(time: float, version: str, event_id: int = 701) -> Event:
    """Any event of a current Exchange server: its `%2` ends in the version."""
    return event(event_id, time, engine_version=version)


def test_the_start_of_an_instance_tells_the_version() -> None:
    assert instance_of(start(5, "08", "01", "0240", "0005")).engines == {"8.1.240": EPOCH + 5}


def test_every_event_that_names_the_version_tells_it() -> None:
    assert instance_of(told(5, "15.01.2507.012")).engines == {"15.1.2507": EPOCH + 5}


def test_both_forms_are_the_same_version() -> None:
    one = start(0, "15", "01", "2507", "0012")
    assert instance_of(one, told(9, "15.01.2507.012")).engines == {"15.1.2507": EPOCH}


def test_a_first_sight_is_no_change_and_another_version_is_one() -> None:
    before, after = start(0, "08", "00", "0685", "0018"), start(DAY, "08", "01", "0240", "0005")
    assert engine_changes(instance_of(before)) == []
    assert engine_changes(instance_of(before, after)) == [EPOCH + DAY]


def test_a_security_update_is_no_other_version() -> None:
    assert engine_changes(instance_of(told(0, "15.01.2507.012"), told(DAY, "15.01.2507.039"))) == []


def test_two_engines_under_one_name_are_one_change_and_not_one_each_day() -> None:
    events = [told(day * DAY, ("15.01.2507.012", "10.00.17763.0")[day % 2]) for day in range(30)]
    assert engine_changes(instance_of(*events)) == [EPOCH + DAY]


@pytest.mark.parametrize(
    "untold",
    [
        pytest.param(start(0), id="engines before 2007 log the number alone"),
        pytest.param(start(0, "08", "00"), id="cut short"),
        pytest.param(start(0, "08", "x", "0685", "0018"), id="no number"),
        pytest.param(start(0, "00", "00", "0000", "0000"), id="nothing but zeros"),
        pytest.param(start(0, "08", "00", str(2**60), "0018"), id="larger than a part can be"),
        pytest.param(told(0, "15.01"), id="two parts"),
        pytest.param(told(0, "15..01.2507"), id="a part is missing"),
        pytest.param(told(0, "99999.1.1.1"), id="17 bits"),
        pytest.param(event(330, 0, fields={"version_major": 8}), id="a version of something else"),
    ],
)
def test_what_is_no_version_tells_none(untold: Event) -> None:
    assert instance_of(untold).engines == {}


def test_the_last_eight_are_kept() -> None:
    events = [told(day * DAY, f"15.1.{100 + day}.0") for day in range(20)]
    found = instance_of(*events)
    assert sorted(found.engines.values()) == [EPOCH + day * DAY for day in range(12, 20)]
    assert len(engine_changes(found)) == MAX_ENGINES - 1


def test_an_older_log_that_is_read_later_tells_that_there_was_a_change() -> None:
    folder = folder_of([told(9 * DAY, "15.2.1118.7")])
    (instance,) = folder.state.instances.values()
    assert engine_changes(instance) == []
    folder.fold("logs", Batch(records=[told(0, "15.2.986.5")]))
    assert engine_changes(instance) == [EPOCH + 9 * DAY]


EVENTS = st.lists(
    st.builds(
        told,
        st.integers(0, 40).map(lambda day: day * DAY),
        st.sampled_from([f"15.1.{n}" for n in range(1, 8)]),
    ),
    max_size=20,
)


@given(EVENTS, st.randoms(use_true_random=False))
def test_neither_order_nor_repetition_makes_a_difference(events: list[Event], rng: Any) -> None:
    shuffled = rng.sample(events, len(events)) + events[:3]
    expected = {key: each.engines for key, each in folder_of(events).state.instances.items()}
    assert {
        key: each.engines for key, each in folder_of(shuffled).state.instances.items()
    } == expected


def test_only_what_changes_something_is_written_to_the_journal() -> None:
    folder = folder_of([told(0, "15.1.2507.12")])
    row = ("instance", "ex01", "sg06")
    for record, changed in (
        (told(5, "15.1.2507.12"), False),
        (told(6, "15.2.986.5"), True),
        (event(103, 7, database=""), True),
        (event(210, 8, database=""), True),
        (event(105, 9, database=""), True),
        (event(302, 9, database=""), True),
        (event(326, 10), True),
        (event(326, 11, database="other.edb"), True),
        (event(326, 10.5, database="another.edb"), False),
        (event(507, 12), False),
        (event(103, HOUR, database=""), True),
        (event(507, HOUR), True),
    ):
        folder.changed.clear()
        folder.fold("logs", Batch(records=[record]))
        assert (row in folder.changed) is changed


def test_the_version_is_that_of_the_instance_alone() -> None:
    records = [
        told(0, "15.1.2507.12"),
        event(701, 5, ese_instance="SG07", engine_version="15.2.986.5"),
    ]
    found: Folder = folder_of(records)
    assert {key[1]: engine_changes(each) for key, each in found.state.instances.items()} == {
        "sg06": [],
        "sg07": [],
    }


def test_as_many_stops_as_transitions_are_kept() -> None:
    life = instance_of(*(event(103, at, database="") for at in range(MAX_LIFE + 9))).life
    assert MAX_LIFE >= MAX_TRANSITIONS + SLACK
    assert (len(life), life[-1]) == (MAX_LIFE, (EPOCH + MAX_LIFE + 8, 0, 103))


def test_the_last_starts_are_kept_in_any_order_and_each_once() -> None:
    times = [*range(MAX_LIFE + 9), 3]
    starts = instance_of(*(start(at) for at in reversed(times))).times_of({102})
    assert starts == [EPOCH + at for at in range(9, MAX_LIFE + 9)]


@pytest.mark.parametrize("event_id", [301, 325, 326, 328])
@pytest.mark.parametrize("order", [1, -1])
def test_of_many_logs_and_databases_in_a_row_the_first_is_kept(event_id: int, order: int) -> None:
    between = event(105, 9, database="")
    records = [*(event(event_id, at) for at in (*range(9), *range(10, 19))), between]
    life = instance_of(*sorted(records, key=lambda each: each.time or 0.0)[::order]).life
    assert life == [
        (EPOCH, 0, event_id),
        (EPOCH + 9, 0, 105),
        (EPOCH + 10, 0, event_id),
    ]


def test_what_a_tool_starts_and_stops_is_no_life_of_the_instance() -> None:
    work = [event(each, 5, process="eseutil", database="") for each in (102, 105, 103)]
    assert instance_of(start(0), *work).life == [(EPOCH, 0, 102)]


SETTINGS = Settings()
BAD = (
    event(474, 0, fields={"page_number": 17}),
    event(476, 60, fields={"page_number": 18}),
    event(541, 120),
)
BEGINS = event(204, DAY, database="", ese_instance="Restore0001", fields={"to_folder": "e:\\sg06"})
ENDS = event(205, DAY + HOUR, database="", ese_instance="Restore0001")
MOUNTED = event(105, DAY + 2 * HOUR, database="")
ATTACHED = event(326, DAY + 2 * HOUR)
FAILED = event(517, DAY + 60, database="", level="error")


Said = tuple[list[int], set[str], list[str]]


def said(*records: Event | CopyChecked) -> Said:
    """Known bad pages, damage and the findings about them, in either order of arrival."""
    told = [_said(folder_of(each)) for each in (records, records[::-1])]
    assert told[0] == told[1]
    return told[0]


def _said(folder: Folder) -> Said:
    found = histories(folder.state, SETTINGS)["ex01", LABEL]
    (advice,) = advise(folder.state, SETTINGS, EPOCH + 9 * DAY)
    about = {"investigate", "copy_divergence", "restored_unproven"}
    names = sorted(str(each.finding) for each in advice.findings if each.finding in about)
    return sorted(each.page for each in found.bad_pages), set(found.damage), names


STANDS: Said = ([17, 18], {"divergence"}, ["copy_divergence", "investigate"])
UNPROVEN: Said = ([], set(), ["restored_unproven"])


@pytest.mark.parametrize("up", [MOUNTED, ATTACHED], ids=["105", "326"])
def test_a_restore_after_which_the_instance_came_up_leaves_bad_pages_unproven(up: Event) -> None:
    assert said(*BAD) == STANDS
    assert said(*BAD, BEGINS, ENDS, up) == UNPROVEN
    later = event(474, 2 * DAY, fields={"page_number": 19})
    assert said(*BAD, BEGINS, ENDS, up, later) == (
        [19],
        set(),
        ["investigate", "restored_unproven"],
    )


def test_without_its_beginning_its_end_or_the_instance_or_with_an_error_it_is_none() -> None:
    assert said(*BAD, ENDS, MOUNTED) == STANDS
    assert said(*BAD, BEGINS, MOUNTED) == STANDS
    assert said(*BAD, BEGINS, ENDS) == STANDS
    assert said(*BAD, BEGINS, FAILED, ENDS, MOUNTED) == STANDS
    other = event(517, DAY + 60, database="", level="error", process="certsrv")
    assert said(*BAD, BEGINS, other, ENDS, MOUNTED) == UNPROVEN
    many = [event(481, 2 * DAY + n, database="", level="error") for n in range(2 * MAX_ERRORS)]
    folder = folder_of([*BAD, BEGINS, ENDS, MOUNTED, *many])
    # What is forgotten may have been an error of the restore.
    assert restores(folder.state, folder.state.databases["ex01", LABEL]) == []


def test_of_several_instances_the_one_whose_logs_were_restored() -> None:
    beside = event(700, 0, database="e:\\07.edb", ese_instance="SG07")
    records = [*BAD, beside, BEGINS, ENDS, MOUNTED]
    named = event(301, 0, database="", fields={"log_file": "E:\\SG06\\E0000000A.log"})
    other = event(301, 0, database="", fields={"log_file": "E:\\SG6\\E0000000A.log"})
    for record, stands in ((named, 0), (other, 2)):
        folder = folder_of([*records, record])
        assert len(histories(folder.state, SETTINGS)["ex01", LABEL].bad_pages) == stands


def test_what_began_after_it_proves_the_pages() -> None:
    fields = {"seconds": 60, "days": 1, "pages_seen": 9, "bad_checksums": 0}
    restore = (*BAD, BEGINS, ENDS, MOUNTED)

    def scan(time: float) -> tuple[Event, Event]:
        return event(717, time), event(721, time + HOUR, fields=fields)

    assert said(*restore, *scan(2 * DAY)) == ([], set(), [])
    assert said(*restore, *scan(DAY + HOUR / 2)) == UNPROVEN
    # The files were restored, and the instance still read those before.
    assert said(*restore, *scan(DAY + 1.5 * HOUR)) == UNPROVEN
    for time, findings in ((2 * DAY, []), (DAY, ["restored_unproven"])):
        read = CopyChecked(
            time=EPOCH + time,
            computer="EX01",
            database=DATABASE,
            by="page_scan",
            complete=True,
            pages_seen=9,
            bad=0,
        )
        assert said(*restore, read) == ([], set(), findings)


def test_an_acknowledgement_ends_it_until_another_restore() -> None:
    folder = folder_of([*BAD, BEGINS, ENDS, MOUNTED])
    acknowledge(folder, "ex01", LABEL, [], surroundings(folder.state, SETTINGS))
    assert _said(folder) == ([], set(), [])
