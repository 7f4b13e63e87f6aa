import datetime

import pytest

from esewatch.advice.forecast.window_usage import Pattern, WorkNight, capped, finish, pattern
from esewatch.config import Window
from esewatch.config.calendar import Opening
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

DAY = 86400.0
HOUR = 3600.0
BEGIN = 14_000 * DAY  # a Thursday
NIGHTLY = Window(start=datetime.time(1), duration=4 * HOUR)


def running(started: float = BEGIN) -> Pass:
    return Pass(task="defrag", started=started, ended=None, outcome="open")


def nightly(nights: range, hours: float = 4.0) -> list[Run]:
    starts = [BEGIN + night * DAY + HOUR for night in nights]
    return [Run(start, start + hours * HOUR) for start in starts]


def found(
    runs: list[Run],
    window: Window | None = NIGHTLY,
    *,
    now: float,
    passes: list[Pass] | None = None,
    gaps: list[tuple[float, float, int]] | None = None,
) -> Pattern:
    result = pattern(runs, passes or [running()], window, now, gaps or [])
    assert result is not None
    return result


def seconds(nights: list[WorkNight]) -> list[float]:
    return [night.seconds for night in nights]


def test_each_opening_is_a_night_and_one_without_a_run_was_skipped() -> None:
    runs = [run for run in nightly(range(5)) if run.start != BEGIN + 2 * DAY + HOUR]
    result = found(runs, now=BEGIN + 5 * DAY)
    assert seconds(result.nights) == [4 * HOUR, 4 * HOUR, 0, 4 * HOUR, 4 * HOUR]
    assert result.tonight is None
    assert result.rest == []


def test_nights_without_an_open_pass_do_not_count() -> None:
    done = Pass(task="defrag", started=BEGIN, ended=BEGIN + DAY + 5 * HOUR, outcome="completed")
    runs = [*nightly(range(2)), *nightly(range(4, 6))]
    passes = [done, running(BEGIN + 4 * DAY + HOUR)]
    assert len(found(runs, now=BEGIN + 6 * DAY, passes=passes).nights) == 4


def test_nights_with_missed_records_do_not_count() -> None:
    gaps = [(BEGIN + 2 * DAY + 2 * HOUR, BEGIN + 2 * DAY + 3 * HOUR, 7)]
    assert len(found(nightly(range(5)), now=BEGIN + 5 * DAY, gaps=gaps).nights) == 4


def test_a_night_that_ended_with_its_pass_could_have_been_as_long_as_others() -> None:
    runs = nightly(range(4))
    runs[1] = Run(runs[1].start, runs[1].start + HOUR)
    done = Pass(task="defrag", started=BEGIN, ended=runs[1].end, outcome="completed")
    result = found(runs, now=BEGIN + 4 * DAY, passes=[done, running(runs[2].start)])
    assert seconds(result.nights) == [4 * HOUR] * 4


def test_where_all_nights_end_with_their_pass_the_window_is_the_limit() -> None:
    runs = nightly(range(4), hours=1)
    passes = [
        Pass(task="defrag", started=run.start, ended=run.end, outcome="completed") for run in runs
    ]
    result = found(runs, now=BEGIN + 4 * DAY, passes=passes)
    assert seconds(result.nights) == [4 * HOUR] * 4


def test_tonight_goes_on_as_nights_that_were_as_far() -> None:
    runs = [*nightly(range(3)), *nightly(range(3, 5), hours=1)]
    tonight = BEGIN + 5 * DAY + HOUR
    result = found([*runs, Run(tonight, None)], now=tonight + 2 * HOUR)
    assert result.tonight == Opening(tonight, tonight + 4 * HOUR)
    assert seconds(result.rest) == [2 * HOUR] * 3


def test_what_stopped_early_tonight_stays_stopped_as_it_did_before() -> None:
    runs = nightly(range(5), hours=1)
    result = found(runs, now=BEGIN + 4 * DAY + 3 * HOUR)
    assert seconds(result.rest) == [0] * 4


def test_what_runs_where_nothing_ever_did_goes_on_to_the_end() -> None:
    tonight = BEGIN + 5 * DAY + HOUR
    runs = [*nightly(range(5), hours=1), Run(tonight, None)]
    result = found(runs, now=tonight + 2 * HOUR)
    assert seconds(result.rest) == [2 * HOUR]


def test_without_a_window_the_days_are_observed() -> None:
    result = found(nightly(range(5)), None, now=BEGIN + 5 * DAY + 12 * HOUR)
    assert result.rhythm.window is None
    assert result.rhythm.boundary / HOUR == pytest.approx(15, abs=0.5)
    assert seconds(result.nights) == [4 * HOUR] * 5
    upcoming = next(result.rhythm.after(BEGIN + 5 * DAY + 12 * HOUR))
    assert upcoming.start + finish(result.nights[0], 0) == BEGIN + 6 * DAY + HOUR


def test_a_night_over_midnight_is_one() -> None:
    runs = [Run(run.start - 3 * HOUR, run.start + HOUR) for run in nightly(range(1, 6))]
    assert seconds(found(runs, None, now=BEGIN + 6 * DAY).nights) == [4 * HOUR] * 5


def test_weekdays_without_a_run_are_closed() -> None:
    runs = [run for run in nightly(range(28)) if int(run.start // DAY + 3) % 7 < 5]
    result = found(runs, None, now=BEGIN + 28 * DAY - 12 * HOUR)
    assert all(seconds(result.nights))
    upcoming = result.rhythm.after(BEGIN + 28 * DAY)
    assert {int((next(upcoming).end - HOUR) // DAY + 3) % 7 for _ in range(10)} == set(range(5))


def test_two_nights_are_no_pattern() -> None:
    assert pattern(nightly(range(2)), [running()], None, BEGIN + 2 * DAY) is None


def test_a_window_in_which_nothing_runs_is_not_believed() -> None:
    runs = [Run(run.start + 10 * HOUR, run.start + 12 * HOUR) for run in nightly(range(7))]
    result = found(runs, now=BEGIN + 7 * DAY)
    assert result.rhythm.window is None
    assert seconds(result.nights).count(2 * HOUR) >= 6


def test_nights_count_from_the_first_run_on() -> None:
    assert len(found(nightly(range(4, 6)), now=BEGIN + 7 * DAY).nights) == 3
    assert found([], now=BEGIN + 7 * DAY).nights == []


def test_a_window_without_days_is_none() -> None:
    never = Window(start=datetime.time(1), duration=HOUR, days=[])
    assert found(nightly(range(5)), never, now=BEGIN + 5 * DAY).rhythm.window is None


def test_a_run_without_an_end_ends_with_its_window() -> None:
    start = BEGIN + DAY + HOUR
    result = found(nightly(range(1)), now=BEGIN + 3 * DAY)
    assert capped([Run(start, None)], result.rhythm, BEGIN + 3 * DAY) == [
        Run(start, start + 4 * HOUR + 900)
    ]
    assert capped([Run(start, None)], result.rhythm, start + 60) == [Run(start, start + 60)]


def test_work_is_done_along_the_stretches_of_a_night() -> None:
    night = WorkNight(((100, 200), (500, 900)), 500)
    assert [finish(night, work) for work in (0, 100, 150, 500)] == [100, 200, 550, 900]
    assert finish(WorkNight((), 0), 0) == 0
