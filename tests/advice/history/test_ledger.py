"""When every page of a copy was last verified, and what is missing."""

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from esewatch.advice.base.finding import FINDINGS, Proof
from esewatch.advice.history.ledger import Copy, Gap, Ledger, ledgers, verification_deadline
from esewatch.config import Window
from esewatch.config.units import parse_clock
from esewatch.fold.state.state import BadPage, Pass

DAY = 86400.0
HOUR = 3600.0
NOW = 1_800_000_000.0
NIGHTLY = Window(start=parse_clock("01:00"), duration=4 * HOUR)
MONDAYS = Window(start=parse_clock("01:00"), duration=4 * HOUR, days=["mon"])


def copy(**changes: Any) -> Copy:
    base: dict[str, Any] = {
        "computer": "ex01",
        "database": "e:\\priv06.edb",
        "name": "priv06",
        "tier": "watched",
        "model": "window",
        "role": "active",
        "first_seen": NOW - 100 * DAY,
        "window": NIGHTLY,
    }
    return Copy(**(base | changes))


def ledger(**changes: Any) -> Ledger:
    (entry,) = ledgers([copy(**changes)], NOW)
    return entry


def found(entry: Ledger) -> list[str]:
    return [each.finding for each in entry.findings]


def scan(days: float, pages: int, **changes: Any) -> Pass:
    base: dict[str, Any] = {
        "task": "checksum",
        "started": NOW - 50 * DAY,
        "ended": NOW - (50 - days) * DAY,
        "outcome": "completed",
        "work_seconds": HOUR,
        "pages_seen": pages,
    }
    return Pass(**(base | changes))


def gap(begin: float, end: float, missing: int = 100) -> Gap:
    return NOW - begin * DAY, NOW - end * DAY, missing


def test_the_latest_verifier_counts_and_each_is_kept() -> None:
    entry = ledger(verified={"online_scan": NOW - 3 * DAY, "page_scan": NOW - 2 * DAY})
    assert entry.last == Proof(NOW - 2 * DAY, "page_scan")
    assert entry.verified == {"online_scan": NOW - 3 * DAY, "page_scan": NOW - 2 * DAY}
    assert entry.due == NOW + 5 * DAY
    assert (entry.standing, entry.findings) == ("verified", ())


def test_what_is_younger_than_now_is_not_known_yet() -> None:
    later = BadPage(page=3, kind="no_data", first=NOW + 1, last=NOW + 1)
    entry = ledger(verified={"external": NOW + DAY + 1}, bad_pages=[later])
    assert (entry.last, entry.verified, entry.bad_since) == (None, {}, 0)


def test_bad_and_corrected_pages_since_the_last_verification_are_counted() -> None:
    pages = [
        BadPage(page=1, kind="uncorrectable", first=NOW - 9 * DAY, last=NOW - 9 * DAY),
        BadPage(page=2, kind="lost_flush", first=NOW - 9 * DAY, last=NOW - DAY),
        BadPage(page=-1, kind="no_data", first=NOW - DAY, last=NOW - DAY, pages=5),
        BadPage(page=3, kind="corrected", first=NOW - DAY, last=NOW - DAY),
    ]
    since = ledger(verified={"external": NOW - 2 * DAY}, bad_pages=pages)
    ever = ledger(bad_pages=pages)
    assert (since.bad_since, since.corrected_since) == (6, 1)
    assert (ever.bad_since, ever.corrected_since) == (7, 1)


def test_a_week_at_work_must_be_over_before_never_is_said() -> None:
    for stop, said in ((7 * DAY, []), (7 * DAY + 1, ["never_verified"])):
        off = [(NOW - 30 * DAY + stop, NOW)]
        assert found(ledger(first_seen=NOW - 30 * DAY, off=off)) == said


