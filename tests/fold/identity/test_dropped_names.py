"""Names are the data's, and so is their number: what a flood of them costs is bounded."""

import pytest

from esewatch.config import Settings
from esewatch.expose.metrics.snapshot import families
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import (
    EVENTS_A_DATABASE,
    MAX_EVENT_IDS,
    MAX_PROVIDERS,
    shortened,
    shortened_name,
)
from esewatch.fold.state.state import State
from esewatch.model import Batch, Coverage, Event, Feed, Reading, Record
from tests.support.records import DAY, EPOCH, HOUR

SMALL = Settings(max_databases=5, computers={"alias": "vip"})
ROOM = 20
"""Computers, instances, devices and channels with these settings."""


def told(
    computer: str, time: float = 0.0, event_id: int = 704, number: int | None = None, **more: str
) -> Event:
    return Event(
        event_id=event_id,
        time=EPOCH + time,
        computer=computer,
        record_id=number,
        provider=more.get("provider", "ESE"),
        channel=more.get("channel", "Application"),
    )


def sampled(computer: str, instance: str, **more: str) -> Reading:
    return Reading(
        time=EPOCH,
        computer=computer,
        object=more.get("object", "o"),
        counter=more.get("counter", "c"),
        instance=instance,
        value=1.0,
        kind="total",
        feed=Feed(metric="ese_defrag_pages_read_total", name=instance),
    )


def folder_of(settings: Settings = SMALL) -> Folder:
    folder = Folder(State(), settings)
    folder.open_source("a", EPOCH)
    return folder


def fold(folder: Folder, *records: Record) -> None:
    folder.fold("a", Batch(records=list(records), caught_up=True))


def counted(folder: Folder, computer: str) -> int:
    return sum(sum(ids.values()) for ids in folder.state.hosts[computer].events.values())


def test_a_flood_of_computers_takes_no_more_room_and_pushes_nobody_out() -> None:
    folder = folder_of()
    fold(folder, told("real"))
    fold(folder, *(told(f"flood{number}") for number in range(100)))
    fold(folder, told("real", HOUR), told("vip"), told("ALIAS"))
    state = folder.state
    assert len(state.hosts) == ROOM + 1
    assert counted(folder, "real") == 2
    assert counted(folder, "vip") == 2
    assert state.databases_dropped == 101 - ROOM
    assert state.sources["a"].records == 104
    assert ("dropped", "", "") in folder.changed


def test_once_full_a_free_place_is_not_for_the_next_of_a_flood() -> None:
    folder = folder_of()
    fold(folder, *(told(f"flood{number}") for number in range(100)))
    del folder.state.hosts["flood0"]
    fold(folder, told("late1"))
    assert "late1" not in folder.state.hosts
    for number in range(1, 4):
        del folder.state.hosts[f"flood{number}"]
    fold(folder, told("late2"))
    assert "late2" in folder.state.hosts


def test_where_it_is_crowded_computers_that_passed_by_go_and_real_ones_stay() -> None:
    folder = folder_of()
    database = "e:\\MDB06\\priv06.edb"
    served = Event(
        event_id=700, provider="ESE", time=EPOCH, computer="served", database=database
    )  # fmt: skip
    fold(folder, told("real"), told("real", 2 * HOUR), served, sampled("metered", "SG06"))
    fold(folder, *(told(f"flood{number}", number=number) for number in range(100)))
    folder.expire(EPOCH + HOUR)
    assert len(folder.state.hosts) == ROOM
    folder.expire(EPOCH + 2 * DAY)
    assert sorted(folder.state.hosts) == ["metered", "real", "served"]
    assert sorted(folder.state.sources["a"].computers) == ["metered", "real", "served"]
    assert {computer for computer, _ in folder.state.channels} <= {"real", "served"}
    assert ("host", "flood3", "") in folder.changed
    fold(folder, told("new"), told("flood3"))
    assert {"new", "flood3"} <= folder.state.hosts.keys()
    folder.expire(EPOCH + 90 * DAY)
    assert "new" in folder.state.hosts  # nothing goes while there is room


def test_a_flood_of_event_ids_is_counted_as_others_and_no_event_is_left_out() -> None:
    folder = folder_of(Settings())
    fold(folder, told("ex", event_id=704))
    fold(folder, *(told("ex", event_id=100_000 + number) for number in range(2000)))
    fold(folder, told("ex", event_id=701), told("ex", event_id=704))
    ids = folder.state.hosts["ex"].events["ESE"]
    assert len(ids) <= MAX_EVENT_IDS + 2
    assert ids[704] == 2
    assert ids[701] == 1
    assert counted(folder, "ex") == 2003
    (family,) = [
        each for each in families(folder.state, Settings(), EPOCH) if each.name == "ese_events"
    ]
    others = [sample for sample in family.samples if sample.labels["event_id"] == "other"]
    assert [sample.value for sample in others] == [2003 - sum(ids.values()) + ids[-1]]


