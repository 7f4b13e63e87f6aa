"""The oracle's reading of section 3: bad pages, damage and proof, a case a rule."""

import pytest

from tests.oracle.cases import (
    LABEL,
    NOW,
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


def test_a_restore_clears_the_damage_and_205_alone_ends_nothing() -> None:
    damage = old(0, 542, "17", "8")
    assert not answer(damage, *restored()).damage
    assert answer(damage, event(1, 205)).damage == {"logical"}


def test_a_scan_clears_no_damage() -> None:
    found = answer(now(0, 539, "17"), now(1, 736), passed(3, 2))
    assert (set(found.damage), found.verified) == ({"divergence"}, {"online_scan": at(3)})


def damage_on(*records: Logged) -> tuple[set[str], set[str]]:
    found = answers(*records)
    return set(found["ex01", LABEL].damage), set(found["ex02", LABEL].damage)


def test_what_a_copy_tells_of_the_one_that_was_active_for_14_days_is_damage_of_that() -> None:
    roles = (now(0, 736), now(0, 717, computer="EX02"))
    none, diverged, suspect = set[str](), {"divergence"}, {"suspect"}
    for event_id in (538, 545):
        told = now(14.1, event_id, "17", computer="EX02")
        assert damage_on(*roles, told) == (diverged, none)
        early = now(13.9, event_id, "17", computer="EX02")
        assert damage_on(*roles, early) == (suspect, none)
        moved = (
            now(5, 717),
            now(5, 736, computer="EX02"),
            now(6, 738),
            now(6, 717, computer="EX02"),
        )
        assert damage_on(*roles, *moved, told) == (suspect, none)
        assert damage_on(now(0, 700), told) == (suspect, none)
    told = now(15, 540, "17", computer="EX02")
    assert damage_on(*roles, told) == (suspect, suspect)
    assert damage_on(*roles, now(1, 539, "17", computer="EX02")) == (none, diverged)


def test_without_another_copy_the_one_that_logs_it_is_suspect() -> None:
    assert answer(now(1, 538, "17")).damage == {"suspect"}


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
        (begin, *copied, broken(0.5), end),
        (begin, *copied, old(0.5, 222, "1", "2"), end),
        (begin, *copied, event(0.5, 215), end),
        (begin, *copied, event(0.5, 217, "-1018", PRIV), end),
        (*copied, end),
        (old(0, 700), event(0.5, 2006, "3"), event(0.6, 224, "1", "2")),
    ):
        assert not answer(*spoilt).verified


# what no scan sees, and what ends with its file


def blank(days: float, page: int = 22) -> Logged:
    return now(days, 476, "0", "8192", "-1019 (0xfffffc05)", str(page))


def lost(days: float, page: int = 25) -> Logged:
    return now(days, 530, "0", "8192", "-1119 (0xfffffba1)", str(page))


def test_no_scan_ends_a_blank_page_or_a_lost_flush() -> None:
    pages = (blank(0), lost(0))
    found = answer(*pages, broken(0), now(1, 736), passed(3, 2))
    assert found.known_bad == {(22, "no_data"), (25, "lost_flush")}
    assert found.verified == {"online_scan": at(3)}
    assert answer(*pages, scan(1)).known_bad == {(22, "no_data"), (25, "lost_flush")}
    assert answer(*pages, scan(1, good=(22, 25))).known_bad == {(25, "lost_flush")}
    patch = (event(1, 905, "22 (0x16)", PRIV), event(1, 911, "25", "25", PRIV))
    assert not answer(*pages, *patch).known_bad
    assert not answer(*pages, Acknowledged(at(1), "ex01", LABEL)).known_bad


def test_all_ends_with_its_file_and_verification_starts_anew() -> None:
    before = (broken(0), blank(0), lost(0), old(0, 542, "17", "8"), now(0.1, 736), passed(1, 0.9))
    new = event(2, 325, "1", PRIV, who=NOW)
    found = answer(*before, new)
    assert not found.known_bad | found.damage
    assert not found.verified
    elsewhere = event(2, 325, "1", "E:\\MDB06\\other.edb", who=NOW)
    assert answer(*before, elsewhere).known_bad
    tool = event(2, 325, "1", PRIV, who=("eseutil", "77", ""))
    assert answer(*before, tool).known_bad
    assert not answer(now(0, 736), event(1, 325, "1", PRIV, who=NOW), passed(3, 3)).verified


