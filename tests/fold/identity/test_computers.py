"""Two machines with one short name are two computers; a short name and its full one are one."""

import random
from pathlib import Path

import msgspec
import pytest

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import label_of, namesakes
from esewatch.fold.state.state import Host, State
from esewatch.journal import Journal
from esewatch.model import Batch, CopyChecked, Event, Feed, Reading
from tests.support.each import of_each
from tests.support.records import DATABASE, DAY, EPOCH, HOUR, LABEL, event, folder_of

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
