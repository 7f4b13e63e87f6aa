"""Owner of an event of another provider, which names a database and servers, or a directory."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from esewatch.config import Settings
from esewatch.fold.identity import identity
from esewatch.fold.state.state import Database, Host, State
from esewatch.model import Event

MAX_NAMES = 16
MAX_NAME = 256
NETBIOS = 15
"""Some events cut the name of a server to this many characters."""
_NAMED = ("database_name", "server", "copy")


def directories(entries: Iterable[Database], adam_instance: str) -> list[Database]:
    """The directory databases: of that instance of AD LDS, without one of Active Directory."""
    if adam_instance:
        provider = f"adam [{adam_instance}] isam".lower()
        return [entry for entry in entries if entry.provider.lower() == provider]
    return [entry for entry in entries if entry.database.split("\\")[-1] == "ntds.dit"]


def names_in(event: Event) -> tuple[str, ...]:
    """Possible names of a database or a server: the fields that do, else each of its strings.
    `DB01\\EX01` is two names."""
    told = [str(event.fields[name]) for name in _NAMED if name in event.fields]
    parts = [
        part.strip().lower()
        for text in told or event.strings
        if len(text) <= MAX_NAME
        for part in text.split("\\")
    ]
    return tuple(part for part in dict.fromkeys(parts) if part)[:MAX_NAMES]


def by_name(state: State, settings: Settings) -> Mapping[str, list[Database]]:
    """The copies of each database, by its name in lower case."""
    copies: dict[str, list[Database]] = defaultdict(list)
    for entry in state.databases.values():
        copies[identity.database_name(entry, settings).lower()].append(entry)
    return copies


def concerned(
    copies: Iterable[Database],
    names: Collection[str],
    state: State,
    settings: Settings,
) -> list[Database]:
    servers = [identity.full_name(name, settings) for name in names]
    return [
        copy
        for copy in copies
        if any(_is_server(name, state.hosts.get(copy.computer), copy.computer) for name in servers)
    ]


def _is_server(name: str, host: Host | None, label: str) -> bool:
    full = host.full_name if host is not None and host.full_name else label
    if "." in name and "." in full:
        return name == full
    short, ours = (each.partition(".")[0][:NETBIOS] for each in (name, full))
    return bool(short) and short == ours
