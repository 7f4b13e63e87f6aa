"""Small histories of which product and second reading once said something else: both say this."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.oracle.cases import (
    LABEL,
    NOW,
    NTDS,
    OLD,
    PRIV,
    Record,
    at,
    broken,
    checksummed,
    event,
    now,
    old,
    passed,
)
from tests.oracle.compare import differences
from tests.oracle.history import HOUR, Acknowledged, Answer, Answers, History, Logged, Scanned
from tests.oracle.product import settings_of, told
from tests.oracle.reading import read

Agreed = Callable[..., Answers]
NTDS_DIT = "C:\\Windows\\NTDS\\ntds.dit"
MOVED = "C:\\Windows\\NTDS\\moved\\ntds.dit"
DIRECTORY = ("ex01", NTDS_DIT.lower())
SRUDB = "C:\\Windows\\System32\\SRU\\SRUDB.dat"
SRU = ("svchost", "912,D,50", "SRUJet: ")


@pytest.fixture(name="agreed")
def _agreed(tmp_path: Path) -> Agreed:
    """What both say of these records, so many days after the beginning, in any order."""

    def answers(*records: Record, days: float, whole: bool = False, **settings: object) -> Answers:
        made = History(records, at(days), settings, whole)
        wanted, said = read(made), settings_of(made, tmp_path)
        assert differences(wanted, told(made, said)) == []
        assert differences(wanted, told(made, said, Random(len(records))), other_order=True) == []
        return wanted

    return answers


def ntds(days: float, event_id: int, *rest: str, number: int | None = None) -> Logged:
    return event(
        days,
        event_id,
        *rest,
        who=NTDS,
        provider="NTDS ISAM",
        channel="Directory Service",
        number=number,
    )


def collected(days: float, path: str = NTDS_DIT) -> Logged:
    """701 of a directory."""
    return ntds(days, 701, path, "0", "7/1/2007", "0", "4", "1", "55")


def attached(days: float, event_id: int, path: str = NTDS_DIT) -> Logged:
    """326 or 327 of a directory."""
    return ntds(days, event_id, "1", path, "0", "[1] 0.0", "0 0")


def other_program(days: float, channel: str = "Application") -> Logged:
    return event(days, 7036, provider="Service Control Manager", channel=channel)._replace(
        strings=()
    )


def one(answers: Answers, key: tuple[str, str] = ("ex01", LABEL)) -> Answer:
    return answers[key]


def test_a_backup_of_an_ignored_database_verifies_nothing(agreed: Agreed) -> None:
    def sru(hours: float, event_id: int, *rest: str) -> Logged:
        return event(1 + hours / 24, event_id, *rest, who=SRU, provider="ESENT")

    damage = ("8192 (0x2000)", "8192 (0x2000)", "-1018 (0xfffffc06)", "[1]", "[2]", "31 (0x1F)")
    found = agreed(
        sru(0, 474, SRUDB, *damage),
        sru(1, 210),
        sru(2, 220, SRUDB, "40 Gb"),
        sru(3, 221, SRUDB),
        sru(4, 213),
        days=5,
    )
    assert one(found, ("ex01", SRUDB.lower())).verified == {}


def test_a_gap_that_nothing_verified_since_is_blind(agreed: Agreed) -> None:
    before, after = now(0, 736), now(12, 744, "7/1/2007", "6", "5000")
    found = agreed(
        before, after._replace(record_id=(before.record_id or 0) + 90), days=12.1, whole=True
    )
    assert one(found).findings >= {"unknown_since"}
    assert one(found).verdict == "blind"


def test_a_scan_that_cannot_be_read_is_overdue_too_when_its_deadline_is_over(
    agreed: Agreed,
) -> None:
    unread = now(1, 737)
    alive = [other_program(day) for day in range(1, 16)]
    assert one(agreed(unread, *alive, days=15.1)).findings == {
        "verification_unreadable",
        "verification_overdue",
    }


def test_what_is_missing_is_held_as_it_was_when_nothing_was_heard_any_more(
    agreed: Agreed,
) -> None:
    """It was known for days then, and is for weeks now."""
    others = [other_program(each / 3, "Directory Service") for each in range(1, 9)]
    assert one(agreed(collected(0), *others, days=45), DIRECTORY).findings == {"not_heard"}


def test_a_file_of_a_directory_has_words_before_its_name(agreed: Agreed) -> None:
    path = "C:\\Windows\\NTDS\\otherntds.dit"
    found = agreed(attached(0, 326, path), days=1)
    assert one(found, ("ex01", path.lower())).tier == "watched"


def test_a_directory_that_only_a_page_scan_read_is_one(agreed: Agreed) -> None:
    scan = Scanned(at(0), at(0) + HOUR, "EX01", NTDS_DIT, complete=False, pages=100)
    assert one(agreed(scan, days=1), DIRECTORY).model == "garbage_collection"


def test_an_error_of_a_tool_is_no_sign_of_work(agreed: Agreed) -> None:
    tool = broken(20, who=("esentutl", "7788,D,50", ""))
    found = agreed(
        collected(0),
        ntds(1, 103, "0", "[1] 0.0", "0"),
        tool._replace(
            provider="NTDS ISAM",
            channel="Directory Service",
            strings=(*tool.strings[:3], NTDS_DIT, *tool.strings[4:]),
        ),
        days=22,
    )
    assert one(found, DIRECTORY).findings == {"investigate"}


@pytest.mark.parametrize(
    "life",
    [
        (ntds(10, 104, "0", "-1090", "[1] 0.0"), attached(20, 327), attached(20.1, 326, MOVED)),
        (attached(20, 327), attached(20.1, 326, MOVED), ntds(25, 302)),
    ],
    ids=["an error stopped it before", "something was recovered after"],
)
def test_nothing_is_due_where_a_directory_was_before_it_was_moved(
    agreed: Agreed, life: tuple[Logged, ...]
) -> None:
    began = [ntds(0, 102, "0", "15"), attached(0.01, 326), ntds(0.02, 105, "0", "1")]
    alive = [other_program(20.2 + each / 2, "Directory Service") for each in range(40)]
    assert one(agreed(*began, *life, *alive, days=40), DIRECTORY).findings == set()


def test_what_a_log_does_not_tell_of_a_file_that_was_moved_asks_for_nothing(
    agreed: Agreed,
) -> None:
    """A gap in the log, and a scan that completed in words that cannot be read."""
    elsewhere = "E:\\elsewhere\\priv06.edb"

    def mounted(days: float, event_id: int, *rest: str) -> Logged:
        return event(days, event_id, *rest, number=5000 + int(days * 100))

    start = [mounted(15, 102, "0", "8"), mounted(15.01, 326, "1", elsewhere, "0", "[1]", "0 0")]
    found = agreed(mounted(0, 721, PRIV), *start, days=15.2, whole=True)
    assert one(found).findings == set()


def test_reading_a_file_does_not_attach_it(agreed: Agreed) -> None:
    began = [collected(0), attached(1, 327), ntds(3, 102, "0", "15"), attached(3.01, 326, MOVED)]
    scan = Scanned(at(5), at(5) + HOUR, "EX01", NTDS_DIT, complete=True, pages=100)
    alive = [collected(3 + each / 2, MOVED) for each in range(1, 40)]
    assert one(agreed(*began, scan, *alive, days=22), DIRECTORY).findings == set()


def test_a_scan_of_half_a_day_ahead_verifies_and_one_of_two_days_is_only_bad_news(
    agreed: Agreed,
) -> None:
    def scan(days: float, bad: str) -> Logged:
        return old(days, 721, "16.06.2007", "2811", "2", "1", "3935467", bad, "72682")

    assert one(agreed(scan(20, "0"), days=19.5)).verified == {"online_scan": at(20)}
    assert one(agreed(scan(20, "0"), days=18)).verified == {}
    assert one(agreed(scan(20, "1"), days=18)).known_bad == {(-1, "uncorrectable")}
    assert one(agreed(scan(20, "-5"), days=18)).known_bad == set()


def test_a_bad_page_of_a_file_that_is_not_named_asks_for_a_look(agreed: Agreed) -> None:
    bare = event(9, 476, "", "8192", "8192", "-1019 (0xfffffc05)", "36 (0x24)")
    assert "investigate" in one(agreed(old(0, 700), bare, days=10)).findings


def test_a_copy_that_is_not_heard_is_not_the_verified_one_of_a_pair(agreed: Agreed) -> None:
    proven = now(9, 737, "7/1/2007", "90000", "50000", "49999, 0", computer="EX01")
    passive = [now(1, 719, "7/1/2007", "1", computer="EX02"), now(10, 717, computer="EX02")]
    found = agreed(proven, *passive, days=40)
    assert "only_active_verified" not in one(found, ("ex02", LABEL)).findings


def test_an_instance_is_at_work_from_the_end_of_the_hour_on_in_which_something_names_it(
    agreed: Agreed,
) -> None:
    found = agreed(
        collected(0),
        collected(15),
        ntds(15.5, 103, "0", "[1] 0.0", "0"),
        ntds(17 + 0.4 / 24, 907),
        days=18 + 1 / 24,
    )
    assert "defrag_overdue" not in one(found, DIRECTORY).findings


def test_a_temporary_file_beside_them_is_no_third_copy(agreed: Agreed) -> None:
    temporary = broken(1, computer="EX02")._replace(
        strings=(*NOW, "E:\\MDB06\\TEMPCHKSUM1.EDB", "1", "2", "-1018", "[1]", "[2]", "9 (0x9)")
    )
    found = agreed(
        temporary,
        now(0, 736, computer="EX01"),
        now(0, 717, computer="EX02"),
        now(4, 732, "7/1/2007", "86400", "1", "50000", "49999, 0", computer="EX02"),
        *[other_program(each) for each in range(1, 10)],
        days=10,
        databases=[{"match": "*\\priv06.edb", "name": "DB06"}],
    )
    assert one(found).findings == {"never_verified", "only_passive_verified"}


def test_a_good_file_at_the_old_path_says_nothing_of_the_database_that_was_moved(
    agreed: Agreed,
) -> None:
    tail = ("8192", "8192", "-1018 (0xfffffc06)", "[1]", "[2]", "31 (0x1F)")
    scan = Scanned(at(5), at(5) + HOUR, "EX01", NTDS_DIT, complete=True, pages=100)
    found = agreed(
        ntds(0, 474, NTDS_DIT, *tail), attached(1, 327), attached(1.01, 326, MOVED), scan, days=6
    )
    assert one(found, ("ex01", MOVED.lower())).known_bad == {(31, "uncorrectable")}


def test_a_scan_that_cannot_be_read_is_none_of_a_file_that_was_made_anew(agreed: Agreed) -> None:
    found = agreed(old(0, 721), event(6, 325, "1", PRIV, "0"), days=12)
    assert one(found).findings == set()


def test_the_pauses_of_a_log_are_its_own(agreed: Agreed) -> None:
    others = [collected(each / 3) for each in range(13)]
    alone = event(0, 1221, "First Storage Group", provider="MSExchangeIS")._replace(
        strings=("a", "1")
    )
    found = agreed(collected(0), *others, alone, now(0.1, 717), days=5)
    assert "not_heard" not in one(found).findings


def test_a_file_that_was_made_anew_has_no_rhythm_yet(agreed: Agreed) -> None:
    made = event(3, 325, "1", PRIV, "0", "[1] 0.0", who=NOW)
    scans = [now(each, 737, "7/1/2007", "544436", "50000", "40000, 0") for each in (0, 9)]
    alive = [other_program(each) for each in range(1, 19)]
    assert one(agreed(scans[0], made, scans[1], *alive, days=18)).findings == {"never_verified"}


def test_a_detach_does_not_show_that_a_request_was_answered(agreed: Agreed) -> None:
    hung = ntds(0, 533, NTDS_DIT, "81920", "8192", "36")
    assert one(agreed(hung, attached(2, 327), days=3), DIRECTORY).verdict == "writes_at_risk"


def test_a_start_explains_a_pause_of_every_log_of_its_computer(agreed: Agreed) -> None:
    pauses = [*[other_program(each / 8) for each in range(8)], now(6, 736)]
    assert "not_heard" in one(agreed(*pauses, ntds(5, 102, "0", "15"), days=9)).findings


def restore(days: float) -> list[Logged]:
    """204 and 205 of a directory."""
    return [ntds(days, 204, "c:\\restore", "c:\\logs"), ntds(days + 0.01, 205)]


def bad_page(days: float, path: str = NTDS_DIT) -> Logged:
    """475 of page 31 of a directory."""
    return ntds(days, 475, path, "8192", "8192", "-1118 (0xfffffba2)", "31 (0x1F)", "39 (0x27)")


def test_a_database_that_is_moved_takes_along_what_a_backup_verified(agreed: Agreed) -> None:
    begun = [ntds(1, 210), ntds(1.01, 220, NTDS_DIT, "40 Gb"), ntds(1.02, 221, NTDS_DIT)]
    found = agreed(*begun, ntds(1.03, 213), attached(2, 327), attached(2.01, 326, MOVED), days=3)
    assert one(found, ("ex01", MOVED.lower())).verified == {"streaming_backup": at(1.03)}


@pytest.mark.parametrize("restored", [1, 3], ids=["before", "after"])
def test_a_database_that_is_moved_takes_along_what_a_restore_left_unproven(
    agreed: Agreed, restored: int
) -> None:
    records = [bad_page(0), *restore(restored), ntds(restored + 0.02, 105, "0", "1")]
    found = agreed(*records, attached(2, 327), attached(2.01, 326, MOVED), days=4)
    assert one(found, ("ex01", MOVED.lower())).findings == {"restored_unproven"}
    assert one(found, ("ex01", MOVED.lower())).verdict == "look"


def test_a_page_that_was_read_good_since_the_restore_is_proven(agreed: Agreed) -> None:
    records = [bad_page(0), *restore(1), ntds(1.02, 105, "0", "1")]
    good = Scanned(
        at(2),
        at(2) + HOUR,
        "EX01",
        NTDS_DIT,
        complete=True,
        pages=9,
        bad=((9, "corrected"),),
        good=(31,),
    )
    assert one(agreed(*records, days=3), DIRECTORY).findings == {"restored_unproven"}
    assert one(agreed(*records, good, days=3), DIRECTORY).findings == {"investigate"}


def test_a_snapshot_is_no_other_database_of_the_process_that_restored(agreed: Agreed) -> None:
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7" + NTDS_DIT[2:]
    records = [collected(0), bad_page(1, shadow), *restore(2), ntds(2.02, 105, "0", "1")]
    found = agreed(*records, days=3)
    assert one(found, DIRECTORY).damage == set()


def test_a_scan_that_cannot_be_read_fills_no_gap(agreed: Agreed) -> None:
    first = now(0, 736)
    number = (first.record_id or 0) + 90
    scans = [now(9, 736)._replace(record_id=number), now(10, 737)._replace(record_id=number + 1)]
    found = one(agreed(first, *scans, days=10.5, whole=True))
    assert found.findings == {"unknown_since", "verification_unreadable"}
    assert found.verdict == "blind"


def test_the_path_that_a_database_left_is_no_copy(agreed: Agreed) -> None:
    elsewhere = "E:\\elsewhere\\priv06.edb"

    def second(days: float, event_id: int, *rest: str) -> Logged:
        return event(days, event_id, *rest, who=NOW, computer="EX02")

    moved = [second(1, 327, "1", PRIV, "0"), second(1.01, 326, "1", elsewhere, "0")]
    passed = ("7/1/2007", "90000", "50000", "49999, 0")
    proven = [now(15, 736), now(16, 737, *passed)]
    found = agreed(
        second(0, 717, PRIV),
        *moved,
        second(2, 719, elsewhere, "7/1/2007", "1"),
        *proven,
        *[other_program(each) for each in range(1, 20)],
        *[other_program(each)._replace(computer="EX02") for each in range(1, 20)],
        days=20,
        databases=[{"match": "*\\priv06.edb", "name": "DB06"}],
    )
    key = ("ex02", elsewhere.lower())
    assert one(found, key).findings == {"never_verified", "only_active_verified"}


def test_an_error_is_of_the_database_that_was_named_before_and_after(agreed: Agreed) -> None:
    starts = [ntds(each, 102, "0", "15") for each in (1, 2, 3)]
    error = ntds(4, 244, "-1118")
    found = agreed(collected(0), *starts, error, collected(5), days=6)
    assert one(found, DIRECTORY).known_bad == {(-1, "wrong_page")}


def test_no_record_is_lost_where_the_clock_was_wrong_for_one(agreed: Agreed) -> None:
    first = collected(0)
    number = first.record_id or 0
    wrong = [collected(days)._replace(record_id=number + n) for n, days in ((1, 12), (2, 60))]
    later = [collected(3 + n / 2)._replace(record_id=number + 3 + n) for n in range(30)]
    found = one(agreed(first, *wrong, *later, days=18, whole=True), DIRECTORY)
    assert "unknown_since" not in found.findings


def night(days: int, path: str, until: float = 5, done: bool = False) -> list[Logged]:
    """Online defragmentation of a night from one o'clock on, and whether its pass is done."""
    rest = ("1290", "7/1/2007", "45435", "8", "1", "87", "73") if done else ()
    return [
        event(days + 1 / 24, 700, path),
        event(days + until / 24, 703 if done else 704, path, *rest),
    ]


