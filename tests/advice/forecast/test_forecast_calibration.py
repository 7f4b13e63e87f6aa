"""How often the dates of forecasts hold, at moments chosen by chance over simulated years."""

import random
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from esewatch.advice.forecast.forecast import Course, Forecast, forecast
from tests.advice.closed_loop import RIGHT, watched, world
from tests.advice.simulated_passes import BEGIN, DAY, World, continuous, windowed
from tests.support.figures import record

PAGE = Path(__file__).resolve().parents[3] / "docs" / "advice.md"
LEAST_PASSES = 300


class Held(NamedTuple):
    """One forecast: which pass it was of, its reported progress, and which dates held."""

    of: str
    progress: float
    p50: bool
    p90: bool


def judged(result: Forecast, of: str, now: float, end: float) -> Iterator[Held]:
    """Nothing where the forecast has no dates."""
    if result.p50 is None or result.p90 is None or result.progress is None:
        assert result.reason
        return
    assert now <= result.p50 <= result.p90
    assert 0 <= result.progress <= 1
    yield Held(of, result.progress, end <= result.p50, end <= result.p90)


def moments(course: Course, task: str, world: World, name: str, number: int = 10) -> Iterator[Held]:
    """Forecasts of one course at moments of it, from its third pass on."""
    chance = random.Random(name)
    done = [each for each in course.passes if each.outcome == "completed"]
    for _ in range(number):
        now = BEGIN + chance.uniform(0, world.days * DAY)
        for index, each in enumerate(done[2:]):
            if (
                each.started is not None
                and each.ended is not None
                and each.started <= now < each.ended
            ):
                pages = 1e6 * (1 + world.growth * (now - BEGIN) / DAY)
                sizes = [size for size in course.sizes if size[0] * DAY <= now]
                known = course._replace(pages=pages, sizes=sizes)
                yield from judged(forecast(task, known, now), f"{name} {index}", now, each.ended)


def in_windows(
    worlds: list[World], each: int, task: str, *, configured: bool = True
) -> Iterator[Held]:
    for kind in worlds:
        for seed in range(each):
            name = f"{task} {configured} {kind} {seed}"
            course = windowed(kind, name, task=task, configured=configured)
            yield from moments(course, task, kind, name)


def in_background(*, with_pages: bool) -> Iterator[Held]:
    for days in (2, 10, 25):
        for seed in range(50):
            name = f"{with_pages} {days} {seed}"
            chance = random.Random(name)
            for course, end in continuous(name, days=days, number=7):
                started = course.passes[-1].started or 0.0
                now = started + chance.uniform(0, 2 * days * DAY)
                if now < end:
                    known = course if with_pages else course._replace(marks=())
                    result = forecast("checksum", known, now)
                    yield from judged(result, f"{name} {end}", now, end)


def of_engine(folder: Path, seed: int) -> Iterator[Held]:
    """Forecasts of 120 days of a machine with a window too short, right or too long."""
    chance = random.Random(seed)
    seconds = RIGHT * chance.choice((0.5, 1.0, 1.5))
    folder.mkdir()
    known = watched(folder, world(seed, scan=seed % 2 == 1), seconds, days=120)
    course = Course(passes=known.defrag_passes, runs=known.defrag_runs, window=known.window)
    done = [each for each in course.passes if each.outcome == "completed"]
    for index, each in enumerate(done[2:]):
        assert each.started is not None
        assert each.ended is not None
        for _ in range(3):
            now = chance.uniform(each.started, each.ended)
            yield from judged(forecast("defrag", course, now), f"{seed} {index}", now, each.ended)


def row(what: str, cases: list[Held]) -> str:
    """A line of the table in docs/advice.md: how many, how often p50 held, p90, p90 by progress."""
    quarters: list[list[Held]] = [[], [], [], []]
    for each in cases:
        quarters[min(3, int(each.progress * 4))].append(each)
    cells = [
        what,
        f"{len({each.of for each in cases})}",
        f"{len(cases)}",
        f"{share([each.p50 for each in cases]):.0%}",
        f"**{share([each.p90 for each in cases]):.0%}**",
        ", ".join(f"{share([each.p90 for each in held]):.0%}" for held in quarters),
    ]
    return f"| {' | '.join(cells)} |"


def share(held: list[bool]) -> float:
    return sum(held) / len(held)


KINDS = [World(nights=nights, hours=hours) for nights in (0.8, 2, 5, 9) for hours in (2, 4, 8)]


def harder(**change: Any) -> Iterable[Held]:
    worlds = [World(nights=nights)._replace(**change) for nights in (1.5, 3, 6)]
    return in_windows(worlds, 30, "defrag", configured="weekdays" not in change)


QUICK = {
    "defragmentation in a window": partial(in_windows, KINDS, 10, "defrag"),
    "background scan, pages seen are known": partial(in_background, with_pages=True),
}
OTHERS = {
    "scan in a window": partial(in_windows, KINDS, 10, "checksum"),
    "defragmentation, window not configured": partial(
        in_windows, KINDS, 10, "defrag", configured=False
    ),
    "many nights skipped or cut short": partial(harder, skipped=0.3, cut=0.3),
    "passes and nights of very uneven work": partial(harder, pass_noise=0.3, night_noise=0.4),
    "growth by 0.6 % a day": partial(harder, growth=0.006),
    "window on workdays, not configured": partial(harder, weekdays=(0, 1, 2, 3, 4)),
    "background scan, pages seen are not known": partial(in_background, with_pages=False),
}


@pytest.mark.parametrize(
    ("what", "found"),
    [
        *QUICK.items(),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in OTHERS.items()),
    ],
    ids=lambda each: each.replace(" ", "_") if isinstance(each, str) else "",
)
def test_dates_hold_as_often_as_they_say_and_as_the_table_tells(
    what: str, found: Callable[[], Iterable[Held]]
) -> None:
    cases = list(found())

    assert len({each.of for each in cases}) >= LEAST_PASSES
    assert 0.40 <= share([each.p50 for each in cases]) <= 0.60
    assert 0.85 <= share([each.p90 for each in cases]) <= 0.95
    assert row(what, cases) in PAGE.read_text("utf-8")


@pytest.mark.slow
def test_dates_of_passes_of_the_engine_hold_as_often_as_they_say_or_more(tmp_path: Path) -> None:
    cases = [each for seed in range(12) for each in of_engine(tmp_path / str(seed), seed)]
    p50, p90 = share([each.p50 for each in cases]), share([each.p90 for each in cases])
    record(
        "forecasts of the bundled engine's online defragmentation, 12 databases for 120 days",
        f"{len(cases)} forecasts of {len({each.of for each in cases})} passes:"
        f" p50 held in {p50:.0%}, p90 in {p90:.0%}",
    )

    assert len({each.of for each in cases}) >= LEAST_PASSES
    assert p50 >= 0.35
    assert p90 >= 0.85
