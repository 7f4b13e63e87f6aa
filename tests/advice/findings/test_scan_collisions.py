"""What scans at the same time on the same disks cost. Which collide: tests/expose."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.scan_collisions import (
    Loss,
    Scans,
    colliding_scans,
    collisions_found,
    throughput_lost,
)
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

DAY = 86400.0
HOUR = 3600.0
NOW = 1_800_000_000.0
DISKS = ("ex01", "lun7")
Night = tuple[float, float]
"""Hours before NOW at which a scan began and ended."""


def scans(name: str, *nights: Night, **changes: Any) -> Scans:
    runs = [Run(NOW - begin * HOUR, NOW - end * HOUR) for begin, end in nights]
    base: dict[str, Any] = {"key": ("ex01", name), "name": name, "disks": DISKS, "runs": runs}
    return Scans(**(base | changes))


def scan(begin: float, end: float, rate: float, event: int = 721, **changes: Any) -> Pass:
    seconds = (begin - end) * HOUR
    base: dict[str, Any] = {
        "task": "checksum",
        "started": NOW - begin * HOUR,
        "ended": NOW - end * HOUR,
        "outcome": "completed",
        "work_seconds": seconds,
        "pages_seen": int(rate * seconds),
        "completion_event": event,
    }
    return Pass(**(base | changes))


def lost(group: list[Scans], **passes: list[Pass]) -> dict[str, Loss]:
    found = throughput_lost(group, {("ex01", name): each for name, each in passes.items()}, NOW)
    return {name: loss for (_, name), loss in found.items()}


def test_passes_with_others_are_compared_with_those_alone() -> None:
    group = [scans("a", (100, 98), (50, 49), (10, 8)), scans("b", (10, 8))]
    found = lost(group, a=[scan(100, 98, 30_000), scan(50, 49, 27_000), scan(10, 8, 8_700)])
    assert found["a"].alone == pytest.approx(29_000)
    assert found["a"].together == pytest.approx(8_700)
    assert found["a"].share == 1
    assert found["a"].sentence == (
        "its scan reads 29,000 pages a second alone (2 passes) and 8,700 when others run for 100%"
        " of the time (1 pass): 70% less"
    )


def test_of_two_the_sum_of_both_is_told_too() -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 8))]
    found = lost(group, a=[scan(100, 98, 30_000), scan(10, 8, 8_200)], b=[scan(10, 8, 8_000)])
    assert "the two together read 16,200: 46% less than it alone" in found["a"].sentence


def test_with_two_partners_no_sum_is_told_for_they_need_not_have_met() -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 9)), scans("c", (9, 8))]
    found = lost(
        group,
        a=[scan(100, 98, 30_000), scan(10, 8, 9_000)],
        b=[scan(10, 9, 9_000)],
        c=[scan(9, 8, 9_000)],
    )
    assert found["a"].share == 1
    assert "the two together" not in found["a"].sentence


def test_time_with_two_others_at_once_counts_once() -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 9)), scans("c", (9.5, 9))]
    found = lost(group, a=[scan(100, 98, 30_000), scan(10, 8, 9_000)])
    assert found["a"].share == pytest.approx(0.5)


def test_a_pass_of_several_nights_is_judged_by_all_its_runs() -> None:
    nights = ((100, 98), (76, 74), (20, 18))
    group = [scans("a", *nights), scans("b", (75, 73))]
    several = scan(100, 74, 10_000, work_seconds=4 * HOUR, pages_seen=144_000_000)
    found = lost(group, a=[several, scan(20, 18, 30_000)])
    assert found["a"].together == pytest.approx(10_000)
    assert found["a"].share == pytest.approx(0.25)
    assert found["a"].alone == pytest.approx(30_000)


def test_a_scan_still_at_work_is_company_too() -> None:
    other = scans("b", runs=[Run(NOW - 10 * HOUR, None)])
    group = [scans("a", (100, 98), (10, 8)), other]
    found = lost(group, a=[scan(100, 98, 30_000), scan(10, 8, 9_000)])
    assert found["a"].together == pytest.approx(9_000)


def test_a_pass_that_zeroes_is_not_compared_with_one_that_does_not() -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 8))]
    found = lost(group, a=[scan(100, 98, 30_000), scan(10, 8, 8_000, event=722)])
    assert found["a"].alone is None
    assert found["a"].together == pytest.approx(8_000)


def test_a_collision_is_a_finding_with_its_cost() -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 8))]
    passes = {("ex01", "a"): [scan(100, 98, 30_000), scan(10, 8, 9_000)]}
    found = collisions_found(
        group, colliding_scans(group, NOW), lambda key: passes.get(key, []), NOW
    )
    assert found["ex01", "a"] == Finding(
        "scans_collide",
        "scanned at the same time as b on the same disks; its scan reads 30,000 pages a second"
        " alone (1 pass) and 9,000 when others run for 100% of the time (1 pass): 70% less",
    )
    assert found["ex01", "b"].sentence.endswith(PUBLISHED)
    apart = [scans("a", (100, 98)), scans("b", (10, 8))]
    nobody_asks = dict[tuple[str, str], list[Pass]]().__getitem__
    assert collisions_found(apart, colliding_scans(apart, NOW), nobody_asks, NOW) == {}


def test_scans_that_were_switched_off_do_not_collide_after_28_days() -> None:
    month = 28 * 24
    before = (month + 400, month + 398)
    ended = [scans(name, before, (month + 2, month)) for name in "ab"]
    recent = [scans(name, before, (month, month - 2)) for name in "ab"]
    again = [*ended[:1], scans("b", (month + 2, month), (10, 8))]

    assert colliding_scans(ended, NOW) == {}
    assert colliding_scans(again, NOW) == {}
    assert colliding_scans(recent, NOW) == {("ex01", "a"): ("b",), ("ex01", "b"): ("a",)}


def test_the_cost_is_measured_in_passes_of_any_age() -> None:
    long_ago = 40 * 24
    group = [scans("a", (long_ago, long_ago - 2), (10, 8)), scans("b", (10, 8))]
    found = lost(group, a=[scan(long_ago, long_ago - 2, 30_000), scan(10, 8, 9_000)])
    assert found["a"].alone == pytest.approx(30_000)


PUBLISHED = "in published figures two scans at once are each 73% to 86% slower"


@pytest.mark.parametrize(
    ("passes", "why"),
    [
        pytest.param(
            [],
            "the pages, run time or runs of its completed passes are not all known",
            id="no pass",
        ),
        pytest.param(
            [scan(10, 8, 8_000)],
            "it reads 8,000 pages a second beside others, but never ran alone",
            id="never alone",
        ),
        pytest.param(
            [scan(100, 98, 30_000)],
            "it reads 30,000 pages a second alone, but never completed beside others",
            id="always alone",
        ),
        pytest.param(
            [scan(10, 8, 8_000, work_seconds=None, wall_seconds=7200.0)],
            "the pages, run time or runs of its completed passes are not all known",
            id="wall seconds only",
        ),
        pytest.param(
            [scan(10, 8, 8_000, work_seconds=20_000.0)],
            "the pages, run time or runs of its completed passes are not all known",
            id="runs that are not all known",
        ),
    ],
)
def test_what_cannot_be_known_is_said_with_both_readings_of_the_table(
    passes: list[Pass], why: str
) -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 8))]
    found = lost(group, a=passes)["a"]
    assert found.sentence == f"the cost is not measured here ({why}); {PUBLISHED}"


def test_before_the_runs_of_all_are_known_no_pass_was_certainly_alone() -> None:
    group = [scans("a", (100, 98)), scans("b", complete_since=NOW - 99 * HOUR)]
    assert lost(group, a=[scan(100, 98, 30_000)])["a"].alone is None


def test_nothing_is_said_of_a_database_that_shares_no_disks() -> None:
    group = [scans("a", (10, 8)), scans("b", (10, 8), disks=("ex01", "lun8"))]
    assert lost(group) == {}


TIME = st.floats() | st.floats(NOW - 60 * DAY, NOW + DAY)
SCANS = st.builds(
    scans,
    st.sampled_from("abcd"),
    runs=st.lists(st.builds(Run, TIME, st.none() | TIME), max_size=6),
    complete_since=TIME,
    stale_seconds=TIME,
)
PASSES = st.builds(
    scan,
    st.floats(0, 1e4),
    st.floats(0, 1e4),
    st.floats(0, 1e6),
    started=st.none() | TIME,
    ended=st.none() | TIME,
    work_seconds=st.none() | TIME,
    pages_seen=st.none() | st.integers(-1, 2**2000),
)


@given(st.lists(SCANS), st.lists(PASSES, max_size=4), TIME)
def test_no_input_raises(group: list[Scans], passes: list[Pass], now: float) -> None:
    found = throughput_lost(group, dict.fromkeys((each.key for each in group), passes), now)
    for loss in found.values():
        assert any(character.isdigit() for character in loss.sentence)
        assert loss.share is None or 0 <= loss.share <= 1
    for names in colliding_scans(group, now).values():
        assert 1 <= len(names) <= 3
    collisions_found(group, colliding_scans(group, now), lambda _: (), now)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 8)), max_size=30))
def test_collisions_are_those_that_comparing_every_pair_finds(
    rows: list[tuple[int, int, int]],
) -> None:
    nights: dict[int, list[Night]] = {}
    for name, begin, length in rows:
        nights.setdefault(name, []).append((100 - begin, 100 - begin - length))
    group = [scans(str(name), *sorted(each, reverse=True)[-8:]) for name, each in nights.items()]

    def collide(one: Run, other: Run) -> bool:
        assert one.end is not None
        assert other.end is not None
        shared = min(one.end, other.end) - max(one.start, other.start)
        shorter = min(one.end - one.start, other.end - other.start)
        return shared > 0 and shared >= 0.25 * shorter

    expected = {
        one.key: tuple(
            other.name
            for other in group
            if other is not one and any(collide(one.runs[-1], run) for run in other.runs)
        )
        for one in group
    }
    assert colliding_scans(group, NOW) == {key: names for key, names in expected.items() if names}


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 12), st.integers(1, 4)), max_size=9))
def test_the_shared_time_is_that_of_counting_every_hour(rows: list[tuple[int, int, int]]) -> None:
    busy: dict[int, set[int]] = {}
    for name, begin, length in rows:
        busy.setdefault(name, set()).update(range(begin, begin + length))
    others = [
        scans(f"o{name}", *sorted(((100 - hour, 99 - hour) for hour in hours), reverse=True))
        for name, hours in busy.items()
    ]
    group = [scans("a", (98, 88)), *others, scans("z")]
    shared = len(set().union(*busy.values()) & set(range(2, 12))) / 10
    found = lost(group, a=[scan(98, 88, 9_000)])["a"]
    assert found.share == (pytest.approx(shared) if shared >= 0.25 else None)
    assert (found.alone is not None) == (shared == 0)


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_databases_changes_no_figure(rng: random.Random) -> None:
    group = [scans("a", (100, 98), (10, 8)), scans("b", (10, 9)), scans("c", (9.5, 9))]
    passes = {"a": [scan(100, 98, 30_000), scan(10, 8, 9_000)], "b": [scan(10, 9, 8_000)]}
    assert lost(rng.sample(group, 3), **passes) == lost(group, **passes)
