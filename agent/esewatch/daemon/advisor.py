"""Advice for the daemon: as new as its cost allows.

Judging a database takes milliseconds, a thousand of them seconds. So each is judged when its
events changed and else from time to time, so many for a snapshot; what they make of each other
is put together every time.
"""

import zlib
from typing import NamedTuple

from prometheus_client.core import Metric

from esewatch.advice.advise import Advice, Judged, judge, together
from esewatch.advice.history.history import history
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings, policy_for
from esewatch.expose.metrics.collectors.advice_families import advice_families
from esewatch.fold.identity.identity import tier
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

OLD_SECONDS = 300.0
"""Judged again after so long, for counters and what changes by time alone."""
MOST = 50
"""Databases judged for one snapshot, at some 4 ms each: less than the families of 1,000 take."""


class _Kept(NamedTuple):
    """What was judged of one database, when (epoch seconds), and of which events."""

    time: float
    events: tuple[object, ...]
    judged: Judged


class Advisor:
    """Remembers what it judged. `latest` is the advice given last.

    `behind` says that it lacks databases which were not judged once, `left_out` why some cannot be.
    """

    def __init__(self) -> None:
        self.latest: tuple[Advice, ...] = ()
        self.behind = False
        self.left_out: dict[DatabaseKey, Exception] = {}
        self._settings: Settings | None = None
        self._kept: dict[DatabaseKey, _Kept] = {}

    def advise(self, state: State, settings: Settings, now: float) -> tuple[Advice, ...]:
        """The advice as of `now` (epoch seconds), as `advise` orders it.

        A database is judged on what is known now if its events changed, and on what was known
        at most five minutes ago otherwise; where more than 50 are to be judged, the others wait
        for the next calls. Until each was judged once the advice stays that of before.
        """
        if settings is not self._settings:
            self._settings = settings
            self._kept.clear()
            self.left_out.clear()
        shown = [
            key
            for key, database in sorted(state.databases.items())
            if tier(database, settings) != "ignored"
        ]
        due = self._due(state, shown, now)[:MOST]
        told = surroundings(state, settings) if due else None
        for key in due:
            self._kept.pop(key, None)
            self.left_out.pop(key, None)
            try:
                known = history(state, settings, *key, told)
                policy = policy_for(settings, known.database, known.computer)
                events = _events(state.databases[key])
                self._kept[key] = _Kept(now, events, judge(known, policy, now))
            except MemoryError:
                raise
            except Exception as error:  # a defect of one database must not cost the others
                self.left_out[key] = error
        self.left_out = {key: self.left_out[key] for key in shown if key in self.left_out}
        shown = [key for key in shown if key not in self.left_out]
        self.behind = not all(key in self._kept for key in shown)
        if not self.behind:
            self._kept = {key: self._kept[key] for key in shown}
            judged = {key: kept.judged for key, kept in self._kept.items()}
            self.latest = together(state, settings, judged, now)
        return self.latest

    def catch_up(self, state: State, settings: Settings, now: float) -> bool:
        """Judge some of the databases that it lacks; True when these were the last of them.

        Between two snapshots, so that a large farm need not wait for many of them.
        """
        if not self.behind:
            return False
        self.advise(state, settings, now)
        return not self.behind

    def families(self, state: State, settings: Settings, now: float) -> list[Metric]:
        """The metrics of `advise`."""
        return advice_families(self.advise(state, settings, now))

    def _due(self, state: State, shown: list[DatabaseKey], now: float) -> list[DatabaseKey]:
        """Which are to be judged: new ones, changed ones, the oldest, those that could not be."""
        found: list[tuple[int, float, DatabaseKey]] = []
        for key in shown:
            kept = self._kept.get(key)
            if kept is None:
                found.append((3 if key in self.left_out else 0, 0.0, key))
            elif kept.events != _events(state.databases[key]):
                found.append((1, kept.time, key))
            elif abs(now - kept.time) >= OLD_SECONDS:
                found.append((2, kept.time, key))
        return [key for _, _, key in sorted(found)]


def _events(database: Database) -> tuple[object, ...]:
    """What tells whether something was heard of the database; counters are not in it."""
    return (
        database.last_seen,
        zlib.crc32(database.transitions),
        database.all_good,
        len(database.bad_pages),
        database.damage_mended,
        tuple(database.failovers),
        sum(each.count for each in database.damage.values()),
        sum(each.count for each in database.unexplained.values()),
        tuple(database.verified.items()),
    )
