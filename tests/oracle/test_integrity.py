"""The oracle's reading of section 3: bad pages, damage and proof, a case a rule."""

import pytest

from tests.oracle.cases import (
    LABEL,
    PRIV,
    answer,
    answers,
    at,
    broken,
    checksummed,
    event,
    now,
    old,
    passed,
)
from tests.oracle.history import HOUR, Acknowledged, Logged, Scanned

BAD = frozenset({(17, "uncorrectable")})


def scan(days: float, complete: bool = True, **pages: object) -> Scanned:
    bad = pages.get("bad", ())
    good = pages.get("good", ())
    assert isinstance(bad, tuple)
    assert isinstance(good, tuple)
    return Scanned(at(days), at(days) + HOUR, "ex01", PRIV, complete, 50_000, bad, good)


@pytest.mark.parametrize(
    ("event_id", "rest", "entry"),
    [
        (475, ("0", "8192", "-1118", "21 (0x15)", "26 (0x1A)"), (21, "wrong_page")),
        (476, ("0", "8192", "-1019", "22 (0x16)"), (22, "no_data")),
        (398, ("0", "8192", "-1018", "7", "23 (0x17)"), (23, "uncorrectable")),
        (399, ("0", "8192", "7", "24 (0x18)"), (24, "corrected")),
        (530, ("0", "8192", "-1119", "25 (0x19)"), (25, "lost_flush")),
        (544, ("0", "8192", "-1119", "26 (0x1A)"), (26, "lost_flush")),
        (727, ("0", "27 (0x1B)"), (27, "uncorrectable")),
    ],
)
def test_a_page_event_latches_its_page(
    event_id: int, rest: tuple[str, ...], entry: tuple[int, str]
) -> None:
    assert answer(old(0, event_id, *rest)).known_bad == {entry}


def test_a_summary_that_counts_more_than_was_named_has_an_unlocated_page() -> None:
    found = answer(old(0, 717), checksummed(1, "7/1/2007", bad=1))
    assert found.known_bad == {(-1, "uncorrectable")}
    named = answer(old(0, 717), broken(0.5), checksummed(1, "7/1/2007", bad=1))
    assert named.known_bad == BAD


def test_a_pass_with_n_bad_clears_all_but_the_last_n_that_fell_within_it() -> None:
    pages = (broken(0.1, 9), old(1, 717), broken(1.1, 17), broken(1.2, 18))
    found = answer(*pages, checksummed(2, "7/2/2007", bad=1))
    assert found.known_bad == {(9, "uncorrectable"), (18, "uncorrectable")}


def test_a_patch_clears_its_page() -> None:
    active = event(1, 905, "17 (0x11)", PRIV)
    passive = event(1, 911, "16 (0x10)", "18 (0x12)", PRIV)
    assert not answer(broken(0), active).known_bad
    assert not answer(broken(0), passive).known_bad
    assert answer(active, broken(2)).known_bad == BAD
    assert answer(broken(0, 19), passive).known_bad == {(19, "uncorrectable")}


def test_a_page_scan_clears_what_it_read_good_and_latches_what_is_bad() -> None:
    assert not answer(broken(0), scan(1, complete=False, good=(17,))).known_bad
    assert answer(broken(0), scan(1, complete=False)).known_bad == BAD
    assert not answer(broken(0), scan(1)).known_bad
    found = answer(broken(0), scan(1, bad=((5, "no_data"),)))
    assert found.known_bad == BAD | {(5, "no_data")}
    assert not found.verified


def test_a_page_scan_proves_the_time_of_its_snapshot() -> None:
    assert answer(broken(2), scan(1)).verified == {"page_scan": at(1)}
    assert answer(broken(2), scan(1)).known_bad == BAD


def test_an_acknowledgement_takes_pages_or_all_and_damage() -> None:
    records = (broken(0), broken(0, 18), old(0, 542, "17", "8"))
    some = answer(*records, Acknowledged(at(1), "ex01", LABEL, (17,)))
    assert (set(some.known_bad), set(some.damage)) == ({(18, "uncorrectable")}, {"logical"})
    every = answer(*records, Acknowledged(at(1), "ex01", LABEL))
    assert not every.known_bad | every.damage | every.findings


