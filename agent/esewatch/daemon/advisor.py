"""Advice for the daemon: as fresh as its cost allows.

Judging one database takes milliseconds, judging a thousand takes seconds. So each database is
judged when its events have changed, and otherwise from time to time, a limited number for each
snapshot; the results are combined every time.
"""

import zlib
from collections.abc import Mapping
from typing import NamedTuple

from esewatch.advice.advise import Judged, judge, together
from esewatch.advice.findings.silence import hearings, silences
from esewatch.advice.history.derived import (
    AllDerived,
    Derived,
    Judge,
    LeftOut,
    derived,
    leaving_out,
)
from esewatch.advice.history.history import Gathering
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings, policy_for
from esewatch.fold.identity.identity import origins, tier
from esewatch.fold.passes.passes import TaskView
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
    """Caches its advice. `latest` is the advice given last. `behind` is true while some databases
    have not been judged yet; `left_out` has the errors of databases that cannot be judged."""

    def __init__(self) -> None:
        self.latest: tuple[Judgement, ...] = ()
        self.behind = False
        self.left_out: LeftOut = {}
        self._settings: Settings | None = None
        self._kept: dict[DatabaseKey, _Kept] = {}

    def prepare(self, state: State, settings: Settings, now: float) -> Judge:
        """The judge, as of `now` (epoch seconds), of the databases that are due: those whose events
        changed, and the others after five minutes. Where more than 50 are due, the rest waits for
        the next calls."""
        if settings is not self._settings:
            self._settings = settings
            self._kept.clear()
            self.left_out.clear()
        due = self._due(state, _shown(state, settings), now)[:MOST]
        for key in due:
            self._kept.pop(key, None)
            self.left_out.pop(key, None)
        gathering = Gathering.of(state, settings)
        silent = silences(hearings(state, settings, now))

        def take(key: DatabaseKey, facts: Derived, views: Mapping[str, TaskView]) -> None:
            with leaving_out(key, self.left_out):
                policy = policy_for(settings, key[1], key[0])
                entry = state.databases[key]
                held = silent.held(entry, now)
                made = judge(gathering.history(facts, views), policy, now, held)
                self._kept[key] = _Kept(now, _events(entry), made)

        return Judge(due, take)

    def advise(self, state: State, settings: Settings, now: float) -> tuple[Judgement, ...]:
        """Return the advice as of `now` (epoch seconds) from what was judged, in the order of the
        function `advise`. Until each database was judged once, the previous advice stays."""
        shown = _shown(state, settings)
        self.left_out = {key: self.left_out[key] for key in shown if key in self.left_out}
        shown = [key for key in shown if key not in self.left_out]
        self.behind = not all(key in self._kept for key in shown)
        if not self.behind:
            self._kept = {key: self._kept[key] for key in shown}
            judged = {key: kept.judged for key, kept in self._kept.items()}
            self.latest = together(state, settings, judged, now)
        return self.latest

    def catch_up(
        self, state: State, settings: Settings, now: float, before: AllDerived | None = None
    ) -> bool:
        """Judge some of the databases not judged yet; True when these were the last of them. Called
        between two snapshots, so that a large farm need not wait for many snapshots."""
        if not self.behind:
            return False
        judge = self.prepare(state, settings, now)
        derived(state, settings, before, only=judge.due, judge=judge)
        self.advise(state, settings, now)
        return not self.behind

    def _due(self, state: State, shown: list[DatabaseKey], now: float) -> list[DatabaseKey]:
        """Return the databases that are due: new ones, changed ones, the oldest, those that
        failed."""
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


def _shown(state: State, settings: Settings) -> list[DatabaseKey]:
    hidden = origins(state, settings)
    return [
        key
        for key, each in sorted(state.databases.items())
        if key not in hidden and tier(each, settings) != "ignored"
    ]


def _events(database: Database) -> tuple[object, ...]:
    """Return a key that changes with every event of the database; counters are not in it."""
    return (
        database.last_seen,
        zlib.crc32(database.transitions),
        tuple(done.ended for done in database.old_proofs),
        len(database.bad_pages),
        hash((tuple(database.good_ranges), tuple(database.checksums_good))),
        tuple(database.acknowledged_things.items()),
        database.created,
        database.detached,
        len(database.attached),
        len(database.failures),
        tuple(database.failovers),
        sum(each.count for each in database.damage.values()),
        sum(each.count for each in database.unexplained.values()),
        tuple(database.verified.items()),
    )
