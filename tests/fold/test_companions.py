"""What other programs say: failovers, failed copies, directories. Their bounds and their ends."""

from typing import Any

import pytest

from esewatch.advice.history.surroundings import surroundings
from esewatch.config import DatabaseRule, Settings
from esewatch.fold.commands import acknowledge
from esewatch.fold.companions import MOST_NOTICES, MOST_OF_DATABASE, MOST_OF_HOST
from esewatch.fold.folder import Folder
from esewatch.model import Batch, Event
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database, views


def companion(event_id: int, time: float, *strings: str, **changes: Any) -> Event:
    """An event of another provider that tells no database of ESE."""
    given: dict[str, Any] = {"provider": "other", "database": "", "process": "", **changes}
    return event(event_id, time, ese_instance="", companion=True, strings=strings, **given)


def failover(time: float, *names: str, **fields: str) -> Event:
    """308, with these names in its strings."""
    return companion(308, time, *names, fields={"state": "failover", **fields})


def failed(time: float, name: str = "SG06", **changes: Any) -> Event:
    """A copy of that name failed."""
    fields = {"state": "failed", "database_name": name, "reason": "why"}
    return companion(2070, time, fields=fields, **changes)


def said(folder: Folder) -> list[tuple[str, int, float]]:
    """State, count and last time of what stands of the one database."""
    told = surroundings(folder.state, folder.settings)(the_database(folder))
    return [(each.state, each.count, each.last - EPOCH) for each in told.notices]


def test_a_failover_ends_the_open_pass_in_either_order_of_arrival() -> None:
    records = [event(717, 0), failover(HOUR, "sg06")]
    for order in (records, records[::-1]):
        folder = folder_of(order)
        assert the_database(folder).failovers == [EPOCH + HOUR]
        view = views(folder)["checksum"]
        assert view.current is None
        assert [each.outcome for each in view.passes] == ["abandoned"]


def test_a_failover_of_nobody_is_kept_until_its_database_is_known() -> None:
    folder = folder_of([failover(HOUR, "SG06")])
    assert folder.state.databases == {}
    folder.fold("logs", Batch(records=[event(717, 0)]))
    assert the_database(folder).failovers == [EPOCH + HOUR]


def test_a_new_name_of_the_configuration_tells_other_failovers() -> None:
    folder = folder_of([event(717, 0), failover(HOUR, "SG06"), failover(2 * HOUR, "Sales")])
    assert the_database(folder).failovers == [EPOCH + HOUR]
    folder.reconfigure(Settings(databases=[DatabaseRule(match="*", name="Sales")]))
    folder.fold("logs", Batch(records=[]))
    assert the_database(folder).failovers == [EPOCH + 2 * HOUR]


def test_another_instance_name_tells_other_failovers() -> None:
    folder = folder_of([event(717, 0), failover(HOUR, "SG06"), failover(2 * HOUR, "SG07")])
    folder.fold("logs", Batch(records=[event(719, DAY, ese_instance="SG07")]))
    assert the_database(folder).failovers == [EPOCH + 2 * HOUR]


@pytest.mark.parametrize(
    ("server", "mine"),
    [
        ("EX01", True),
        ("ex01.corp.example", True),
        ("EX01.other.example", False),
        ("EX011", False),
        ("EX02", False),
    ],
)
def test_a_server_is_known_by_its_short_or_its_full_name(server: str, mine: bool) -> None:
    other = event(717, 0, computer="EX02.corp.example")
    folder = folder_of([event(717, 0), other, failover(HOUR, "SG06", server)])
    told = {key[0]: bool(entry.failovers) for key, entry in folder.state.databases.items()}
    unknown = server in {"EX01.other.example", "EX011"}
    assert told == {"ex01": mine or unknown, "ex02": not mine}


