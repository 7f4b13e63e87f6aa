"""The oracle's reading of sections 3, 5 and 6: models, findings and advice, a case a rule."""

from typing import Any

import pytest

from tests.oracle.cases import (
    LABEL,
    NTDS,
    OLD,
    PRIV,
    Who,
    answer,
    answers,
    at,
    broken,
    checksummed,
    event,
    followed,
    now,
    old,
    passed,
)
from tests.oracle.history import HOUR, Logged, Scanned

DIT = "C:\\Windows\\NTDS\\ntds.dit"
DFSR: Who = ("DFSRs", "70,D,1", "")
WINDOW: dict[str, Any] = {
    "windows": {"nightly": {"start": "01:00", "duration": "4h", "timezone": "UTC"}},
    "databases": [{"match": "*priv*", "window": "nightly"}],
}


def ntds(days: float, event_id: int, *rest: str) -> Logged:
    return event(days, event_id, DIT, *rest, who=NTDS, provider="NTDS ISAM")


def directory(*records: Logged, days: float) -> frozenset[str]:
    return answers(*records, days=days)["ex01", DIT.lower()].findings


def up(days: float, who: Who = OLD) -> Logged:
    return event(days, 102, "0", who=who)


# models


@pytest.mark.parametrize(
    ("records", "model"),
    [
        ((old(0, 700),), "window"),
        ((old(0, 717), checksummed(1, "7/1/2007")), "window"),
        ((old(0, 717),), "background"),
        ((now(0, 736),), "background"),
        ((now(0, 326),), "application"),
        ((event(0, 474, PRIV, who=("app", "1", "")),), "application"),
    ],
)
def test_the_first_row_that_fits_is_the_model(records: tuple[Logged, ...], model: str) -> None:
    if records[0].event_id == 326:
        records = (event(0, 326, "1", PRIV, who=("app", "1", "")),)
    assert answer(*records).model == model


def test_a_store_worker_is_background_without_any_scan() -> None:
    who = ("Microsoft.Exchange.Store.Worker", "5,D,1,15", "DB01: ")
    assert answer(event(0, 326, "1", PRIV, who=who)).model == "background"


def test_directories_are_garbage_collected() -> None:
    found = answers(
        ntds(0, 701),
        event(0, 701, "D:\\a\\adamntds.dit", who=("ADAM", "1", "A: "), provider="ADAM [a] ISAM"),
        event(0, 701, "\\\\.\\E:\\DFSR\\dfsr.db", who=DFSR, provider="ESENT"),
    )
    assert {each.model for each in found.values()} == {"garbage_collection"}
    assert {each.tier for each in found.values()} == {"watched"}


# findings


def test_any_bad_page_or_damage_is_to_be_investigated() -> None:
    assert "investigate" in answer(broken(0)).findings
    assert answer(now(0, 539, "1")).findings == {"investigate", "copy_divergence"}
    assert answer(now(0, 540, "1")).findings == {"investigate", "copy_suspect"}
    assert answer(now(0, 542, "1")).findings == {"investigate", "logical_damage"}
    assert answer(now(0, 613, "1")).findings == {"investigate"}


def test_an_io_error_is_to_be_investigated_for_seven_days() -> None:
    error = old(0, 481, "0", "8192", "-1022")
    assert answer(error, days=6.9).findings == {"investigate"}
    assert answer(error, days=7.1).findings == set()


def test_an_error_that_nothing_explains_is_told_of_its_instance() -> None:
    odd = event(1, 7777, level="error")
    other = event(0, 700, "E:\\x.edb", who=("MSExchangeIS", "1", "SG07: "))
    found = answers(old(0, 700), other, odd)
    assert found["ex01", LABEL].findings == {"unexplained_error"}
    assert found["ex01", "e:\\x.edb"].findings == set()
    assert answer(old(0, 700), event(1, 7777, level="warning")).findings == set()


def test_an_error_of_an_unknown_instance_is_told_of_the_whole_computer() -> None:
    odd = event(1, 7777, level="critical", who=("other", "1", ""))
    assert answer(old(0, 700), odd).findings == {"unexplained_error"}


def test_never_verified_needs_seven_days_at_work() -> None:
    assert answer(up(0), old(0, 700), days=6.9).findings == set()
    assert answer(up(0), old(0, 700), days=7.1).findings == {"never_verified"}
    off = event(3, 103, "0")
    assert answer(up(0), old(0, 700), off, days=30).findings == set()


def test_after_a_power_loss_work_ends_with_the_last_record() -> None:
    records = (up(0), old(0, 700), old(2, 704), up(40))
    assert answer(*records, days=44.9).findings == set()
    assert answer(*records, days=45.1).findings == {"never_verified"}