def test_never_is_said_after_a_week_and_only_of_watched_databases() -> None:
    assert found(ledger()) == ["never_verified"]
    assert "100 days" in ledger().findings[0].sentence
    assert found(ledger(first_seen=NOW - 6.9 * DAY)) == []
    assert ledger(first_seen=NOW - 6.9 * DAY).standing == "unknown"
    assert found(ledger(first_seen=0.0)) == []
    assert found(ledger(tier="observed")) == []


def test_a_verification_past_its_deadline_is_overdue() -> None:
    assert found(ledger(verified={"external": NOW - 7 * DAY})) == []
    late = ledger(verified={"external": NOW - 7.5 * DAY})
    assert found(late) == ["verification_overdue"]
    assert "not verified for 7.5 days; the deadline is 7 days" in late.findings[0].sentence
    assert found(ledger(verified={"external": NOW - 2 * DAY}, configured_deadline=DAY)) == [
        "verification_overdue"
    ]


def test_a_scan_of_unknown_result_is_no_verification_and_no_absence() -> None:
    never = ledger(unreadable_scan=NOW - DAY)
    assert found(never) == ["verification_unreadable"]
    assert (never.last, never.standing, never.due) == (None, "unknown", NOW + 6 * DAY)
    assert "export the log as XML or EVTX" in never.findings[0].sentence
    before = ledger(verified={"external": NOW - 30 * DAY}, unreadable_scan=NOW - DAY)
    assert found(before) == ["verification_unreadable"]
    assert before.last == Proof(NOW - 30 * DAY, "external")
    assert found(ledger(verified={"external": NOW - HOUR}, unreadable_scan=NOW - DAY)) == []
    assert found(ledger(unreadable_scan=NOW + DAY + 1)) == ["never_verified"]
    assert found(ledger(unreadable_scan=NOW - DAY, tier="observed")) == []


def test_the_deadline_runs_on_from_a_scan_of_unknown_result() -> None:
    late = ledger(verified={"external": NOW - 30 * DAY}, unreadable_scan=NOW - 8 * DAY)
    assert found(late) == ["verification_unreadable", "verification_overdue"]
    assert "not verified for 30 days" in late.findings[1].sentence


BACKGROUND: dict[str, Any] = {"model": "background", "window": None}


def completed(*days: float) -> list[Pass]:
    """Scans that ended so many days ago."""
    return [scan(0, 1, started=None, ended=NOW - ago * DAY) for ago in days]


def test_two_terabytes_scanned_at_1_mb_a_second_are_not_late_at_day_20() -> None:
    huge = {**BACKGROUND, "size_bytes": 2e12}
    first = ledger(**huge, first_seen=NOW - 20 * DAY)
    assert (first.standing, first.findings) == ("unknown", ())
    assert first.deadline.seconds == pytest.approx(1.5 * 2e6)
    assert found(ledger(**huge, verified={"online_scan": NOW - 20 * DAY})) == []
    assert found(ledger(**huge, verified={"online_scan": NOW - 40 * DAY})) == [
        "verification_overdue"
    ]


def test_a_first_background_scan_that_goes_on_is_waited_for_up_to_45_days() -> None:
    """A healthy scan of 2 TB takes 23 days (semantics.md 5), and no event tells the size."""
    begun = {**BACKGROUND, "first_seen": NOW - 20 * DAY}
    assert found(ledger(**begun)) == ["never_verified"]
    going_on = ledger(**begun, under_way=19 * DAY)
    assert (going_on.standing, going_on.findings) == ("unknown", ())
    assert found(ledger(**begun, under_way=13 * DAY)) == ["never_verified"], "silent for 7 days"
    for_ever = {**BACKGROUND, "first_seen": NOW - 45.5 * DAY, "under_way": 45 * DAY}
    assert found(ledger(**for_ever)) == ["never_verified"]
    in_window = {"first_seen": NOW - 20 * DAY, "under_way": 19 * DAY}
    assert found(ledger(**in_window)) == ["never_verified"], "its window may be too short"