def test_what_was_moved_or_dismounted_decides_nothing_for_its_instance(agreed: Agreed) -> None:
    """Its nights are too few, and those of the other are not."""
    nights = [
        each for days in range(20, 29) for each in night(days, "E:\\new\\priv06.edb", 2, True)
    ]
    nights += [each for days in range(9) for each in night(days, PRIV, 2, True)]
    moved = [event(19, 327, "1", PRIV, "0"), event(19.01, 326, "1", "E:\\new\\priv06.edb", "0")]
    found = agreed(*nights, *moved, days=29)
    assert one(found, ("ex01", "e:\\new\\priv06.edb")).action == "shrink"
    assert one(found).action == "insufficient_evidence"


def test_nights_that_end_early_and_go_on_to_do_so_begin_nothing_anew(agreed: Agreed) -> None:
    nights = [each for days in range(18) for each in night(days, PRIV, done=days % 3 == 0)]
    found = agreed(
        *nights,
        broken(17, 31),
        days=18,
        windows={"nightly": {"start": "01:00", "duration": "8h", "timezone": "UTC"}},
        databases=[{"match": "*\\priv06.edb", "window": "nightly"}],
    )
    assert one(found).action == "keep"


def test_a_scan_of_a_passive_copy_of_which_all_is_to_come_did_not_run(agreed: Agreed) -> None:
    repl = ("MSExchangeRepl", NOW[1], NOW[2])
    came = event(0, 326, "1", PRIV, "0", who=repl)
    found = agreed(came, event(60, 717, PRIV, who=repl), days=10)
    assert one(found).action == "not_applicable"


