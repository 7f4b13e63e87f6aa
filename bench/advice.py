"""What advice costs the daemon, where each database has as much history as the state keeps."""

import gc
import tempfile
import time
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from bench.figure import Figure
from bench.histories import DAY, HOUR, SETTINGS, full_state
from esewatch.config import DatabaseRule, Settings
from esewatch.daemon.shown_groups import OLD_SECONDS, ShownGroups
from esewatch.fold.state import rollups
from esewatch.fold.state.state import Instance, State
from esewatch.journal import Journal

LARGE: Final = 1000
SMALL: Final = 50
SNAPSHOT_SECONDS: Final = 10.0
"""From one snapshot to the next."""


def run() -> list[Figure]:
    """CPU, memory and what the journal writes; CPU time, so that a busy machine matters little."""
    now = (time.time() // DAY - 1) * DAY + 14 * HOUR
    return [
        *_snapshots(SMALL, 0.05, now),
        *_snapshots(LARGE, 0.5, now),
        _with_rules(now),
        _kept(now),
        _written(now),
    ]


def _snapshots(databases: int, limit: float, now: float) -> list[Figure]:
    """Metrics, judgements and figures of the pages: of all for the first time, and of a fleet
    without news."""
    state, groups = full_state(databases, now), ShownGroups()
    begin = time.process_time()
    _judge_all(groups, state, now)
    first = time.process_time() - begin
    snapshots = round(OLD_SECONDS / SNAPSHOT_SECONDS)
    begin = time.process_time()
    for place in range(1, snapshots + 1):
        groups.show(state, SETTINGS, now + OLD_SECONDS + place * SNAPSHOT_SECONDS)
    used = time.process_time() - begin
    history = f"512 events, {rollups.MAX_DAYS} days and 128 backups each"
    return [
        Figure(
            f"CPU of the first snapshots of {databases:,} databases",
            1000 * first / databases,
            "ms a database",
            details=f"all judged, {first:.3g} s; {history}",
        ),
        Figure(
            f"CPU of advice, {databases:,} databases",
            100 * used / OLD_SECONDS,
            "% of a core",
            "under",
            limit,
            f"five minutes without news and {snapshots} snapshots, {used:.3g} s; {history}",
        ),
    ]


def _judge_all(groups: ShownGroups, state: State, now: float, of: Settings = SETTINGS) -> None:
    groups.show(state, of, now)
    while groups.waits:
        groups.show(state, of, now)
    if sum(len(each.advice) for each in groups.groups.values()) != len(state.databases):
        raise RuntimeError("not all databases were advised")


def _with_rules(now: float) -> Figure:
    state = full_state(LARGE, now)
    rules = [DatabaseRule(match=label, window="nightly") for _, label in state.databases]
    settings = msgspec.structs.replace(SETTINGS, databases=rules)
    begin = time.process_time()
    _judge_all(ShownGroups(), state, now, settings)
    used = 1000 * (time.process_time() - begin) / LARGE
    what = f"CPU of the first snapshots of {LARGE:,} databases with a rule each"
    return Figure(what, used, "ms a database")


def _kept(now: float) -> Figure:
    """What is remembered of the judged, as Python counts its memory."""
    state, groups = full_state(SMALL, now), ShownGroups()
    tracemalloc.start()
    try:
        _judge_all(groups, state, now)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] / SMALL / 1000
    finally:
        tracemalloc.stop()
    details = f"{SMALL} databases with their metrics and figures, without the state of each"
    return Figure("memory that snapshots keep of a database", kept, "KB", "under", 40, details)


def _written(now: float) -> Figure:
    """One more sample of each instance, with its year behind it and without."""
    known = list(full_state(SMALL, now).instances.values())
    full = _bytes_of_a_sample(known, now)
    empty = _bytes_of_a_sample(
        [msgspec.structs.replace(each, days=bytearray()) for each in known], now
    )
    return Figure(
        f"journal bytes of a sample with {rollups.MAX_DAYS} days behind it beside one without",
        full / empty,
        "x",
        "under",
        1.1,
        f"{SMALL} instances: {full / 1000:.0f} KB and {empty / 1000:.0f} KB",
    )


def _bytes_of_a_sample(instances: Iterable[Instance], now: float) -> int:
    state = State(instances={(i.computer, i.ese_instance.lower()): i for i in instances})
    changed = {("instance", *key) for key in state.instances}
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal.db")
        try:
            for later in (0.0, 15.0):
                for instance in state.instances.values():
                    rollups.add(instance.days, now + later, "pages_read", 1.0)
                before = _size(Path(folder))
                journal.commit(state, changed, {})
            return _size(Path(folder)) - before
        finally:
            journal.close()


def _size(folder: Path) -> int:
    """Bytes of what was written ahead, which only grows before it is first carried over."""
    return (folder / "journal.db-wal").stat().st_size
