from collections.abc import Sequence
from itertools import permutations
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch import packing
from esewatch.config import DatabaseRule, Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.databases.integrity import (
    MAX_BAD_PAGES,
    count_pages,
    known_bad_pages,
    last_verifications,
)
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import tier
from esewatch.fold.state.state import UNLOCATED
from esewatch.model import Batch, CopyChecked, Event, HeaderSeen, PageFault, PagesScanned, Record
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


def copy(
    time: float, *bad_pages: tuple[int, PageFault], complete: bool = True, **changes: Any
) -> CopyChecked:
    """A check of `priv06.edb` on EX01, `time` seconds after EPOCH."""
    given: dict[str, Any] = {
        "computer": "EX01.corp.example",
        "database": DATABASE,
        "by": "external",
        "pages_seen": 1024,
        "bad": len(bad_pages),
    }
    return CopyChecked(
        time=EPOCH + time, complete=complete, bad_pages=bad_pages, **{**given, **changes}
    )


def header(time: float, **fields: Any) -> HeaderSeen:
    given: dict[str, Any] = {"computer": "EX01.corp.example", "database": DATABASE}
    return HeaderSeen(time=EPOCH + time, **{**given, **fields})


def mismatch(page: int, time: float) -> Event:
    return event(474, time, fields={"page_number": page, "error": -1018})


def bad(folder: Folder) -> list[tuple[int, str, bool]]:
    standing = known_bad_pages(the_database(folder), views(folder))
    return sorted((item.page, item.kind, item.history) for item in standing)


def verified(folder: Folder) -> dict[str, float]:
    return last_verifications(the_database(folder), views(folder))


def samples(folder: Folder, name: str) -> list[tuple[dict[str, str], float]]:
    found = families(folder.state, folder.settings, EPOCH + 100 * DAY)
    return [(s.labels, s.value) for family in found for s in family.samples if s.name == name]


def test_a_clean_check_verifies_and_clears_the_errors_before_it() -> None:
    folder = folder_of([mismatch(17, 0), copy(HOUR)])
    assert verified(folder) == {"external": EPOCH + HOUR}
    assert bad(folder) == []


@pytest.mark.parametrize(("event_id", "kind"), [(530, "lost_flush"), (476, "no_data")])
def test_no_scan_clears_a_page_whose_checksum_is_right(event_id: int, kind: str) -> None:
    lost = event(event_id, 0, 1, fields={"page_number": 17})
    piece = PagesScanned(
        time=EPOCH + HOUR,
        computer="EX01",
        database=DATABASE,
        read=EPOCH + HOUR,
        pages=1,
        good=(17,),
    )
    scan = event(721, 3 * HOUR, 4, fields={"bad_checksums": 0, "pages_seen": 9, "seconds": 1})
    passed = (event(717, 2 * HOUR, 3), scan)
    for again in ([copy(HOUR)], [piece], passed):
        folder = folder_of([lost, mismatch(17, 60), mismatch(18, 60), *again])
        # A blank page is no good one to our reader, so that one read good has its data again.
        read_again = kind == "no_data" and again == [piece]
        assert ((17, kind, False) in bad(folder)) is not read_again
        assert (17, "uncorrectable", False) not in bad(folder)
    older = msgspec.structs.replace(piece, time=EPOCH - HOUR)
    assert bad(folder_of([lost, older])) == [(17, kind, False)]
    seen = msgspec.structs.replace(copy(HOUR), confirmed=(17,))
    assert bad(folder_of([lost, seen])) == []
    repair = event(905, 2 * HOUR, 3, fields={"page_number": 17})
    assert bad(folder_of([lost, copy(HOUR), repair])) == []


def test_an_error_after_the_time_of_the_check_stands() -> None:
    folder = folder_of([mismatch(17, 2 * HOUR), copy(HOUR)])
    assert bad(folder) == [(17, "uncorrectable", False)]
    assert verified(folder) == {"external": EPOCH + HOUR}


def test_a_check_that_is_not_complete_proves_nothing() -> None:
    folder = folder_of([mismatch(17, 0), copy(HOUR, complete=False)])
    assert verified(folder) == {}
    assert bad(folder) == [(17, "uncorrectable", False)]