def test_a_scan_in_which_a_page_was_bad_did_not_verify_in_whatever_words(agreed: Agreed) -> None:
    alive = [other_program(each) for each in range(1, 16)]
    found = agreed(now(0, 736), broken(1, who=NOW), now(2, 737), *alive, days=15)
    assert one(found).findings == {"investigate", "never_verified"}


def test_an_io_error_that_names_no_file_is_of_each_database_of_its_instance(
    agreed: Agreed,
) -> None:
    second = old(0, 700)._replace(strings=(*OLD, "E:\\MDB06\\pub06.edb"))
    found = agreed(old(0, 700), second, event(1, 454, "-1022"), days=2)
    assert all("investigate" in each.findings for each in found.values())


def test_an_error_of_an_instance_is_acknowledged_with_any_of_its_databases(agreed: Agreed) -> None:
    second = old(0, 700)._replace(strings=(*OLD, "E:\\MDB06\\pub06.edb"))
    records = [old(0, 700), second, event(1, 413, "x")]
    assert {each.verdict for each in agreed(*records, days=2).values()} == {"writes_at_risk"}
    ack = Acknowledged(at(1.5), "ex01", LABEL)
    verdicts = {each.verdict for each in agreed(*records, ack, days=2).values()}
    assert "writes_at_risk" not in verdicts


def test_a_gap_before_a_record_of_the_future_is_not_measured_by_its_time(agreed: Agreed) -> None:
    first = collected(0)
    ahead = collected(60)._replace(record_id=(first.record_id or 0) + 90)
    found = agreed(first, ahead, days=2, whole=True)
    assert one(found, DIRECTORY).findings == set()


def test_of_a_pause_that_began_before_the_four_weeks_the_part_in_them_counts(
    agreed: Agreed,
) -> None:
    others = [other_program(9 + n) for n in range(24)]
    found = agreed(other_program(0), now(8.9, 736), *others, days=37)
    assert "not_heard" not in one(found).findings


def test_a_file_that_was_made_anew_at_the_old_path_says_nothing_of_the_one_that_was_moved(
    agreed: Agreed,
) -> None:
    moved = [attached(1, 327), attached(1.01, 326, MOVED)]
    damage = ntds(0.5, 541, NTDS_DIT, "593", "77", "78", "-566", "79", "8", "2", "9", "0", "0")
    made = [ntds(2, 325, "1", NTDS_DIT, "0"), bad_page(3)]
    scan = Scanned(at(4), at(4) + HOUR, "EX01", NTDS_DIT, complete=True, pages=100)
    found = agreed(collected(0), bad_page(0.2), damage, *moved, *made, scan, days=5)
    assert one(found, ("ex01", MOVED.lower())).known_bad == {(31, "wrong_page")}
    assert one(found, ("ex01", MOVED.lower())).damage == {"divergence"}
    assert one(found, DIRECTORY).known_bad == set()


def test_cycles_that_were_torn_ask_for_nothing_at_the_path_that_a_directory_left(
    agreed: Agreed,
) -> None:
    torn = [
        ntds(n / 2 + part, 700 + 4 * (part > 0), NTDS_DIT) for n in range(3) for part in (0, 0.1)
    ]
    found = agreed(*torn, attached(2, 327), attached(2.01, 326, MOVED), days=3)
    assert one(found, DIRECTORY).findings == set()


def test_a_bad_page_shows_that_a_database_is_attached_beside_a_failed_read(agreed: Agreed) -> None:
    began = [collected(0), attached(1, 327), bad_page(2)]
    failed = ntds(2, 482, NTDS_DIT, "81920", "8192", "-1022 (0xfffffc02)", "1117", "x")
    alive = [other_program(each, "Directory Service") for each in range(3, 20)]
    found = one(agreed(*began, failed, *alive, days=20), DIRECTORY)
    assert found.findings == {"investigate", "defrag_overdue"}


def test_a_recovery_that_completed_does_not_show_that_what_was_restored_is_used(
    agreed: Agreed,
) -> None:
    records = [bad_page(0), *restore(1), ntds(1.02, 302)]
    assert one(agreed(*records, days=3), DIRECTORY).known_bad == {(31, "wrong_page")}


def test_a_bad_page_of_a_snapshot_is_not_restored(agreed: Agreed) -> None:
    """Its instance is one without a name, which is known by its process."""
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\elsewhere\\x.edb"
    unnamed = ("ntdsa", "640", "")
    began = [collected(0), bad_page(0.5, shadow)]
    records = [*began, *restore(1), ntds(1.02, 105, "0", "1")]
    records = [each._replace(strings=(*unnamed, *each.strings[3:])) for each in records]
    found = agreed(*records, days=3)
    assert one(found, ("ex01", shadow)).known_bad == {(31, "wrong_page")}


def test_what_was_acknowledged_of_a_scan_does_not_bring_back_another_page(agreed: Agreed) -> None:
    scan = [old(0, 717), broken(1, 30), broken(1.01, 31), checksummed(2, "7/1/2007", bad=1)]
    shown = one(agreed(*scan, days=2.5))
    assert shown.known_bad == {(31, "uncorrectable")}
    ack = Acknowledged(at(2.5), "ex01", LABEL)
    assert one(agreed(*scan, ack, days=3)).known_bad == set()


def test_a_shutdown_is_no_silence_for_two_weeks_from_then_on(agreed: Agreed) -> None:
    off = ("x", "y", "Other", "0x0", "shutdown", "", "admin")
    shutdown = event(8, 1074, provider="USER32", channel="System")._replace(strings=off)
    records = [*[collected(each / 2) for each in range(4)], shutdown]
    assert "not_heard" not in one(agreed(*records, days=21), DIRECTORY).findings
    assert "not_heard" in one(agreed(*records, days=23), DIRECTORY).findings


def test_what_no_event_names_is_heard_by_the_logs_of_its_computer(agreed: Agreed) -> None:
    scan = Scanned(at(1), at(1) + HOUR, "EX01", NTDS_DIT, complete=True, pages=100)
    others = [other_program(each) for each in range(1, 30)]
    found = agreed(now(0, 736), scan, *others, days=30)
    assert "not_heard" not in one(found, DIRECTORY).findings


def test_a_snapshot_is_no_other_place_of_a_database(agreed: Agreed) -> None:
    """Its instance is one without a name, which is known by its process."""
    shadow = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7" + NTDS_DIT[2:]
    unnamed = ("ntdsa", "640", "")
    records = [collected(0), ntds(1.5, 103, "0", "[1]", "0"), bad_page(4, shadow), ntds(5, 907)]
    records = [each._replace(strings=(*unnamed, *each.strings[3:])) for each in records]
    alive = [other_program(each, "Directory Service") for each in range(6, 20)]
    found = one(agreed(*records, *alive, days=20), DIRECTORY)
    assert found.findings == {"investigate", "copy_suspect", "defrag_overdue"}


def test_a_computer_that_logs_after_its_shutdown_is_silent_as_any(agreed: Agreed) -> None:
    off = ("x", "y", "Other", "0x0", "shutdown", "", "admin")
    shutdown = event(7, 1074, provider="USER32", channel="System")._replace(strings=off)
    others = [other_program(each / 3, "Directory Service") for each in range(20)]
    last = other_program(8, "Directory Service")
    found = agreed(collected(0), *others, shutdown, last, days=14)
    assert "not_heard" in one(found, DIRECTORY).findings