def test_a_verification_is_overdue_after_seven_days_or_its_own_rhythm() -> None:
    once = (up(0), now(0, 736), passed(5, 5))
    assert answer(*once, days=14.1).findings == {"verification_overdue"}
    assert answer(*once, days=11.9).findings == set()
    rhythm = (*once, now(6, 736), passed(25, 19))
    assert answer(*rhythm, days=50).findings == set()
    assert answer(*rhythm, days=56).findings == {"verification_overdue"}


def test_the_threshold_of_735_is_a_deadline() -> None:
    rest = ("7/1/2007 1:00:00 AM", str(8 * 86400), "8", "14", "50000", "40000, 0")
    records = (now(0, 736), now(8, 735, *rest))
    assert answer(*records, days=21.9).findings == set()
    assert answer(*records, days=22.1).findings == {"verification_overdue"}


def test_a_directory_is_overdue_after_36_hours_at_work() -> None:
    records = (ntds(0, 701), ntds(20, 701))
    assert "defrag_overdue" not in directory(*records, days=21.4)
    assert "defrag_overdue" in directory(*records, days=21.6)
    off = event(20.5, 103, "0", who=NTDS, provider="NTDS ISAM")
    assert "defrag_overdue" not in directory(*records, off, days=30)


def test_three_cycles_in_a_row_interrupted_or_resumed_are_overdue() -> None:
    good = [ntds(0, 700), ntds(0.01, 701), ntds(20, 700), ntds(20.01, 701)]
    bad = [ntds(20.5, 700), ntds(20.6, 704), ntds(21, 702), ntds(21.1, 704)]
    assert "defrag_overdue" not in directory(*good, *bad, days=21.2)
    third = (ntds(21.3, 702), ntds(21.35, 703))
    assert "defrag_overdue" in directory(*good, *bad, *third, days=21.4)


def test_dfsr_is_judged_by_its_own_history() -> None:
    path = "\\\\.\\E:\\DFSR\\dfsr.db"
    ends = [event(each, 701, path, who=DFSR, provider="ESENT") for each in (0, 5, 10, 15)]
    key = ("ex01", "e:\\dfsr\\dfsr.db")
    assert "defrag_overdue" not in answers(*ends, days=29)[key].findings
    assert "defrag_overdue" in answers(*ends, days=31)[key].findings


def test_no_scan_for_45_days_at_work_is_a_scan_that_is_off() -> None:
    records = (up(0), now(0, 326), now(0, 102))
    named = event(0, 326, "1", PRIV, who=("Microsoft.Exchange.Store.Worker", "5,D,1,15", "A: "))
    assert "scan_off" not in answer(*records, named, days=44).findings
    assert "scan_off" in answer(*records, named, days=46).findings


def test_progress_that_stands_still_for_48_hours_is_a_stalled_scan() -> None:
    start = (now(0, 700), now(14, 736))
    told = [now(14 + each / 4, 744, "7/15/2007", "6", "5000") for each in range(1, 11)]
    assert "scan_stalled" in answer(*start, *told).findings
    assert "scan_stalled" not in answer(*start, *told[:8]).findings
    moved = now(16.7, 744, "7/15/2007", "66", "5001")
    assert "scan_stalled" not in answer(*start, *told, moved).findings
    assert "scan_stalled" not in answer(*start, *told, passed(17, 3)).findings


def test_only_one_side_is_verified_when_all_roles_are_known() -> None:
    active = (now(0, 736), passed(12, 1))
    passive = (now(0, 717, computer="EX02"),)
    found = answers(*active, *passive, days=15)
    assert "only_active_verified" not in found["ex01", LABEL].findings
    assert "only_active_verified" in found["ex02", LABEL].findings
    other = (now(0, 736), now(0, 717, computer="EX02"), followed(12, computer="EX02"))
    assert "only_passive_verified" in answers(*other, days=15)["ex01", LABEL].findings
    unknown = (*active, event(0, 326, "1", PRIV, computer="EX02"))
    assert "only_active_verified" not in answers(*unknown, days=15)["ex02", LABEL].findings


def test_a_gap_holds_absence_and_is_told() -> None:
    before = [event(each, 700, PRIV, number=10 + each) for each in range(3)]
    after = event(20, 704, PRIV, number=99)
    assert answer(*before, after, whole=True).findings == {"unknown_since"}
    assert answer(*before, after, whole=True).action == "insufficient_evidence"
    assert answer(*before, after).findings == {"never_verified"}
    scan = Scanned(at(21), at(21) + HOUR, "EX01", PRIV, True, 50_000)
    assert answer(*before, after, scan, whole=True).findings == set()