def test_floods_of_providers_and_of_ids_over_many_computers_are_bounded_together() -> None:
    folder = folder_of()
    fold(folder, *(told("ex", provider=f"p{number}") for number in range(100)))
    assert len(folder.state.hosts["ex"].events) == MAX_PROVIDERS + 1
    assert counted(folder, "ex") == 100
    flood = (told(f"c{number % 19}", event_id=100_000 + number) for number in range(3000))
    fold(folder, *flood)
    series = sum(
        len(ids) for host in folder.state.hosts.values() for ids in host.events.values()
    )  # fmt: skip
    assert series <= EVENTS_A_DATABASE * SMALL.max_databases + len(folder.state.hosts)
    again = Folder(folder.state, SMALL)
    fold(again, *(told(f"c{number % 19}", event_id=200_000 + number) for number in range(3000)))
    assert series == sum(
        len(ids) for host in again.state.hosts.values() for ids in host.events.values()
    )  # fmt: skip


def test_a_flood_of_channels_is_bounded_and_their_events_are_counted() -> None:
    folder = folder_of()
    fold(folder, told("ex", channel="Application", number=1))
    fold(folder, *(told("ex", channel=f"c{number}", number=1) for number in range(100)))
    covers = [
        Coverage(
            computer="ex", channel=f"d{number}", first=1, last=2, first_time=EPOCH, last_time=EPOCH
        )
        for number in range(100)
    ]
    fold(folder, *covers, told("ex", channel="Application", number=1))
    assert len(folder.state.channels) == ROOM
    assert counted(folder, "ex") == 101
    assert folder.state.sources["a"].duplicates == 1
    assert folder.state.sources["a"].channels == []


LONG = "x" * 900_000


@pytest.mark.parametrize("field", ["computer", "channel", "provider", "process", "ese_instance"])
def test_a_long_name_is_cut_and_two_of_them_stay_two(field: str) -> None:
    folder = folder_of(Settings())
    base = told("ex", number=1)
    for end in ("1", "2"):
        more = {"computer": "ex", "ese_instance": "SG06", field: LONG + end}
        event = Event(
            event_id=700,
            provider=more.get("provider", base.provider),
            channel=more.get("channel", base.channel),
            computer=more["computer"],
            process=more.get("process", "store"),
            ese_instance=more["ese_instance"],
            database="e:\\a.edb",
            record_id=int(end),
            time=EPOCH,
        )
        fold(folder, event)
    state = folder.state
    assert len(repr(state)) < 20_000
    assert state.sources["a"].records == 2
    if field == "computer":
        assert len(state.hosts) == 2
    if field == "ese_instance":
        assert len(state.instances) == 2


@pytest.mark.parametrize("field", ["computer", "object", "counter", "instance"])
def test_a_long_name_of_a_counter_is_cut(field: str) -> None:
    folder = folder_of(Settings())
    names = {"computer": "ex", "instance": "SG06", field: LONG}
    fold(folder, sampled(names.pop("computer"), names.pop("instance"), **names))
    feed = Feed(metric="ese_volume_free_bytes", owner="computer", labels=(LONG,))
    fold(
        folder,
        Reading(time=EPOCH, computer="ex", object="o", counter="c", instance="i", value=1.0,
                kind="level", feed=feed),
        Coverage(computer=LONG, channel=LONG, first=1, last=2, first_time=EPOCH, last_time=EPOCH),
    )  # fmt: skip
    assert len(repr(folder.state)) < 20_000


def test_a_name_of_usual_length_is_not_touched() -> None:
    event = told("ex", provider="ESE")
    assert shortened(event) is event
    reading = sampled("ex", "SG06")
    assert shortened(reading) is reading
    assert shortened_name("ä" * 255) == "ä" * 255
    assert len(shortened_name("\udcff" * 256)) == 255


def test_known_names_are_not_searched_for_in_a_list() -> None:
    class Unsearched(list):  # type: ignore[type-arg]
        def __contains__(self, item: object) -> bool:
            raise AssertionError("searched from its beginning")

    folder = folder_of()
    source = folder.state.sources["a"]
    source.computers, source.channels = Unsearched(), Unsearched()
    covers = [
        Coverage(computer=name, channel="c", first=1, last=2, first_time=EPOCH, last_time=EPOCH)
        for name in ("one", "two", "one")
    ]
    fold(folder, told("one"), told("two"), told("one"), *covers)
    assert list(source.computers) == ["one", "two"]
    assert list(source.channels) == [("one", "c"), ("two", "c")]
