"""Scans that stood in each other's way: on the same disks at the same time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from esewatch.advice.maintenance_model import maintenance_model
from esewatch.config import Settings
from esewatch.expose.metrics import stale_seconds
from esewatch.fold.identity import database_name, device_of
from esewatch.fold.runs import scan_runs
from esewatch.fold.state import Database, State
from esewatch.fold.transitions import unpack

SHARE = 0.25
"""Of the shorter run: runs that only touch at their ends are no collision."""

LATEST = 8
"""Runs of a database that are looked at."""

NAMED = 3
"""Other databases that are named at most."""

Key = tuple[str, str]


class _Scans(NamedTuple):
    """A database and its latest runs, oldest first; `judged` of them, the last, are its own."""

    key: Key
    name: str
    runs: Sequence[tuple[float, float]]
    judged: int


def colliding_scans(state: State, settings: Settings, now: float) -> dict[Key, tuple[str, ...]]:
    """By database: names of others that were scanned at the same time on the same disks.

    Judged is the last run that ended and the one at work. Only databases whose
    maintenance has a window, since only a window can be moved, and whose device is
    known. At most 3 names each.
    """
    found = {}
    for together in _by_disks(state, settings).values():
        if len(together) < 2:
            continue
        scans = [_scans(database, state, settings, now) for database in together]
        for one in scans:
            others = _others(one, scans)
            names = tuple(name for name, _ in zip(others, range(NAMED), strict=False))
            if names:
                found[one.key] = names
    return found


def _by_disks(state: State, settings: Settings) -> Mapping[Key, list[Database]]:
    pools = {device: pool for pool, devices in settings.pools.items() for device in devices}
    groups: dict[Key, list[Database]] = {}
    for database in state.databases.values():
        host = state.hosts.get(database.computer)
        device = device_of(database, host.volumes if host is not None else {}, settings)
        if device is None or maintenance_model(database, settings) != "window":
            continue
        pool = pools.get(device)
        disks = ("", pool) if pool is not None else (database.computer, device)
        groups.setdefault(disks, []).append(database)
    return groups


def _scans(database: Database, state: State, settings: Settings, now: float) -> _Scans:
    instance = state.instances.get((database.computer, database.ese_instance.lower()))
    runs = scan_runs(unpack(database.transitions), instance.stops if instance else ())[-LATEST:]
    spans = [(run.start, run.end) for run in runs if run.end is not None]
    judged = 1
    if runs and runs[-1].end is None and now - runs[-1].start <= stale_seconds(database, settings):
        spans.append((runs[-1].start, now))
        judged = 2
    key = (database.computer, database.database)
    return _Scans(key, database_name(database, settings), spans, judged)


def _others(one: _Scans, scans: Sequence[_Scans]) -> Iterator[str]:
    own = one.runs[-one.judged :]
    for other in scans:
        if other is not one and any(_collide(mine, run) for mine in own for run in other.runs):
            yield other.name


def _collide(one: tuple[float, float], other: tuple[float, float]) -> bool:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    shorter = min(one[1] - one[0], other[1] - other[0])
    return shared > 0 and shared >= SHARE * shorter
