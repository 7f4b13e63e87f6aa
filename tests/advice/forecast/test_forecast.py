import datetime
import math
import random

import msgspec
import pytest

from esewatch.advice.forecast.forecast import Course, Forecast, forecast
from esewatch.advice.history.passes import Mark
from esewatch.config import Window
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass
from tests.support.each import of_each

DAY = 86400.0
HOUR = 3600.0
BEGIN = 14_000 * DAY
NIGHTLY = Window(start=datetime.time(1), duration=4 * HOUR)


def steady(nights: int, *, skip: tuple[int, ...] = (), each: int = 4) -> Course:
    """Passes of `each` nights of four hours, from 01:00 UTC, up to `nights`."""
    passes: list[Pass] = []
    runs: list[Run] = []
    open_runs: list[Run] = []
    for night in range(nights):
        if night in skip:
            continue
        start = BEGIN + night * DAY + HOUR
        open_runs.append(Run(start, start + 4 * HOUR))
        if len(open_runs) == each:
            passes.append(whole(open_runs))
            runs += open_runs
            open_runs = []
    if open_runs:
        passes.append(begun(open_runs[0].start, open_runs[-1].end or 0.0))
    return Course(passes, [*runs, *open_runs], NIGHTLY)


def whole(runs: list[Run]) -> Pass:
    seconds = sum((run.end or 0.0) - run.start for run in runs)
    return Pass(
        task="defrag",
        started=runs[0].start,
        ended=runs[-1].end,
        outcome="completed",
        work_seconds=seconds,
    )


def begun(started: float | None, heard: float) -> Pass:
    return Pass(
        task="defrag",
        started=started,
        ended=None,
        outcome="open",
        interrupted=True,
        last_event=heard,
    )


def told(course: Course, now: float) -> Forecast:
    return forecast("defrag", course, now)


def nights_from(now: float, date: float | None) -> float:
    assert date is not None
    return (date - now) / DAY


def test_a_steady_pass_ends_after_the_nights_it_lacks() -> None:
    now = BEGIN + 21 * DAY + 12 * HOUR
    result = told(steady(22), now)
    assert (result.passes, result.nights, result.pattern) == (5, 22, "configured")
    assert result.reason == ""
    assert result.progress == pytest.approx(0.5, abs=0.02)
    # Two windows are left; the second ends 05:00 of the day after tomorrow.
    assert 1.5 < nights_from(now, result.p50) < 2.8
    assert 1.7 < nights_from(now, result.p90) < 3.8


def test_skipped_nights_of_the_past_are_skipped_in_future() -> None:
    now = BEGIN + 33 * DAY + 12 * HOUR
    every = told(steady(34), now)
    some = told(steady(34, skip=(2, 5, 9, 12, 17, 20, 26, 29)), now)
    assert every.p90 is not None
    assert some.p90 is not None
    assert some.p90 > every.p90 + DAY