def restored() -> tuple[Logged, Logged, Logged]:
    return (
        event(1, 204, "c:\\restore", "e:\\mdb06"),
        event(1.1, 205),
        event(1.2, 105, "0", "1", "[1] 0.0"),
    )


def test_a_restore_leaves_bad_pages_unproven_until_a_pass_that_began_after_it() -> None:
    found = answer(old(0, 700), broken(0), *restored())
    assert (set(found.known_bad), set(found.findings)) == (set(), {"restored_unproven"})
    assert found.verdict == "look"
    proven = (old(2, 717), checksummed(3, "7/3/2007"))
    assert "restored_unproven" not in answer(old(0, 700), broken(0), *restored(), *proven).findings
    before = (old(0.5, 717), checksummed(3, "7/1/2007"))
    assert "restored_unproven" in answer(broken(0), *restored(), *before).findings


def test_a_restore_that_failed_or_was_not_used_ends_nothing() -> None:
    begin, end, used = restored()
    failed = event(1.05, 454, "-501", level="error", number=begin.record_id)
    for records in ((end, used), (begin, end), (begin, failed, end, used)):
        assert answer(old(0, 700), broken(0), *records).known_bad == BAD


def test_a_restore_is_of_the_only_instance_or_of_that_with_its_log_folder() -> None:
    other = event(0, 700, "F:\\x.edb", who=("MSExchangeIS", "3392", "SG07: "))
    assert answer(old(0, 700), other, broken(0), *restored()).known_bad == BAD
    log = event(0.1, 301, "E:\\MDB06\\E0000000042.log")
    assert not answer(old(0, 700), other, log, broken(0), *restored()).known_bad


# errors that are page errors


@pytest.mark.parametrize(
    ("event_id", "rest"),
    [
        (104, ("0", "{}", "[1]")),
        (214, ("{}",)),
        (454, ("{}",)),
        (217, ("{}", PRIV)),
        (217, ("{}",)),
        (218, ("{}", PRIV)),
        (244, ("{}",)),
        (494, ("{}", PRIV)),
        (495, ("{}", PRIV)),
        (705, (PRIV, "{}")),
        (723, (PRIV, "{}", "9")),
        (724, (PRIV, "{}", "9")),
        (734, (PRIV, "{}")),
        (2002, ("3", "{}")),
    ],
)
def test_an_error_that_is_a_page_error_is_a_page_error(
    event_id: int, rest: tuple[str, ...]
) -> None:
    for code, kind in (
        ("-1018", "uncorrectable"),
        ("-1118 (0xfffffba2)", "wrong_page"),
        ("-1019", "no_data"),
        ("-1119", "lost_flush"),
    ):
        told = event(1, event_id, *(each.format(code) for each in rest))
        found = answer(old(0, 700), told)
        assert found.known_bad == {(-1, kind)}
        assert "investigate" in found.findings
    told = event(1, event_id, *(each.format("-1022 (0xfffffc02)") for each in rest))
    found = answer(old(0, 700), told)
    assert (found.known_bad, "investigate" in found.findings) == (frozenset(), True)
    told = event(1, event_id, *(each.format("-1206") for each in rest))
    assert answer(old(0, 700), told).damage == {"logical"}


def test_a_page_event_within_an_hour_takes_back_the_unlocated_one() -> None:
    def told() -> Logged:
        return event(1, 214, "-1018")

    assert answer(broken(0.97), told()).known_bad == BAD
    assert answer(old(0, 700), told(), broken(1.03)).known_bad == BAD
    assert answer(broken(0.9), told()).known_bad == {*BAD, (-1, "uncorrectable")}
    assert answer(blank(0.99), told()).known_bad == {(22, "no_data"), (-1, "uncorrectable")}


def test_a_file_that_is_no_database_makes_no_page() -> None:
    log = event(1, 218, "-1018", "E:\\MDB06\\E0000000042.log")
    assert not answer(old(0, 700), log).known_bad


def test_an_error_of_an_instance_with_two_databases_is_of_none_of_them() -> None:
    other = event(0, 700, "F:\\x.edb")
    found = answers(old(0, 700), other, event(1, 214, "-1018"))
    assert not found["ex01", LABEL].known_bad | found["ex01", "f:\\x.edb"].known_bad
    starts = [event(0.2, 102, "0"), event(0.4, 102, "0")]
    later = answers(other, *starts, old(0.5, 700), event(1, 214, "-1018"))
    assert later["ex01", LABEL].known_bad == {(-1, "uncorrectable")}


