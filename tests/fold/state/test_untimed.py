"""Events without a time: they are counted, and no pass, age or stop follows from them."""

from typing import Any

import msgspec

from esewatch.config import Settings
from esewatch.fold.databases.databases import MAX_UNTIMED_ENDS as MAX_ENDS
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import tier
from esewatch.fold.state.database_state import Ended
from esewatch.fold.state.state import UNLOCATED, Database
from esewatch.model import Batch, Event, FieldValue
from tests.support.records import DATABASE, EPOCH, LABEL, event, folder_of, the_database, views

ENDED: dict[str, FieldValue] = {
    "pages_freed": 42794, "pass_started": "6/16/2007", "seconds": 124919, "invocations": 7,
    "days": 4, "completions": 14, "lifetime_days": 73,
}  # fmt: skip


def untimed(event_id: int, **changes: Any) -> Event:
    """An event of `priv06.edb` without a time."""
    return msgspec.structs.replace(event(event_id, 0, **changes), time=None)


def folded(*events: Event) -> Folder:
    return folder_of(events)


def test_a_703_without_a_time_is_an_end_with_figures_and_no_pass() -> None:
    folder = folded(untimed(703, fields=ENDED))
    entry = the_database(folder)

    numbers = {name: value for name, value in ENDED.items() if not isinstance(value, str)}
    assert entry.untimed.events == {703: 1}
    assert entry.untimed.ends == [Ended(703, numbers)]
    assert (entry.database, entry.path, entry.ese_instance) == (LABEL, DATABASE, "SG06")
    assert tier(entry, Settings()) == "watched"
    view = views(folder)["defrag"]
    assert (view.completed, view.passes, view.last_completed) == (0, [], None)
    assert entry.reported_pages_freed == 0
    assert folder.state.sources["logs"].untimed == 1


def test_a_bad_page_without_a_time_is_a_bad_page() -> None:
    folder = folded(untimed(474, fields={"page_number": 17}))
    entry = the_database(folder)
    (bad,) = known_bad_pages(entry, views(folder))
    assert (bad.page, bad.first) == (17, EPOCH)
    assert entry.untimed.events == {474: 1}


def test_logical_damage_and_bad_pages_of_a_scan_are_not_lost() -> None:
    folder = folded(untimed(467), untimed(721, fields={"bad_checksums": 2}))
    entry = the_database(folder)
    assert entry.page_errors == {"logical": 1}
    (bad,) = known_bad_pages(entry, views(folder))
    assert (bad.page, bad.kind) == (UNLOCATED, "uncorrectable")


def test_nothing_stops_or_is_backed_up_at_an_unknown_time() -> None:
    folder = folded(event(700, 0), untimed(103), untimed(104), untimed(210), untimed(213))
    (instance,) = folder.state.instances.values()
    assert (instance.life, instance.backup_events) == ([], [])
    assert views(folder)["defrag"].current is not None


def test_all_of_them_are_counted() -> None:
    folder = folded(
        untimed(700), untimed(704), untimed(705), untimed(509, fields={"suppressed": 3})
    )
    entry = the_database(folder)
    assert entry.untimed.events == {700: 1, 704: 1, 705: 1, 509: 1}


def test_an_event_with_a_time_decides_what_the_database_is_called() -> None:
    older = event(700, 0, process="MSExchangeIS")
    without = untimed(701, process="eseutil", database="E:\\mdb06\\PRIV06.edb")
    for events in ([older, without], [without, older]):
        entry = the_database(folder_of(events))
        assert (entry.process, entry.path, entry.named) == ("MSExchangeIS", DATABASE, EPOCH)


def test_the_kept_ends_are_bounded() -> None:
    entry = the_database(
        folded(*[untimed(701, fields={"seconds": n}) for n in range(MAX_ENDS + 3)])
    )
    assert len(entry.untimed.ends) == MAX_ENDS
    assert entry.untimed.ends[-1].figures == {"seconds": MAX_ENDS + 2}
    assert entry.untimed.events == {701: MAX_ENDS + 3}


def test_an_older_row_has_none() -> None:
    row = {"computer": "ex01", "database": LABEL}
    entry = msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=Database)
    assert (entry.untimed.events, entry.untimed.ends) == ({}, [])


def test_a_bad_page_without_a_time_is_marked_as_long_as_no_other_record_has_one() -> None:
    folder = folded(untimed(474, fields={"page_number": 17}))
    (entry,) = folder.state.databases.values()
    assert [page.untimed for page in entry.bad_pages] == [True]
    assert entry.page_error_last == {}
    folder.fold("logs", Batch(records=[event(474, 60, fields={"page_number": 17})]))
    assert [page.untimed for page in entry.bad_pages] == [False]
    assert entry.page_error_last.keys() == {"checksum"}
