import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.fold.databases import bad_pages, integrity
from esewatch.fold.databases.bad_pages import ERROR_SLACK, MAX_ERROR_SPANS, MAX_SPARED
from esewatch.fold.databases.integrity import (
    count_pages,
    known_bad_pages,
    last_verifications,
    unreadable_scan,
    verifies,
)
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import UNLOCATED
from esewatch.model import Batch, Event
from tests.support.each import of_each
from tests.support.records import DAY, EPOCH, HOUR, LABEL, event, folder_of, the_database, views


def bad(folder: Folder) -> list[tuple[int, str, bool]]:
    standing = known_bad_pages(the_database(folder), views(folder))
    return sorted((item.page, item.kind, item.history) for item in standing)


def verified(folder: Folder) -> dict[str, float]:
    return last_verifications(the_database(folder), views(folder))


def checksum(time: float, *, bad_checksums: int = 0, **fields: Any) -> Event:
    summary = {"seconds": 208, "invocations": 2, "days": 1, "pages_seen": 5850768}
    return event(721, time, fields={**summary, "bad_checksums": bad_checksums, **fields})


def mismatch(page: int, time: float, event_id: int = 474) -> Event:
    return event(event_id, time, fields={"page_number": page, "error": -1018})


@pytest.mark.parametrize(
    ("event_id", "kind"),
    [
        (474, "uncorrectable"),
        (475, "wrong_page"),
        (476, "no_data"),
        (398, "uncorrectable"),
        (399, "corrected"),
        (530, "lost_flush"),
        (544, "lost_flush"),
        (727, "uncorrectable"),
    ],
)
def test_each_page_event_latches_its_kind(event_id: int, kind: str) -> None:
    assert bad(folder_of([mismatch(17, 0, event_id)])) == [(17, kind, False)]


def test_the_same_page_twice_is_one_bad_page_and_two_events() -> None:
    folder = folder_of([mismatch(17, 0), mismatch(17, HOUR)])
    assert bad(folder) == [(17, "uncorrectable", False)]
    assert the_database(folder).page_errors == {"checksum": 2}


def test_a_page_stands_since_its_first_report_that_was_not_dealt_with() -> None:
    scan = [event(717, 0), mismatch(17, HOUR), mismatch(18, 2 * HOUR)]
    counted = checksum(3 * HOUR, bad_checksums=1)  # 17 was read good within it
    folder = folder_of([*scan, counted, mismatch(17, 5 * HOUR), mismatch(17, 6 * HOUR)])
    found = known_bad_pages(the_database(folder), views(folder))
    assert {item.page: item.first - EPOCH for item in found} == {17: 5 * HOUR, 18: 2 * HOUR}


def test_a_474_without_any_place_still_latches() -> None:
    assert bad(folder_of([event(474, 0)])) == [(UNLOCATED, "uncorrectable", False)]


@pytest.mark.parametrize(
    "repair",
    [
        event(905, HOUR, fields={"page_number": 17}),
        event(911, HOUR, fields={"page_number": 10, "last_page_number": 20}),
    ],
)
def test_a_repair_clears_its_pages_only_and_only_earlier_errors(repair: Event) -> None:
    assert bad(folder_of([mismatch(17, 0), mismatch(99, 0), repair])) == [
        (99, "uncorrectable", False)
    ]
    assert bad(folder_of([repair, mismatch(17, 2 * HOUR)])) == [(17, "uncorrectable", False)]


def test_a_repair_that_arrives_before_its_error_clears_it_too() -> None:
    repair = event(905, HOUR, fields={"page_number": 17})
    assert bad(folder_of([repair, mismatch(17, 0)])) == []


def test_a_later_whole_scan_without_bad_pages_clears_all() -> None:
    assert bad(folder_of([mismatch(17, 0), event(717, HOUR), checksum(2 * HOUR)])) == []


def test_a_scan_that_began_before_the_error_does_not_clear_it() -> None:
    found = folder_of([event(717, 0), mismatch(17, HOUR), checksum(2 * HOUR)])
    assert bad(found) == [(17, "uncorrectable", False)]