def test_bad_pages_are_latched_by_kind_whether_the_check_is_complete_or_not() -> None:
    for complete in (True, False):
        found = copy(HOUR, (17, "uncorrectable"), (5, "corrected"), complete=complete)
        folder = folder_of([found])
        assert bad(folder) == [(5, "corrected", False), (17, "uncorrectable", False)]
        assert verified(folder) == {}


def test_pages_that_are_counted_and_not_named_are_one_entry_without_a_place() -> None:
    assert bad(folder_of([copy(HOUR, (17, "wrong_page"), bad=3)])) == [
        (UNLOCATED, "uncorrectable", False),
        (17, "wrong_page", False),
    ]
    assert bad(folder_of([copy(HOUR, (UNLOCATED, "corrected"), bad=3)])) == [
        (UNLOCATED, "corrected", False)
    ]


def test_as_many_pages_are_known_bad_as_a_check_counts() -> None:
    counted = copy(HOUR, (17, "uncorrectable"), bad=6, unnamed={"uncorrectable": 2, "corrected": 3})
    for records in ([counted], [counted, counted]):
        folder = folder_of(records)
        assert {
            labels["kind"]: value for labels, value in samples(folder, "ese_known_bad_pages")
        } == {"uncorrectable": 3, "corrected": 3}
    assert bad(folder_of([counted, copy(2 * HOUR)])) == []


def test_a_later_clean_check_clears_what_an_earlier_one_found() -> None:
    found = copy(HOUR, (17, "uncorrectable"), (UNLOCATED, "wrong_page"), bad=5)
    assert bad(folder_of([found, copy(2 * HOUR)])) == []
    assert bad(folder_of([copy(2 * HOUR), found])) == []


def test_a_clean_scan_of_the_engine_clears_what_a_check_before_it_found() -> None:
    scan = event(721, 3 * HOUR, fields={"bad_checksums": 0, "pages_seen": 9, "seconds": 1})
    folder = folder_of([copy(HOUR, (17, "uncorrectable")), event(717, 2 * HOUR), scan])
    assert bad(folder) == []


def test_an_acknowledged_page_of_a_check_is_gone_when_the_same_check_is_read_again() -> None:
    found = copy(HOUR, (17, "uncorrectable"))
    folder = folder_of([found])
    folder.acknowledge("ex01", LABEL, {17: EPOCH + DAY})
    folder.fold("logs", Batch(records=[found]))
    assert bad(folder) == []


def test_sums_of_pieces_stay_numbers_that_the_journal_can_keep() -> None:
    piece = PagesScanned(
        time=EPOCH, computer="EX01", database=DATABASE, read=EPOCH, pages=2**63, bytes=2**63, bad=0
    )
    found = the_database(folder_of([piece] * 3)).page_scan
    assert found == {"pages": 2**64 - 1, "bytes": 2**64 - 1, "bad_pages": 0}
    assert packing.unpack(packing.pack(found), dict[str, int]) == found


def test_times_never_go_back() -> None:
    folder = folder_of([copy(DAY), copy(HOUR)])
    assert verified(folder) == {"external": EPOCH + DAY}
    folder = folder_of([copy(DAY), copy(HOUR, by="page_scan")])
    assert verified(folder) == {"external": EPOCH + DAY, "page_scan": EPOCH + HOUR}


def test_what_the_first_reading_finds_older_than_seven_days_is_history() -> None:
    old, fresh = copy(0, (17, "uncorrectable")), copy(8 * DAY, (18, "uncorrectable"))
    folder = folder_of([old, fresh], opened=EPOCH + 9 * DAY)
    assert bad(folder) == [(17, "uncorrectable", True), (18, "uncorrectable", False)]
    folder.fold("logs", Batch(records=[copy(0, (19, "uncorrectable"))]))
    assert (19, "uncorrectable", False) in bad(folder)


def test_a_check_is_no_error_that_a_pass_of_the_engine_met() -> None:
    folder = folder_of([copy(HOUR, (17, "uncorrectable"))])
    assert the_database(folder).page_errors == {}
    assert the_database(folder).page_error_spans == []