def test_the_deadline_is_configured_else_the_largest_of_a_week_the_engines_and_what_is_usual() -> (
    None
):
    usual = {**BACKGROUND, "scans": completed(41, 21, 1)}
    every = copy(**usual, configured_deadline=3 * DAY, engine_threshold=14 * DAY)
    assert verification_deadline(every) == (3 * DAY, "configured")
    assert verification_deadline(copy(**usual, engine_threshold=14 * DAY)) == (
        30 * DAY,
        "1.5 times the usual 20 days between completions",
    )
    longer = verification_deadline(copy(**usual, engine_threshold=35 * DAY))
    assert longer == (35 * DAY, "the engine's own threshold (735)")
    quick = verification_deadline(copy(scans=completed(3, 2, 1), engine_threshold=DAY))
    assert quick == (7 * DAY, "the minimum")


def test_a_healthy_scan_that_always_takes_14_days_is_never_overdue() -> None:
    """735 says what the engine aims at, not what is dangerous."""
    scans = completed(*(14 * n + 13.9 for n in reversed(range(8))))
    for model in ("background", "window"):
        healthy = ledger(
            model=model,
            window=None,
            scans=scans,
            engine_threshold=7 * DAY,
            verified={"online_scan": NOW - 13.9 * DAY},
        )
        assert (healthy.standing, healthy.findings) == ("verified", ())
        assert healthy.deadline.seconds == pytest.approx(21 * DAY)


def test_the_last_eight_completions_tell_what_is_usual() -> None:
    ends = [200 - 2 * n for n in range(20)] + [140 - 10 * n for n in range(8)]
    assert verification_deadline(copy(scans=completed(*ends))).seconds == pytest.approx(15 * DAY)


def test_only_a_pass_that_completed_tells_what_is_usual() -> None:
    scans = [*completed(20, 5), scan(1, 1, ended=NOW - 12 * DAY, outcome="partial")]
    assert verification_deadline(copy(scans=scans)).seconds == pytest.approx(22.5 * DAY)


def test_slow_decay_ends_somewhere() -> None:
    slow = copy(**BACKGROUND, scans=completed(81, 41, 1))
    assert verification_deadline(slow) == (
        45 * DAY,
        "the maximum; otherwise 1.5 times the usual 40 days between completions",
    )
    assert verification_deadline(copy(engine_threshold=90 * DAY)).seconds == 45 * DAY
    strict = copy(**BACKGROUND, scans=completed(81, 41, 1), most_deadline=20 * DAY)
    assert verification_deadline(strict).seconds == 20 * DAY
    assert verification_deadline(copy(configured_deadline=90 * DAY)).seconds == 90 * DAY


def test_what_is_usual_is_told_by_the_calendar() -> None:
    """ "The median time from completion to completion" (semantics.md 5), machine on or off."""
    scans = completed(50, 40, 10)
    off = [(NOW - 38 * DAY, NOW - 18 * DAY)]
    assert verification_deadline(copy(scans=scans, off=off)).seconds == pytest.approx(30 * DAY)


def test_a_background_scan_of_unknown_size_has_a_week_until_it_has_completed_twice() -> None:
    """Nothing tells how long a healthy one takes."""
    for scans in ([], completed(40)):
        entry = ledger(**BACKGROUND, scans=scans)
        assert (found(entry), entry.deadline.seconds) == (["never_verified"], 7 * DAY)
    assert found(ledger(**BACKGROUND, first_seen=NOW - 6 * DAY)) == []
    assert found(ledger(**BACKGROUND, verified={"online_scan": NOW - 6 * DAY})) == []
    assert found(ledger(**BACKGROUND, verified={"online_scan": NOW - 8 * DAY})) == [
        "verification_overdue"
    ]
    assert verification_deadline(copy(**BACKGROUND, scans=completed(40, 20))).seconds == (
        pytest.approx(30 * DAY)
    )
    assert found(ledger(**BACKGROUND, event_gaps=[gap(9, 3)])) == ["unknown_since"]


