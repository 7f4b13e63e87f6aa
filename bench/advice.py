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
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.config import DatabaseRule, Settings
from esewatch.daemon.advisor import OLD_SECONDS, Advisor
from esewatch.daemon.publisher import PageCache
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.fold.state import rollups
from esewatch.fold.state.state import Instance, State
from esewatch.journal import Journal

LARGE: Final = 1000
SMALL: Final = 50
SNAPSHOT_SECONDS: Final = 10.0
"""From one snapshot to the next: thirty judge 1,000 databases once in five minutes."""
WARM_SNAPSHOTS: Final = 20
"""So many judge 1,000 databases for the first time."""


def run() -> list[Figure]:
    """CPU, memory and what the journal writes; CPU time, so that a busy machine matters little."""
    now = (time.time() // DAY - 1) * DAY + 14 * HOUR
    figures = [_in_five_minutes(SMALL, 0.25, now), _in_five_minutes(LARGE, 3.0, now)]
    return [
        *figures,
        *_snapshots(now),
        _in_a_snapshot(now),
        _without_news(now),
        _kept(now),
        _written(now),
    ]


def _in_five_minutes(databases: int, limit: float, now: float) -> Figure:
    """A fleet without news: each database is judged once, what they make of each other always."""
    state, agent = full_state(databases, now), _Publishing(SETTINGS)
    _warm(agent, state, now)
    snapshots = round(OLD_SECONDS / SNAPSHOT_SECONDS)
    begin = time.process_time()
    for place in range(1, snapshots + 1):
        agent.judge(state, now + OLD_SECONDS + place * SNAPSHOT_SECONDS)
    used = time.process_time() - begin
    return Figure(
        f"CPU of advice, {databases:,} databases",
        100 * used / OLD_SECONDS,
        "% of a core",
        "under",
        limit,
        f"each judged once in five minutes and {snapshots} snapshots, {used:.3g} s; 512 events,"
        f" {rollups.MAX_DAYS} days and 128 backups each",
    )


def _snapshots(now: float) -> list[Figure]:
    """All that the daemon makes of a state: metrics, judgements and the status page; where every
    database is new, and where none has news."""
    state, agent = full_state(LARGE, now), _Publishing(SETTINGS)
    first = agent.publish(state, now)
    again = agent.publish(state, now + SNAPSHOT_SECONDS)
    rules = [DatabaseRule(match=label, window="nightly") for _, label in state.databases]
    agent = _Publishing(msgspec.structs.replace(SETTINGS, databases=rules))
    agent.publish(state, now, judge=False)
    ruled = agent.publish(state, now + SNAPSHOT_SECONDS, judge=False)
    details = "metrics, advice and status page; 512 events and 128 backups each"
    what = f"of {LARGE:,} databases"
    return [
        Figure(f"CPU of the first snapshot {what}", first, "s", details=details),
        Figure(f"CPU of a snapshot {what} without news", again, "s", details=details),
        Figure(f"CPU of a snapshot {what} with a rule each", ruled, "s", details="without advice"),
    ]


class _Publishing:
    """What `Publisher` does for a snapshot, without a journal and without sources."""

    def __init__(self, settings: Settings) -> None:
        self.advisor = Advisor()
        self._settings = settings
        self._derived: AllDerived | None = None

    def judge(self, state: State, now: float) -> None:
        judge = self.advisor.prepare(state, self._settings, now)
        self._derived = derived(state, self._settings, self._derived, judge=judge)
        advice_families(self.advisor.advise(state, self._settings, now))

    def publish(self, state: State, now: float, *, judge: bool = True) -> float:
        """Seconds of CPU until every database is shown with its advice."""
        begin = time.process_time()
        if judge:
            self.judge(state, now)
            while self.advisor.behind:
                self.advisor.catch_up(state, self._settings, now, self._derived)
        known = derived(state, self._settings, self._derived) if not judge else self._derived
        self._derived = known
        families(state, self._settings, now, known)
        advice = self.advisor.latest
        PageCache(Snapshot.of([]), state, self._settings, now, advice, before=known)
        return time.process_time() - begin


def _in_a_snapshot(now: float) -> Figure:
    """Beside all other figures, while nothing is judged."""
    state, agent = full_state(LARGE, now), _Publishing(SETTINGS)
    _warm(agent, state, now)
    begin = time.process_time()
    families(state, SETTINGS, now)
    middle = time.process_time()
    agent.judge(state, now)
    others, advice = middle - begin, time.process_time() - middle
    return Figure(
        f"a snapshot with advice beside one without, {LARGE:,} databases",
        (others + advice) / others,
        "x",
        "under",
        1.25,
        f"no database due for advice; CPU time of the others {1000 * others:.0f} ms, of advice"
        f" {1000 * advice:.0f}",
    )


def _without_news(now: float) -> Figure:
    """Metrics of a state of which nothing has changed since the snapshot before."""
    state = full_state(LARGE, now)
    begin = time.process_time()
    before = derived(state, SETTINGS)
    families(state, SETTINGS, now, before)
    middle = time.process_time()
    families(state, SETTINGS, now, derived(state, SETTINGS, before))
    first, again = middle - begin, time.process_time() - middle
    return Figure(
        f"metrics without news beside the first ones, {LARGE:,} databases",
        again / first,
        "x",
        "under",
        0.25,
        f"512 events and 128 backups each; CPU time of the first {1000 * first:.0f} ms, without"
        f" news {1000 * again:.0f}",
    )


def _kept(now: float) -> Figure:
    """What is remembered of the judged, as Python counts its memory."""
    state, agent = full_state(SMALL, now), _Publishing(SETTINGS)
    tracemalloc.start()
    try:
        _warm(agent, state, now)
        gc.collect()
        kept = tracemalloc.get_traced_memory()[0] / SMALL / 1000
    finally:
        tracemalloc.stop()
    details = f"{SMALL} databases, without the state of each"
    return Figure("memory that advice keeps of a database", kept, "KB", "under", 20, details)


def _warm(agent: _Publishing, state: State, now: float) -> None:
    for _ in range(WARM_SNAPSHOTS):
        agent.judge(state, now)
    if len(agent.advisor.latest) != len(state.databases):
        raise RuntimeError(f"{len(agent.advisor.latest)} of {len(state.databases)} were advised")


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