def test_an_unlocated_page_that_is_reported_again_is_bad_since_then(agreed: Agreed) -> None:
    errors = [ntds(days, 217, "-1018", NTDS_DIT) for days in (0, 1.5)]
    found = agreed(errors[0], *restore(1), errors[1], ntds(2, 105, "0", "1"), days=3)
    assert one(found, DIRECTORY).known_bad == {(-1, "uncorrectable")}


def test_a_failed_read_of_its_instance_keeps_a_backup_from_verifying(agreed: Agreed) -> None:
    begun = [collected(0), ntds(1, 210), ntds(1.01, 220, NTDS_DIT, "40 Gb")]
    done = [bad_page(1.015, ""), ntds(1.02, 221, NTDS_DIT), ntds(1.03, 213)]
    assert one(agreed(*begun, *done, days=3), DIRECTORY).verified == {}


@pytest.mark.parametrize("event_id", [102, 103, 325])
def test_a_backup_does_not_go_on_over_a_start_a_stop_or_a_new_file(
    agreed: Agreed, event_id: int
) -> None:
    begun = [collected(0), ntds(1, 210), ntds(1.01, 220, NTDS_DIT, "40 Gb")]
    path = [NTDS_DIT] if event_id == 325 else []
    broke = ntds(1.015, event_id, "1", *path, "0")
    found = agreed(*begun, broke, ntds(1.02, 221, NTDS_DIT), ntds(1.03, 213), days=3)
    assert one(found, DIRECTORY).verified == {}


def test_a_gap_beside_a_record_of_a_clock_that_was_ahead_is_one(agreed: Agreed) -> None:
    first = collected(0)
    number = first.record_id or 0
    records = [collected(days)._replace(record_id=number + n) for n, days in ((1, 10.4), (3, 4))]
    assert "unknown_since" in one(agreed(first, *records, days=10, whole=True), DIRECTORY).findings


def test_what_is_lost_before_a_clock_that_was_ahead_was_before_the_next_number(
    agreed: Agreed,
) -> None:
    first = collected(0)
    number = first.record_id or 0
    records = [
        collected(days)._replace(record_id=number + n)
        for n, days in ((2, 10.4), (3, 0.01), *((3 + n, n / 2) for n in range(1, 20)))
    ]
    found = one(agreed(first, *records, days=10, whole=True), DIRECTORY)
    assert "unknown_since" not in found.findings


def test_a_failure_shows_that_the_log_would_have_a_completion(agreed: Agreed) -> None:
    failed = ntds(0, 705, NTDS_DIT, "-1011")
    alive = [other_program(each, "Directory Service") for each in range(1, 20)]
    assert one(agreed(failed, *alive, days=20), DIRECTORY).findings == {"defrag_overdue"}


def test_what_a_scan_of_a_time_to_come_counted_shows_no_work(agreed: Agreed) -> None:
    """Its bad pages are known since it was read, and that may be before all else."""
    ahead = old(9, 722, "7/3/2007", "2313", "2", "1", "3420176", "2", "72682")
    found = one(agreed(broken(0), ahead, days=7.2))
    assert found.known_bad == {(17, "uncorrectable"), (-1, "uncorrectable")}
    assert found.findings == {"investigate"}


def test_what_a_clock_that_was_ahead_completed_beside_a_lost_record_proves_nothing(
    agreed: Agreed,
) -> None:
    """It was before the next number, whatever it says, and so was what is lost."""
    first, ahead, later = now(0, 736), passed(20, 1, run="49999, 0"), now(10, 744, "7/1/2007")
    number = first.record_id or 0
    ahead, later = ahead._replace(record_id=number + 1), later._replace(record_id=number + 3)
    found = one(agreed(first, ahead, later, days=19.5, whole=True))
    assert (found.verified, found.verdict) == ({}, "blind")


def test_a_database_that_was_detached_before_its_start_by_the_numbers_is_attached(
    agreed: Agreed,
) -> None:
    """The clock was set back by more than a life of the log allows, as its scan shows."""
    hour = 1 / 24
    life = (
        attached(1, 327)._replace(record_id=2001),
        ntds(1 - 2.1 * hour, 700, NTDS_DIT, number=2002),
        ntds(1 - hour, 103, "0", "[1] 0.0", number=2003),
        ntds(1 - 0.9 * hour, 102, "0", "15", number=2004),
        attached(1 - 0.8 * hour, 326)._replace(record_id=2005),
        ntds(1 - 0.7 * hour, 105, "0", "1", number=2006),
    )
    began = collected(0)._replace(record_id=2000)
    alive = [
        other_program(each, "Directory Service")._replace(record_id=2000 + each)
        for each in range(7, 20)
    ]
    found = agreed(began, *life, *alive, days=20)
    assert one(found, DIRECTORY).findings == {"defrag_overdue"}


def test_an_error_before_a_clock_was_set_back_is_not_one_of_the_pass_behind_it(
    agreed: Agreed,
) -> None:
    minute = 1 / 1440
    records = [
        event(1, 210),
        event(1 + 5 * minute, 217, "-1018", PRIV),
        event(1 + 10 * minute, 224, "E1.log", "E9.log"),
        old(1 - 2 * minute, 718),
        old(1.2, 722, "7/2/2007", "1706", "2", "2", "3098498", "0", "72682"),
    ]
    found = one(agreed(*records, days=2))
    assert found.known_bad == set()
    assert found.verified == {"online_scan": at(1.2)}


def test_of_two_states_of_one_moment_the_last_is_that_of_run_time(agreed: Agreed) -> None:
    replayed = now(1, 327, "1")._replace(strings=(NOW[0], "5960,R,50", NOW[2], "1", PRIV))
    mounted = now(1, 326, "1")._replace(strings=(NOW[0], "5960,D,50", NOW[2], "1", PRIV))
    assert one(agreed(replayed, mounted, days=1.1)).role == "active"


def test_a_scan_that_cannot_be_read_leaves_the_gap_of_a_copy_that_was_verified(
    agreed: Agreed,
) -> None:
    began, verified, after = now(0, 736), passed(1, 1, run="49999, 0"), now(8, 736)
    number = began.record_id or 0
    records = [
        each._replace(record_id=number + n)
        for n, each in enumerate([began, verified, None, after, now(15, 737)])
        if each
    ]
    others = [other_program(15 + n)._replace(record_id=number + 4 + n) for n in range(1, 15)]
    found = one(agreed(*records, *others, days=30, whole=True))
    assert found.findings == {"verification_unreadable", "unknown_since"}
    assert found.verdict == "blind"


def test_a_scan_of_a_time_to_come_does_not_show_that_scanning_is_on(agreed: Agreed) -> None:
    begun = [now(0, 736), passed(1, 1)]
    alive = [other_program(each) for each in range(1, 60)]
    found = agreed(*begun, *alive, now(90, 736), days=60)
    assert "scan_off" in one(found).findings


def test_a_scan_clears_what_it_met_of_a_file_that_was_moved_meanwhile(agreed: Agreed) -> None:
    elsewhere = PRIV.replace("MDB06", "MDB07")
    moved = [event(3, 327, "1", PRIV), event(3.1, 326, "1", elsewhere)]
    counted = checksummed(4, "7/1/2007", bad=1)._replace(
        strings=(*OLD, elsewhere, "7/1/2007", "208", "2", "1", "5850768", "1", "72682")
    )
    other = broken(3.5, 18)
    other = other._replace(strings=(*OLD, elsewhere, *other.strings[4:]))
    found = agreed(old(0.1, 717), broken(2, 17), *moved, other, counted, days=5)
    assert one(found, ("ex01", elsewhere.lower())).known_bad == {(18, "uncorrectable")}


def test_what_replay_detached_interrupts_no_pass_though_its_105_never_came(agreed: Agreed) -> None:
    """The letter of `%2` says nothing between a 102 and its 105."""
    born = event(0.5, 102, "0", "15", who=NOW)
    replayed = event(0.6, 327, "1", PRIV, who=NOW)
    again = event(0.7, 102, "0", "15", who=NOW)
    found = agreed(now(0, 736), born, replayed, again, now(0.8, 738, "3113"), days=1)
    assert one(found).totals["checksum"].interrupted == 0


def test_a_database_that_only_an_impossible_time_names_was_first_seen_at_no_time(
    agreed: Agreed,
) -> None:
    """It was not known for a week, however old the last record before it is."""
    moved = PRIV.replace("MDB06", "MDB06\\moved")
    ahead = event(40, 736, moved, who=NOW)
    found = agreed(passed(1, 1, run="49999, 0"), ahead, other_program(9), days=10)
    assert one(found, ("ex01", moved.lower())).verdict == "unproven"


def restart_restored(days: float) -> tuple[Logged, ...]:
    """One that ended well, and the start after it."""
    told = ((0, 204, ("c:\\restore", "c:\\logs")), (1, 205, ()), (2, 105, ("0", "1")))
    return tuple(event(days + hours / 24, event_id, *rest) for hours, event_id, rest in told)


