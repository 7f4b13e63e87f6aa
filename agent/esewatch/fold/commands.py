"""Commands that change the state: forget a database, acknowledge bad pages, reconfigure sources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from esewatch.fold.databases.hung_requests import still_hung
from esewatch.fold.databases.integrity import (
    OutsideFacts,
    count_pages,
    io_errors,
    known_bad_pages,
    restored_bad_pages,
)
from esewatch.fold.folder import Folder
from esewatch.fold.identity.owners import instance_key, instances_on
from esewatch.fold.instances.engine_errors import dealt_with, open_of
from esewatch.fold.passes.passes import TaskView, views_in
from esewatch.fold.state import acknowledgements as of
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import UNLOCATED, Database, Instance, State
from esewatch.fold.state.stated import restated
from esewatch.model import EsewatchError
from esewatch.names import visible

AnyDatabase = TypeVar("AnyDatabase", Database, Database | SqlDatabase)


def forget(folder: Folder, computer: str, database: str) -> None:
    """Drop a database from the state, and state that what stood of it is over. Raises EsewatchError
    when it is not known."""
    entry = known(folder.state, computer, database)
    folder.forget(entry.computer, entry.database)
    key = (entry.computer, entry.database)
    if (stated := folder.state.stated.get(key)) is not None:
        folder.state.stated[key] = restated(stated, (), 0.0)
        folder.changed.add(("stated", *key))


class Acknowledged(NamedTuple):
    pages: int
    damage: int = 0
    """Reports of damage that belongs to no page."""
    errors: int = 0
    others: bool = False
    """Reads and writes that failed or hang, failures of maintenance, notices of other programs,
    errors without an explanation or repairs from other copies."""


def acknowledge(
    folder: Folder,
    computer: str,
    database: str,
    pages: Sequence[int],
    told: Callable[[Database], OutsideFacts] = lambda _: OutsideFacts(),
) -> Acknowledged:
    """Acknowledge known bad pages, all when none is named, with all else that is open.

    When none is named, all damage, all I/O errors, failures of its maintenance, the repairs from
    other copies and the open errors of the instance are acknowledged too. Each thing is
    acknowledged up to its own last time. `told` has the facts from the database's surroundings.
    Raises EsewatchError when the database is not known or a page is not known bad.
    """
    entry = _known(folder.state.databases.values(), computer, database)
    beside = told(entry)
    views = views_in(folder.state, entry)
    bad = known_bad_pages(entry, views, beside.around)
    unknown = sorted(set(pages) - {item.page for item in bad})
    if unknown:
        listed = ", ".join(map(str, unknown))
        raise EsewatchError(f"not a known bad page of {entry.database}: page {listed}")
    meant = [item for item in bad if not pages or item.page in pages]
    places: dict[int, float] = {}
    things: dict[str, float] = {}
    for item in meant:
        if item.page == UNLOCATED:
            thing = of.unplaced(item.kind)
            things[thing] = max(item.last, things.get(thing, 0.0))
        else:
            places[item.page] = max(item.last, places.get(item.page, 0.0))
    reports, errors, others = 0, 0, dict[str, float]()
    if not pages:
        if restored_bad_pages(entry, views, beside.around):
            things[of.RESTORE] = beside.around.restored
        instance = folder.state.instances.get(instance_key(entry))
        damage = known_damage(entry, beside.damage, beside.around.mended)
        reports = sum(each.count for each in damage.values())
        things.update((of.damage(kind), each.times[-1]) for kind, each in damage.items())
        still = open_of(instance, instances_on(folder.state, entry.computer), dealt_with(entry))
        errors = sum(count for count, _ in still.values())
        things.update((of.error(kind), last) for kind, (_, last) in still.items())
        others = _others(entry, views, beside, instance)
        things.update(others)
    if places or things:
        folder.acknowledge(entry.computer, entry.database, places, things)
    return Acknowledged(count_pages(meant), reports, errors, bool(others) or of.RESTORE in things)


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
