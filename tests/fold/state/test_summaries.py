"""Figures of the life of a database and of blank pages, as the newest summary has them."""

from esewatch.fold.state.state import Database
from esewatch.fold.state.summaries import ReportedFigure
from esewatch.model import Event
from tests.support.records import EPOCH, event, folder_of, the_database


def ended(time: float, record_id: int, completions: int, days: int | None = None) -> Event:
    fields = {"completions": completions} | ({} if days is None else {"lifetime_days": days})
    return event(703, time, record_id, fields=fields)


def entry_of(*events: Event) -> Database:
    return the_database(folder_of(events))


def test_the_newest_event_wins_in_any_order() -> None:
    events = [ended(0, 1, 14, 73), ended(9, 2, 15, 82)]
    for each in (events, events[::-1]):
        assert entry_of(*each).summaries == {
            "completions": ReportedFigure(15, EPOCH + 9, 2),
            "lifetime_days": ReportedFigure(82, EPOCH + 9, 2),
        }


def test_at_one_time_the_record_id_decides() -> None:
    events = [ended(0, 7, 14), ended(0, 8, 15)]
    for each in (events, events[::-1]):
        assert entry_of(*each).summaries["completions"].value == 15


def test_a_current_engine_tells_no_days() -> None:
    assert entry_of(ended(0, 1, 14)).summaries.keys() == {"completions"}


def test_days_that_no_database_has_are_left_out() -> None:
    assert entry_of(ended(0, 1, 14, 10**9)).summaries.keys() == {"completions"}


def test_the_scan_tells_blank_pages_of_each_of_its_tasks() -> None:
    scanned = event(722, 5, 1, fields={"uninitialized_pages": 72681})
    told = entry_of(event(721, 0, 2, fields={"uninitialized_pages": 72682}), scanned).summaries
    assert {key: each.value for key, each in told.items()} == {
        "uninitialized_pages checksum": 72681, "uninitialized_pages zeroing": 72681,
    }  # fmt: skip