@pytest.mark.parametrize(
    ("event_id", "counts"),
    [
        (721, {"bad_checksums": -5, "pages_seen": 100}),
        (721, {"bad_checksums": 0, "pages_seen": 0}),
        (721, {"bad_checksums": 0, "pages_seen": -5}),
        (722, {"bad_checksums": 0, "pages_seen": 0}),
        (737, {"run_pages": 0, "run_bad_checksums": 0, "pages_seen": 0}),
        (737, {"run_pages": 99, "run_bad_checksums": -5, "pages_seen": 100}),
        (732, {"run_pages": 0, "run_bad_checksums": 0, "pages_seen": 0}),
    ],
)
def test_a_count_below_zero_and_no_page_seen_prove_nothing(
    event_id: int, counts: dict[str, int]
) -> None:
    begun = {721: 717, 722: 718, 737: 736, 732: 717}[event_id]
    fields: Any = {"seconds": 208, "days": 1, **counts}
    folder = folder_of([event(begun, 0), event(event_id, HOUR, fields=fields)])
    assert (verified(folder), bad(folder)) == ({}, [])
    assert unreadable_scan(the_database(folder), views(folder)) is None


@pytest.mark.parametrize(("begun", "event_id"), [(717, 721), (718, 722), (717, 732), (736, 737)])
def test_a_completion_without_its_numbers_proves_nothing(begun: int, event_id: int) -> None:
    def last(*events: Event) -> float | None:
        folder = folder_of(events)
        assert verified(folder) == {}
        return unreadable_scan(the_database(folder), views(folder))

    done = event(event_id, HOUR, fields={})
    assert last(event(begun, 0), done) == last(done) == EPOCH + HOUR
    assert last(event(begun, 0), mismatch(17, 60), done) is None
    assert last(event(begun, 0), event(725, 60)) is None


def test_a_summary_with_bad_pages_and_no_page_event_latches_one_unlocated_page() -> None:
    folder = folder_of([event(717, 0), checksum(HOUR, bad_checksums=3)])
    assert bad(folder) == [(UNLOCATED, "uncorrectable", False)]
    folder.fold("logs", Batch(records=[event(717, DAY), checksum(DAY + HOUR)]))
    assert bad(folder) == []


def test_a_summary_whose_pages_were_named_adds_nothing() -> None:
    found = folder_of([event(717, 0), mismatch(17, 60), checksum(HOUR, bad_checksums=1)])
    assert bad(found) == [(17, "uncorrectable", False)]


def test_a_page_with_errors_of_two_kinds_is_one_of_the_pages_that_a_summary_counted() -> None:
    met = [
        mismatch(9, 2 * HOUR, 727),
        mismatch(9, 2 * HOUR, 475),
        mismatch(5, 3 * HOUR),
    ]
    kinds = [(9, "uncorrectable", False), (9, "wrong_page", False)]

    def left(counted: int) -> list[tuple[int, str, bool]]:
        return bad(folder_of([event(717, HOUR), *met, checksum(4 * HOUR, bad_checksums=counted)]))

    assert left(2) == [(5, "uncorrectable", False), *kinds]
    assert left(1) == [(5, "uncorrectable", False)]


def test_pages_that_one_scan_found_good_are_none_of_those_that_another_counted() -> None:
    # The second summary is of a scan whose start was not seen: it may have begun a day before.
    met = [mismatch(page, at * HOUR) for at, page in enumerate((1, 2, 5, 6, 7), 24)]
    first = [event(717, DAY + 90 * 60), checksum(DAY + 5 * HOUR, bad_checksums=1)]
    second = checksum(DAY + 6 * HOUR, bad_checksums=3)

    assert bad(folder_of([*met, *first, second])) == [
        (page, "uncorrectable", False) for page in (1, 2, 7)
    ]


def test_a_summary_from_before_the_errors_that_are_remembered_invents_no_page() -> None:
    named = [event(717, 0), mismatch(17, 60), checksum(HOUR, bad_checksums=1)]
    later = [mismatch(17, DAY + each) for each in range(300)]
    assert bad(folder_of([*named, *later])) == [(17, "uncorrectable", False)]


def test_a_clean_scan_is_not_forgotten_after_many_that_are_not() -> None:
    clean = [event(717, 0), checksum(HOUR)]
    later = [
        record
        for day in range(1, 200)
        for record in (
            event(717, day * DAY),
            mismatch(17, day * DAY + 60),
            checksum(day * DAY + HOUR, bad_checksums=1),
        )
    ]
    folder = folder_of([mismatch(3, -HOUR), *clean, *later])
    assert verified(folder) == {"online_scan": EPOCH + HOUR}
    assert bad(folder) == [(17, "uncorrectable", False)]


