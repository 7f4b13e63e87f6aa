"""What an event or a copy changes in a database: its sizes."""

import pytest

from esewatch.fold.state import rollups
from esewatch.fold.state.rollups import Size
from esewatch.model import CopyChecked, HeaderSeen, Record
from tests.support.records import DAY, EPOCH, LABEL, event, folder_of, the_database

TODAY = rollups.day_of(EPOCH)


def header(time: float, size: int | None) -> HeaderSeen:
    return HeaderSeen(time=EPOCH + time, computer="EX01", database=LABEL, size_bytes=size)


def sizes(*records: Record) -> list[Size]:
    entry = the_database(folder_of(records))
    found = rollups.sizes(entry.sizes)
    assert not found or found[-1].bytes == entry.size_bytes
    return found


def test_the_sizes_that_headers_told_are_kept_by_day() -> None:
    records = [header(0, 8192), header(60, 16384), header(2 * DAY, 32768)]
    assert sizes(*records) == [Size(TODAY, 16384.0), Size(TODAY + 2, 32768.0)]


def test_a_header_without_a_size_tells_none() -> None:
    assert sizes(header(0, None)) == []


def test_a_checked_copy_tells_its_size_as_of_its_time() -> None:
    checked = CopyChecked(
        time=EPOCH + DAY,
        computer="EX01",
        database=LABEL,
        by="page_scan",
        complete=True,
        pages_seen=1,
        bad=0,
        size_bytes=24576,
    )
    assert sizes(header(0, 8192), checked) == [Size(TODAY, 8192.0), Size(TODAY + 1, 24576.0)]


def test_a_directory_that_reports_its_white_space_tells_its_size() -> None:
    directory = "c:\\windows\\ntds\\ntds.dit"
    told = event(
        1646,
        DAY,
        provider="ActiveDirectory_DomainService",
        database="",
        ese_instance="",
        companion=True,
        fields={"free_bytes": 4096, "size_bytes": 65536},
    )
    assert sizes(event(700, 0, database=directory), told) == [Size(TODAY + 1, 65536.0)]


def test_the_last_repair_of_a_page_is_known_in_any_order() -> None:
    page = {"page_number": 17}
    repairs = [event(905, DAY, fields=page), event(911, 0, fields=page)]
    snapshot = event(905, 2 * DAY, database="C:\\Snapshots\\priv06.edb", fields=page)

    assert the_database(folder_of([event(700, 0)])).patched_last == 0
    for ordered in (repairs, repairs[::-1]):
        assert the_database(folder_of([*ordered, snapshot])).patched_last == EPOCH + DAY


@pytest.mark.parametrize("event_id", [447, 448, 467, 537, 540, 542, 549, 550, 556, 566])
def test_corruption_of_content_is_counted_as_logical_and_is_no_bad_page(event_id: int) -> None:
    """semantics.md 3: no checksum of a page shows it."""
    entry = the_database(folder_of([event(700, 0), event(event_id, DAY)]))
    assert entry.page_errors == {"logical": 1}
    assert entry.page_error_last == {"logical": EPOCH + DAY}
    assert not entry.bad_pages