def test_a_grown_database_needs_longer() -> None:
    now = BEGIN + 21 * DAY + 12 * HOUR
    first = int(BEGIN // DAY)
    sizes = [(first + day, 1e9 * (1 + day / 22)) for day in range(22)]
    same, grown = told(steady(22), now), told(steady(22)._replace(sizes=sizes), now)
    assert same.p50 is not None
    assert grown.p50 is not None
    assert grown.p50 > same.p50
    assert grown.days_per_pass is not None
    assert grown.days_per_pass_later is not None
    assert grown.days_per_pass_later > 2 * grown.days_per_pass


def test_days_per_pass_follow_from_the_work_and_the_nights() -> None:
    result = told(steady(22), BEGIN + 21 * DAY + 12 * HOUR)
    assert result.days_per_pass == pytest.approx(4, rel=0.02)
    assert result.days_per_pass_later is None


def test_a_pass_of_half_a_night_takes_a_day() -> None:
    course = steady(22, each=1)
    short = [
        msgspec.structs.replace(each, work_seconds=HOUR) for each in course.passes if each.ended
    ]
    result = told(course._replace(passes=short), BEGIN + 21 * DAY + 12 * HOUR)
    assert result.days_per_pass == 1


def test_between_passes_there_is_nothing_to_tell_but_the_pace() -> None:
    result = told(steady(20), BEGIN + 20 * DAY)
    assert (result.p50, result.p90, result.progress) == (None, None, None)
    assert result.reason == "no pass is running"
    assert result.days_per_pass == pytest.approx(4, rel=0.02)


def test_what_happened_later_is_not_known_yet() -> None:
    now = BEGIN + 21 * DAY + 12 * HOUR
    assert told(steady(44), now).p50 == told(steady(22), now).p50
    assert told(steady(44), now).p90 == told(steady(22), now).p90


def test_the_same_history_always_tells_the_same() -> None:
    now = BEGIN + 21 * DAY + 12 * HOUR
    assert told(steady(22), now) == told(steady(22), now)


def test_one_whole_pass_tells_a_wide_range() -> None:
    now = BEGIN + 5 * DAY + 12 * HOUR
    one = told(steady(6), now)
    many = told(steady(38), BEGIN + 37 * DAY + 12 * HOUR)
    assert one.p50 is not None
    assert one.p90 is not None
    assert many.p50 is not None
    assert many.p90 is not None
    assert one.p90 - one.p50 > 2 * DAY
    assert one.p90 - one.p50 > many.p90 - many.p50


def test_a_pass_longer_than_all_before_still_has_dates() -> None:
    course = steady(20)
    runs = [Run(BEGIN + day * DAY + HOUR, BEGIN + day * DAY + 5 * HOUR) for day in range(20, 32)]
    late = begun(runs[0].start, runs[-1].end or 0.0)
    now = BEGIN + 31 * DAY + 12 * HOUR
    result = told(course._replace(passes=[*course.passes, late], runs=[*course.runs, *runs]), now)
    assert result.p50 is not None
    assert result.p90 is not None
    assert now < result.p50 <= result.p90
    assert result.progress is not None
    assert 0.9 < result.progress < 1


def test_while_it_runs_the_rest_of_the_night_counts() -> None:
    course = steady(23)
    shorter = [
        msgspec.structs.replace(each, work_seconds=15 * HOUR) if each.ended else each
        for each in course.passes
    ]
    now = BEGIN + 23 * DAY + 3.8 * HOUR
    running = [*course.runs, Run(BEGIN + 23 * DAY + HOUR, None)]
    resumed = msgspec.structs.replace(
        course.passes[-1], interrupted=False, last_event=running[-1].start
    )
    result = told(course._replace(passes=[*shorter[:-1], resumed], runs=running), now)
    assert result.p50 is not None
    assert result.progress == pytest.approx(0.99, abs=0.03)
    assert now < result.p50 < now + HOUR


@pytest.mark.parametrize(
    ("course", "reason"),
    [
        (steady(3), "no completed pass yet"),
        (Course([], [], NIGHTLY), "no pass is running"),
        (Course([], []), "no pass is running"),
        (
            Course([whole([Run(BEGIN, BEGIN + HOUR)]), begun(BEGIN + DAY, BEGIN + DAY)], []),
            "the nights on which it runs are not known yet",
        ),
        (
            Course(
                [whole([Run(BEGIN, BEGIN + HOUR)]), begun(BEGIN + DAY, BEGIN + DAY)], [], NIGHTLY
            ),
            "the first night on which it runs is not over yet",
        ),
    ],
)
def test_too_little_history_is_told_and_nothing_guessed(course: Course, reason: str) -> None:
    result = told(course, BEGIN + 3 * DAY)
    assert (result.p50, result.p90) == (None, None)
    assert result.reason == reason


def test_a_pass_whose_start_was_not_seen_has_no_date() -> None:
    course = steady(22)
    passes = [*course.passes[:-1], begun(None, BEGIN + 21 * DAY)]
    result = told(course._replace(passes=passes), BEGIN + 21 * DAY + 12 * HOUR)
    assert result.reason == "the start of the running pass was not seen"


def test_a_pass_not_heard_of_for_a_week_has_no_date() -> None:
    last = BEGIN + 21 * DAY + 5 * HOUR
    assert told(steady(22), last + 7 * DAY).p90 is not None
    result = told(steady(22), last + 7 * DAY + 1)
    assert (result.p50, result.p90) == (None, None)
    assert result.reason == "it has logged nothing for seven days or two windows"


def test_records_missed_during_the_pass_hold_the_forecast_back() -> None:
    now = BEGIN + 21 * DAY + 12 * HOUR
    begin = BEGIN + 20 * DAY + 6 * HOUR
    short = steady(22)._replace(gaps=[(begin, begin + 3 * HOUR, 5)])
    assert told(short, now).p90 is not None
    missed = told(steady(22)._replace(gaps=[(begin, begin + 5 * HOUR, 5)]), now)
    assert missed.p90 is None
    assert missed.reason == "records of more than one window are missing from this pass"


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf, -1e12, 1e300])
def test_a_damaged_present_has_no_forecast(now: float) -> None:
    result = told(steady(22), now)
    assert (result.p50, result.p90) == (None, None)
    assert result.reason == "the clock of this machine is wrong"


def scans(days: list[float], marks: list[Mark]) -> Course:
    """Background scans of so many days, and one that began at BEGIN."""
    passes = [
        Pass(
            task="checksum",
            started=BEGIN - (place + 1) * 30 * DAY,
            ended=BEGIN - (place + 1) * 30 * DAY + each * DAY,
            outcome="completed",
            wall_seconds=each * DAY,
            pages_seen=1_000_000,
        )
        for place, each in reversed(list(enumerate(days)))
    ]
    last = marks[-1].time if marks else BEGIN
    running = Pass(task="checksum", started=BEGIN, ended=None, outcome="open", last_event=last)
    return Course([*passes, running], [Run(BEGIN, None)], None, 1_000_000, (), marks)