def test_what_the_first_reading_finds_older_than_seven_days_is_history() -> None:
    old, fresh = mismatch(17, 0), mismatch(18, 8 * DAY)
    folder = folder_of([old, fresh], opened=EPOCH + 9 * DAY)
    assert bad(folder) == [(17, "uncorrectable", True), (18, "uncorrectable", False)]
    folder.fold("logs", Batch(records=[mismatch(17, 10 * DAY)]))
    assert bad(folder)[0] == (17, "uncorrectable", False)


def test_what_is_read_after_the_first_reading_is_never_history() -> None:
    folder = folder_of([event(326, 0)], opened=EPOCH + 9 * DAY)
    folder.fold("logs", Batch(records=[mismatch(17, 0)]))
    assert bad(folder) == [(17, "uncorrectable", False)]


def test_an_acknowledged_page_is_gone_until_it_fails_again() -> None:
    folder = folder_of([mismatch(17, 0), mismatch(18, 0)])
    assert folder.acknowledge("ex01", LABEL, {17: EPOCH + HOUR})
    assert bad(folder) == [(18, "uncorrectable", False)]
    assert folder.acknowledge("ex01", LABEL, {18: EPOCH + HOUR})
    assert bad(folder) == []
    folder.fold("logs", Batch(records=[mismatch(17, 2 * HOUR)]))
    assert bad(folder) == [(17, "uncorrectable", False)]


def test_beyond_a_thousand_pages_the_number_is_kept() -> None:
    folder = folder_of([mismatch(page, page) for page in range(1200)])
    assert len(the_database(folder).bad_pages) == 1000
    standing = known_bad_pages(the_database(folder), views(folder))
    assert len(standing) == 1001
    assert count_pages(standing) == 1200


def test_a_page_beyond_a_thousand_costs_no_walk_through_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = folder_of([mismatch(page, page) for page in range(1000)])
    walked = []
    stands = integrity.stands

    def noted(*of: Any) -> bool:
        walked.append(of)
        return stands(*of)

    monkeypatch.setattr(bad_pages, "stands", noted)
    more = [mismatch(page, page) for page in range(1000, 1500)]
    folder.fold("logs", Batch(records=[*more], caught_up=True))
    assert walked == []
    assert count_pages(known_bad_pages(the_database(folder), views(folder))) == 1500


@pytest.mark.parametrize("repaired", [[7], range(1000)])
def test_a_thousand_pages_make_room_once_some_are_good(repaired: Sequence[int]) -> None:
    folder = folder_of([mismatch(page, page) for page in range(1000)])
    folder.acknowledge("ex01", LABEL, dict.fromkeys(repaired, EPOCH + 2000))
    assert count_pages(known_bad_pages(the_database(folder), views(folder))) == 1000 - len(repaired)
    new = [mismatch(page, 3000) for page in (5000, 5001)]
    folder.fold("logs", Batch(records=[*new], caught_up=True))
    kept = [bad.page for bad in the_database(folder).bad_pages if bad.page >= 5000]
    assert kept == ([5000] if len(repaired) == 1 else [5000, 5001])


def test_a_whole_scan_without_bad_pages_verifies() -> None:
    assert verified(folder_of([event(717, 0), checksum(HOUR)])) == {"online_scan": EPOCH + HOUR}


def test_a_scan_with_a_bad_page_or_without_a_count_does_not_verify() -> None:
    assert verified(folder_of([event(717, 0), checksum(HOUR, bad_checksums=1)])) == {}
    bare = event(721, HOUR, fields={"seconds": 208})
    assert verified(folder_of([event(717, 0), bare])) == {}


@pytest.mark.parametrize("event_id", [735, 737])
def test_a_scan_of_a_current_engine_whose_summary_was_not_read_does_not_verify(
    event_id: int,
) -> None:
    bare = event(event_id, HOUR, fields={"seconds": 3600})
    assert verified(folder_of([event(736, 0), bare])) == {}


def test_a_last_run_count_verifies_only_without_page_errors_within_the_pass() -> None:
    whole_run = {"seconds": 3600, "pages_seen": 1000, "run_pages": 999, "run_bad_checksums": 0}
    completion = event(737, DAY, fields=whole_run)
    assert verified(folder_of([completion])) == {"online_scan": EPOCH + DAY}
    within = mismatch(17, DAY - 60)
    assert verified(folder_of([completion, within])) == {}
    assert verified(folder_of([mismatch(17, 0), completion])) == {"online_scan": EPOCH + DAY}