def test_one_completion_does_not_tell_what_is_usual() -> None:
    """Its size still does, as before the first one."""
    for scans in ([], completed(30)):
        small = copy(**BACKGROUND, size_bytes=1e9, scans=scans)
        assert verification_deadline(small) == (7 * DAY, "the minimum")
        large = copy(**BACKGROUND, size_bytes=1e12, scans=scans)
        assert verification_deadline(large).seconds == pytest.approx(1.5 * 1e6)
    assert found(ledger(**BACKGROUND, size_bytes=1e9)) == ["never_verified"]


def test_what_is_missing_is_counted_in_time_at_work() -> None:
    """A machine that was off for a month missed nothing."""
    off = [(NOW - 38 * DAY, NOW - 60)]
    verified = {"online_scan": NOW - 40 * DAY}
    started = ledger(verified=verified, off=off)
    assert (started.standing, found(started)) == ("verified", [])
    assert started.due == pytest.approx(NOW + 5 * DAY - 60)
    assert found(ledger(verified=verified, off=[(NOW - 38 * DAY, NOW - 6 * DAY)])) == [
        "verification_overdue"
    ]
    assert found(ledger(first_seen=NOW - 40 * DAY, off=off)) == []
    assert found(ledger(first_seen=NOW - 50 * DAY, off=off)) == ["never_verified"]


def test_nothing_is_overdue_on_a_database_that_is_known_for_less_than_14_days() -> None:
    verified = {"external": NOW - 13 * DAY}
    assert found(ledger(verified=verified, first_seen=NOW - 13.9 * DAY)) == []
    assert found(ledger(verified=verified, first_seen=NOW - 14 * DAY)) == ["verification_overdue"]
    assert found(ledger(verified={"external": NOW - 50 * DAY}, first_seen=0.0)) == [
        "verification_overdue"
    ]


def test_that_a_domain_controller_was_never_verified_is_no_finding_of_it() -> None:
    directory: dict[str, Any] = {"model": "garbage_collection", "window": None}
    assert found(ledger(**directory)) == []
    assert (ledger(**directory).standing, ledger(**directory).limit) == ("unverified", None)
    assert ledger(**directory, configured_deadline=9 * DAY).limit == 9 * DAY
    assert ledger(**directory, verified={"external": NOW - 8 * DAY}).limit == 7 * DAY
    assert found(ledger(**directory, event_gaps=[gap(30, 20)])) == []
    assert found(ledger(**directory, configured_deadline=9 * DAY)) == ["never_verified"]
    assert found(ledger(**directory, verified={"external": NOW - 8 * DAY})) == [
        "verification_overdue"
    ]


def test_a_window_that_opens_once_a_week_may_take_until_its_next_end() -> None:
    assert verification_deadline(copy(window=MONDAYS)).seconds == 7 * DAY + 4 * HOUR
    assert verification_deadline(copy(window=MONDAYS)).reason == "the minimum"
    assert found(ledger(window=MONDAYS, verified={"online_scan": NOW - 7.1 * DAY})) == []


def test_after_a_gap_of_more_than_a_window_absence_is_not_claimed() -> None:
    entry = ledger(event_gaps=[gap(5, 3)])
    assert found(entry) == ["unknown_since"]
    assert (entry.standing, entry.unknown_since) == ("unknown", NOW - 5 * DAY)
    assert "100 events were not read" in entry.findings[0].sentence
    stale = ledger(event_gaps=[gap(5, 3)], verified={"online_scan": NOW - 9 * DAY})
    assert found(stale) == ["unknown_since"]


def test_a_gap_of_less_than_a_window_changes_nothing() -> None:
    assert found(ledger(event_gaps=[gap(5, 4)])) == ["never_verified"]
    assert found(ledger(event_gaps=[gap(9, 3)], window=MONDAYS)) == ["never_verified"]
    assert found(ledger(event_gaps=[gap(9, 6)], window=None)) == ["never_verified"]


def test_a_verification_after_the_gap_ends_not_knowing() -> None:
    entry = ledger(event_gaps=[gap(5, 3)], verified={"online_scan": NOW - DAY})
    assert (entry.unknown_since, entry.findings) == (None, ())


