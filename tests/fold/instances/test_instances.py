"""Stops, backups and the version of the engine, as an instance's events tell them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.ese.events.from_strings import event_from_strings
from esewatch.fold.folder import Folder
from esewatch.fold.instances.instances import MAX_ENGINES, MAX_LIFE, engine_changes
from esewatch.fold.passes.passes import MAX_TRANSITIONS, SLACK
from esewatch.fold.state.state import Instance
from esewatch.model import Batch, Event
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of


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