def test_a_page_event_without_its_file_spoils_the_scans_of_its_instance() -> None:
    nameless = event(1, 474, "", "0", "8192", "-1018", "[1]", "[2]", "17 (0x11)", who=NOW)
    assert not answer(now(0, 736), nameless, passed(3, 3)).verified
    other = event(1, 474, "", who=(*NOW[:2], "SG07: "))
    assert answer(now(0, 736), other, passed(3, 3)).verified


def test_a_pass_in_which_a_page_error_fell_verifies_nothing() -> None:
    told = event(1, 244, "-1018", who=NOW)
    assert not answer(now(0, 736), told, passed(3, 3)).verified


def test_a_streaming_backup_with_a_bad_page_verifies_nothing() -> None:
    begin, end = event(0, 210), event(1, 213)
    copied = (old(0.1, 220, "40 Gb"), old(0.9, 221))
    for bad in (broken(0.5), old(0.5, 481, "0", "8192", "-1022"), old(0.5, 705, "-1018")):
        assert not answer(begin, *copied, bad, end).verified
    single = old(0.5, 399, "0", "8192", "7", "24 (0x18)")
    assert answer(begin, *copied, single, end).verified == {"streaming_backup": at(1)}


# what a person saw


def test_an_acknowledgement_takes_what_was_shown() -> None:
    late = broken(0.5, 18)._replace(file=1)
    damage = old(0.6, 542, "17", "8")._replace(file=1)
    io = old(0.7, 481, "0", "8192", "-1022")._replace(file=1)
    halted = event(0.8, 492, "E:\\MDB06\\", level="error")._replace(file=1)
    ack = Acknowledged(at(1), "ex01", LABEL, unread=frozenset({1}))
    found = answer(broken(0), late, damage, io, halted, ack)
    assert set(found.known_bad) == {(18, "uncorrectable")}
    assert set(found.damage) == {"logical"}
    found = answer(broken(0), halted, ack)
    assert (found.known_bad, found.verdict) == (frozenset(), "writes_at_risk")
    again = broken(0.5)._replace(file=1)
    assert answer(broken(0), again, ack).known_bad == BAD
    assert not answer(broken(0.6), again, ack).known_bad
    assert not answer(broken(0), late, halted, ack._replace(unread=frozenset())).known_bad


# moved


def test_a_moved_database_takes_along_what_is_known_of_it() -> None:
    path = "G:\\DB\\priv06.edb"
    proof = (now(0.1, 736), passed(1, 0.9))
    leaves = event(2, 327, "1", PRIV, who=NOW)
    arrives = event(2.1, 326, "1", path, who=NOW)
    found = answers(broken(0), *proof, broken(1.5), now(1.6, 542, "17"), leaves, arrives)
    new, gone = found["ex01", path.lower()], found["ex01", LABEL]
    assert (new.known_bad, set(new.damage)) == (BAD, {"logical"})
    assert new.verified == {"online_scan": at(1)}
    assert not gone.known_bad | gone.damage
    other = event(2.1, 326, "1", "G:\\DB\\other.edb", who=NOW)
    stayed = answers(broken(0), leaves, other)
    assert stayed["ex01", LABEL].known_bad == BAD
    assert not stayed["ex01", "g:\\db\\other.edb"].known_bad


# snapshots

SHADOW = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\MDB06\\priv06.edb"


def test_a_bad_page_of_a_nameless_snapshot_makes_the_one_that_it_fits_suspect() -> None:
    bad = event(1, 474, SHADOW, "4096", "8192", "-1018", "[1]", "[2]", "17 (0x11)")
    found = answers(old(0, 700), bad)
    assert set(found) == {("ex01", LABEL)}
    assert (set(found["ex01", LABEL].damage), found["ex01", LABEL].known_bad) == (
        {"suspect"},
        frozenset(),
    )
    other = event(0, 700, "F:\\MDB06\\priv06.edb")
    assert answers(old(0, 700), other, bad)["ex01", SHADOW].known_bad == BAD
    late = answers(old(0, 700), other, bad, days=31.1)
    assert ("ex01", SHADOW) not in late


def test_a_database_is_moved_where_its_instance_starts_with_it_elsewhere() -> None:
    path = "G:\\DB\\priv06.edb"
    start = (event(2, 102, "0", who=NOW), event(2.1, 326, "1", path, who=NOW))
    assert answers(broken(0, who=NOW), *start)["ex01", path.lower()].known_bad == BAD
    both = (event(0, 326, "1", PRIV), event(1, 326, "1", path))
    assert answers(broken(0.5), *both)["ex01", LABEL].known_bad == BAD