def test_a_verification_in_time_stands_although_later_events_are_missing() -> None:
    entry = ledger(event_gaps=[gap(5, 2)], verified={"page_scan": NOW - 4 * DAY})
    assert (entry.standing, found(entry)) == ("verified", ["unknown_since"])
    assert entry.unknown_since == NOW - 4 * DAY


def test_a_deadline_after_the_gap_absence_is_certain_again() -> None:
    never = ledger(event_gaps=[gap(30, 8)])
    late = ledger(event_gaps=[gap(30, 8)], verified={"external": NOW - 40 * DAY})
    assert found(never) == found(late) == ["verification_overdue"]
    assert "before which events are missing" in never.findings[0].sentence
    assert never.standing == "unverified"


def test_several_gaps_hide_what_became_of_it_since_the_first() -> None:
    entry = ledger(event_gaps=[gap(9, 6, 2), gap(5, 3, 3), gap(2.5, 2.4, 9)])
    assert entry.unknown_since == NOW - 9 * DAY
    assert "5 events were not read" in entry.findings[0].sentence


VERIFIED = {"online_scan": NOW - DAY}


def two_copies(active: dict[str, Any], passive: dict[str, Any]) -> list[list[str]]:
    copies = [copy(**active), copy(**({"computer": "ex02", "role": "passive"} | passive))]
    return [found(entry) for entry in ledgers(copies, NOW)]


def test_only_the_passive_copy_verified_is_said_of_the_active_one() -> None:
    assert two_copies({}, {"verified": VERIFIED}) == [
        ["never_verified", "only_passive_verified"],
        [],
    ]


def test_a_copy_that_is_not_heard_is_not_the_verified_one() -> None:
    copies = [copy(), copy(computer="ex02", role="passive", verified=VERIFIED)]
    assert [found(each) for each in ledgers(copies, NOW, [None, NOW])] == [["never_verified"], []]
    assert "only_passive_verified" in found(ledgers(copies, NOW, [NOW, None])[0])


def test_what_is_missing_is_held_as_it_was_when_nothing_was_heard_any_more() -> None:
    old = copy(verified={"online_scan": NOW - 10 * DAY})
    assert found(ledgers([old], NOW)[0]) == ["verification_overdue"]
    assert found(ledgers([old], NOW, [NOW - 4 * DAY])[0]) == []
    assert found(ledgers([old], NOW, [NOW - 2 * DAY])[0]) == ["verification_overdue"]


def test_only_the_active_copy_verified_is_said_of_the_passive_one() -> None:
    late = {"verified": {"external": NOW - 30 * DAY}}
    assert two_copies({"verified": VERIFIED}, late) == [
        [],
        ["verification_overdue", "only_active_verified"],
    ]


def test_copies_are_named_without_case() -> None:
    assert two_copies({}, {"verified": VERIFIED, "name": "PRIV06"})[0][-1:] == [
        "only_passive_verified"
    ]


