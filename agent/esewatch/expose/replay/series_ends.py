"""Times at which series change without further records."""

from collections.abc import Iterator

from esewatch.advice.base.staleness import stale_seconds
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
from esewatch.fold.state.state import Database, Metered


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