def test_a_server_may_be_cut_to_the_length_of_netbios() -> None:
    long = "EXCHANGE-BERLIN-01.corp.example"
    records = [event(717, 0), event(717, 0, computer=long), failover(0, "SG06", "EXCHANGE-BERLIN")]
    folder = folder_of(records)
    told = {key[0]: bool(entry.failovers) for key, entry in folder.state.databases.items()}
    assert told == {"ex01": False, "exchange-berlin-01": True}


def test_failovers_without_a_name_are_not_kept() -> None:
    folder = folder_of([event(717, 0), failover(HOUR)])
    assert folder.state.hosts["ex01"].failovers == []


def test_failovers_are_bounded() -> None:
    many = [failover(each, "SG06") for each in range(MOST_OF_HOST + 5)]
    folder = folder_of([event(717, 0), *many])
    assert len(folder.state.hosts["ex01"].failovers) == MOST_OF_HOST
    last = EPOCH + MOST_OF_HOST + 4
    kept = the_database(folder).failovers
    assert (len(kept), kept[-1]) == (MOST_OF_DATABASE, last)


def test_names_are_bounded() -> None:
    strings = ["x" * 300, *(f"n{each}" for each in range(40))]
    folder = folder_of([failover(0, *strings)])
    names = folder.state.hosts["ex01"].failovers[0].names
    assert names == tuple(f"n{each}" for each in range(16))


def test_what_is_said_again_is_counted_with_its_last_time() -> None:
    folder = folder_of([event(717, 0), failed(2 * HOUR), failed(HOUR), failed(3 * HOUR, "SG07")])
    assert said(folder) == [("failed", 2, 2 * HOUR)]


def test_an_acknowledgement_ends_what_was_said_by_then() -> None:
    folder = folder_of([event(717, 0), failed(HOUR)])
    told = surroundings(folder.state, folder.settings)
    acknowledge(folder, "ex01", LABEL, [], told)
    assert said(folder) == []
    folder.fold("logs", Batch(records=[failed(2 * HOUR)]))
    assert said(folder) == [("failed", 2, 2 * HOUR)]


def test_an_acknowledged_page_ends_nothing_that_was_said() -> None:
    bad = event(474, HOUR, fields={"page_number": 3})
    folder = folder_of([event(717, 0), bad, failed(HOUR)])
    acknowledge(folder, "ex01", LABEL, [3], surroundings(folder.state, folder.settings))
    assert said(folder) == [("failed", 1, HOUR)]


def test_what_is_said_is_bounded_and_the_oldest_goes() -> None:
    many = [failed(each, f"SG{each}") for each in range(MOST_NOTICES + 1)]
    folder = folder_of([event(717, 0), *many])
    kept = folder.state.hosts["ex01"].notices
    assert len(kept) == MOST_NOTICES
    assert min(each.last for each in kept) == EPOCH + 1


def test_an_event_without_a_time_tells_nothing() -> None:
    folder = folder_of([event(717, 0)])
    for told in (failed(0), failover(0, "SG06")):
        untimed = Event(**{**{name: getattr(told, name) for name in told.__struct_fields__},
                           "time": None})  # fmt: skip
        folder.fold("logs", Batch(records=[untimed]))
    assert said(folder) == []
    assert the_database(folder).failovers == []


def test_1646_of_an_instance_of_ad_lds_speaks_of_its_database() -> None:
    def directory(path: str, provider: str) -> Event:
        return event(700, 0, database=path, ese_instance="x", process="y", provider=provider)

    domain = "C:\\Windows\\NTDS\\ntds.dit"
    records = [
        directory(domain, "NTDS ISAM"),
        directory("D:\\ADAM\\a\\adamntds.dit", "ADAM [a] ISAM"),
        directory("D:\\ADAM\\b\\adamntds.dit", "ADAM [b] ISAM"),
        companion(1646, HOUR, fields={"free_bytes": 5}),
        companion(1646, HOUR, fields={"free_bytes": 7, "adam_instance": "B"}),
    ]
    folder = folder_of(records)
    free = {key[1]: entry.free_bytes for key, entry in folder.state.databases.items()}
    assert list(free.values()) == [5, None, 7]
