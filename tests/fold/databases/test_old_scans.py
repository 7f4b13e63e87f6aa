"""What a scan says of bad pages stays known when it is older than all passes that are kept."""

from typing import Any

import pytest

from esewatch.fold.databases.bad_pages import MAX_PROOFS
from esewatch.fold.databases.integrity import (
    ALONE,
    ScanCircumstances,
    known_bad_pages,
    last_verifications,
    unreadable_scan,
)
from esewatch.fold.folder import Folder
from esewatch.fold.passes import passes
from esewatch.fold.passes.transitions import ROW_BYTES
from esewatch.fold.state.state import UNLOCATED
from esewatch.model import Batch, Event
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of, the_database, views

BAD = {(7, "uncorrectable")}
"""The page that every later scan counts."""
ENDED = EPOCH + 2 * HOUR


@pytest.fixture(autouse=True)
def _few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MAX_TRANSITIONS", 7)
    monkeypatch.setattr(passes, "MOST_BYTES", 9 * ROW_BYTES)
    monkeypatch.setattr(passes, "MAX_PASSES", 3)


def scan(start: float, end: float, bad: int = 0, **fields: Any) -> list[Event]:
    summary = {"seconds": 600, "days": 1, "pages_seen": 1000, "bad_checksums": bad, **fields}
    return [event(717, start), event(721, end, fields=summary)]


def later(nights: int) -> list[Event]:
    """Nights whose scan counts page 7, which it names: none of them verifies."""
    found = []
    for start in (DAY * (night + 1) for night in range(nights)):
        begun, ended = scan(start, start + HOUR, 1)
        found += [begun, named(7, start + 60), ended]
    return found


def named(page: int, time: float) -> Event:
    return event(474, time, fields={"page_number": page})


def bad(folder: Folder, around: ScanCircumstances = ALONE) -> set[tuple[int, str]]:
    entry = the_database(folder)
    standing = known_bad_pages(entry, views(folder), around)
    assert len({(each.page, each.kind) for each in standing}) == len(standing)
    return {(each.page, each.kind) for each in standing}


def verified(folder: Folder, around: ScanCircumstances = ALONE) -> dict[str, float]:
    return last_verifications(the_database(folder), views(folder), around)


@pytest.mark.parametrize("nights", [1, 4, 40])
def test_a_clean_scan_stays_a_proof(nights: int) -> None:
    folder = folder_of([named(5, 0), *scan(HOUR, 2 * HOUR), *later(nights)])
    assert bad(folder) == BAD
    assert verified(folder) == {"online_scan": ENDED}


@pytest.mark.parametrize("nights", [1, 4, 40])
@pytest.mark.parametrize(
    "around",
    [
        ScanCircumstances(gaps=[(ENDED - 1800, ENDED - 60)]),
        ScanCircumstances(against=[ENDED - 60]),
    ],
    ids=["events are missing", "another copy differs"],
)
def test_a_scan_that_verified_nothing_never_becomes_a_proof(
    nights: int, around: ScanCircumstances
) -> None:
    folder = folder_of([named(5, 0), *scan(HOUR, 2 * HOUR), *later(nights)])
    assert bad(folder, around) == {(5, "uncorrectable"), *BAD}
    assert verified(folder, around) == {}


@pytest.mark.parametrize("run_pages", [10, 999])
def test_an_old_scan_with_pages_that_another_copy_may_have_read_is_no_proof(run_pages: int) -> None:
    told = {"seconds": 3600, "pages_seen": 1000, "run_pages": run_pages, "run_bad_checksums": 0}
    begun, ended = event(736, HOUR), event(737, 2 * HOUR, fields=told)
    folder = folder_of([named(5, 0), begun, ended, *later(40)])
    proven = run_pages == 999
    assert ((5, "uncorrectable") in bad(folder)) is not proven
    assert ("online_scan" in verified(folder)) is proven


