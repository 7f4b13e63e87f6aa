"""The time in which an instance was at work: what its starts, its stops and its log tell."""

import math
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.advice.base.time_at_work import (
    SILENCE,
    Stretch,
    at_work,
    one_window,
    presence,
    stale_seconds,
    two_windows,
)
from esewatch.config import DatabaseRule, Settings, Window
from esewatch.config.units import parse_clock
from esewatch.fold.channels.deduplication import admit, cover
from esewatch.fold.state.state import Channel, Database, Instance, Transition
from esewatch.model import Coverage
from tests.support.records import DAY, EPOCH, HOUR, event, folder_of


def instance(starts: list[float] | None = None, stops: list[float] | None = None) -> Instance:
    life = [*((time, 0, 102) for time in starts or []), *((time, 0, 103) for time in stops or [])]
    return Instance(computer="dc01", ese_instance="NTDSA", life=sorted(life))


def not_at_work(
    known: Instance | None, transitions: Sequence[Transition], channels: Sequence[Channel]
) -> list[Stretch]:
    """Of a database of which nothing else is known."""
    entry = Database(computer="dc01", database="ntds.dit", ese_instance="NTDSA")
    return presence(entry, known, transitions, channels).off


def log(*times: float) -> Channel:
    found = Channel(computer="dc01", channel="directory service")
    for number, time in enumerate(times):
        admit(found, number + 1, time)
    return found


def daily(first: float, last: float) -> Channel:
    return log(*(day * DAY for day in range(int(first), int(last) + 1)))


def events(*times: float) -> list[Transition]:
    return [Transition(time, 0, 701) for time in times]


def test_without_a_start_a_stop_and_a_record_it_is_the_calendar() -> None:
    assert not_at_work(None, [], []) == []
    assert not_at_work(instance(), events(0, DAY), []) == []
    assert at_work([], DAY, 9 * DAY) == 8 * DAY
    assert at_work([], 9 * DAY, DAY) == 0


def test_it_is_at_work_between_a_start_and_a_stop() -> None:
    off = not_at_work(instance([0, 30 * DAY], [2 * DAY]), [], [])

    assert off == [(2 * DAY, 30 * DAY)]
    assert at_work(off, DAY, 30 * DAY + 5) == DAY + 5
    assert at_work(off, 10 * DAY, 20 * DAY) == 0


def test_what_stopped_and_did_not_start_is_off() -> None:
    assert not_at_work(instance([0], [2 * DAY]), [], []) == [(2 * DAY, math.inf)]


def test_a_start_after_a_loss_of_power_tells_since_when_it_was_off_by_the_last_record() -> None:
    crashed = instance([0, 20 * DAY])

    assert not_at_work(crashed, [], [daily(0, 5), daily(20, 21)]) == [
        (-math.inf, 0),
        (5 * DAY + HOUR, 20 * DAY),
        (21 * DAY + HOUR + SILENCE, math.inf),
    ]
    assert not_at_work(crashed, events(7 * DAY, 20 * DAY + 1), []) == [(7 * DAY, 20 * DAY)]
    assert not_at_work(crashed, [], []) == [(0, 20 * DAY)]


def test_of_the_first_start_it_is_not_known_that_it_was_off_before() -> None:
    assert not_at_work(instance([20 * DAY]), [], []) == []
    assert not_at_work(instance([20 * DAY]), events(3 * DAY), []) == [(3 * DAY, 20 * DAY)]


def test_events_without_a_record_number_tell_until_when_it_was_at_work() -> None:
    """A page repaired (911) and a trim (612), two days before the first start that was logged."""
    folder = folder_of(
        [
            event(911, 0),
            event(612, 17 * HOUR + 60),
            event(102, 40 * HOUR),
        ]
    )
    (found,) = folder.state.instances.values()

    heard = (EPOCH + 18 * HOUR) // HOUR * HOUR  # the end of its hour
    assert not_at_work(found, [], []) == [(heard, EPOCH + 40 * HOUR)]


def test_before_the_first_record_of_its_log_nothing_is_known_of_it() -> None:
    off = not_at_work(instance([23 * DAY], [30 * DAY]), [], [daily(20, 21)])

    assert off[0] == (-math.inf, 20 * DAY)
    assert at_work(off, 0, 20 * DAY) == 0
    assert not_at_work(None, events(9 * DAY), [daily(20, 21)])[0] == (-math.inf, 9 * DAY)


