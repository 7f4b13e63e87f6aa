"""The sides of the experiments that run the engine, as servers that an agent watches.

Each has names of its own. Their records are the engine's own event and counter logs; where a log
was written again, it is said here and, where its figures are the published ones, in the case.
"""

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from eselab.lab.experiments import checksum_parallel, old_ratio, write_cache, zeroing
from esewatch.config import DatabaseRule, Policy, Settings, Window
from tests.eselab.lab import signals_records as made
from tests.rules.quality.engine_made import backups
from tests.rules.quality.month import DAY, END, HOUR, START, Month

DAYS = 3
"""Of a side whose alert needs no longer history."""
BEGIN = END - DAYS * DAY
STEP = 300
"""Seconds between two samples of the engine's counters, and of what Prometheus has."""


class Side(NamedTuple):
    """One case of an experiment."""

    experiment: str
    case: str
    months: Sequence[Month]
    """Of its computers, each with an agent."""
    since: float = BEGIN
    """From when on Prometheus has its series, epoch seconds."""
    step: int = STEP
    """Seconds between two samples in Prometheus."""
    bad_from: float = START
    """A bad side raises nothing before."""


def watched(
    rules: Sequence[DatabaseRule], start: datetime.time = datetime.time(1), hours: float = 4.0
) -> Settings:
    """Databases with a window each night."""
    return Settings(
        windows={"nightly": Window(start=start, duration=hours * HOUR)}, databases=list(rules)
    )


def old_ratios(folder: Path, pages: int = 2000) -> Iterator[Side]:
    """Each churn over a month, as the only database of a server of its own, with backups."""
    found = made.records(made.ran(folder, old_ratio.plan(pages), START, (END - START) / DAY))
    rule = DatabaseRule(match="*.edb", window="nightly")
    settings = msgspec.structs.replace(watched([rule]), policy=Policy(min_pages_read=2 * pages))
    for churn in old_ratio.CHURNS:
        computer = f"ratio-{churn.name}"
        name = f"{computer}-db"
        month = made.of_store(found, {churn.name: name}, computer)
        month += backups(computer, [name])
        yield Side(
            old_ratio.EXPERIMENT.name,
            churn.name,
            [Month(computer, churn.name, month, settings)],
            since=START,
        )


def checksums(folder: Path, pages: int = 1000) -> Iterator[Side]:
    """The experiment's own runs, over nights instead of one scan."""
    for computer, case, luns in (
        ("scan1", "one database", ["lun7"]),
        ("scan2", "two on one LUN", ["lun7", "lun7"]),
        ("scan3", "two on two LUNs", ["lun7", "lun8"]),
    ):
        plan = {**checksum_parallel.plan(luns, pages), "sample": STEP}
        found = made.records(made.ran(folder / computer, plan, BEGIN, DAYS))
        called = {f"priv{number}": f"{computer}-db{number}" for number in range(1, len(luns) + 1)}
        rules = [
            DatabaseRule(match=f"*{name}.edb", window="nightly", device=lun)
            for name, lun in zip(called.values(), luns, strict=True)
        ]
        month = made.of_store(found, called, computer)
        settings = watched(rules, datetime.time(0, 1), 240.0 / HOUR)
        yield Side(
            checksum_parallel.EXPERIMENT.name, case, [Month(computer, case, month, settings)]
        )


def zeroings(folder: Path, pages: int = 500) -> Iterator[Side]:
    """The experiment's own runs, of one database and of two on a LUN.

    No rule tells of the logs that zeroing makes: `esewatch advise --what-if` tells them before.
    """
    for computer, case, databases in (("zero1", "one database", 1), ("zero2", "two on one LUN", 2)):
        plan = {**zeroing.plan(databases, pages), "sample": STEP}
        found = made.records(made.ran(folder / computer, plan, BEGIN, DAYS))
        called = {f"priv{number}": f"{computer}-db{number}" for number in range(1, databases + 1)}
        rule = DatabaseRule(match="*.edb", window="nightly", device="lun7")
        month = made.of_store(found, called, computer)
        yield Side(zeroing.EXPERIMENT.name, case, [Month(computer, case, month, watched([rule]))])


GONE = START + 28 * DAY
"""When a controller loses its cache: its alert compares with 28 days."""
COUNTED_EVERY = 600.0
RUN_SECONDS = 15.0


def write_caches(folder: Path) -> Iterator[Side]:
    """Some days with the cache, and a month in which it is gone after 28 days.

    A row of a counter log is a second of the experiment's run, which never rests; here it stands
    for ten minutes, and the rows of a run come over and over. Requests and latencies only.
    """
    cached, none = (
        made.requests(_seconds(folder / name, cache))
        for name, cache in (("cached", checksum_parallel.DRIVES["write_cache"]), ("none", 0))
    )
    for computer, case, since, gone in (
        ("cache-on", "write cache on", BEGIN, END),
        ("cache-off", "write cache off", START, GONE),
    ):
        # The first row is where the totals begin.
        rows = [cached[0], *made.repeated(cached[2:], since, gone, COUNTED_EVERY)]
        rows += made.repeated(none[2:], gone, END, COUNTED_EVERY)
        found = made.opening(folder / "cached") + made.counted(folder / f"{computer}.csv", rows)
        name = f"{computer}-db"
        month = made.of_store(found, {"priv1": name}, computer) + backups(computer, [name])
        rule = DatabaseRule(match="*.edb", window="nightly", storage="das")
        months = [Month(computer, case, month, watched([rule]))]
        yield Side(write_cache.EXPERIMENT.name, case, months, since=since, bad_from=GONE)


def _seconds(folder: Path, cache: int) -> list[made.Row]:
    made.ran(folder, write_cache.plan(cache), START, RUN_SECONDS / DAY)
    return made.rows(folder)
