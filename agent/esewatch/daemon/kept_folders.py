"""Sources that keep states of their own, one for each partition, and a view of all together."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from esewatch.fold.commands import known
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.model import EsewatchError


@runtime_checkable
class KeepsFolders(Protocol):
    """A source that folds what it reads into states of its own, and commits them."""

    def folders(self) -> list[Folder]:
        """Those that it owns now; to be called and used with the lock of the views held."""

    def commit_command(self, folder: Folder) -> None:
        """Store what a command changed in one of its folders, with that lock held. Raises
        JournalError."""

    def last_set_aside(self) -> float | None:
        """Last time a damaged journal of its own was set aside, None for never."""


def together(states: Sequence[State]) -> State:
    """The union of the states: it has their entities, and is not to be folded into.

    A computer belongs to one state. Where several have it, because its messages had other keys,
    each entity is that of the state with the latest news, and a database the one
    with the most known bad pages: none is hidden.
    """
    if len(states) == 1:
        return states[0]
    whole = State()
    for state in sorted(states, key=_heard):
        whole.sources |= state.sources
        whole.hosts |= state.hosts
        whole.channels |= state.channels
        whole.instances |= state.instances
        whole.devices |= state.devices
        whole.sql_databases |= state.sql_databases
        whole.stated |= state.stated
        whole.stated_instances |= state.stated_instances
        whole.dropped |= state.dropped
        whole.databases_dropped += state.databases_dropped
        if whole.databases.keys().isdisjoint(state.databases):
            whole.databases |= state.databases
            continue
        for key, entry in state.databases.items():
            other = whole.databases.get(key)
            if other is None or len(other.bad_pages) <= len(entry.bad_pages):
                whole.databases[key] = entry
    return whole


def _heard(state: State) -> float:
    return max((host.last_heard for host in state.hosts.values()), default=0.0)


def folder_of(folders: Sequence[Folder], computer: str, database: str) -> Folder:
    """The folder that has the database which is shown; of one that none has, but whose computer
    is named, the first. Raises EsewatchError: none has it."""
    try:
        entry: Any = known(together([folder.state for folder in folders]), computer, database)
    except EsewatchError:
        if not computer:
            raise
        return folders[0]
    key = (entry.computer, entry.database)
    return next(
        folder
        for folder in folders
        if entry in (folder.state.databases.get(key), folder.state.sql_databases.get(key))
    )