@pytest.mark.parametrize(
    ("active", "passive"),
    [
        pytest.param({}, {"verified": VERIFIED, "role": ""}, id="a role is unknown"),
        pytest.param({}, {"verified": VERIFIED, "name": "other"}, id="another database"),
        pytest.param({}, {"verified": VERIFIED, "computer": "ex01"}, id="the same computer"),
        pytest.param({}, {"verified": VERIFIED, "role": "active"}, id="both active"),
        pytest.param({"verified": VERIFIED}, {"verified": VERIFIED}, id="both verified"),
        pytest.param({}, {}, id="none verified"),
        pytest.param({"event_gaps": [gap(5, 3)]}, {"verified": VERIFIED}, id="after a gap"),
        pytest.param({"first_seen": NOW - DAY}, {"verified": VERIFIED}, id="known for a day"),
        pytest.param({"tier": "observed"}, {"verified": VERIFIED}, id="observed"),
        pytest.param(
            {"name": "First Storage Group"},
            {"verified": VERIFIED, "name": "First Storage Group", "database": "f:\\priv1.edb"},
            id="an instance of the same name has another path",
        ),
        pytest.param(
            {"model": "garbage_collection"},
            {"verified": VERIFIED, "model": "garbage_collection"},
            id="each domain controller has an NTDSA",
        ),
        pytest.param(
            {"model": "application"}, {"verified": VERIFIED, "model": "application"}, id="a cache"
        ),
        pytest.param(
            {"copies": [("ex09", "e:\\priv06.edb")]},
            {"verified": VERIFIED},
            id="its copy is another one",
        ),
        pytest.param(
            {"named": True, "name": "MDB06"},
            {"verified": VERIFIED, "named": True, "name": "MDB06", "computer": "ex01"},
            id="a configured name on one computer twice",
        ),
    ],
)
def test_copies_are_not_compared(active: dict[str, Any], passive: dict[str, Any]) -> None:
    said = [each for findings in two_copies(active, passive) for each in findings]
    assert "only_passive_verified" not in said
    assert "only_active_verified" not in said


def test_an_application_is_asked_to_be_verified_only_where_it_is_configured() -> None:
    alone = ledger(model="application", window=None)

    assert (alone.standing, found(alone), alone.limit) == ("unverified", [], None)
    asked = ledger(model="application", window=None, configured_deadline=9 * DAY)
    assert found(asked) == ["never_verified"]
    late = ledger(model="application", window=None, verified={"page_scan": NOW - 60 * DAY})
    assert late.standing != "verified"


ELSEWHERE = {"computer": "ex02", "database": "f:\\db.edb", "name": "DB6", "role": "passive"}
HERE, THERE = ("ex01", "e:\\priv06.edb"), ("ex02", "f:\\db.edb")


@pytest.mark.parametrize(
    ("active", "passive"),
    [
        pytest.param({"copies": [THERE]}, {}, id="the active one names it"),
        pytest.param({}, {"copies": [HERE]}, id="the passive one names it"),
        pytest.param({"copies": [THERE]}, {"copies": [HERE]}, id="both"),
        pytest.param({"copies": [HERE, THERE]}, {"copies": [HERE, THERE]}, id="one rule for both"),
        pytest.param(
            {"copies": [("ex03", "x.edb")]}, {"copies": [("ex03", "x.edb")]}, id="both a third one"
        ),
        pytest.param(
            {"copies": [THERE], "model": "application"}, {"model": "application"}, id="any model"
        ),
        pytest.param(
            {"named": True, "name": "MDB"}, {"named": True, "name": "mdb"}, id="a configured name"
        ),
    ],
)
def test_configured_copies_are_compared_whatever_their_path(
    active: dict[str, Any], passive: dict[str, Any]
) -> None:
    said = two_copies(active, ELSEWHERE | passive | {"verified": VERIFIED})
    assert said == [["never_verified", "only_passive_verified"], []]


def test_beside_configured_copies_a_name_joins_nobody() -> None:
    copies = [
        copy(copies=[("ex02", "e:\\priv06.edb")]),
        copy(computer="ex02", role="passive"),
        copy(computer="ex03", role="passive", verified=VERIFIED),
    ]
    assert [found(entry)[1:] for entry in ledgers(copies, NOW)] == [[], [], []]


def test_a_rule_that_fits_too_many_databases_compares_none() -> None:
    copies = [
        copy(copies=[("ex02", "e:\\priv06.edb")]),
        copy(copies=[("ex02", "e:\\priv06.edb")], database="e:\\priv07.edb", name="priv07"),
        copy(computer="ex02", role="passive", verified=VERIFIED),
    ]
    assert [found(entry)[1:] for entry in ledgers(copies, NOW)] == [[], [], []]


