"""Integrity: what is known to be damaged, whose it is, and how long it stays known."""

from pathlib import Path

import pytest

from tests.hard_histories import MONDAY, Copy, Judged, judged, number, numbered, old_store
from tests.oracle.history import DAY, HOUR, Logged

ACTIVE = Copy()
PASSIVE = Copy("EX02.corp.example")
OLD = old_store()


@pytest.mark.parametrize(("bad", "left"), [(1, 0), (2, 1)])
def test_a_bad_page_that_only_the_summary_counted_outlives_the_repair_of_the_named_one(
    tmp_path: Path, bad: int, left: int
) -> None:
    events = [
        OLD.scan_start(MONDAY),
        OLD.bad_page(MONDAY + HOUR, 17),
        OLD.checksum_end(MONDAY + 3 * HOUR, MONDAY, bad=bad),
        OLD.patched(MONDAY + 4 * HOUR, 17),
    ]
    said = judged(tmp_path, numbered(events)).of(OLD)
    assert said.bad == left


def test_a_page_of_two_errors_is_one_page_of_those_that_the_summary_counted(
    tmp_path: Path,
) -> None:
    wrong_page = OLD.log(
        MONDAY + 2 * HOUR,
        475,
        OLD.database,
        "147456 (0x24000)",
        "8192 (0x2000)",
        "-1118",
        number(17),
        number(40),
        level="error",
    )
    events = [
        OLD.scan_start(MONDAY),
        OLD.bad_page(MONDAY + HOUR, 17),
        wrong_page,
        OLD.checksum_end(MONDAY + 3 * HOUR, MONDAY, bad=2),
        OLD.patched(MONDAY + 4 * HOUR, 17),
    ]
    assert judged(tmp_path, numbered(events)).of(OLD).bad == 1


def test_a_repaired_page_stays_repaired_however_many_others_are_repaired_after_it(
    tmp_path: Path,
) -> None:
    others = [
        PASSIVE.patched_passive(MONDAY + 60, 1000 + turn, 1000 + turn) for turn in range(1001)
    ]
    events = [PASSIVE.bad_page(MONDAY, 17), PASSIVE.patched_passive(MONDAY + 1, 17, 17), *others]
    said = judged(tmp_path, numbered(events)).of(PASSIVE)
    assert said.bad == 0


def pair(*events: Logged) -> list[Logged]:
    """An active and a passive copy, each scanned, then these events."""
    return numbered(
        [
            ACTIVE.maintenance_start(MONDAY),
            PASSIVE.scan_start(MONDAY + HOUR),
            ACTIVE.maintenance_end(MONDAY + DAY, MONDAY),
            PASSIVE.passive_end(MONDAY + DAY + HOUR, MONDAY + HOUR),
            *events,
        ]
    )


def differs(copy: Copy, event_id: int, time: float = MONDAY + 2 * DAY) -> Logged:
    """The event that says a page of two copies is not the same."""
    strings = (copy.database, "17", "10 (0xa)", "12 (0xc)", "-567", "12 (0xc)", "(1,2,3)", "0")
    return copy.log(time, event_id, *strings, level="error")


def damage(answers: Judged) -> tuple[set[str], set[str]]:
    """What is known to be damaged of the active and of the passive copy."""
    return set(answers.of(ACTIVE).damage), set(answers.of(PASSIVE).damage)


@pytest.mark.parametrize("event_id", [516, 539, 541, 557, 559, 560])
def test_a_copy_that_logs_that_it_differs_is_damaged(tmp_path: Path, event_id: int) -> None:
    answers = judged(tmp_path, pair(differs(PASSIVE, event_id)))
    assert damage(answers) == (set(), {"divergence"})
    said = answers.of(PASSIVE)
    assert said.findings >= {"copy_divergence", "investigate"}
    assert "copy_divergence" not in answers.of(ACTIVE).findings
    assert answers.advice.status == 1


@pytest.mark.parametrize("event_id", [538, 545])
def test_a_lost_write_that_the_passive_copy_finds_is_damage_of_the_active_one(
    tmp_path: Path, event_id: int
) -> None:
    answers = judged(tmp_path, pair(differs(PASSIVE, event_id, MONDAY + 15 * DAY)))
    assert damage(answers) == ({"divergence"}, set())
    assert answers.of(ACTIVE).findings >= {"copy_divergence", "investigate"}
    assert "copy_divergence" not in answers.of(PASSIVE).findings


