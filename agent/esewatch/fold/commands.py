"""Commands that change the state: forget a database, acknowledge bad pages, reconfigure sources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from esewatch.fold.databases.integrity import OutsideFacts, count_pages, io_errors, known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.identity.owners import instance_key, instances_on
from esewatch.fold.instances.engine_errors import open_of
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import Database, State
from esewatch.model import EsewatchError
from esewatch.names import visible

AnyDatabase = TypeVar("AnyDatabase", Database, Database | SqlDatabase)


def forget(folder: Folder, computer: str, database: str) -> None:
    """Drop a database from the state. Raises EsewatchError when it is not known."""
    entry = known(folder.state, computer, database)
    folder.forget(entry.computer, entry.database)


class Acknowledged(NamedTuple):
    """The number of errors that were acknowledged, by kind."""

    pages: int
    damage: int = 0
    """Reports of damage that belongs to no page."""
    errors: int = 0
    """Open errors of its instance."""
    others: bool = False
    """Failed reads and writes, failures of maintenance, notices of other programs, errors without
    an explanation or repairs from other copies."""


def _nothing(_: Database) -> OutsideFacts:
    return OutsideFacts()


def acknowledge(
    folder: Folder,
    computer: str,
    database: str,
    pages: Sequence[int],
    told: Callable[[Database], OutsideFacts] = _nothing,
) -> Acknowledged:
    """Acknowledge known bad pages, all when none is named, with all else that is open.

    When none is named, all damage, all I/O errors, failures of its maintenance, the repairs from
    other copies and the open errors of the instance are acknowledged too. Everything known is
    acknowledged: a page up to its own last error, all else up to the last one, so that a clock that
    is wrong includes no later ones. `told` has the facts from the database's surroundings. Raises
    EsewatchError when the database is not known or a page is not known bad.
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
    damage = {} if pages else known_damage(entry, beside.damage)
    last_errors: dict[int, float] = {}
    for item in meant:
        last_errors[item.page] = max(item.last, last_errors.get(item.page, 0.0))
    times = [each.times[-1] for each in damage.values()]
    errors, others = 0, False
    if not pages:
        instance = folder.state.instances.get(instance_key(entry))
        others_at = [
            entry.patched_last,
            *io_errors(entry, instance),
            *(error.last for error in beside.errors.values()),
            *(notice.last for notice in beside.notices),
            *(view.last_failed for view in views.values() if view.last_failed is not None),
        ]
        others = max(others_at) > entry.acknowledged
        of_computer = instances_on(folder.state, entry.computer)
        still = open_of(instance, of_computer, entry.acknowledged)
        errors = sum(count for count, _ in still.values())
        times += [*others_at, *(last for _, last in still.values())]
    latest = max(times, default=0.0)
    if last_errors or latest:
        folder.acknowledge(entry.computer, entry.database, last_errors, latest)
    reports = sum(each.count for each in damage.values())
    return Acknowledged(count_pages(meant), reports, errors, others)


def succeed(folder: Folder, origins: Mapping[str, str], settings: Mapping[str, str]) -> None:
    """Make the sources those of `origins`: name -> name of the source it continues.

    `settings` has the digest of each. The known facts of a source go with it.
    """
    state = folder.state
    old = dict(state.sources)
    state.sources.clear()
    for name, origin in origins.items():
        if (known := old.get(origin)) is not None:
            state.sources[name] = msgspec.structs.replace(known, name=name, settings=settings[name])
    folder.changed |= {("source", name, "") for name in {*old, *origins}}


def known(state: State, computer: str, database: str) -> Database | SqlDatabase:
    """The database of these labels. Raises EsewatchError when it is not known."""
    return _known(_all(state), computer, database)


def _all(state: State) -> Iterable[Database | SqlDatabase]:
    return chain(state.databases.values(), state.sql_databases.values())


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