def test_servers_that_share_a_name_and_a_path_are_no_copies_when_two_are_active() -> None:
    passive = copy(computer="ex03", role="passive", verified=VERIFIED)
    three = ledgers([copy(), copy(computer="ex02"), passive], NOW)
    assert [found(entry)[1:] for entry in three] == [[], [], []]
    assert found(ledgers([copy(), passive], NOW)[0])[1:] == ["only_passive_verified"]


def test_a_thousand_copies_of_one_database_are_joined_in_time() -> None:
    keys = [(f"ex{number:04}", "e:\\priv06.edb") for number in range(1000)]
    copies = [
        copy(computer=name, role="passive" if number else "active", copies=keys)
        for number, (name, _) in enumerate(keys)
    ]
    copies[-1] = copy(computer=keys[-1][0], role="passive", copies=keys, verified=VERIFIED)
    said = [found(entry)[1:] for entry in ledgers(copies, NOW)]
    assert said == [["only_passive_verified"], *[[] for _ in keys[1:]]]


def test_one_unknown_role_of_three_copies_keeps_all_from_being_compared() -> None:
    copies = [
        copy(),
        copy(computer="ex02", role="passive", verified=VERIFIED),
        copy(computer="ex03", role=""),
    ]
    assert [found(entry) for entry in ledgers(copies, NOW)] == [
        ["never_verified"],
        [],
        ["never_verified"],
    ]


TIME = st.floats() | st.floats(NOW - 60 * DAY, NOW + DAY)
PASSES = st.builds(
    scan,
    st.just(1.0),
    st.integers(-1, 2**80),
    started=st.none() | TIME,
    ended=st.none() | TIME,
    wall_seconds=st.none() | TIME,
)
COPIES = st.builds(
    copy,
    computer=st.sampled_from(["ex01", "ex02", "ex03"]),
    role=st.sampled_from(["active", "passive", ""]),
    database=st.sampled_from(["e:\\priv06.edb", "x.edb"]),
    name=st.sampled_from(["priv06", "x"]) | st.text(max_size=3),
    named=st.booleans(),
    copies=st.lists(
        st.tuples(st.sampled_from(["ex01", "ex02"]), st.sampled_from(["e:\\priv06.edb", "x.edb"])),
        max_size=3,
    ),
    tier=st.sampled_from(["watched", "observed"]),
    model=st.sampled_from(["window", "background", "application", "garbage_collection"]),
    first_seen=TIME,
    verified=st.dictionaries(st.sampled_from(["external", "page_scan"]), TIME),
    bad_pages=st.lists(
        st.builds(BadPage, page=st.integers(), kind=st.just("no_data"), first=TIME, last=TIME)
    ),
    scans=st.lists(PASSES, max_size=3),
    size_bytes=st.none() | TIME,
    off=st.lists(st.tuples(TIME, TIME), max_size=2),
    window=st.sampled_from([None, NIGHTLY, MONDAYS]),
    event_gaps=st.lists(st.tuples(TIME, TIME, st.integers(0, 9)), max_size=3),
    configured_deadline=st.none() | TIME,
    engine_threshold=st.none() | TIME,
)


@given(st.lists(COPIES, max_size=4), TIME)
@example([copy(first_seen=1.0)], float("inf"))
def test_no_input_raises_and_what_is_said_has_figures(copies: list[Copy], now: float) -> None:
    entries = ledgers(copies, now)
    assert [(each.computer, each.database) for each in entries] == [
        (each.computer, each.database) for each in copies
    ]
    for entry in entries:
        assert 0 < entry.deadline.seconds < float("inf")
        assert (entry.due is None) == (entry.last is None)
        for finding in entry.findings:
            assert finding.finding in FINDINGS
            assert re.search(r"\d", finding.sentence)
        never = "never_verified" in found(entry)
        assert not (never and entry.last)


@given(st.lists(COPIES, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_the_copies_makes_no_difference(copies: list[Copy], rng: Any) -> None:
    order = rng.sample(range(len(copies)), len(copies))
    shuffled = ledgers([copies[index] for index in order], NOW)
    expected = ledgers(copies, NOW)
    assert shuffled == [expected[index] for index in order]