def test_observed_databases_have_no_finding_of_absence() -> None:
    path = "c:\\data\\other.edb"
    records = event(0, 326, "1", path, who=("app", "1", ""), provider="ESENT")
    assert answers(records, days=60)["ex01", path].findings == set()


def test_a_detached_database_is_not_at_work() -> None:
    def up(days: float) -> Logged:
        return event(days, 105, "0")

    leaves = event(3, 327, "1", PRIV)
    assert answer(up(0), old(0, 700), leaves, days=30).findings == set()
    back = old(20, 700)
    assert answer(up(0), old(0, 700), leaves, back, days=23.9).findings == set()
    assert answer(up(0), old(0, 700), leaves, back, days=24.1).findings == {"never_verified"}
    for event_id in (102, 105, 300, 301, 302, 303, 304):
        again = event(20, event_id, "0")
        assert answer(up(0), old(0, 700), leaves, again, days=25).findings == {"never_verified"}
    failed = old(20, 481, "81920", "8192", "-1022", "1117", "I/O", "4")
    assert answer(up(0), old(0, 700), leaves, failed, days=26).findings == {"investigate"}
    stopped = event(3.01, 104, "0", "-1090")
    both = {"investigate", "never_verified"}
    assert answer(up(0), old(0, 700), leaves, stopped, failed, days=26).findings == both
    shadow = "C:\\$SNAP_201912161234_VOLUMEE$\\MDB06\\priv06.edb"
    for other in (
        event(3, 327, "1", shadow),
        event(3, 327, "1", PRIV, who=("eseutil", "7", "")),
        event(3, 327, "1", PRIV, who=("MSExchangeIS", "3392,R,5", "SG06: ")),
        event(3, 327, "1", "E:\\MDB06\\other.edb"),
    ):
        assert answer(up(0), old(0, 700), other, days=30).findings == {"never_verified"}


def test_a_moved_database_is_judged_where_it_lies_now() -> None:
    path = "G:\\DB\\priv06.edb"
    moved = (event(3, 327, "1", PRIV), event(3.1, 326, "1", path), event(3.2, 700, path))
    found = answers(event(0, 105, "0"), old(0, 700), *moved, days=30)
    assert found["ex01", path.lower()].findings == {"never_verified"}
    assert ("ex01", LABEL) not in found or not found["ex01", LABEL].findings


def test_any_record_of_its_instance_shows_that_it_is_at_work() -> None:
    stopped = (up(0), old(0, 700), event(1, 103, "0"))
    assert answer(*stopped, days=30).findings == set()
    for event_id in (210, 302, 326, 507):
        rest = ("1", "E:\\MDB06\\other.edb") if event_id == 326 else ("x",)
        more = event(20, event_id, *rest)
        assert answer(*stopped, more, days=29).findings == {"never_verified"}
    for event_id in (103, 104, 327):
        more = event(20, event_id, "0", "-1090")
        assert answer(*stopped, more, days=29).findings == set()


def test_a_start_follows_its_stop_by_number_where_a_clock_was_set_back() -> None:
    stop = event(3, 103, "0", number=500)
    start = event(3 - 30 / 86400, 102, "0", number=501)
    first = event(0, 102, "0", number=498)
    scan = old(0.1, 700)._replace(record_id=499)
    assert answer(first, scan, stop, start, days=30).findings == {"never_verified"}


def test_a_window_of_2013_with_its_scan_is_a_background_one() -> None:
    assert answer(now(0, 736), **WINDOW).model == "background"
    assert answer(old(0, 700), **WINDOW).model == "window"


def unread(days: float) -> Logged:
    return old(days, 721)


def test_a_completion_that_cannot_be_read_verifies_nothing_and_is_told() -> None:
    found = answer(up(0), old(0, 717), unread(8), days=9)
    assert (set(found.findings), dict(found.verified)) == ({"verification_unreadable"}, {})
    known = (up(0), old(0, 717), checksummed(1, "7/1/2007"), old(9, 717))
    assert answer(*known, unread(10), days=14.5).findings == {"verification_unreadable"}
    assert answer(*known, unread(10), days=14.5).verified == {"online_scan": at(1)}
    read = (old(11, 717), checksummed(12, "7/12/2007"))
    assert answer(*known, unread(10), *read, days=14.5).findings == set()


# what is not heard


def heard(*days: float, **words: str) -> list[Logged]:
    """Records of another program."""
    return [
        Logged(at(day), "EX01", words.get("channel", "Application"), "other", 1, None, ())
        for day in days
    ]