MANY = 384


def scanned(start: float, end: float, bad_checksums: int = 0) -> list[Event]:
    """One pass of a current engine, whose count of bad pages is that of its last run."""
    fields = {"seconds": round(end - start), "run_bad_checksums": bad_checksums}
    return [event(736, start), event(737, end, fields=fields)]


@pytest.mark.parametrize(
    "event_id",
    # Not 538 and 545: these are of another copy than the one that logs them.
    (398, 474, 475, 476, 481, 516, 530, 539, 540, 541, 544, 557, 559, 560),
)
def test_no_scan_verifies_the_copy_in_which_it_is_told_of_damage(event_id: int) -> None:
    def found(*more: Event) -> dict[str, float]:
        return verified(folder_of([event(717, 0), *more, checksum(HOUR)]))

    assert found(event(event_id, 60)) == {}
    assert found(event(event_id, -60)) == {"online_scan": EPOCH + HOUR}
    assert found(event(event_id + 1000, 60)) == {"online_scan": EPOCH + HOUR}


def test_a_verification_stands_however_many_page_errors_come_after_it() -> None:
    later = [mismatch(18, DAY + each * HOUR) for each in range(MANY)]
    folder = folder_of([mismatch(17, -HOUR), *scanned(0, HOUR), *later])
    assert verified(folder) == {"online_scan": EPOCH + HOUR}
    assert bad(folder) == [(18, "uncorrectable", False)]


def test_a_short_pass_between_errors_is_known_as_clean_when_longer_gaps_came_after_it() -> None:
    around = [mismatch(17, 0), *scanned(60, 120), mismatch(18, 180)]
    later = [mismatch(18, each * DAY) for each in range(1, MANY)]
    folder = folder_of([*around, *later])
    assert verified(folder) == {"online_scan": EPOCH + 120}
    assert bad(folder) == [(18, "uncorrectable", False)]


def test_a_pass_with_an_error_in_it_stays_unclean_however_many_come_after_it() -> None:
    later = [mismatch(18, 2 * DAY + each * HOUR) for each in range(MANY)]
    folder = folder_of([mismatch(17, HOUR), *scanned(0, DAY), *later])
    assert verified(folder) == {}
    assert bad(folder) == [(17, "uncorrectable", False), (18, "uncorrectable", False)]


def test_a_page_that_a_summary_counted_and_nothing_named_stands_beside_many_errors() -> None:
    later = [mismatch(18, DAY + each * HOUR) for each in range(MANY)]
    found = folder_of([mismatch(17, 0), *scanned(60, HOUR, bad_checksums=1), *later])
    assert [page for page, _, _ in bad(found)] == [UNLOCATED, 17, 18]


def test_passes_that_are_told_after_many_errors_are_clean_in_the_longest_gaps_only() -> None:
    errors = [mismatch(18, each * HOUR) for each in range(MANY)]
    last = MANY * HOUR
    after = [mismatch(18, last + DAY), mismatch(18, last + DAY + HOUR)]
    folder = folder_of([*errors, *after, *scanned(last + 60, last + 120)])
    assert verified(folder) == {"online_scan": EPOCH + last + 120}
    folder = folder_of([*errors, *after, *scanned(60, 2 * HOUR + 60)])
    assert verified(folder) == {}


@of_each(range(20))
def test_what_many_errors_leave_verified_is_what_every_single_one_would(seed: int) -> None:
    chance = random.Random(seed)
    records: list[Event] = []
    damaged: dict[int, int] = {}
    time, clean = 0, (0, 0)
    errors, scans = chance.choice((MANY, 3 * MANY)), chance.choice((200, 3 * MANY))
    for page in range(errors):
        longest = 600 if page < 200 else round(DAY)
        start, wanted = time + 1, page < scans and chance.random() < chance.choice((0.02, 0.6))
        time += chance.randint(2, longest)
        met = not wanted or chance.random() < 0.5
        if met:
            records.append(mismatch(page % 50, time))
            damaged[page % 50] = time
        if wanted:
            time += chance.randint(2, longest)
            records += scanned(start, time)
            clean = clean if met else (start, time)
    records.sort(key=lambda record: record.time or 0.0)
    folder = folder_of(records)
    assert verified(folder) == ({"online_scan": EPOCH + clean[1]} if clean[1] else {})
    assert {page for page, _, _ in bad(folder)} == {
        page for page, met in damaged.items() if met > clean[0]
    }
    spans = the_database(folder).page_error_spans
    assert MAX_ERROR_SPANS // 2 < len(spans) <= MAX_ERROR_SPANS + ERROR_SLACK
    assert spans[-1][1] == EPOCH + max(damaged.values())


