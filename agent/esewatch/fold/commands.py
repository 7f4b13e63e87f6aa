"""Commands that change the state: forget a database, acknowledge bad pages, reconfigure sources."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import inf
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import msgspec

from esefiles.base.names import visible
from esewatch.fold.databases.databases import still_hung
from esewatch.fold.databases.integrity import (
    OutsideFacts,
    count_pages,
    io_errors,
    known_bad_pages,
    restored_bad_pages,
)
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import database_label
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.engine_errors import ENGINE_ERRORS, dealt_with, open_of
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.state import acknowledgements as of
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import (
    STATED_SECONDS,
    UNLOCATED,
    BadPage,
    Database,
    Instance,
    State,
    Stated,
    restated,
)
from esewatch.model import EsewatchError

AnyDatabase = TypeVar("AnyDatabase", Database, Database | SqlDatabase)


Ends = Mapping[str, Iterable[str]]
"""By `database`, `ese_instance` and `sql_database`, the findings (name and severity) that a command
ends."""


def forget(folder: Folder, computer: str, database: str, ends: Ends = MappingProxyType({})) -> bool:
    """Drop a database from the state, and state that what stood of it is over, and that nothing of
    `ends` stands. False where it is not known and its computer is named: that alone is stated.
    Raises EsewatchError where it is not named."""
    unknown = _unknown(folder.state, computer, database) if ends else None
    of_sql = ends.get("sql_database", ())
    if (key := unknown) is not None:
        ends = {**ends, "database": [*ends.get("database", ()), *of_sql]}
    else:
        entry = known(folder.state, computer, database)
        key = (entry.computer, entry.database)
        folder.forget(*key)
        if isinstance(entry, Database):
            _forget_errors(folder, entry)
        else:
            ends = {"database": of_sql}
    stated = folder.state.stated.get(key)
    over = restated(stated, (), 0.0).over if stated is not None else {}
    folder.state.stated[key] = Stated(over=over)
    _state_over(folder, key, ends)
    return unknown is None


def _unknown(state: State, computer: str, database: str) -> DatabaseKey | None:
    """The key of a database that is not known, where its computer is named; else None."""
    try:
        known(state, computer, database)
    except EsewatchError:
        return (computer.lower(), database_label(database) or database) if computer else None
    return None


def _state_over(folder: Folder, key: DatabaseKey, ends: Ends) -> None:
    """State for a day that nothing of `ends` stands: not of a database, nor of its instance. What
    still stands is stated again with the next snapshot."""
    owner = folder.state.databases.get(key)
    tables = [(folder.state.stated, key, "stated", ends.get("database", ()))]
    if owner is not None:
        of_instance = ends.get("ese_instance", ())
        own = instance_key(owner)
        tables.append((folder.state.stated_instances, own, "stated_instance", of_instance))
    for table, place, row, names in tables:
        before = table.get(place) or Stated()
        over = {**before.over, **dict.fromkeys(names, STATED_SECONDS)}
        if over or before.standing:
            table[place] = Stated(standing=before.standing, over=over)
            folder.changed.add((row, *place))
        else:
            table.pop(place, None)


def _forget_errors(folder: Folder, entry: Database) -> None:
    """Drop the errors of its instance that were acknowledged by its name, all with the last of its
    databases: nobody could acknowledge them any more."""
    key = instance_key(entry)
    if (instance := folder.state.instances.get(key)) is None:
        return
    last = not any(instance_key(each) == key for each in folder.state.databases.values())
    seen = dict.fromkeys(ENGINE_ERRORS, inf) if last else dealt_with(entry)
    for kind, times in instance.error_times.items():
        del times[: bisect_right(times, seen.get(kind, 0.0))]
    if last:
        instance.failures.clear()
        instance.damage.clear()
        instance.io_error_times.clear()
    folder.changed.add(("instance", *key))


class Acknowledged(NamedTuple):
    pages: int
    damage: int = 0
    """Reports of damage that belongs to no page."""
    errors: int = 0
    unknown: bool = False
    """Nothing is known of the database: it was stated that nothing of it stands."""
    others: bool = False
    """Reads and writes that failed or hang, failures of maintenance, notices of other programs,
    errors without an explanation or repairs from other copies."""


def acknowledge(
    folder: Folder,
    computer: str,
    database: str,
    pages: Sequence[int],
    told: Callable[[Database], OutsideFacts] = lambda _: OutsideFacts(),
    *,
    ends: Ends = MappingProxyType({}),
) -> Acknowledged:
    """Acknowledge known bad pages; when none is named all of them, and all else that is open.

    That is all damage, all I/O errors, failures of its maintenance, the repairs from other copies
    and the open errors of the instance. Each thing is acknowledged up to its own last time. `told`
    has the facts from the database's surroundings. It is stated, too, that nothing of `ends`
    stands; where the database is not known and its computer is named, that alone. Raises
    EsewatchError when the database is not known or a page is not known bad.
    """
    key = _unknown(folder.state, computer, database) if ends and not pages else None
    if key is not None:
        _state_over(folder, key, ends)
        return Acknowledged(0, unknown=True)
    entry = _known(folder.state.databases.values(), computer, database)
    beside = told(entry)
    views = views_in(folder.state, entry)
    bad = known_bad_pages(entry, views, beside.around)
    if unknown := sorted(set(pages) - {item.page for item in bad}):
        listed = ", ".join(map(str, unknown))
        raise EsewatchError(f"not a known bad page of {entry.database}: page {listed}")
    meant = [item for item in bad if not pages or item.page in pages]
    places, things = _seen(meant)
    reports, errors, others = 0, 0, dict[str, float]()
    if not pages:
        if restored_bad_pages(entry, views, beside.around):
            things[of.RESTORE] = beside.around.restored
        instances = folder.state.instances
        instance = instances.get(instance_key(entry))
        damage = known_damage(entry, beside.damage, beside.around.mended)
        reports = sum(each.count for each in damage.values())
        things.update((of.damage(kind), each.times[-1]) for kind, each in damage.items())
        here = [each for place, each in instances.items() if place[0] == entry.computer]
        still = open_of(instance, here, dealt_with(entry))
        errors = sum(count for count, _ in still.values())
        things.update((of.error(kind), last) for kind, (_, last) in still.items())
        things |= (others := _others(entry, views, beside, instance))
    if places or things:
        folder.acknowledge(entry.computer, entry.database, places, things)
    if not pages:
        _state_over(folder, (entry.computer, entry.database), ends)
    rest = bool(others) or of.RESTORE in things
    return Acknowledged(count_pages(meant), reports, errors, others=rest)


def _seen(meant: Iterable[BadPage]) -> tuple[dict[int, float], dict[str, float]]:
    """The last times of bad pages by their number, and of those without one by their thing."""
    places: dict[int, float] = {}
    things: dict[str, float] = {}
    for item in meant:
        if item.page == UNLOCATED:
            thing = of.unplaced(item.kind)
            things[thing] = max(item.last, things.get(thing, 0.0))
        else:
            places[item.page] = max(item.last, places.get(item.page, 0.0))
    return places, things


def _others(
    entry: Database,
    views: Mapping[str, TaskView],
    beside: OutsideFacts,
    instance: Instance | None,
) -> dict[str, float]:
    """Open things of it that are neither bad pages, damage nor errors of its instance, by name."""
    failed = [time] if (time := max(io_errors(entry, instance), default=0.0)) else []
    told = [
        *((of.IO_ERROR, time) for time in failed),
        *((of.HUNG_IO, time) for time in still_hung(entry, instance)[-1:]),
        (of.REPAIR, entry.patched_last),
        *((of.unexplained(number), error.last) for number, error in beside.errors.items()),
        *((of.notice(each.state, each.event_id), each.last) for each in beside.notices),
        *((of.failure(task), view.last_failed or 0.0) for task, view in views.items()),
        *((of.of_any(each.kind), each.time) for each in sorted(beside.failures)),
    ]
    return {thing: time for thing, time in told if time > of.up_to(entry, thing)}


def succeed(folder: Folder, origins: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Make the sources those of `origins`: name -> name of the source it continues. `settings` has
    the digest of each. The known facts of a source go with it."""
    state = folder.state
    old = dict(state.sources)
    state.sources.clear()
    for name, origin in origins.items():
        if (known := old.get(origin)) is not None:
            state.sources[name] = msgspec.structs.replace(known, name=name, settings=settings[name])
    folder.changed |= {("source", name, "") for name in {*old, *origins}}


def known(state: State, computer: str, database: str) -> Database | SqlDatabase:
    """The database of these labels. Raises EsewatchError when it is not known."""
    of_both: Iterable[Database | SqlDatabase] = chain(
        state.databases.values(), state.sql_databases.values()
    )
    return _known(of_both, computer, database)


def _known(among: Iterable[AnyDatabase], computer: str, database: str) -> AnyDatabase:
    """Find the database by its labels, in any case; `computer` may be empty if one fits."""
    found = [
        entry
        for entry in among
        if entry.database.lower() == database.lower() and computer.lower() in {"", entry.computer}
    ]
    if not found:
        where = computer or "any computer"
        raise EsewatchError(f"no database '{visible(database)}' is known on {visible(where)}")
    if len(found) > 1:
        names = ", ".join(sorted(entry.computer for entry in found))
        raise EsewatchError(
            f"'{visible(database)}' is known on several computers, name one: {names}"
        )
    return found[0]
