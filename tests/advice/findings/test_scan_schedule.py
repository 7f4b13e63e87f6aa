"""Scans of one device, one after the other, in their allowed hours."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.findings.scan_collisions import (
    GAP,
    HORIZON,
    Candidate,
    ScanSlot,
    Schedule,
    p90,
    schedules,
)
from esewatch.config import DAYS, Window
from esewatch.config.calendar import opening_at
from esewatch.config.units import parse_clock

DAY = 86400.0
HOUR = 3600.0
MIDNIGHT = 1_799_971_200.0  # 2027-01-15, a Friday, 00:00 UTC
NIGHTLY = Window(start=parse_clock("01:00"), duration=4 * HOUR)
ONE = MIDNIGHT + HOUR
DISKS = ("ex01", "lun7")


def candidate(name: str, days: float | None, *hours: float, **changes: Any) -> Candidate:
    base: dict[str, Any] = {
        "key": ("ex01", name),
        "disks": DISKS,
        "model": "window",
        "window": NIGHTLY,
        "verified": None if days is None else MIDNIGHT - days * DAY,
        "defragmented": False,
        "scan_seconds": [each * HOUR for each in hours],
    }
    return Candidate(**(base | changes))


def schedule(*candidates: Candidate) -> Schedule:
    (found,) = schedules(candidates, MIDNIGHT)
    return found


def test_the_one_verified_longest_ago_is_first_and_fifteen_minutes_lie_between() -> None:
    found = schedule(
        candidate("a", 1, 1), candidate("b", 9, 1), candidate("c", 5, 1), candidate("d", None, 0.5)
    )
    assert found.slots == (
        ScanSlot(("ex01", "d"), ONE, ONE + 0.5 * HOUR),
        ScanSlot(("ex01", "b"), ONE + 0.75 * HOUR, ONE + 1.75 * HOUR),
        ScanSlot(("ex01", "c"), ONE + 2 * HOUR, ONE + 3 * HOUR),
        ScanSlot(("ex01", "a"), ONE + DAY, ONE + DAY + HOUR),
    )
    assert found.unplaced == ()


def test_a_slot_is_the_p90_of_its_own_scans_in_whole_minutes() -> None:
    found = schedule(candidate("a", 1, *[1.001] * 9, 3), candidate("b", 2, 1))
    assert [slot.end - slot.start for slot in found.slots] == [HOUR, HOUR + 240 - 180]


def test_what_does_not_fit_is_named_with_what_it_lacks() -> None:
    found = schedule(candidate("a", 1, 5.25), candidate("b", 2, 1))
    (missing,) = found.unplaced
    assert [slot.key for slot in found.slots] == [("ex01", "b")]
    assert missing.key == ("ex01", "a")
    assert missing.finding is not None
    assert missing.finding.finding == "scans_do_not_fit"
    assert missing.finding.sentence == (
        "its scan needs 5 h 15 min, but the other scans of the same disks leave at most 4 h at a"
        " stretch in its allowed hours of 7 days: 1 h 15 min too little"
    )


def test_when_the_week_is_full_the_youngest_is_left_out() -> None:
    found = schedule(*(candidate(f"d{number}", number, 3) for number in range(9)))
    placed = [name for _, name in (slot.key for slot in found.slots)]
    assert placed == ["d8", "d7", "d6", "d5", "d4", "d3", "d2"]
    assert [each.key for each in found.unplaced] == [("ex01", "d1"), ("ex01", "d0")]
    finding = found.unplaced[0].finding
    assert finding is not None
    assert "2 h 15 min too little" in finding.sentence


def test_another_window_is_not_held_up_by_one_that_opens_later() -> None:
    sunday = Window(start=parse_clock("01:00"), duration=4 * HOUR, days=["sun"])
    found = schedule(candidate("old", 30, 1, window=sunday), candidate("young", 1, 1))
    assert found.slots == (
        ScanSlot(("ex01", "young"), ONE, ONE + HOUR),
        ScanSlot(("ex01", "old"), ONE + 2 * DAY, ONE + 2 * DAY + HOUR),
    )


def test_windows_that_overlap_share_the_disks_without_overlap() -> None:
    later = Window(start=parse_clock("02:00"), duration=4 * HOUR)
    found = schedule(candidate("a", 9, 2, window=later), candidate("b", 5, 2))
    assert found.slots == (
        ScanSlot(("ex01", "a"), ONE + HOUR, ONE + 3 * HOUR),
        ScanSlot(("ex01", "b"), ONE + DAY, ONE + DAY + 2 * HOUR),
    )


def test_a_scan_may_go_on_through_openings_that_touch() -> None:
    always = Window(start=parse_clock("01:00"), duration=DAY)
    found = schedule(candidate("a", 9, 30, window=always), candidate("b", 5, 1, window=always))
    assert found.slots[0][1:] == (ONE, ONE + 30 * HOUR)


def test_where_defragmentation_runs_in_the_window_the_scan_has_its_second_half() -> None:
    found = schedule(
        candidate("a", 9, 1, defragmented=True),
        candidate("b", 5, 1.5, defragmented=True),
        candidate("c", 1, 1),
    )
    assert found.slots == (
        ScanSlot(("ex01", "c"), ONE, ONE + HOUR),
        ScanSlot(("ex01", "a"), ONE + 2 * HOUR, ONE + 3 * HOUR),
        ScanSlot(("ex01", "b"), ONE + DAY + 2 * HOUR, ONE + DAY + 3.5 * HOUR),
    )


def test_a_scan_that_needs_more_than_the_half_does_not_fit() -> None:
    always = Window(start=parse_clock("01:00"), duration=DAY)
    found = schedule(
        candidate("a", 9, 3.5, defragmented=True),
        candidate("b", 5, 13, window=always, defragmented=True),
    )
    assert found.slots == ()
    sentences = [each.finding.sentence for each in found.unplaced if each.finding is not None]
    assert sentences == [
        "its scan needs 3 h 30 min, but online defragmentation and the other scans of the same"
        " disks leave at most 2 h at a stretch in its allowed hours of 7 days: 1 h 30 min too"
        " little",
        "its scan needs 13 h, but online defragmentation and the other scans of the same disks"
        " leave at most 12 h at a stretch in its allowed hours of 7 days: 1 h too little",
    ]


def test_without_scans_or_window_there_is_no_slot_and_no_guess() -> None:
    found = schedule(candidate("a", 9), candidate("b", 5, 1, window=None), candidate("c", 1, 1))
    assert [slot.key for slot in found.slots] == [("ex01", "c")]
    assert found.unplaced == ((("ex01", "a"), None), (("ex01", "b"), None))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"disks": None}, id="device unknown"),
        pytest.param({"model": "background"}, id="no window of the engine"),
        pytest.param({"disks": ("ex01", "lun8")}, id="another device"),
    ],
)
def test_nothing_is_scheduled_for_a_database_that_shares_nothing(changes: Any) -> None:
    assert schedules([candidate("a", 9, 1), candidate("b", 9, 1, **changes)], MIDNIGHT) == []


def test_the_p90_is_what_nine_in_ten_do_not_exceed() -> None:
    assert p90([3, 1, 2]) == 3
    assert p90(range(1, 11)) == 9
    assert p90([math.nan, math.inf, -1, 0, 5]) == 5
    assert p90([]) is None


WINDOWS = st.builds(
    Window,
    start=st.times(),
    duration=st.integers(15, 24 * 60).map(lambda minutes: minutes * 60.0),
    days=st.lists(st.sampled_from(DAYS), min_size=1, unique=True),
    timezone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"]),
)
NOWS = st.floats(1.7e9, 1.9e9)


@st.composite
def groups(draw: st.DrawFn) -> list[Candidate]:
    windows = draw(st.lists(WINDOWS, min_size=1, max_size=3))
    return [
        candidate(
            str(number),
            draw(st.none() | st.floats(0, 100)),
            *draw(st.lists(st.floats(0.01, 30), max_size=5)),
            window=draw(st.sampled_from(windows)),
            defragmented=draw(st.booleans()),
        )
        for number in range(draw(st.integers(2, 8)))
    ]


@given(groups(), NOWS)
def test_a_schedule_never_overlaps_never_leaves_its_window_and_keeps_the_order(
    group: list[Candidate], now: float
) -> None:
    (found,) = schedules(group, now)
    by_key = {each.key: each for each in group}
    named = [*(slot.key for slot in found.slots), *(each.key for each in found.unplaced)]
    assert sorted(named) == sorted(by_key)
    for slot, after in zip(found.slots, found.slots[1:], strict=False):
        assert after.start >= slot.end + GAP
    for slot in found.slots:
        each = by_key[slot.key]
        assert slot.start > now
        assert slot.end - slot.start >= (p90(each.scan_seconds) or math.inf) - 1e-3
        time = slot.start
        if each.defragmented and each.window is not None:
            assert slot.end - slot.start <= each.window.duration / 2 + 1e-3
        while time < slot.end:
            opening = opening_at(each.window, time)  # type: ignore[arg-type]
            assert opening is not None
            assert opening.start <= now + HORIZON
            time = opening.end
    for index, slot in enumerate(found.slots):
        for later in found.slots[index + 1 :]:
            one, other = by_key[slot.key], by_key[later.key]
            if (one.window, one.defragmented) == (other.window, other.defragmented):
                assert (one.verified or 0.0) <= (other.verified or 0.0)
    assert schedules(group[::-1], now) == [found]


ANY = st.floats()


@given(
    st.lists(
        st.builds(
            candidate,
            st.sampled_from("abcd"),
            st.just(1.0),
            verified=st.none() | ANY,
            scan_seconds=st.lists(ANY, max_size=3),
            window=st.none() | WINDOWS,
            disks=st.sampled_from([None, DISKS]),
        )
    ),
    ANY | st.floats(-1e11, 3e11),
)
def test_no_input_raises(group: list[Candidate], now: float) -> None:
    for found in schedules(group, now):
        for each in found.unplaced:
            assert each.finding is None or any(map(str.isdigit, each.finding.sentence))