def a_history(chance: random.Random, errors: int) -> tuple[list[float], list[tuple[float, float]]]:
    """Times of page errors, and (start, end) of passes one after another, some among them."""
    times = sorted({float(chance.randrange(2000 * errors)) for _ in range(errors)})
    ends = sorted(chance.sample(range(2000 * errors), 2 * chance.randint(1, 60)))
    return times, [(float(a), float(b)) for a, b in zip(ends[::2], ends[1::2], strict=True)]


def known_clean(folder: Folder) -> set[float]:
    """Ends of the passes that are known to have met no page error."""
    entry = the_database(folder)
    passes = views(folder)["checksum"].passes
    return {(done.ended or 0.0) - EPOCH for done in passes if verifies(done, entry)}


@of_each(range(12))
def test_what_is_kept_of_page_errors_says_what_all_their_times_say(seed: int) -> None:
    chance = random.Random(seed)
    few = seed % 2 == 0
    most = MAX_ERROR_SPANS + ERROR_SLACK
    times, scans = a_history(chance, chance.randint(2, most) if few else 5 * most)
    clean = {end for start, end in scans if not any(start <= time <= end for time in times)}
    records: list[Event] = [mismatch(18, time) for time in times]
    records += [record for start, end in scans for record in scanned(start, end)]
    shuffled = folder_of(chance.sample(records, len(records)))
    records.sort(key=lambda record: record.time or 0.0)
    in_order = folder_of(records)

    for folder in (in_order, shuffled):
        spans = the_database(folder).page_error_spans
        assert len(spans) <= most
        assert {EPOCH + time for time in times} >= {end for span in spans for end in span}
        assert all(any(a <= EPOCH + time <= b for a, b in spans) for time in times)
        assert all(before[1] < after[0] for before, after in pairwise(spans))
    youngest = sorted(clean)[-MAX_SPARED:]
    assert clean >= known_clean(in_order) >= set(youngest)
    # Where more errors come than are kept, and after them a pass among them, nothing is made up.
    assert known_clean(shuffled) == clean if few else known_clean(shuffled) <= clean


@pytest.mark.parametrize("count", [0, 2])
def test_the_count_of_the_scan_of_a_copy_says_nothing(count: int) -> None:
    """It is always 0: bad pages of a passive scan have their own events."""
    fields = {"seconds": HOUR, "pages_seen": 1000, "run_pages": 999, "run_bad_checksums": count}
    scan = [event(717, 0), event(732, HOUR, fields=fields)]
    folder = folder_of(scan)
    assert (bad(folder), verified(folder)) == ([], {"online_scan": EPOCH + HOUR})
    named = folder_of([*scan, mismatch(3, HOUR / 2)])
    assert (bad(named), verified(named)) == ([(3, "uncorrectable", False)], {})


def test_a_pass_that_skipped_pages_verifies_nothing() -> None:
    done = event(732, HOUR, fields={"seconds": 60, "bad_checksums": 0})
    assert verified(folder_of([event(717, 0), event(747, 60), done])) == {}


def test_defragmentation_verifies_nothing() -> None:
    assert verified(folder_of([event(700, 0), event(701, HOUR)])) == {}


@given(st.randoms(use_true_random=False))
def test_bad_pages_do_not_depend_on_the_order_of_arrival(rng: random.Random) -> None:
    records = [
        mismatch(17, 0),
        event(905, HOUR, fields={"page_number": 17}),
        mismatch(18, 2 * HOUR, 399),
        event(717, 3 * HOUR),
        mismatch(19, 4 * HOUR),
        checksum(5 * HOUR, bad_checksums=1),
        mismatch(17, 6 * HOUR, 475),
    ]
    expected = [(17, "wrong_page", False), (18, "corrected", False), (19, "uncorrectable", False)]
    assert bad(folder_of(rng.sample(records, len(records)))) == expected


def test_when_io_failed_is_kept_in_order_and_bounded() -> None:
    times = list(range(100))
    random.shuffle(times)
    entry = the_database(folder_of([event(481, time) for time in times]))

    assert entry.io_error_times == [EPOCH + time for time in range(36, 100)]
    assert entry.bad_pages == []