def daily(last: int) -> list[Logged]:
    return heard(*range(last + 1))


def test_what_is_not_heard_is_blind() -> None:
    log = (up(0), old(0, 700), *daily(20))
    found = answer(*log, days=22.9, silent=True)
    assert "not_heard" not in found.findings
    found = answer(*log, days=23.1, silent=True)
    assert ("not_heard" in found.findings, found.verdict) == (True, "blind")
    often = (*log, *heard(*(each / 4 for each in range(80))))
    assert "not_heard" not in answer(*often, days=21.9, silent=True).findings
    assert "not_heard" in answer(*often, days=23.1, silent=True).findings


def test_silence_is_configured_or_three_gaps_or_14_days() -> None:
    log = (up(0), old(0, 700))
    for last, days in (
        (daily(20), 23),
        (heard(*range(0, 21, 3)), 27),
        (heard(*range(0, 60, 6)), 68),
    ):
        assert answer(*log, *last, days=days - 0.1, silent=True).verdict != "blind"
        assert answer(*log, *last, days=days + 0.1, silent=True).verdict == "blind"
    few = heard(10, 20)
    assert answer(*log, *few, days=33.9, silent=True).verdict != "blind"
    assert answer(*log, *few, days=34.1, silent=True).verdict == "blind"
    policy = {"silent_after": "5d"}
    assert answer(*log, *few, days=24.9, silent=True, policy=policy).verdict != "blind"
    assert answer(*log, *few, days=25.1, silent=True, policy=policy).verdict == "blind"


def test_where_only_the_engine_logs_silence_is_14_days() -> None:
    log = [old(day / 2, 704) for day in range(40)]
    assert answer(*log, days=33.4, silent=True).verdict != "blind"
    assert answer(*log, days=33.6, silent=True).verdict == "blind"


def test_another_channel_is_no_hearing() -> None:
    log = (up(0), old(0, 700), *daily(20))
    other = heard(*range(40), channel="System")
    assert answer(*log, *other, days=23.1, silent=True).verdict == "blind"


def test_absence_is_held_while_nothing_is_heard() -> None:
    log = (up(0), old(0, 700), *daily(9))
    assert answer(*log, days=90, silent=True).findings == {"not_heard", "never_verified"}
    done = (up(0), old(0, 717), checksummed(1, "7/1/2007"), *daily(5))
    assert answer(*done, days=90, silent=True).findings == {"not_heard"}
    assert answer(*done, days=90, silent=True).verified == {"online_scan": at(1)}


def test_a_computer_that_was_shut_down_or_retired_is_not_silent() -> None:
    log = (up(0), old(0, 700), *daily(20))

    def shut(word: str) -> Logged:
        strings = ("x", "EX01", "Other", "0x0", word, "", "admin")
        return Logged(at(20), "EX01", "System", "USER32", 1074, None, strings)

    assert answer(*log, shut("power off"), days=33.9, silent=True).verdict != "blind"
    assert answer(*log, shut("power off"), days=34.1, silent=True).verdict == "blind"
    assert answer(*log, shut("restart"), days=23.1, silent=True).verdict == "blind"
    up_again = Logged(at(20.1), "EX01", "System", "EventLog", 6005, None, ())
    assert answer(*log, shut("shutdown"), up_again, days=23.1, silent=True).verdict == "blind"
    retired = {"EX01": {"retired": True}}
    assert answer(*log, days=60, silent=True, computers=retired).verdict != "blind"


# verdicts


def test_verdicts_stand_in_their_order() -> None:
    seen = (old(0, 717), checksummed(1, "7/1/2007"))
    assert answer(*seen).verdict == "ok"
    halted = event(1, 492, "E:\\MDB06\\", level="error")
    late = (up(0), *seen)
    cases = {
        "bad_pages": (*seen, broken(1), halted),
        "writes_at_risk": (*late, halted),
        "unverified": late,
        "look": (*seen, old(1, 399, "0", "8192", "7", "24")),
    }
    for word, records in cases.items():
        days = 30 if word in ("unverified", "writes_at_risk") else 2
        assert answer(*records, days=days).verdict == word
    assert answer(*late, halted, days=90, silent=True).verdict == "writes_at_risk"
    assert answer(*late, days=90, silent=True).verdict == "blind"
    assert answer(*seen, old(1.5, 542, "17", "8")).verdict == "bad_pages"
    assert answer(*seen, old(1.5, 613, "Index")).verdict == "look"
    assert answer(*seen, event(1.5, 7777, level="error")).verdict == "ok"