@pytest.mark.parametrize("event_id", [538, 545])
def test_a_lost_write_of_a_copy_that_was_not_active_for_long_is_suspected_of_the_others(
    tmp_path: Path, event_id: int
) -> None:
    answers = judged(tmp_path, pair(differs(PASSIVE, event_id)))
    assert damage(answers) == ({"suspect"}, set())
    assert answers.of(ACTIVE).findings >= {"copy_suspect", "investigate"}


@pytest.mark.parametrize("event_id", [538, 545])
def test_a_lost_write_of_an_unknown_active_copy_is_suspected_of_the_other_copies(
    tmp_path: Path, event_id: int
) -> None:
    other = Copy("EX03.corp.example")
    events = [
        PASSIVE.scan_start(MONDAY),
        other.scan_start(MONDAY),
        differs(PASSIVE, event_id),
    ]
    answers = judged(tmp_path, numbered(events))
    assert answers.of(PASSIVE).damage == set()
    assert answers.of(other).damage == {"suspect"}


def test_copies_of_a_store_are_copies_before_a_scan_of_them_was_seen(tmp_path: Path) -> None:
    here = Copy(process="MSExchangeIS")
    there = Copy("EX02.corp.example", process="MSExchangeIS")
    events = [*here.instance_start(MONDAY), *there.instance_start(MONDAY), differs(there, 545)]
    answers = judged(tmp_path, numbered(events))
    assert damage(answers) == ({"suspect"}, set())


def test_a_scan_check_that_fails_makes_both_copies_suspect(tmp_path: Path) -> None:
    answers = judged(tmp_path, pair(differs(PASSIVE, 540)))
    assert damage(answers) == ({"suspect"}, {"suspect"})
    for copy in (ACTIVE, PASSIVE):
        assert answers.of(copy).findings >= {"copy_suspect", "investigate"}


LINKS = ("-338", "12", "34", ACTIVE.database, "123", "456", "789")
LOGICAL = {
    "447": (447, LINKS),
    "447 fatal": (447, (*LINKS, "5", "1")),
    "447 not fatal": (447, (*LINKS, "5", "0")),
    "448": (448, ("Msg", ACTIVE.database, "1", "2")),
    "467": (467, ("?Index", "Msg", ACTIVE.database, "0")),
    "542": (542, (ACTIVE.database, "17 (0x11)", "12", "Bad tag", "-")),
}


@pytest.mark.parametrize("name", LOGICAL)
def test_a_fault_in_what_pages_say_is_logical_damage(tmp_path: Path, name: str) -> None:
    event_id, strings = LOGICAL[name]
    found = ACTIVE.log(MONDAY + 2 * DAY, event_id, *strings, level="error")
    answers = judged(tmp_path, pair(found))
    assert damage(answers) == ({"logical"}, set())
    assert answers.of(ACTIVE).findings >= {"logical_damage", "investigate"}


@pytest.mark.parametrize("event_id", [447, 541])
def test_damage_without_a_checksum_error_outlives_a_clean_pass(
    tmp_path: Path, event_id: int
) -> None:
    links = ACTIVE.log(MONDAY + 2 * DAY, 447, *LINKS, level="error")
    found = differs(ACTIVE, 541) if event_id == 541 else links
    again = MONDAY + 3 * DAY
    clean = [ACTIVE.maintenance_start(again), ACTIVE.maintenance_end(again + DAY, again)]
    answers = judged(tmp_path, pair(found, *clean))
    said = answers.of(ACTIVE)
    assert said.damage == {"divergence" if event_id == 541 else "logical"}
    assert said.verified == {"online_scan": again + DAY}


def test_an_error_that_is_read_before_its_database_is_known_is_no_other_database_s(
    tmp_path: Path,
) -> None:
    first, second = old_store(), old_store(database=r"F:\SG01\priv02.edb")
    other = old_store(database=r"G:\SG02\priv03.edb", instance="SG02")
    error = first.log(MONDAY, 699, first.database, "-1206", level="error")
    starts = [each.defrag_start(MONDAY + HOUR) for each in (second, other)]
    answers = judged(tmp_path, numbered([error, *starts, first.defrag_start(MONDAY + DAY)]))
    assert "unexplained_error" in answers.of(first).findings
    assert "unexplained_error" not in answers.of(second).findings | answers.of(other).findings