def test_a_background_scan_goes_by_its_pages() -> None:
    marks = [Mark(BEGIN + step * DAY / 4, step * 25_000.0) for step in range(1, 21)]
    now = BEGIN + 5 * DAY
    result = forecast("checksum", scans([9, 10, 11], marks=marks), now)
    assert result.pattern == "continuous"
    assert result.progress == 0.5
    assert nights_from(now, result.p50) == pytest.approx(5, abs=0.2)
    assert 5 < nights_from(now, result.p90) < 6
    assert result.days_per_pass == pytest.approx(10, abs=0.1)


def test_a_background_scan_without_pages_goes_by_its_time() -> None:
    now = BEGIN + 5 * DAY
    result = forecast("checksum", scans([9, 10, 11], marks=[]), now)
    assert nights_from(now, result.p50) == pytest.approx(5, abs=0.2)
    assert result.progress == pytest.approx(0.5, abs=0.02)


def test_a_background_scan_of_a_larger_database_takes_longer() -> None:
    now = BEGIN + 5 * DAY
    course = scans([9, 10, 11], marks=[])._replace(pages=2_000_000)
    assert nights_from(now, forecast("checksum", course, now).p50) == pytest.approx(15, abs=0.5)


def test_the_first_background_scan_goes_by_its_own_pages() -> None:
    marks = [Mark(BEGIN + step * DAY / 4, step * 25_000.0) for step in range(1, 21)]
    now = BEGIN + 5 * DAY
    result = forecast("checksum", scans([], marks=marks), now)
    assert result.passes == 0
    assert nights_from(now, result.p50) == pytest.approx(5, abs=0.2)


def unknown(course: Course) -> str:
    result = forecast("checksum", course, BEGIN + 2 * DAY)
    assert result.p90 is None
    return result.reason


def test_a_background_scan_without_history_has_no_date() -> None:
    course = scans([], marks=[Mark(BEGIN + DAY, 5.0)])
    unsized = [Mark(BEGIN + step * DAY / 4, step * 25_000.0) for step in range(1, 7)]
    none = "its duration is not known: there is no completed pass and"
    assert unknown(course) == f"{none} too few counts of pages"
    assert unknown(course._replace(marks=unsized, pages=None)) == (
        f"{none} the size of the database is not known"
    )
    logged = Pass(
        task="checksum", started=None, ended=BEGIN - DAY, outcome="completed", wall_seconds=None
    )
    assert unknown(course._replace(passes=[logged, *course.passes])) == (
        "its duration is not known: no completed pass has one, and too few counts of pages"
    )


@pytest.mark.parametrize("marks", [[], [Mark(BEGIN + DAY, 100_000.0)]], ids=["none", "one"])
def test_a_scan_that_begins_unseen_says_so_beside_completed_ones(marks: list[Mark]) -> None:
    """The log has 744 of the running scan, and no 736: ten passes before it completed."""
    course = scans([9, 10, 11], marks=marks)
    unseen = msgspec.structs.replace(course.passes[-1], started=None)
    course = course._replace(passes=[*course.passes[:-1], unseen])
    assert unknown(course) == "the start of the running pass was not seen"


def test_a_background_scan_silent_for_twice_its_time_has_no_date() -> None:
    course = scans([9, 10, 11], marks=[])
    assert forecast("checksum", course, BEGIN + 19 * DAY).p90 is not None
    assert forecast("checksum", course, BEGIN + 21 * DAY).p90 is None


@of_each(range(60))
def test_damaged_history_never_makes_a_wrong_kind_of_date(seed: int) -> None:
    chance = random.Random(seed)
    now = BEGIN + 22 * DAY

    def amount() -> float:
        return chance.choice([0.0, -1.0, 1.0, 1e-300, 1e30, 1e300, math.nan, math.inf, DAY, 9e5])

    def time() -> float:
        return BEGIN + chance.uniform(-5, 30) * DAY

    passes = [
        Pass(
            task="checksum",
            started=chance.choice([None, time()]),
            ended=time(),
            outcome=chance.choice(["completed", "abandoned", "partial"]),
            work_seconds=chance.choice([None, amount()]),
            wall_seconds=chance.choice([None, None, amount()]),
            pages_seen=chance.choice([None, 0, -4, 10**30, 5000]),
        )
        for _ in range(chance.randrange(6))
    ]
    passes.append(begun(chance.choice([None, time()]), now))
    starts = sorted(time() for _ in range(chance.randrange(20)))
    course = Course(
        passes,
        [Run(start, start + chance.uniform(0, DAY)) for start in starts],
        chance.choice([None, NIGHTLY]),
        amount(),
        [(int(BEGIN // DAY) + day, amount()) for day in range(chance.randrange(20))],
        sorted(Mark(time(), amount()) for _ in range(chance.randrange(5))),
        [(start, time(), 3) for start in starts[:2]],
    )
    for task in ("defrag", "checksum"):
        result = forecast(task, course, now)
        if result.p50 is not None:
            assert math.isfinite(result.p50)
            assert result.p50 >= now
        if result.p90 is not None:
            assert math.isfinite(result.p90)
            assert result.p50 is not None
            assert result.p50 <= result.p90
        else:
            assert result.reason
        for value in (result.progress, result.days_per_pass, result.days_per_pass_later):
            assert value is None or (math.isfinite(value) and value >= 0)
        assert result.progress is None or result.progress <= 1