@pytest.mark.parametrize("event_id", [413, 429, 492, 104, 454, 455, 465, 494])
def test_writes_are_at_risk_until_the_instance_came_up(event_id: int) -> None:
    seen = (old(0, 717), checksummed(1, "7/1/2007"))
    error = event(2, event_id, "-1808", level="error")
    assert answer(*seen, error, days=3).verdict == "writes_at_risk"
    for ended in (105, 302, 304):
        assert answer(*seen, error, event(2.1, ended, "0"), days=3).verdict == "ok"
    other = ("1", "E:\\MDB06\\other.edb")
    assert answer(*seen, error, event(2.1, 326, *other), days=3).verdict == "ok"
    replayed = event(2.1, 326, *other, who=("MSExchangeIS", "3392,R,5", "SG06: "))
    assert answer(*seen, error, replayed, days=3).verdict == "writes_at_risk"


def test_writes_are_at_risk_until_a_hung_io_ended() -> None:
    seen = (old(0, 717), checksummed(1, "7/1/2007"))
    hung = old(2, 532, "81920 (0x14000)", "8192", "36")

    def after(*records: Logged, days: float = 2.5) -> str:
        return answer(*seen, hung, *records, days=days).verdict

    assert after() == "writes_at_risk"
    assert after(old(2.001, 507, "81920 (0x14000)", "8192", "150")) == "ok"
    assert after(old(2.001, 507, "81920 (0x14000)", "8192", "20")) == "writes_at_risk"
    assert after(old(2.001, 507, "90112 (0x16000)", "8192", "150")) == "writes_at_risk"
    assert after(event(2.1, 105, "0")) == "ok"
    assert after(old(2.1, 704)) == "writes_at_risk"
    assert after(old(2.1, 704), days=3.1) == "ok"
    assert after(days=3.1) == "writes_at_risk"


def test_never_verified_and_nobody_asks_is_unproven() -> None:
    found = answers(ntds(0, 701), ntds(1, 701), days=1.1)["ex01", DIT.lower()]
    assert (found.verdict, set(found.findings)) == ("unproven", set())
    path = "c:\\data\\other.edb"
    records = event(0, 326, "1", path, who=("app", "1", ""), provider="ESENT")
    assert answers(records, days=10)["ex01", path].verdict == "unproven"


# advice


def nights(count: int, *ids: int) -> list[Logged]:
    """From 01:30 on, an event each half an hour; a stop (704) is at the end of the window."""
    return [
        old(day + (5 / 24 if event_id == 704 else 1.5 / 24 + place / 48), event_id)
        for day in range(count)
        for place, event_id in enumerate(ids)
    ]


def advice(*records: Logged, days: float = 0.0) -> str:
    return answer(*records, days=days, **WINDOW).action


def test_only_the_model_window_gets_advice() -> None:
    assert answer(now(0, 736)).action == "not_applicable"


def test_passes_that_complete_every_two_days_shrink_the_window_without_counters() -> None:
    assert advice(*nights(9, 700, 701), days=9) == "shrink"


def test_fewer_than_seven_windows_are_no_evidence() -> None:
    assert advice(*nights(6, 700, 701), days=6) == "insufficient_evidence"


def test_passes_that_take_longer_need_counters() -> None:
    assert advice(*nights(9, 702, 704), days=9) == "insufficient_evidence"


def test_a_bad_page_keeps_the_window() -> None:
    assert advice(*nights(9, 700, 701), broken(8.5), days=9) == "keep"


def test_stops_that_coincide_with_backups_move_the_window() -> None:
    records = [
        old(day + hour / 24, event_id)
        for day in range(9)
        for hour, event_id in ((1.5, 700), (2, 701), (2.5, 700), (3, 704))
    ]
    backups = [
        event(day + hour / 24, event_id)
        for day in range(9)
        for hour, event_id in ((3, 210), (4, 213))
    ]
    assert advice(*records, *backups, days=9) == "move"


def test_a_pass_that_does_not_end_in_14_days_grows_the_window() -> None:
    assert advice(*nights(16, 702, 704), days=16) == "grow"


def test_a_long_scan_keeps_the_window_from_shrinking() -> None:
    scan = (old(8.1, 718), old(8.2, 721, "7/9/2007", "7000", "1", "1", "50000", "0", "0"))
    assert advice(*nights(9, 700, 701), *scan, days=9) == "keep"


def test_an_engine_upgrade_keeps_advice_quiet() -> None:
    upgrade = [event(each, 102, "0", "8", "1", str(each), "0") for each in (0, 3)]
    assert advice(*nights(9, 700, 701), *upgrade, days=9) == "keep"