def test_what_a_restore_left_and_was_acknowledged_does_not_come_back_with_the_next_one(
    agreed: Agreed,
) -> None:
    ack = Acknowledged(at(3), "ex01", LABEL, unread=frozenset({9}))
    later = [each._replace(file=9) for each in restart_restored(4)]
    found = agreed(broken(0), *restart_restored(1), ack, *later, days=5)
    assert one(found).findings == set()


def test_what_was_acknowledged_as_bad_is_not_unproven_where_a_restore_is_read_later(
    agreed: Agreed,
) -> None:
    """The restore was not shown, the page was."""
    ack = Acknowledged(at(3), "ex01", LABEL, unread=frozenset({9}))
    late = [each._replace(file=9) for each in restart_restored(1)]
    found = agreed(broken(0), ack, *late, days=5)
    assert one(found).findings == set()


def test_a_tool_does_not_show_that_a_database_was_in_its_instance(agreed: Agreed) -> None:
    """Its error names none, and it was not named since the last start but one."""
    starts = [event(days, 102, "0", "15") for days in (1, 2)]
    met = broken(4, 33, who=("eseutil", "7788", ""))
    found = agreed(broken(0), *starts, event(3, 2002, "3", "-1019"), met, days=5)
    pages = {(17, "uncorrectable"), (33, "uncorrectable")}
    assert one(found).known_bad == pages
    named = agreed(broken(0), *starts, broken(3.1, 18), event(3, 2002, "3", "-1019"), days=5)
    assert one(named).known_bad == {*pages - {(33, "uncorrectable")}} | {
        (18, "uncorrectable"),
        (-1, "no_data"),
    }


def test_a_log_that_was_cleared_within_a_second_has_the_gap_that_is_behind_it(
    agreed: Agreed,
) -> None:
    old_life = now(0, 744, "7/1/2007")._replace(record_id=254_679)
    cleared = now(0, 744, "7/1/2007", "2")._replace(record_id=1)
    records = [old_life, cleared, passed(15, 1, run="49999, 0")._replace(record_id=90)]
    found = one(agreed(*records, days=16, whole=True))
    assert (found.verified, found.verdict) == ({}, "blind")
    records[2:] = [other_program(5)._replace(record_id=2), records[2]._replace(record_id=3)]
    assert one(agreed(*records, days=16, whole=True)).verified == {"online_scan": at(15)}


def test_a_run_that_was_interrupted_shows_that_the_log_would_have_a_completion(
    agreed: Agreed,
) -> None:
    """Its start is not in the log any more."""
    cut = ntds(0, 704, NTDS_DIT)
    alive = [other_program(each, "Directory Service") for each in range(1, 20)]
    assert one(agreed(cut, *alive, days=20), DIRECTORY).findings == {"defrag_overdue"}


def test_a_page_event_that_was_read_before_maintenance_shows_where_the_database_was(
    agreed: Agreed,
) -> None:
    """The instance was started twice between; the error that names no database lies before it."""

    def sru(days: float, event_id: int, *rest: str) -> Logged:
        return event(days, event_id, *rest, who=SRU, provider="ESENT")

    place = ("294912 (0x48000)", "8192 (0x2000)", "-1019 (0xfffffc05)", "35 (0x23)")
    met, failed = sru(3.1, 476, SRUDB, *place), sru(3, 244, "-1118")
    starts = [sru(days, 102, "0", "15") for days in (1, 2)]
    found = agreed(met, failed, sru(0, 705, SRUDB, "-1019"), *starts, days=4)
    assert (-1, "wrong_page") in one(found, ("ex01", SRUDB.lower())).known_bad


def test_a_snapshot_of_before_the_move_shows_the_file_that_was_moved(agreed: Agreed) -> None:
    scan = Scanned(
        at(1), at(3), "EX01", NTDS_DIT, complete=True, pages=100, bad=((25, "uncorrectable"),)
    )
    moves = attached(2, 327), attached(2.01, 326, MOVED)
    found = agreed(collected(0), scan, *moves, days=4)
    assert one(found, ("ex01", MOVED.lower())).known_bad == {(25, "uncorrectable")}


def test_a_shutdown_of_a_time_to_come_explains_no_silence(agreed: Agreed) -> None:
    off = ("x", "y", "Other", "0x0", "shutdown", "", "admin")
    ahead = event(70, 1074, provider="USER32", channel="System")._replace(strings=off)
    found = one(agreed(collected(0), ahead, days=41), DIRECTORY)
    assert (set(found.findings), found.verdict) == ({"not_heard"}, "blind")


def test_the_threshold_of_a_scan_of_a_time_to_come_is_none(agreed: Agreed) -> None:
    def late(days: float, threshold: str) -> Logged:
        rest = "7/1/2007 8:16:26 PM", "86400", threshold, threshold, "50000", "49999, 0"
        return now(days, 735, *rest)

    alive = [other_program(each) for each in range(1, 36)]
    found = agreed(
        now(0, 736), late(10, "20")._replace(level="warning"), late(60, "7"), *alive, days=22
    )
    assert one(found).verified == {"online_scan": at(10)}
    assert "verification_overdue" not in one(found).findings


def test_bad_pages_that_a_clock_ahead_reports_keep_the_window(agreed: Agreed) -> None:
    nights = [
        record
        for day in range(10)
        for record in (
            old(day + 0.05, 700),
            old(day + 0.15, 701, "7/1/2007", "300", "4", "1", "55"),
        )
    ]
    assert one(agreed(*nights, days=10)).action == "shrink"
    ahead = checksummed(10.3, "7/10/2007", bad=2)
    assert one(agreed(*nights, ahead, days=10)).action == "keep"


def test_a_page_scan_does_not_show_whose_instance_had_the_database(agreed: Agreed) -> None:
    """Both were named only afterwards: the error is the instance's."""
    scan = Scanned(at(1), at(1), "EX01", PRIV, complete=True, pages=100)
    other = event(3, 701, "E:\\MDB06\\priv07.edb", "2218", "7/3/2007", "1230", "1", "1", "48")
    found = agreed(scan, event(2, 2002, "3", "-1119"), other, old(4, 725), days=5)
    assert one(found).known_bad == set()


def test_what_was_acknowledged_before_its_move_was_read_does_not_come_back(agreed: Agreed) -> None:
    ack = Acknowledged(at(3), "ex01", NTDS_DIT.lower(), unread=frozenset({9}))
    moves = attached(2, 327)._replace(file=9), attached(2.01, 326, MOVED)._replace(file=9)
    page = ("8192 (0x2000)", "8192 (0x2000)", "-1019 (0xfffffc05)", "20 (0x14)")
    found = agreed(collected(0), ntds(1, 476, NTDS_DIT, *page), ack, *moves, days=4)
    assert one(found, ("ex01", MOVED.lower())).known_bad == set()


def test_what_a_page_scan_found_first_is_known_since_then(agreed: Agreed) -> None:
    """Its one event is of a time to come, and shows nothing of when it was first seen."""
    scan = Scanned(at(1), at(1), "EX01", PRIV, complete=True, pages=100)
    found = one(agreed(passed(50, 1), scan, days=11))
    assert (set(found.findings), found.verdict) == (set(), "ok")


def test_a_page_that_is_bad_again_is_acknowledged_with_what_a_restore_left_of_it(
    agreed: Agreed,
) -> None:
    """One that is not bad again is not known as bad: nobody can name it."""
    fixed = ntds(0, 399, NTDS_DIT, "8192", "8192", "1025", "31 (0x1F)")
    other = ntds(0, 399, NTDS_DIT, "8192", "8192", "1025", "32 (0x20)")
    life = [*restore(1), ntds(1.02, 105, "0", "1"), bad_page(2)]
    ack = Acknowledged(at(3), *DIRECTORY, (31, 32))
    assert one(agreed(fixed, *life, ack, days=4), DIRECTORY).findings == set()
    both = one(agreed(fixed, other, *life, ack, days=4), DIRECTORY)
    assert both.findings == {"restored_unproven"}


def test_what_its_log_lost_is_missing_of_a_database_that_was_moved_later_too(
    agreed: Agreed,
) -> None:
    """Nothing is due at the path that it left, and no advice rests on nights before the gap."""
    nights = [each for days in range(8) for each in night(days, PRIV, done=True)]
    left = event(9, 327, "1", PRIV, "0", number=(nights[-1].record_id or 0) + 90)
    came = event(9.01, 326, "1", "E:\\new\\priv06.edb", "0", number=(left.record_id or 0) + 1)
    found = agreed(
        *nights,
        left,
        came,
        days=9.5,
        whole=True,
        windows={"nightly": {"start": "01:00", "duration": "8h", "timezone": "UTC"}},
        databases=[{"match": "*\\priv06.edb", "window": "nightly"}],
    )
    assert one(found).findings == set()
    assert one(found).action == "insufficient_evidence"