def test_pages_beyond_the_limit_are_counted_and_the_same_check_again_changes_nothing() -> None:
    pages: list[tuple[int, PageFault]] = [
        (page, "uncorrectable") for page in range(1, MAX_BAD_PAGES + 26)
    ]
    folder = folder_of([copy(HOUR, *pages)])
    folder.fold("logs", Batch(records=[copy(HOUR, *pages)]))
    assert count_pages(known_bad_pages(the_database(folder), views(folder))) == MAX_BAD_PAGES + 25
    folder.fold("logs", Batch(records=[copy(DAY)]))
    assert bad(folder) == []


def test_a_database_known_from_checks_alone_has_its_path_and_is_watched_by_its_rule() -> None:
    rule = Settings(databases=[DatabaseRule(match="*\\priv*.edb")])
    for settings, expected in ((Settings(), "observed"), (rule, "watched")):
        folder = folder_of([copy(HOUR)], settings=settings)
        entry = the_database(folder)
        assert (entry.path, entry.database, entry.computer) == (DATABASE, LABEL, "ex01")
        assert (entry.first_seen, entry.last_seen) == (EPOCH + HOUR, EPOCH + HOUR)
        assert tier(entry, settings) == expected
        assert samples(folder, "ese_last_full_verification_timestamp_seconds") == [
            ({"computer": "ex01", "database": LABEL, "by": "external"}, EPOCH + HOUR)
        ]
    assert [value for _, value in samples(folder, "ese_known_bad_pages")] == [0.0]
    directory = folder_of([copy(HOUR, database="C:\\Windows\\NTDS\\ntds.dit")])
    assert tier(the_database(directory), Settings()) == "watched"


def test_the_event_names_a_database_that_a_check_has_met_before() -> None:
    folder = folder_of([copy(DAY, database=LABEL), event(701, 0)])
    assert the_database(folder).path == DATABASE
    assert the_database(folder).ese_instance == "SG06"


@pytest.mark.parametrize(
    "path",
    [
        "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\mdb\\priv06.edb",
        "C:\\Windows\\Temp\\4a2d69a5\\priv06.edb",
    ],
)
def test_a_copy_of_an_unknown_origin_is_nobodys_but_its_bad_page_is_somebodys(path: str) -> None:
    assert folder_of([copy(HOUR, database=path)]).state.databases == {}
    folder = folder_of([copy(HOUR, (17, "uncorrectable"), database=path)])
    assert bad(folder) == [(17, "uncorrectable", False)]


def test_a_snapshot_that_tells_its_origin_verifies_it() -> None:
    path = "C:\\$SNAP_201106211234_VOLUMEE$\\MDB06\\priv06.edb"
    folder = folder_of([copy(HOUR, database=path.replace("C:", "E:"))])
    assert the_database(folder).database == LABEL
    assert the_database(folder).path == ""
    assert verified(folder) == {"external": EPOCH + HOUR}


def test_a_header_gives_its_counters_and_the_page_size() -> None:
    seen = header(HOUR, page_size=32768, bad_checksums=3, corrected=2, correction_failed=1)
    folder = folder_of([seen])
    assert [value for _, value in samples(folder, "ese_header_bad_checksums")] == [3]
    assert [value for _, value in samples(folder, "ese_header_corrected")] == [2]
    assert [value for _, value in samples(folder, "ese_header_correction_failed")] == [1]
    ((labels, _),) = samples(folder, "ese_database_info")
    assert labels["page_size"] == "32768"
    assert bad(folder) == []
    assert verified(folder) == {}


def test_the_newest_header_wins_in_any_order() -> None:
    old, new = header(HOUR, bad_checksums=1), header(DAY, bad_checksums=0, corrected=5)
    for records in ([old, new], [new, old]):
        entry = the_database(folder_of(records))
        assert (entry.header_bad_checksums, entry.header_corrected) == (0, 5)
        assert entry.header_time == EPOCH + DAY


def test_a_header_that_says_nothing_of_its_counters_changes_none() -> None:
    records = [header(HOUR, bad_checksums=1), header(DAY, page_size=4096, size_bytes=8192)]
    for order in (records, records[::-1]):
        entry = the_database(folder_of(order))
        assert (entry.header_bad_checksums, entry.header_time) == (1, EPOCH + HOUR)
        assert (entry.page_size, entry.size_bytes) == (4096, 8192.0)


