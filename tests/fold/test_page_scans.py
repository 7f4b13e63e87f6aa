from typing import Any

from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.databases.integrity import (
    MAX_BAD_PAGES,
    count_pages,
    known_bad_pages,
    last_verifications,
)
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import tier
from esewatch.fold.state.state import SourceState, State
from esewatch.model import Batch, CopyChecked, Event, PagesScanned, Record
from tests.support.records import (
    DATABASE,
    DAY,
    EPOCH,
    HOUR,
    LABEL,
    event,
    folder_of,
    the_database,
    views,
)

NOW = EPOCH + 100 * DAY


def piece(time: float, **fields: Any) -> PagesScanned:
    """A piece of a scan of `priv06.edb` on EX01, whose content is of `time` seconds after EPOCH."""
    given: dict[str, Any] = {"computer": "EX01.corp.example", "database": DATABASE}
    if "read" in fields:
        fields["read"] += EPOCH
    return PagesScanned(time=EPOCH + time, **{**given, **fields})


def whole(time: float, bad: int = 0, named: Any = ()) -> CopyChecked:
    return CopyChecked(
        time=EPOCH + time,
        computer="EX01.corp.example",
        database=DATABASE,
        by="page_scan",
        complete=True,
        pages_seen=1024,
        bad=bad,
        bad_pages=named,
    )


def mismatch(page: int, time: float) -> Event:
    return event(474, time, fields={"page_number": page, "error": -1018})


def bad(folder: Folder) -> list[tuple[int, str]]:
    standing = known_bad_pages(the_database(folder), views(folder))
    return sorted((item.page, item.kind) for item in standing)


def scan_samples(folder: Folder) -> dict[str, float]:
    found = families(folder.state, folder.settings, NOW)
    samples = [sample for family in found for sample in family.samples]
    return {
        sample.name: sample.value
        for sample in samples
        if sample.name.startswith("ese_page_scan_") and sample.labels["database"] == LABEL
    }


def test_the_pieces_of_a_scan_add_up() -> None:
    folder = folder_of(
        [
            piece(0, pages=100, bytes=819200),
            piece(0, pages=50, bytes=409600, bad=1, found=((17, "uncorrectable"),)),
        ]
    )
    assert scan_samples(folder) == {
        "ese_page_scan_pages_total": 150,
        "ese_page_scan_bytes_total": 1228800,
        "ese_page_scan_bad_pages_total": 1,
    }


def test_a_database_that_no_page_scan_has_read_has_no_page_scan_series() -> None:
    folder = folder_of([event(700, 0)])
    assert tier(the_database(folder), Settings()) == "watched"
    assert scan_samples(folder) == {}


def test_a_database_whose_pages_are_scanned_is_watched() -> None:
    assert tier(the_database(folder_of([piece(0, pages=1)])), Settings()) == "watched"


def test_a_bad_page_stands_as_soon_as_it_was_read() -> None:
    found = ((17, "uncorrectable"), (18, "wrong_page"))
    folder = folder_of([piece(0, bad=2, found=found, read=HOUR)])
    assert bad(folder) == [(17, "uncorrectable"), (18, "wrong_page")]


def test_the_last_record_of_the_source_is_as_young_as_the_reading() -> None:
    folder = folder_of([piece(0, pages=7, read=HOUR), whole(0)])
    (source,) = folder.state.sources.values()
    assert source.last_record == EPOCH + HOUR


def test_a_bad_page_found_on_the_first_reading_is_no_history() -> None:
    folder = Folder(State(), Settings())
    folder.open_source("scan", NOW)
    folder.fold("scan", Batch(records=[piece(0, bad=1, found=((17, "uncorrectable"),))]), NOW)
    assert folder.state.sources["scan"].baseline
    standing = known_bad_pages(the_database(folder), views(folder))
    assert [(item.page, item.history) for item in standing] == [(17, False)]


def test_a_page_that_reads_good_again_is_cleared_as_of_the_content_of_the_copy() -> None:
    assert bad(folder_of([mismatch(17, 0), piece(HOUR, good=(17,))])) == []
    assert bad(folder_of([mismatch(17, 2 * HOUR), piece(HOUR, good=(17,), read=3 * HOUR)])) == [
        (17, "uncorrectable")
    ]


def test_a_bad_page_of_an_old_copy_stands_against_a_younger_proof_of_another_copy() -> None:
    records: list[Record] = [
        whole(2 * HOUR),
        piece(HOUR, bad=1, found=((17, "uncorrectable"),), read=3 * HOUR),
    ]
    for order in (records, records[::-1]):
        assert bad(folder_of(order)) == [(17, "uncorrectable")]


def test_what_is_acknowledged_after_the_reading_does_not_come_back_with_the_end_of_the_scan() -> (
    None
):
    folder = folder_of([piece(0, bad=1, found=((17, "uncorrectable"),), read=HOUR)])
    folder.acknowledge("ex01", LABEL, {17: EPOCH + 2 * HOUR})
    folder.fold("logs", Batch(records=[piece(0, pages=5, read=3 * HOUR)]))
    assert bad(folder) == []


def test_a_whole_scan_without_a_bad_page_verifies_as_of_its_content() -> None:
    folder = folder_of([mismatch(17, 0), piece(HOUR, pages=1024, read=5 * HOUR), whole(HOUR)])
    assert bad(folder) == []
    verified = last_verifications(the_database(folder), views(folder))
    assert verified == {"page_scan": EPOCH + HOUR}


def test_more_bad_pages_than_are_kept_are_counted_at_the_end() -> None:
    pages = tuple((page, "uncorrectable") for page in range(1, MAX_BAD_PAGES + 1))
    folder = folder_of(
        [
            piece(0, bad=2 * MAX_BAD_PAGES, found=pages),
            whole(0, bad=2 * MAX_BAD_PAGES, named=pages),
        ]
    )
    standing = known_bad_pages(the_database(folder), views(folder))
    assert count_pages(standing) == 2 * MAX_BAD_PAGES
    assert scan_samples(folder)["ese_page_scan_bad_pages_total"] == 2 * MAX_BAD_PAGES


def future(record: Record) -> tuple[Folder, SourceState]:
    folder = Folder(State(), Settings())
    folder.open_source("scan", NOW)
    now = EPOCH + 7000 * DAY  # a clock that can be right
    folder.fold("scan", Batch(records=[record]), now)
    return folder, folder.state.sources["scan"]


def test_a_copy_from_the_future_proves_nothing_and_its_bad_pages_are_bad() -> None:
    folder, source = future(
        piece(9000 * DAY, pages=7, bad=1, found=((17, "uncorrectable"),), good=(18,))
    )
    assert source.implausible == 1
    assert source.last_record == EPOCH + 7000 * DAY
    assert bad(folder) == [(17, "uncorrectable")]
    assert the_database(folder).good_ranges == []
    assert scan_samples(folder)["ese_page_scan_pages_total"] == 7
