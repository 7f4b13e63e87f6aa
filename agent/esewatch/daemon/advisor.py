"""Advice for the daemon: as fresh as its cost allows.

Judging one database takes milliseconds, judging a thousand takes seconds. So each database is
judged when its events have changed, and otherwise from time to time, a limited number for each
snapshot; the results are combined every time.
"""

import zlib
from collections.abc import Callable
from typing import NamedTuple

from prometheus_client.core import Metric

from esewatch.advice.advise import Advice, Judged, judge, together
from esewatch.advice.history.history import history
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings, policy_for
from esewatch.expose.metrics.collectors.advice_families import advice_families
from esewatch.fold.databases.integrity import OutsideFacts
from esewatch.fold.identity.identity import tier
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

OLD_SECONDS = 300.0
"""Databases are judged again after this time, for counters and for changes by time alone."""
MOST = 50
"""Databases judged for one snapshot, at some 4 ms each: less than metrics of 1,000 databases."""


class _Kept(NamedTuple):
    """The advice for one database, when it was made (epoch seconds), and from which events."""

    time: float
    events: tuple[object, ...]
    judged: Judged


class Advisor:
    """Caches its advice. `latest` is the advice given last.

    `behind` is true while some databases have not been judged yet; `left_out` has the errors of
    databases that cannot be judged.
    """

    def __init__(self) -> None:
        self.latest: tuple[Advice, ...] = ()
        self.behind = False
        self.left_out: dict[DatabaseKey, Exception] = {}
        self._settings: Settings | None = None
        self._kept: dict[DatabaseKey, _Kept] = {}

    def advise(
        self,
        state: State,
        settings: Settings,
        now: float,
        told: Callable[[Database], OutsideFacts] | None = None,
    ) -> tuple[Advice, ...]:
        """Return the advice as of `now` (epoch seconds), in the order of `advise`.

        A database is judged on the current data if its events changed, and otherwise on data that
        is at most five minutes old; where more than 50 are due, the others wait for the next calls.
        Until each database was judged once, the previous advice stays. `told` is the result of
        `surroundings` for the same state, where it is at hand.
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
        if due:
            told = told or surroundings(state, settings)
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
        """Judge some of the databases not judged yet; True when these were the last of them.

        Called between two snapshots, so that a large farm need not wait for many snapshots.
        """
        if not self.behind:
            return False
        self.advise(state, settings, now)
        return not self.behind

    def families(
        self,
        state: State,
        settings: Settings,
        now: float,
        told: Callable[[Database], OutsideFacts] | None = None,
    ) -> list[Metric]:
        """The metrics of `advise`."""
        return advice_families(self.advise(state, settings, now, told))

    def _due(self, state: State, shown: list[DatabaseKey], now: float) -> list[DatabaseKey]:
        """Return the databases that are due: new ones, changed ones, the oldest, those
        that failed.
        """
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
    """Return a key that changes with every event of the database; counters are not in it."""
    return (
        database.last_seen,
        zlib.crc32(database.transitions),
        tuple(done.ended for done in database.old_proofs),
        len(database.bad_pages),
        hash((tuple(database.good_ranges), tuple(database.checksums_good))),
        database.acknowledged,
        database.damage_mended,
        tuple(database.failovers),
        sum(each.count for each in database.damage.values()),
        sum(each.count for each in database.unexplained.values()),
        tuple(database.verified.items()),
    )