def test_what_it_does_after_a_stop_says_that_it_was_started() -> None:
    stopped = instance([], [DAY])

    assert not_at_work(stopped, events(DAY + 30), []) == [(DAY, math.inf)]
    assert not_at_work(stopped, events(5 * DAY, 6 * DAY), []) == [(DAY, 5 * DAY)]


@pytest.mark.parametrize("event_id", [105, 302])
def test_the_end_of_a_recovery_says_that_it_was_started(event_id: int) -> None:
    after = [event(event_id, 2 * DAY + 30, 3, database=""), event(508, 9 * DAY, 4)]
    folder = folder_of([event(102, 0, 1), event(103, 2 * DAY, 2, database=""), *after])
    (found,) = folder.state.instances.values()

    assert not_at_work(found, [], []) == [(EPOCH + 2 * DAY, EPOCH + 2 * DAY + 30)]


def test_a_recovery_without_a_stop_before_it_tells_of_no_time_off() -> None:
    folder = folder_of([event(102, 0, 1), event(302, HOUR, 2), event(105, 2 * HOUR, 3)])
    (found,) = folder.state.instances.values()

    assert not_at_work(found, [], []) == []


def test_a_stop_and_a_start_in_the_same_second_take_nothing() -> None:
    assert at_work(not_at_work(instance([DAY], [DAY]), [], []), 0, 2 * DAY) == 2 * DAY


def test_a_log_that_is_silent_tells_of_no_more_than_a_day() -> None:
    off = not_at_work(instance(), [], [daily(0, 9)])

    assert at_work(off, 0, 40 * DAY) == 9 * DAY + HOUR + SILENCE


def test_a_log_with_many_records_is_heard_all_the_time() -> None:
    dense = Channel(computer="dc01", channel="directory service")
    of: dict[str, str] = {"computer": "dc01", "channel": "Directory Service"}
    cover(dense, Coverage(first=1, last=90_000, first_time=0.0, last_time=60 * DAY, **of))

    off = not_at_work(instance([0, 50 * DAY]), [], [dense])

    assert at_work(off, 0, 60 * DAY) == pytest.approx(60 * DAY, abs=2 * HOUR)


GRID = 64
"""Parts of a second of which doubles of such times hold sums exactly."""
TIMES = st.lists(st.integers(0, 200 * int(DAY) * GRID).map(lambda parts: parts / GRID), max_size=12)


@given(TIMES, TIMES, TIMES, TIMES, st.randoms(use_true_random=False))
def test_no_history_counts_more_than_the_calendar_and_spans_are_apart(
    starts: list[float],
    stops: list[float],
    done: list[float],
    heard: list[float],
    rng: random.Random,
) -> None:
    known = instance(sorted(starts), sorted(stops))
    off = not_at_work(known, events(*sorted(done)), [log(*heard)])
    ends = [moment for stretch in off for moment in stretch]
    one, two, three = sorted(
        rng.randrange(-int(DAY) * GRID, 300 * int(DAY) * GRID) / GRID for _ in range(3)
    )

    assert ends == sorted(ends)
    assert 0 <= at_work(off, one, three) <= three - one
    whole = at_work(off, one, two) + at_work(off, two, three)
    assert at_work(off, one, three) == whole


@pytest.mark.parametrize(
    ("days", "one", "two"),
    [
        (["mon", "tue", "wed", "thu", "fri", "sat", "sun"], DAY, 2 * DAY),
        (["mon", "tue", "wed", "thu", "fri"], 3 * DAY, 4 * DAY),
        (["sat"], 7 * DAY, 14 * DAY),
        (["sun", "sat"], 6 * DAY, 7 * DAY),
    ],
)
def test_a_window_has_passed_after_the_longest_wait_for_it(
    days: list[Any], one: float, two: float
) -> None:
    window = Window(start=parse_clock("01:00"), duration=14400.0, days=days)
    settings = Settings(
        windows={"nightly": window}, databases=[DatabaseRule(match="*priv*", window="nightly")]
    )
    watched = Database(computer="ex01", database="e:\\mdb06\\priv06.edb")

    assert one_window(window) == one + 14400
    assert two_windows(window) == two + 14400
    assert stale_seconds(watched, settings) == two + 14400


def test_without_a_window_two_are_seven_days() -> None:
    unknown = Database(computer="ex01", database="c:\\app.edb")

    assert (one_window(None), two_windows(None)) == (3.5 * DAY, 7 * DAY)
    assert stale_seconds(unknown, Settings()) == 7 * DAY