def test_a_database_that_was_made_anew_where_it_was_detached_is_attached(agreed: Agreed) -> None:
    life = [
        event(days, event_id, "1", PRIV, "0", who=NOW) for days, event_id in ((0, 327), (0, 325))
    ]
    alive = [other_program(each) for each in range(1, 8)]
    assert one(agreed(*life, *alive, days=8.5)).findings == {"never_verified"}


def test_what_met_a_bad_page_in_a_snapshot_is_not_the_instance_of_its_database(
    agreed: Agreed,
) -> None:
    """The process is called as an instance is: what that logs is of its computer."""

    def search(days: float, event_id: int, *rest: str) -> Logged:
        who = ("Windows", "912,D,50", "Windows: ")
        return event(days, event_id, *rest, who=who, provider="ESENT", level="critical")

    shadow = "C:\\$SNAP_201912161234_VOLUMEC$\\Search\\Windows.edb"
    bad = search(1, 474, shadow, "8192", "8192", "-1018 (0xfffffc06)", "[1]", "[2]", "31 (0x1F)")
    found = agreed(collected(0), bad, search(2, 699, "-1206"), days=3)
    assert one(found, ("ex01", "c:\\search\\windows.edb")).known_bad == {(31, "uncorrectable")}
    assert all("unexplained_error" in each.findings for each in found.values())


@pytest.mark.parametrize("event_id", [701, 721])
def test_a_pass_of_a_time_to_come_is_not_the_whole_one_that_advice_asks_for(
    agreed: Agreed, event_id: int
) -> None:
    """Nor is a scan one of online defragmentation. In three nights a backup stopped that."""
    nights = [each for days in range(8) for each in night(days, PRIV, 2)]
    backups = [
        event(days + hour, id_) for days in (5, 6, 7) for hour, id_ in ((0.08, 210), (0.09, 213))
    ]
    ahead = old(20, event_id, "1290", "7/1/2007", "45435", "8", "1", "87")
    found = agreed(
        *nights,
        *backups,
        ahead,
        days=8,
        windows={"nightly": {"start": "01:00", "duration": "4h", "timezone": "UTC"}},
        databases=[{"match": "*\\priv06.edb", "window": "nightly"}],
    )
    assert one(found).action == "insufficient_evidence"


def test_what_was_restored_is_of_the_instance_whose_logs_are_in_its_folder(agreed: Agreed) -> None:
    """The other one is the only one of the process of which a database is known."""
    sru = [
        event(days, event_id, *rest, who=SRU, provider="ESENT")
        for days, event_id, *rest in (
            (1, 204, "c:\\restore", "C:\\SRU"),
            (1.01, 205),
            (2, 221, "C:\\SRU\\E0000000042.log"),
        )
    ]
    unnamed = (*SRU[:2], "")
    path = "C:\\Windows\\system32\\dhcp\\dhcp.mdb"
    bad = event(
        0, 474, path, "1", "2", "-1018", "[1]", "[2]", "9 (0x9)", who=unnamed, provider="ESENT"
    )
    came = event(3, 326, "1", path, "0", who=unnamed, provider="ESENT")
    found = agreed(bad, *sru, came, days=4)
    assert one(found, ("ex01", path.lower())).known_bad == {(9, "uncorrectable")}


def test_an_acknowledgement_is_of_the_computer_that_had_the_name_then(agreed: Agreed) -> None:
    """The other one keeps the short name, as its oldest record is older, and was not read yet."""
    bad = broken(1, computer="EX01.a.example")
    ack = Acknowledged(at(2), "ex01", LABEL, unread=frozenset({9}))
    older = now(0, 736, computer="ex01.b.example")._replace(file=9)
    found = agreed(bad, older, ack, days=3)
    assert one(found, ("ex01.a.example", LABEL)).known_bad == set()


def test_what_was_acknowledged_as_restored_is_bad_where_it_was_not_shown_to_be(
    agreed: Agreed,
) -> None:
    """Another instance of the process is read of later: it may be that which was restored."""
    ack = Acknowledged(at(3), "ex01", LABEL)
    other = event(4, 717, "E:\\MDB07\\priv07.edb", who=(*OLD[:2], "SG07: "))
    assert one(agreed(broken(0), *restart_restored(1), ack, days=5)).known_bad == set()
    found = one(agreed(broken(0), *restart_restored(1), ack, other, days=5))
    assert found.known_bad == {(17, "uncorrectable")}


def test_a_record_that_two_logs_have_shows_that_both_are_read(agreed: Agreed) -> None:
    """Each has pauses of its own, and other programs log to it."""
    space = ("First Storage Group\\priv1", "120")
    both = [
        Logged(at(0), "EX01", channel, "MSExchangeIS", 1221, number, space)
        for channel, number in (("Application", None), ("Directory Service", 999_000))
    ]
    both[0] = both[0]._replace(file=8)
    own = [now(days / 2, 744, "7/1/2007", str(days)) for days in range(8)]
    own = [each._replace(record_id=None, file=8) for each in own]
    found = agreed(*both, *own, *[collected(days / 2) for days in range(8)], days=10)
    assert all("not_heard" in answer.findings for answer in found.values())


def test_bad_pages_of_before_it_was_moved_are_known_for_as_long_as_the_database(
    agreed: Agreed,
) -> None:
    """Nobody watches it, and its old path is forgotten after 90 days of silence."""
    path, there = "C:\\Search\\Windows.edb", "C:\\Search\\moved\\Windows.edb"

    def search(days: float, event_id: int, *rest: str) -> Logged:
        return event(days, event_id, *rest, who=("Windows", "912", "Windows: "), provider="ESENT")

    bad = search(0, 474, path, "8192", "8192", "-1018 (0xfffffc06)", "[1]", "[2]", "31 (0x1F)")
    moves = search(1, 327, "1", path, "0"), search(1.1, 326, "1", there, "0")
    later = search(60, 508, there, "9 (0x9)", "8192", "17")
    found = agreed(bad, *moves, later, days=100)
    assert one(found, ("ex01", there.lower())).known_bad == {(31, "uncorrectable")}
    assert agreed(bad, *moves, later, days=160) == {}


def test_an_impossible_time_does_not_show_that_a_database_was_known_when_it_was_read(
    agreed: Agreed,
) -> None:
    """What was read just before it is a week older than the first record of its own."""
    other = event(0, 736, "E:\\MDB07\\priv07.edb", who=(*NOW[:2], "SG07: "))
    found = agreed(other, now(12, 736), broken(7, who=NOW), days=9)
    assert one(found).findings == {"investigate"}


def test_an_impossible_time_does_not_show_since_when_a_log_was_read(agreed: Agreed) -> None:
    """It is its only record; a page scan found the database bad weeks ago."""
    begun = at(0), at(0) + HOUR
    scan = Scanned(*begun, "EX01", PRIV, complete=True, pages=100, bad=((27, "wrong_page"),))
    assert one(agreed(scan, now(70, 717), days=30)).findings == {"investigate", "never_verified"}


def test_a_bad_page_of_an_old_copy_is_known_for_90_days_since_it_was_read(agreed: Agreed) -> None:
    times = at(0), at(100)
    scan = Scanned(*times, "EX01", SRUDB, complete=False, pages=100, bad=((30, "no_data"),))
    assert one(agreed(scan, days=189), ("ex01", SRUDB.lower())).known_bad == {(30, "no_data")}
    assert agreed(scan, days=191) == {}


def test_the_number_of_an_impossible_time_is_not_lost_before_an_acknowledgement(
    agreed: Agreed,
) -> None:
    """It was written before what was shown then, and is read here by its time."""
    first, later = now(0, 736), now(12, 744, "7/1/2007", "6", "5000")
    number = first.record_id or 0
    ahead = now(60, 736)._replace(record_id=number + 1)
    later = later._replace(record_id=number + 2)
    found = agreed(first, ahead, later, Acknowledged(at(13), "ex01", LABEL), days=14.5, whole=True)
    assert one(found).findings == set()


def test_a_scan_that_cannot_be_read_does_not_hide_the_size_that_the_one_before_told(
    agreed: Agreed,
) -> None:
    """The one that runs is no first scan of unknown size, for which more time is allowed."""
    scans = [broken(0, who=NOW), passed(0.5, 1), now(4, 737), now(5, 736)]
    reports = [now(5 + days, 744, "7/6/2007", str(days), str(days)) for days in range(1, 9)]
    found = one(agreed(*scans, *reports, *[other_program(13.5 + n) for n in range(2)], days=15))
    assert found.findings == {"investigate", "verification_unreadable", "verification_overdue"}