def test_every_record_is_counted_and_a_time_in_the_future_is_not_believed() -> None:
    folder = folder_of([copy(HOUR), header(2 * HOUR, bad_checksums=0)])
    source = folder.state.sources["logs"]
    assert (source.records, source.last_record) == (2, EPOCH + 2 * HOUR)
    now = 1_790_000_000.0
    folder.fold("logs", Batch(records=[copy(now + 10 * DAY - EPOCH)]), now)
    assert verified(folder) == {"external": EPOCH + HOUR}


_FAULTS: Sequence[PageFault] = ("uncorrectable", "corrected", "wrong_page")
_PAGES = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(_FAULTS)), max_size=3, unique=True)
_CHECKS = st.builds(
    lambda time, pages, unnamed, complete: copy(
        time * HOUR, *pages, bad=len(pages) + unnamed, complete=complete
    ),
    st.integers(1, 40),
    _PAGES,
    st.integers(0, 2),
    st.booleans(),
)
_EVENTS = st.one_of(
    st.builds(
        lambda page, time: mismatch(page, time * HOUR), st.integers(1, 4), st.integers(1, 40)
    ),
    st.builds(
        lambda page, time: event(905, time * HOUR, fields={"page_number": page}),
        st.integers(1, 4),
        st.integers(1, 40),
    ),
    st.builds(lambda time: event(717, time * HOUR), st.integers(1, 40)),
    st.builds(
        lambda time, found: event(721, time * HOUR, fields={"bad_checksums": found}),
        st.integers(1, 40),
        st.integers(0, 1),
    ),
)


@given(st.lists(st.one_of(_CHECKS, _EVENTS), min_size=1, max_size=14), st.randoms())
def test_checks_and_events_in_any_order_leave_the_same_set(records: list[Record], rng: Any) -> None:
    shuffled = list(records)
    rng.shuffle(shuffled)
    first, second = folder_of(records), folder_of(shuffled)
    assert bad(first) == bad(second)
    assert verified(first) == verified(second)


@given(st.lists(_CHECKS, min_size=1, max_size=8))
def test_checks_read_twice_leave_what_they_left_once(records: list[Record]) -> None:
    once, twice = folder_of(records), folder_of([*records, *records])
    assert the_database(once) == the_database(twice)


def judged(time: float, verdict: str, reason: str = "Why.") -> CopyChecked:
    return copy(time, by="page_scan", verdict=verdict, verdict_reason=reason)


def restorable(folder: Folder) -> list[list[float]]:
    """Whether, when judged, and when last so."""
    kinds = ("copy_restorable", "copy_restorable_timestamp_seconds")
    names = [*kinds, "last_restorable_timestamp_seconds"]
    return [[value for _, value in samples(folder, f"ese_{name}")] for name in names]


@pytest.mark.parametrize(
    ("verdict", "value"),
    [
        ("restorable", [1]),
        ("replay_needed", [1]),
        ("loss", [0]),
        ("backup_set", [0]),
        ("not_restorable", [0]),
        ("unknown", []),
    ],
)
def test_a_verdict_is_1_or_0_or_absent(verdict: str, value: list[float]) -> None:
    last = [EPOCH] if value == [1] else []
    assert restorable(folder_of([judged(0, verdict)])) == [value, [EPOCH], last]


def test_without_a_verdict_nothing_is_said_of_restoring() -> None:
    assert restorable(folder_of([copy(0)])) == [[], [], []]


def test_the_newest_copy_decides_and_the_last_good_one_is_remembered() -> None:
    told = [judged(0, "restorable"), judged(DAY, "replay_needed"), judged(2 * DAY, "loss")]
    expected = [[0], [EPOCH + 2 * DAY], [EPOCH + DAY]]
    for order in permutations(told):
        assert restorable(folder_of(order)) == expected


def test_of_two_verdicts_of_one_time_the_worse_one_stands_in_any_order() -> None:
    told = [judged(0, "restorable"), judged(0, "not_restorable")]
    assert restorable(folder_of(told))[0] == restorable(folder_of(told[::-1]))[0] == [0]


def test_a_reason_is_kept_to_a_bound() -> None:
    verdict = the_database(folder_of([judged(0, "loss", "x" * 10_000)])).copy_verdict
    assert verdict is not None
    assert len(verdict.reason) == 500
