"""Databases whose passes take chance: what forecasts are held against. Seeded."""

import datetime
import random
from typing import NamedTuple

from esewatch.advice.forecast.forecast import Course
from esewatch.advice.history.passes import Mark
from esewatch.config import Window
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass

DAY = 86400.0
HOUR = 3600.0
BEGIN = 14_000 * DAY
PAGE = 8192.0
MAX_PASSES = 64


class World(NamedTuple):
    """How one database is kept. Noise is the sigma of logarithms."""

    nights: float = 4.0
    """Windows that a pass needs at first, when none is skipped."""
    hours: float = 4.0
    """Of the window, from 01:00 UTC."""
    skipped: float = 0.1
    """Share of the nights on which nothing runs."""
    cut: float = 0.1
    """Share of the nights that end early."""
    pass_noise: float = 0.1
    night_noise: float = 0.15
    growth: float = 0.001
    """Share of the size that comes a day."""
    weekdays: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6)
    days: int = 150


def windowed(world: World, seed: str, *, task: str, configured: bool = True) -> Course:
    """The whole course of a task that runs in a window, one pass after the other.

    A scan has the second half of the window; its passes tell their pages.
    """
    chance = random.Random(seed)
    offset = world.hours / 2 if task == "checksum" else 0.0
    length = (world.hours - offset) * HOUR
    first_pages = 1_000_000.0
    pace = world.nights * length / first_pages
    passes: list[Pass] = []
    runs: list[Run] = []
    left: float | None = None
    started, work, number, factor, pages = 0.0, 0.0, 0, 1.0, first_pages
    for day in range(world.days):
        midnight = BEGIN + day * DAY
        if int(midnight // DAY + 3) % 7 not in world.weekdays or chance.random() < world.skipped:
            continue
        time = midnight + (1 + offset) * HOUR + chance.uniform(0, 120)
        end = midnight + (1 + world.hours) * HOUR + chance.uniform(0, 120)
        if chance.random() < world.cut:
            end = time + (end - time) * chance.uniform(0.1, 0.9)
        speed = chance.lognormvariate(0, world.night_noise)
        if left is None:
            pages = first_pages * (1 + world.growth * day)
            factor = chance.lognormvariate(0, world.pass_noise)
            started, work, number, left = time, 0.0, 0, pages
        number += 1
        rate = speed / (pace * factor)
        done = time + left / rate
        over = min(done, end)
        runs.append(Run(time, over))
        work += over - time
        left -= (over - time) * rate
        if done <= end:
            passes.append(_done(task, started, over, pages, work=work, invocations=number))
            left = None
    if left is not None:
        last = runs[-1].end or 0.0
        passes.append(_open(task, started, last))
    sizes = [
        (int(BEGIN // DAY) + day, first_pages * PAGE * (1 + world.growth * day))
        for day in range(world.days)
    ]
    window = None
    if configured:
        window = Window(start=datetime.time(1), duration=world.hours * HOUR)
    return Course(passes, runs, window, pages, sizes)


def continuous(
    seed: str,
    *,
    days: float,
    number: int,
    pass_noise: float = 0.15,
    noise: float = 0.3,
    growth: float = 0.02,
) -> list[tuple[Course, float]]:
    """Background scans of one database: for each but the first two, its course and its end.

    The marks of a course are of its last pass, one every six hours; `growth` is that of a pass.
    """
    chance = random.Random(seed)
    pages, time = 1_000_000.0, BEGIN
    passes: list[Pass] = []
    found = []
    for index in range(number):
        factor = days * DAY / 1_000_000.0 * chance.lognormvariate(0, pass_noise)
        started, seen, marks = time, 0.0, []
        while True:
            pace = factor * chance.lognormvariate(0, noise)
            if seen + 6 * HOUR / pace >= pages:
                time += (pages - seen) * pace
                break
            time, seen = time + 6 * HOUR, seen + 6 * HOUR / pace
            marks.append(Mark(time, float(int(seen))))
        done = _done("checksum", started, time, pages, wall=time - started)
        if index >= 2:
            found.append((Course([*passes, done], [], None, pages, (), marks), time))
        passes.append(done)
        pages *= 1 + growth
        time += DAY
    return found


def _open(task: str, started: float, heard: float) -> Pass:
    return Pass(
        task=task, started=started, ended=None, outcome="open", interrupted=True, last_event=heard
    )


def _done(
    task: str,
    started: float,
    ended: float,
    pages: float,
    *,
    work: float | None = None,
    wall: float | None = None,
    invocations: int = 1,
) -> Pass:
    return Pass(
        task=task,
        started=started,
        ended=ended,
        outcome="completed",
        last_event=ended,
        work_seconds=None if work is None else float(int(work)),
        wall_seconds=None if wall is None else float(int(wall)),
        invocations=invocations,
        pages_seen=int(pages) if task == "checksum" else None,
    )