def test_an_acknowledgement_at_the_old_path_is_none_of_what_was_shown_at_the_new_one(
    agreed: Agreed,
) -> None:
    """A read that failed and names no file is of its instance, and was shown there."""
    moved = attached(1, 327), attached(1.1, 326, MOVED)
    revert = ntds(2, 569, "186", "130")._replace(level="error")
    ack = Acknowledged(at(3), *DIRECTORY)
    found = agreed(collected(0), *moved, revert, ack, days=4)
    assert one(found, ("ex01", MOVED.lower())).damage == {"revert_snapshot"}
    bare = bad_page(2, "")
    assert one(agreed(collected(0), bare, ack, days=4), DIRECTORY).findings == set()


def test_what_lies_at_another_path_of_its_computer_is_no_other_copy(agreed: Agreed) -> None:
    """That differs from the active copy is said of both; the old path is none."""
    elsewhere = PRIV.replace("MDB06", "MDB07")
    tail = ("20", "77", "78", "-566", "79", "8", "2", "9", "0", "0")
    found = agreed(
        now(0, 717),
        event(5, 540, elsewhere, *tail, who=NOW),
        days=6,
        databases=[{"match": "*\\priv06.edb", "name": "DB06"}],
    )
    assert one(found).damage == set()
    assert one(found, ("ex01", elsewhere.lower())).damage == {"suspect"}


@pytest.mark.parametrize("seen", ["in a snapshot", "by a page scan"])
def test_what_was_only_read_is_no_copy_though_it_is_called_like_one(
    agreed: Agreed, seen: str
) -> None:
    """Damage of the active copy is its own where no other is known."""
    tail = ("20", "77", "78", "-566", "79", "8", "2", "9", "0", "0")
    shadow = "C:\\$SNAP_201912161234_VOLUMEE$\\MDB06\\priv06.edb"
    bad = broken(1, computer="EX02", who=NOW)
    bad = bad._replace(strings=(*NOW, shadow, *bad.strings[4:]))
    scan = Scanned(at(1), at(1), "EX02", PRIV, complete=True, pages=100)
    differs = event(3, 545, PRIV, *tail, who=NOW)
    found = agreed(
        scan if seen == "by a page scan" else bad,
        differs,
        days=4,
        databases=[{"match": "*\\priv06.edb", "name": "DB06", "model": "background"}],
    )
    assert one(found).damage == {"suspect"}
    assert one(found, ("ex02", LABEL)).damage == set()


def test_a_snapshot_of_another_database_does_not_hide_whose_restore_it_was(agreed: Agreed) -> None:
    """The process met it; of one instance of it a database is known."""

    def served(days: float, event_id: int, *rest: str) -> Logged:
        return event(days, event_id, *rest, who=(*SRU[:2], ""), provider="ESENT")

    path, tail = "C:\\dhcp\\dhcp.mdb", ("1", "2", "-1018", "[1]", "[2]", "9 (0x9)")
    shadow = served(1, 474, "C:\\$SNAP_201912161234_VOLUMEC$\\sru\\SRUDB.dat", *tail)
    done = [
        served(2, 204, "c:\\restore", "c:\\logs"),
        served(2.1, 205),
        served(3, 326, "1", path, "0"),
    ]
    found = agreed(served(0, 474, path, *tail), shadow, *done, days=4)
    assert one(found, ("ex01", path.lower())).findings == {"restored_unproven"}
    assert one(found, ("ex01", "c:\\sru\\srudb.dat")).findings == {"investigate"}


def test_a_page_that_was_read_in_the_hour_of_a_start_shows_work_until_then(agreed: Agreed) -> None:
    """It had the database before it was started anew, and nothing else was logged for days."""
    begun, done, met = now(0, 736), passed(1, 1, run="49999, 0"), broken(8 + 0.1 / 24, who=NOW)
    start = event(8 + 0.9 / 24, 102, "0", "15", who=NOW)
    records = [each._replace(record_id=None) for each in (begun, done, met, start)]
    found = one(agreed(*records, days=14.2))
    assert found.findings == {"investigate", "verification_overdue"}


def test_a_cycle_that_ends_half_a_day_ahead_is_done_and_one_of_two_days_is_not(
    agreed: Agreed,
) -> None:
    alive = [other_program(each / 2, "Directory Service") for each in range(1, 28)]
    done, never = (agreed(collected(0), *alive, collected(14.5 + n), days=14.5) for n in (0.5, 2))
    assert one(done, DIRECTORY).findings == set()
    assert one(never, DIRECTORY).findings == {"defrag_overdue"}


def test_a_record_of_a_clock_that_was_ahead_is_of_the_log_in_which_its_number_is_missing(
    agreed: Agreed,
) -> None:
    """That was cleared later; in the new one nothing is lost before the time of the record."""
    records = [
        collected(days)._replace(record_id=5000 + number)
        for number, days in enumerate([0, 0.5, 14.4, 0.6])
    ]
    later = [other_program(1 + n / 2, "Directory Service") for n in range(20)]
    later = [each._replace(record_id=1 + n) for n, each in enumerate(later)]
    found = agreed(*records, *later, days=14, whole=True)
    assert "unknown_since" not in one(found, DIRECTORY).findings


def test_a_shadow_copy_that_fails_while_a_streaming_backup_runs_says_nothing_of_that(
    agreed: Agreed,
) -> None:
    """The engine refuses to freeze meanwhile."""

    def backup(hours: float, event_id: int, *rest: str) -> Logged:
        return event(1 + hours / 24, event_id, *rest)

    streamed = [backup(0, 210), backup(1, 220, PRIV, "40 Gb"), backup(3, 221, PRIV), backup(4, 213)]
    refused = [backup(2, 2005, "3"), backup(2.1, 2001, "3"), backup(2.2, 2002, "3", "-2403")]
    begun_before = backup(-1, 2005, "3")
    for shadow in ([], refused, [begun_before, *refused[1:]], [begun_before, backup(9, 2006, "3")]):
        found = agreed(*streamed, *shadow, days=3)
        assert one(found).verified == {"streaming_backup": at(1 + 4 / 24)}


def test_an_error_of_the_moment_of_a_detach_was_before_it(agreed: Agreed) -> None:
    left = attached(1, 327)
    failed = ntds(1, 217, "-1019", NTDS_DIT)
    found = agreed(collected(0), left, failed, attached(1.01, 326, MOVED), days=2)
    assert one(found, DIRECTORY).known_bad == set()
    assert one(found, ("ex01", MOVED.lower())).known_bad == {(-1, "no_data")}


def test_a_record_of_a_clock_that_was_ahead_is_of_the_life_of_a_log_that_has_the_next_number(
    agreed: Agreed,
) -> None:
    """The log was cleared after it: nothing is missing between the two lives."""
    first = event(0, 326, "1", PRIV, "0", "[1] 0.0", "0 0", who=NOW, number=369_686)
    ahead = now(31.5, 736)._replace(record_id=369_685)
    after = [
        now(days, 744, "7/1/2007", "24", "5000")._replace(record_id=number)
        for days, number in ((1, 3), (11, 6))
    ]
    found = agreed(ahead, first, *after, days=31, whole=True)
    assert one(found).findings == {"verification_overdue"}


def test_a_gap_may_hide_when_a_database_came_that_only_a_record_of_a_time_to_come_names(
    agreed: Agreed,
) -> None:
    ahead = event(60, 717, "E:\\MDB06\\priv07.edb", number=90)
    records = [old(0, 702, "7/1/2007", "1"), ahead, old(20, 704)]
    records[0] = records[0]._replace(record_id=1)
    records[2] = records[2]._replace(record_id=91)
    found = agreed(*records, days=20.1, whole=True)
    assert one(found, ("ex01", "e:\\mdb06\\priv07.edb")).verdict == "blind"


def test_another_path_of_the_same_computer_is_no_copy(agreed: Agreed) -> None:
    """Both are called alike by the configuration: the database was moved."""
    elsewhere = "E:\\elsewhere\\priv06.edb"
    differs = event(20, 540, elsewhere, "262", "77", "78", "-566", "79", "8", "2", "9", "0", "0")
    moved = [event(19, 327, "1", PRIV), event(19.1, 326, "1", elsewhere)]
    scanned = [now(day, 736) for day in range(1, 19)]
    alike = [{"match": "*\\priv06.edb", "name": "DB06"}]
    found = agreed(*scanned, *moved, differs, days=21, databases=alike)
    assert one(found).damage == set()
    assert one(found, ("ex01", elsewhere.lower())).damage == {"suspect"}


def test_an_error_of_the_moment_in_which_a_backup_or_a_scan_began_is_of_it(agreed: Agreed) -> None:
    stopped = event(1, 104, "0", "-1119", "[1]", level="error")
    backup = [event(1, 210), event(1.1, 220, PRIV, "40 Gb"), event(1.2, 221, PRIV), event(1.3, 213)]
    assert one(agreed(stopped, *backup, days=2)).verified == {}
    scan = [broken(1), now(1, 736), passed(2, 1, run="49999, 0")]
    assert one(agreed(*scan, days=3)).verified == {}