@pytest.mark.parametrize("nights", [1, 4, 40])
def test_bad_pages_that_nothing_named_stay_one_unlocated_entry(nights: int) -> None:
    folder = folder_of([*scan(HOUR, 2 * HOUR, 3), *later(nights)])
    assert bad(folder) == {(UNLOCATED, "uncorrectable"), *BAD}
    assert verified(folder) == {}


def test_unnamed_bad_pages_of_old_and_of_kept_scans_are_one_entry_until_a_scan_is_clean() -> None:
    scans = [each for day in range(40) for each in scan(day * DAY, day * DAY + HOUR, 3)]
    folder = folder_of(scans)
    (one,) = known_bad_pages(the_database(folder), views(folder))
    assert (one.page, one.first, one.last) == (UNLOCATED, EPOCH + HOUR, EPOCH + 39 * DAY + HOUR)
    folder.fold("logs", Batch(records=[*scan(40 * DAY, 40 * DAY + HOUR)]))
    assert bad(folder) == set()


def test_an_unnamed_bad_page_of_an_old_scan_is_acknowledged_like_any_other() -> None:
    folder = folder_of([*scan(HOUR, 2 * HOUR, 3), *later(40)])
    folder.acknowledge("ex01", the_database(folder).database, {UNLOCATED: EPOCH + 50 * DAY})
    assert bad(folder) == BAD


@pytest.mark.parametrize("count", [0, 3])
def test_an_archive_that_is_read_late_says_what_it_says_when_it_is_read_first(count: int) -> None:
    old, new = [named(5, 0), *scan(2 * DAY, 2 * DAY + HOUR, count)], later(40)[12:]
    first, last = folder_of([*old, *new]), folder_of([*new])
    last.fold("logs", Batch(records=[*old]))
    assert bad(last) == bad(first)
    assert verified(last) == verified(first)
    assert bool(verified(last)) is (count == 0)
    assert ((UNLOCATED, "uncorrectable") in bad(last)) is (count == 3)


def test_an_error_in_a_scan_of_a_late_archive_contradicts_it_in_any_order() -> None:
    ended = scan(2 * DAY, 2 * DAY + HOUR)[1]
    for old in ([named(5, 2 * DAY + 60), ended], [ended, named(5, 2 * DAY + 60)]):
        folder = folder_of(later(40)[12:])
        folder.fold("logs", Batch(records=[*old]))
        assert bad(folder) == {(5, "uncorrectable"), *BAD}
        assert verified(folder) == {}


def test_a_late_scan_of_a_current_engine_may_have_skipped_pages() -> None:
    folder = folder_of(later(40)[12:])
    told = {"seconds": 3600, "pages_seen": 1000, "run_pages": 999, "run_bad_checksums": 0}
    folder.fold("logs", Batch(records=[event(735, 2 * DAY, fields=told)]))
    assert verified(folder) == {}


def test_of_a_long_archive_the_youngest_clean_scans_are_kept() -> None:
    folder = folder_of([event(700 + 4 * (at % 2), 100 * DAY + at) for at in range(20)])
    old = [each for day in range(60) for each in scan(day * DAY, day * DAY + HOUR)]
    folder.fold("logs", Batch(records=[*old]))
    assert verified(folder) == {"online_scan": EPOCH + 59 * DAY + HOUR}
    assert len(the_database(folder).old_proofs) == MAX_PROOFS


def test_the_last_scan_of_unknown_result_stays_known_beside_the_proofs() -> None:
    unread = [each for day in range(20) for each in (event(717, DAY * day + HOUR * 3),
              event(721, DAY * day + HOUR * 4, fields={}))]  # fmt: skip
    folder = folder_of([*scan(HOUR, 2 * HOUR), *unread, *later(60)[60:]])
    assert verified(folder) == {"online_scan": ENDED}
    assert unreadable_scan(the_database(folder), views(folder)) == EPOCH + 19 * DAY + 4 * HOUR
