"""How often the dates of forecasts hold, at moments chosen by chance over simulated years."""

import random
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from esewatch.advice.forecast import Course, Forecast, forecast
from tests.advice.simulated_passes import BEGIN, DAY, World, continuous, windowed
from tests.support.figures import record

LEAST_PASSES = 300


class Held(NamedTuple):
    """One forecast: which pass it was of, its progress as told, and which dates held."""

    of: str
    progress: float
    p50: bool
    p90: bool


def judged(result: Forecast, of: str, now: float, end: float) -> Iterator[Held]:
    """Nothing where the forecast told no dates."""
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
    for world in worlds:
        for seed in range(each):
            name = f"{task} {configured} {world} {seed}"
            course = windowed(world, name, task=task, configured=configured)
            yield from moments(course, task, world, name)


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


def assert_calibrated(what: str, found: Iterable[Held]) -> None:
    """The dates hold as often as they say; the table of it by progress goes to the figures."""
    cases = list(found)
    quarters: dict[str, list[Held]] = {"all": cases}
    for each in cases:
        first = min(3, int(each.progress * 4)) * 25
        quarters.setdefault(f"{first} to {first + 25} %", []).append(each)
    table = {
        name: (len(held), share([each.p50 for each in held]), share([each.p90 for each in held]))
        for name, held in sorted(quarters.items())
    }
    for name, (number, p50, p90) in table.items():
        line = f"{number} forecasts: p50 held in {p50:.0%}, p90 in {p90:.0%}"
        print(f"{what}, progress {name}: {line}")
        record(f"Forecast, {what}, progress {name}", line)
    _, p50, p90 = table.pop("all")
    assert len({each.of for each in cases}) >= LEAST_PASSES
    assert 0.40 <= p50 <= 0.60
    assert 0.85 <= p90 <= 0.95
    for number, _, held in table.values():
        assert number < 30 or held >= 0.75


def share(held: list[bool]) -> float:
    return sum(held) / len(held)


KINDS = [World(nights=nights, hours=hours) for nights in (0.8, 2, 5, 9) for hours in (2, 4, 8)]


@pytest.mark.parametrize(
    ("what", "task", "configured"),
    [
        ("defragmentation in a window", "defrag", True),
        ("scan in a window", "checksum", True),
        ("defragmentation, window not configured", "defrag", False),
    ],
)
def test_dates_of_passes_in_windows_hold_as_often_as_they_say(
    what: str, task: str, configured: bool
) -> None:
    assert_calibrated(what, in_windows(KINDS, 10, task, configured=configured))


@pytest.mark.parametrize("with_pages", [True, False])
def test_dates_of_background_scans_hold_as_often_as_they_say(with_pages: bool) -> None:
    how = "pages known" if with_pages else "pages not known"
    assert_calibrated(f"background scan, {how}", in_background(with_pages=with_pages))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("many nights skipped or cut", {"skipped": 0.3, "cut": 0.3}),
        ("noisy passes", {"pass_noise": 0.3, "night_noise": 0.4}),
        ("fast growth", {"growth": 0.006}),
        ("no weekends", {"weekdays": (0, 1, 2, 3, 4)}),
    ],
)
def test_dates_hold_under_harder_conditions(what: str, change: dict[str, Any]) -> None:
    worlds = [World(nights=nights)._replace(**change) for nights in (1.5, 3, 6)]
    configured = "weekdays" not in change
    assert_calibrated(what, in_windows(worlds, 30, "defrag", configured=configured))
