"""A clock that was set back: what a log has later came later (semantics.md 2)."""

import random
from typing import Any

import pytest

from esewatch.fold.databases.integrity import known_bad_pages, last_verifications
from esewatch.fold.instances.backups import completed, verified_by_streaming
from esewatch.fold.passes.transitions import unpack
from esewatch.model import Event
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database, views

MINUTE = 60.0
WHOLE: dict[str, Any] = {"fields": {"seconds": 6 * DAY, "pages_seen": 900, "run_pages": 899}}
ORDERS = ("as it stands", "newest first", "shuffled")


def in_order(records: list[Event], order: str) -> list[Event]:
    if order == "newest first":
        return records[::-1]
    return random.Random(19).sample(records, len(records)) if order == "shuffled" else records


def bad_page(time: float, number: int) -> Event:
    return event(474, time, number, fields={"page_number": 3})


@pytest.mark.parametrize("order", ORDERS)
def test_a_bad_page_before_the_end_of_a_scan_is_before_it_though_the_clock_was_set_back(
    order: str,
) -> None:
    records = [
        event(736, 0, 1),
        bad_page(6 * DAY, 2),
        event(737, 6 * DAY - 45 * MINUTE, 3, **WHOLE),
    ]
    folder = folder_of(in_order(records, order))
    assert last_verifications(the_database(folder), views(folder)) == {}
    assert [bad.page for bad in known_bad_pages(the_database(folder), views(folder))] == [3]


@pytest.mark.parametrize("order", ORDERS)
def test_a_bad_page_after_the_start_of_a_scan_is_not_cleared_by_it(order: str) -> None:
    records = [
        event(736, HOUR, 1),
        bad_page(30 * MINUTE, 2),
        event(737, 6 * DAY, 3, **WHOLE),
    ]
    folder = folder_of(in_order(records, order))
    assert last_verifications(the_database(folder), views(folder)) == {}
    assert [bad.page for bad in known_bad_pages(the_database(folder), views(folder))] == [3]


@pytest.mark.parametrize("order", ORDERS)
def test_passes_are_counted_in_the_order_of_their_log(order: str) -> None:
    summary = {"days": 2, "seconds": 60, "bad_checksums": 0}
    records = [
        event(717, 0, 10),
        event(725, 2 * HOUR, 20),
        event(719, DAY + HOUR, 30),
        event(721, DAY + 40 * MINUTE, 40, fields=summary),
        event(717, 2 * DAY, 50),
    ]
    folder = folder_of(in_order(records, order))
    found = views(folder)["checksum"]
    assert (found.started, found.completed, found.interrupted) == (2, 1, 1)
    rows = list(unpack(the_database(folder).transitions))
    assert [each.record_id for each in rows] == [10, 20, 30, 40, 50]
    assert rows[3].time == EPOCH + DAY + HOUR


@pytest.mark.parametrize("order", ORDERS)
def test_a_backup_is_told_in_the_order_of_its_log(order: str) -> None:
    records = [
        event(210, HOUR, 1, database=""),
        event(220, HOUR + MINUTE, 2),
        event(221, 20 * MINUTE, 3),
        event(213, 21 * MINUTE, 4, database=""),
    ]
    (instance,) = folder_of(in_order(records, order)).state.instances.values()
    assert LABEL in verified_by_streaming(completed(instance.backup_events), instance)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("old", [1_617, 23_617])
def test_a_log_that_was_cleared_within_a_backup_is_no_clock_that_was_set_back(
    order: str, old: int
) -> None:
    records = [
        event(210, 0, old, database=""),
        event(220, 10, old + 6),
        event(221, 900, 1),
        event(213, 930, 22, database=""),
    ]
    (instance,) = folder_of(in_order(records, order)).state.instances.values()
    assert [each.record_id for each in instance.backup_events] == [old, old + 6, 1, 22]


def test_times_that_jitter_are_as_they_are() -> None:
    rows = the_database(folder_of([event(700, 60, 8), event(701, 20, 9)])).transitions
    assert [each.time - EPOCH for each in unpack(rows)] == [20, 60]
