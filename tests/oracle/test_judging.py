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


def test_a_configured_window_makes_the_model() -> None:
    assert answer(now(0, 736), **WINDOW).model == "window"


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
