"""Names are those of the data: a flood of them has bounded costs, and two computers stay two."""

import random
from pathlib import Path

import msgspec
import pytest

from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import (
    EVENTS_A_DATABASE,
    MAX_EVENT_IDS,
    MAX_PROVIDERS,
    label_of,
    namesakes,
    shortened,
    shortened_name,
)
from esewatch.fold.state.state import Host, State
from esewatch.journal import Journal
from esewatch.model import Batch, CopyChecked, Coverage, Event, Feed, Reading, Record
from tests.support.each import of_each
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

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


def empty_folder(settings: Settings = SMALL) -> Folder:
    folder = Folder(State(), settings)
    folder.open_source("a", EPOCH)
    return folder


def fold(folder: Folder, *records: Record) -> None:
    folder.fold("a", Batch(records=list(records), caught_up=True))


def counted(folder: Folder, computer: str) -> int:
    return sum(sum(ids.values()) for ids in folder.state.hosts[computer].events.values())


def test_a_flood_of_computers_takes_no_more_room_and_pushes_nobody_out() -> None:
    folder = empty_folder()
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
    folder = empty_folder()
    fold(folder, *(told(f"flood{number}") for number in range(100)))
    del folder.state.hosts["flood0"]
    fold(folder, told("late1"))
    assert "late1" not in folder.state.hosts
    for number in range(1, 4):
        del folder.state.hosts[f"flood{number}"]
    fold(folder, told("late2"))
    assert "late2" in folder.state.hosts


def test_where_it_is_crowded_computers_that_passed_by_go_and_real_ones_stay() -> None:
    folder = empty_folder()
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
    folder = empty_folder(Settings())
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
    folder = empty_folder()
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
    folder = empty_folder()
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
    folder = empty_folder(Settings())
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
    folder = empty_folder(Settings())
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

    folder = empty_folder()
    source = folder.state.sources["a"]
    source.computers, source.channels = Unsearched(), Unsearched()
    covers = [
        Coverage(computer=name, channel="c", first=1, last=2, first_time=EPOCH, last_time=EPOCH)
        for name in ("one", "two", "one")
    ]
    fold(folder, told("one"), told("two"), told("one"), *covers)
    assert list(source.computers) == ["one", "two"]
    assert list(source.channels) == [("one", "c"), ("two", "c")]


CORP, OTHER, THIRD = "EX01.corp.example", "ex01.other.example", "EX01.third.example"


def bad(computer: str, time: float = 0, record_id: int = 7) -> Event:
    return event(474, time, record_id, computer=computer, fields={"page_number": 17})


def sample(computer: str) -> Reading:
    return Reading(
        time=EPOCH,
        computer=computer,
        object="Database ==> Instances",
        counter="Online Defrag Pages Read",
        instance="store/sg06",
        value=1.0,
        kind="total",
        feed=Feed(metric="ese_defrag_pages_read_total", name="SG06"),
    )


def test_the_bad_page_of_the_second_machine_is_not_dropped() -> None:
    folder = folder_of([bad(CORP), bad(OTHER), bad(CORP), bad(OTHER)])
    assert set(folder.state.databases) == {("ex01", LABEL), ("ex01.other.example", LABEL)}
    assert all(len(each.bad_pages) == 1 for each in folder.state.databases.values())
    assert folder.state.sources["logs"].duplicates == 2


def test_everything_of_the_second_machine_is_its_own() -> None:
    checked = CopyChecked(
        time=EPOCH,
        computer=OTHER,
        database=DATABASE,
        by="page_scan",
        complete=True,
        pages_seen=9,
        bad=0,
    )
    folder = folder_of([bad(CORP), sample(CORP), sample(OTHER), checked])
    assert {key[0] for key in folder.state.instances} == {"ex01", "ex01.other.example"}
    assert folder.state.databases["ex01.other.example", LABEL].verified