def test_a_record_of_a_time_to_come_does_not_show_since_when_a_database_is_known(
    agreed: Agreed,
) -> None:
    moved = "E:\\moved\\priv06.edb"
    alive = [other_program(day) for day in range(1, 20)]
    ahead, later = event(60, 736, moved, who=NOW), event(18, 326, "1", moved, who=NOW)
    found = agreed(passed(1, 1, run="49999, 0"), ahead, *alive, later, days=20)
    assert one(found, ("ex01", moved.lower())).findings == set()


def test_the_size_of_a_database_is_known_by_an_earlier_scan_where_the_last_one_does_not_say_it(
    agreed: Agreed,
) -> None:
    """Neither verified it; a first scan of unknown size would be waited for longer."""
    silent = passed(7, 1)._replace(
        strings=(*NOW, PRIV, "7/7/2007 1:00:00 AM", "86400", "0", "49999, 0")
    )
    going_on = [now(8 + day, 744, "7/9/2007", "24", str(day * 1000)) for day in range(1, 20)]
    found = agreed(broken(0.5), passed(1, 1), silent, now(8, 736), *going_on, days=27.1)
    assert "never_verified" in one(found).findings


def test_a_temporary_database_of_its_instance_leaves_the_path_that_was_left_its_own_advice(
    agreed: Agreed,
) -> None:
    moved = "E:\\MDB06\\moved\\priv06.edb"
    nights = [
        record
        for day in range(10)
        for record in (
            old(day + 0.05, 700),
            old(day + 0.15, 701, "7/1/2007", "300", "4", "1", "55"),
        )
    ]
    temporary = broken(5)._replace(
        strings=(*OLD, "E:\\MDB06\\temp.edb", "1", "2", "-1018", "[1]", "[2]", "9 (0x9)")
    )
    moves = event(9.5, 327, "1", PRIV), event(9.6, 326, "1", moved), event(9.7, 700, moved)
    found = agreed(*nights, temporary, *moves, days=10)
    assert one(found).action == "shrink"
    assert one(found, ("ex01", moved.lower())).action == "insufficient_evidence"


def test_a_shutdown_is_not_that_of_another_computer_of_the_same_short_name(agreed: Agreed) -> None:
    """It is read before it is known that there are two."""
    one_name, other_name = "EX01.A.EXAMPLE", "ex01.b.example"
    off = ("x", "y", "Other", "0x0", "shutdown", "", "admin")
    shut_down = event(2, 1074, provider="USER32", channel="System", computer=one_name)
    found = agreed(
        shut_down._replace(strings=off, record_id=None),
        collected(0.5)._replace(computer=other_name),
        collected(0)._replace(computer=one_name),
        days=15,
    )
    assert one(found, DIRECTORY).findings == set()
    assert one(found, ("ex01.b.example", DIRECTORY[1])).findings == {"not_heard"}


def test_what_is_logged_within_a_minute_of_a_detach_comes_of_it(agreed: Agreed) -> None:
    """The error of a scan, of the moment of the detach or after it: it interrupts no scan then."""
    elsewhere = "E:\\elsewhere\\priv06.edb"
    for late in (0, 40 / 86400):
        failed = now(1 + late, 734, "-1206 (0xfffffb4a)")
        left = event(1, 327, "1", PRIV, who=NOW, number=(failed.record_id or 0) - 1)
        moved = event(1.001, 326, "1", elsewhere, who=NOW)
        found = agreed(now(0, 738, "7001", "7/1/2007", "1"), left, failed, moved, days=2)
        assert one(found).damage == set()
        assert one(found, ("ex01", elsewhere.lower())).damage == {"logical"}
        assert one(found).totals["checksum"].interrupted == (1 if late else 0)


def test_who_reads_a_snapshot_does_not_show_how_its_origin_is_maintained(agreed: Agreed) -> None:
    who = ("MSExchangeRepl", "5001,D,50,15.02.0986.005", "SG06: ")
    met = broken(1, who=who)
    snapshot = "C:\\$SNAP_201912161234_VOLUMEE$\\MDB06\\priv06.edb"
    found = agreed(met._replace(strings=(*who, snapshot, *met.strings[4:])), days=2)
    assert (one(found).model, one(found).role) == ("application", "passive")


def test_the_number_of_a_clock_that_was_ahead_is_not_lost_before_an_acknowledgement(
    agreed: Agreed,
) -> None:
    """The record is read behind it, as its time is."""
    late = ("7/1/2007 1:00:00 AM", "86400", "7", "7", "50000", "40000, 0")
    records = [now(0, 735, *late), now(94, 736), event(12, 102, "0", "15", who=NOW)]
    log = [each._replace(record_id=90 + number) for number, each in enumerate(records)]
    met = ntds(21, 476, NTDS_DIT, "8192 (0x2000)", "8192 (0x2000)", "-1019", "37 (0x25)")
    ack = Acknowledged(at(22), *DIRECTORY)
    assert "never_verified" in one(agreed(*log, met, ack, days=54, whole=True)).findings


def test_a_gap_of_more_than_a_day_leaves_a_scan_unproven_whatever_its_window(
    agreed: Agreed,
) -> None:
    """From the opening of a window to the end of the next one is longer."""
    began, bad = old(0, 717), broken(0.5)
    done = old(5, 721, "7/1/2007", "3600", "6", "6", "5850768", "0", "72682")
    number = began.record_id or 0
    lost = [old(days, 700)._replace(record_id=number + n) for n, days in ((2, 2), (9, 3.1))]
    found = agreed(
        bad._replace(record_id=number - 1, time=at(-1)),
        began,
        old(1, 700)._replace(record_id=number + 1),
        *lost,
        done._replace(record_id=number + 10),
        days=6,
        whole=True,
        windows={"nightly": {"start": "01:00", "duration": "8h", "timezone": "UTC"}},
        databases=[{"match": "*\\priv06.edb", "window": "nightly"}],
    )
    assert (one(found).verified, len(one(found).known_bad)) == ({}, 1)


def test_no_scan_of_before_it_was_read_proves_a_page_of_no_time_good(agreed: Agreed) -> None:
    """Whatever was read before it."""
    ahead = old(40, 721, "7/1/2007", "3600", "6", "6", "5850768", "1", "72682")
    began, done = old(2, 717), old(3, 721, "7/1/2007", "3600", "1", "6", "5850768", "0", "72682")
    found = agreed(old(1, 700), ahead, began, done, days=4)
    assert one(found).known_bad == {(-1, "uncorrectable")}


def test_a_log_of_impossible_times_was_heard_when_its_computer_was(agreed: Agreed) -> None:
    other = event(0, 701, "D:\\ADAM\\adamntds.dit", who=("dsamain", "640,D,50", "ADAMDSA: "))
    other = other._replace(provider="ADAM [app1] ISAM", channel="ADAM (app1)")
    found = agreed(other, now(73, 717), days=33)
    assert one(found, ("ex01", PRIV.lower())).verdict == "blind"


def test_a_scan_that_skips_pages_tells_no_role_by_itself(agreed: Agreed) -> None:
    """It is logged with the resume of an active or a passive copy, which tells it."""
    skipped = now(2, 747, "4096", " / 90000 = 4.5", "20000 (0x4E20)", "24096 (0x5E20)")
    assert one(agreed(now(1, 736), skipped, days=3), ("ex01", PRIV.lower())).role == "active"


def test_what_a_pass_proved_after_a_restore_stays_so_after_the_next_one(agreed: Agreed) -> None:
    """It began before the second one is in use, and ended, too."""
    read_well = Scanned(at(2), at(2) + HOUR, "EX01", NTDS_DIT, complete=True, pages=100)
    flush = ("180224", "8192", "-1119 (0xfffffba1)", "21 (0x15)", "2", "9 (0x9)", "1", "0")
    first = [ntds(0, 530, NTDS_DIT, *flush), *restore(1), ntds(1.02, 105, "0", "1")]
    second = [*restore(1.5), ntds(3, 105, "0", "1")]
    found = one(agreed(*first, read_well, *second, days=4), DIRECTORY)
    assert "restored_unproven" not in found.findings


def test_an_interval_of_dfsr_is_time_at_work(agreed: Agreed) -> None:
    """Its service was not running between the second pass and the third."""
    path = "E:\\System Volume Information\\DFSR\\database_77\\dfsr.db"
    done = (701, path, "0", "7/1/2007", "0", "4", "1", "55")
    told: list[tuple[float, tuple[int, *tuple[str, ...]]]] = [
        *((0, done), (0.5, done), (11, (102, "0", "15")), (11.1, (103, "0", "[1]", "0"))),
        *((15, done), (15.5, (704, path))),
    ]
    log = [
        event(days, *what, who=("DFSRs", "912,D,50", ""), provider="ESENT", number=number)
        for number, (days, what) in enumerate(told, 1)
    ]
    found = one(agreed(*log, days=20, whole=True), ("ex01", path.lower()))
    assert found.findings == {"defrag_overdue"}