def test_a_restore_clears_the_damage_of_its_instance_and_no_page() -> None:
    records = (broken(0), old(0, 542, "17", "8"))
    found = answer(*records, event(1, 205))
    assert (found.known_bad, found.damage, found.verified) == (BAD, frozenset(), {})
    other = answer(*records, event(1, 205, who=("MSExchangeIS", "3392", "SG07: ")))
    assert (other.known_bad, set(other.damage)) == (BAD, {"logical"})


def test_a_scan_clears_no_damage() -> None:
    found = answer(now(0, 539, "17"), now(1, 736), passed(3, 2))
    assert (set(found.damage), found.verified) == ({"divergence"}, {"online_scan": at(3)})


def damage_on(*records: Logged) -> tuple[set[str], set[str]]:
    found = answers(*records)
    return set(found["ex01", LABEL].damage), set(found["ex02", LABEL].damage)


def test_what_the_passive_copy_tells_of_the_active_one_is_damage_of_the_active_one() -> None:
    roles = (now(0, 736), now(0, 717, computer="EX02"))
    none, diverged, suspect = set[str](), {"divergence"}, {"suspect"}
    for event_id in (538, 545):
        told = now(1, event_id, "17", computer="EX02")
        assert damage_on(*roles, told) == (diverged, none)
        assert damage_on(now(0, 700), told) == (diverged, diverged)
    told = now(1, 540, "17", computer="EX02")
    assert damage_on(*roles, told) == (suspect, suspect)
    assert damage_on(*roles, now(1, 539, "17", computer="EX02")) == (none, diverged)


def test_without_another_copy_the_one_that_logs_it_is_damaged() -> None:
    assert answer(now(1, 538, "17")).damage == {"divergence"}


@pytest.mark.parametrize(
    ("event_id", "rest", "kind"),
    [
        (447, ("-327", "1", "2", PRIV, "3", "4", "5", "6", "1"), "logical"),
        (447, ("-327", "1", "2", PRIV, "3", "4", "5", "6", "0"), "logical_nonfatal"),
        (448, ("Msg", PRIV, "3", "4"), "logical"),
        (467, ("Index", "Msg", PRIV, "0"), "logical"),
        (537, ("-1206", "1", "2", "17", PRIV, "0"), "logical"),
        (568, ("29", "Msg", "130", PRIV), "revert_snapshot"),
        (570, (PRIV, "17"), "revert_snapshot"),
        (614, (PRIV, "Index"), "index"),
    ],
)
def test_damage_is_of_its_kind(event_id: int, rest: tuple[str, ...], kind: str) -> None:
    assert answer(event(0, event_id, *rest)).damage == {kind}


def test_a_revert_that_names_no_database_is_of_all_of_its_instance() -> None:
    assert answer(old(0, 700), event(1, 569, "29", "130")).damage == {"revert_snapshot"}


def test_an_index_is_out_of_date_until_it_was_rebuilt() -> None:
    assert not answer(old(0, 613, "Index"), old(1, 612)).damage


def test_a_streaming_backup_verifies_when_every_file_ended() -> None:
    begin, end = event(0, 210), event(1, 213)
    copied = (old(0.1, 220, "40 Gb"), old(0.9, 221))
    log = event(0.91, 220, "E:\\MDB06\\E00.log", "1 Mb")
    assert answer(begin, *copied, end).verified == {"streaming_backup": at(1)}
    for spoilt in (
        (event(0, 211), *copied, end),
        (begin, copied[0], end),
        (begin, *copied, log, end),
        (begin, *copied, old(0.5, 222, "1", "2"), end),
        (begin, *copied, event(0.5, 215), end),
        (begin, *copied, event(0.5, 217, "-1018", PRIV), end),
        (*copied, end),
        (old(0, 700), event(0.5, 2006, "3"), event(0.6, 224, "1", "2")),
    ):
        assert not answer(*spoilt).verified