@pytest.mark.parametrize(
    "names", [("EX01", CORP), (CORP, "EX01"), ("ex01", CORP, "EX01.CORP.EXAMPLE.")]
)
def test_a_short_name_and_the_full_one_that_begins_with_it_are_one(names: tuple[str, ...]) -> None:
    folder = folder_of(bad(name) for name in names)
    assert list(folder.state.hosts) == ["ex01"]
    assert folder.state.sources["logs"].duplicates == len(names) - 1


def test_an_alias_makes_two_names_one_computer() -> None:
    settings = Settings(computers={OTHER.upper(): CORP})
    assert list(folder_of([bad(CORP), bad(OTHER)], settings=settings).state.hosts) == ["ex01"]


def test_addresses_and_whole_names_are_as_they_were() -> None:
    assert set(folder_of([bad("10.0.0.1"), bad("10.0.0.2")]).state.hosts) == {
        "10.0.0.1",
        "10.0.0.2",
    }
    whole = folder_of(
        [bad(CORP), bad(OTHER), bad("EX01")], settings=Settings(computer_label="fqdn")
    )
    assert set(whole.state.hosts) == {"ex01.corp.example", "ex01.other.example", "ex01"}
    assert namesakes(whole.state.hosts, whole.settings) == []


def test_it_is_told_once() -> None:
    folder = folder_of([bad(CORP)])
    said: list[str] = []
    for name in (CORP, OTHER, OTHER, "EX01"):
        folder.fold("logs", Batch(records=[bad(name, DAY)]))
        folder.computers.tell(said.append)
    assert len(said) == 1
    assert "ex01.corp.example and ex01.other.example" in said[0]


def test_the_journal_keeps_who_is_who(tmp_path: Path) -> None:
    folder = folder_of([bad(CORP), bad(OTHER)])
    journal = Journal(tmp_path / "j.db")
    journal.commit(folder.state, folder.changed, {})
    state, _ = journal.load()
    journal.close()
    again = Folder(state, Settings())
    again.fold("logs", Batch(records=[bad(OTHER), bad(CORP), bad(THIRD)]))
    assert again.state.sources["logs"].duplicates == 2
    assert set(again.state.hosts) == {"ex01", "ex01.other.example", "ex01.third.example"}
    said: list[str] = []
    again.computers.tell(said.append)
    assert len(said) == 1


def test_a_journal_without_the_full_name_knows_it_from_the_names_it_has_seen() -> None:
    hosts = {"ex01": Host(computer="ex01", aliases_seen=["EX01", CORP, OTHER])}
    folder = Folder(State(hosts=hosts), Settings())
    folder.open_source("logs", EPOCH)
    folder.fold("logs", Batch(records=[bad(OTHER), bad(CORP), bad("EX01")]))
    assert set(folder.state.hosts) == {"ex01", "ex01.other.example"}
    assert label_of(CORP, folder.state.hosts, folder.settings) == "ex01"


@of_each(range(20))
def test_of_inputs_read_together_the_oldest_record_decides(seed: int) -> None:
    records = [
        event(700, time * HOUR, number, computer=name)
        for number, (name, time) in enumerate(
            [(OTHER, 0), (OTHER, 50), (CORP, 10), (CORP, 90), (THIRD, 20), (THIRD, 5)]
        )
    ]
    random.Random(seed).shuffle(records)
    samples = [msgspec.structs.replace(sample(name), time=EPOCH + DAY) for name in (CORP, OTHER)]
    folder = folder_of([*records, *samples])
    folder.computers.settle()
    state = folder.state
    label = {host.full_name: name for name, host in state.hosts.items()}
    assert label == {
        "ex01.other.example": "ex01",
        "ex01.corp.example": "ex01.corp.example",
        "ex01.third.example": "ex01.third.example",
    }
    for table in (state.databases, state.channels, state.instances):
        assert all(each.computer == key[0] for key, each in table.items())
    assert set(state.sources["logs"].computers) == set(state.hosts)
    assert state.databases["ex01", LABEL].first_seen == EPOCH
    before = msgspec.msgpack.encode(state.databases["ex01", LABEL])
    folder.computers.settle()
    assert msgspec.msgpack.encode(state.databases["ex01", LABEL]) == before
