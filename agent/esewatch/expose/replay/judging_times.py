"""Times at which a replay shows something without further records, and judges all databases.

A judgement costs milliseconds for each database, and much of it moves with time alone. So it is
made where a record, a deadline or a window changes something; otherwise an hour after the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from esewatch.advice.base.time_at_work import stale_seconds
from esewatch.advice.findings.details import InstanceKey
from esewatch.advice.findings.risk import LevelName, high_levels, level_ends, most_buckets
from esewatch.advice.judgement import Judgement
from esewatch.config import rule_for, window_for
from esewatch.config.calendar import CALENDAR, next_opening, opening_at
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.backups import LONGEST, begun
from esewatch.fold.instances.counters import volume_levels
from esewatch.fold.passes.passes import views_in
from esewatch.fold.readings import fresh_until
from esewatch.fold.state.state import STATED_SECONDS, Database, Metered
from esewatch.model import Reading, Record, VolumesSeen


def ends(folder: Folder, entity: Entity, metered: Metered | None, now: float) -> Iterator[float]:
    """Times (epoch seconds) at which its series change without further records. `metered` is the
    part of the entity with counters, None without any."""
    state, settings = folder.state, folder.settings
    if entity[0] == "instance":
        for level in volume_levels(state.hosts[entity[1]]).values():
            yield fresh_until(level)
    if metered is not None:
        for level in metered.levels.values():
            yield fresh_until(level)
    elif entity[0] == "database":
        database = state.databases.get(entity[1:])
        if database is not None:
            yield from database_ends(folder, database, now)
    elif entity[0] == "sql_database":
        sql = state.sql_databases.get(entity[1:])
        if sql is not None and rule_for(settings, *entity[1:]) is None:
            yield sql.last_seen + settings.retention


def database_ends(folder: Folder, database: Database, now: float) -> Iterator[float]:
    """Those of a database as of `now`: its window, its passes, its end."""
    settings = folder.settings
    if tier(database, settings) != "watched":
        yield database.last_seen + settings.retention
        return
    window = window_for(settings, database.database, database.computer)
    if window is not None and window.days and CALENDAR[0] <= now <= CALENDAR[1]:
        opening = opening_at(window, now)
        yield opening.end if opening is not None else next_opening(window, now).start
    stale = stale_seconds(database, settings)
    instance = folder.state.instances.get(instance_key(database))
    since = begun(instance.backup_events) if instance is not None else None
    if since is not None:
        yield since + LONGEST
    for view in views_in(folder.state, database).values():
        if view.current is not None and view.running(now, stale):
            yield view.current.last_event + stale


HOUR = 3600.0
MINUTE = 60_000
"""Milliseconds. Records that follow each other faster are judged together, as by the daemon."""
REMEMBERED = round(1000 * (STATED_SECONDS + 3600))
"""Milliseconds. What was judged earlier is not seen: what is over is stated for a day, and it stood
at the judgement before."""
_METERED = (Reading, VolumesSeen)
"""Records that come all the time: of them it matters which levels are high."""


class JudgingTimes:
    """Knows the last judgement and what it was made of. `begin`: time of the first one, in
    milliseconds. `waits`: records came after the last that have not been judged yet."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.waits = False
        self._last: int | None = None
        self._high: dict[InstanceKey, tuple[LevelName, ...]] = {}
        self._most_buckets: Mapping[InstanceKey, int] = {}
        self._deadlines: Sequence[float] = ()

    def is_news(self, folder: Folder, records: Iterable[Record], time: int) -> bool:
        """True if these records, just folded at `time` (milliseconds), may change a finding."""
        if time < self.begin:
            return False
        if any(not isinstance(each, _METERED) for each in records):
            return True
        changed = (each[1:] for each in folder.changed if each[0] == "instance")
        now = time / 1000
        return any(self._high.get(key, ()) != self._levels(folder, key, now) for key in changed)

    def _levels(self, folder: Folder, key: InstanceKey, now: float) -> tuple[LevelName, ...]:
        instance = folder.state.instances.get(key)
        if instance is None:
            return ()
        return tuple(high_levels(instance, self._most_buckets.get(key), now))

    def put_off(self, time: int) -> int | None:
        """Note news of `time`; when they are judged (milliseconds), None for at once."""
        self.waits = True
        later = time if self._last is None else self._last + MINUTE
        return None if time >= later else later

    def judged(self, folder: Folder, judged: Iterable[Judgement], now: float) -> float:
        """Note a judgement as of `now`; the seconds since the one before."""
        before = now if self._last is None else self._last / 1000
        self._last, self.waits = round(now * 1000), False
        state = folder.state
        self._most_buckets = most_buckets(state.databases.values(), folder.settings)
        levels = {key: self._levels(folder, key, now) for key in state.instances}
        self._high = {key: names for key, names in levels.items() if names}
        times = (
            time
            for each in judged
            for time in (each.ledger.due, *(forecast.deadline for forecast in each.forecasts))
        )
        self._deadlines = [time for time in times if time is not None and time >= now]
        return now - before

    def ends(self, folder: Folder, now: float) -> Iterator[float]:
        """Times at which it is to be judged again without further records."""
        yield now + HOUR
        yield from self._deadlines
        for key in self._high:
            yield from level_ends(folder.state.instances[key])
        for database in folder.state.databases.values():
            yield from database_ends(folder, database, now)
