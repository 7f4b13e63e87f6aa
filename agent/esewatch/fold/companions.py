"""Events of other providers: failovers, notices, white space, shutdowns (semantics.md 1 and 4).

A failover or a notice stays with the computer that logged it; the database it belongs to is worked
out again whenever more is known, so that the order of arrival makes no difference.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from esewatch.config import Settings
from esewatch.fold.databases.databases import fold_free_space, resize
from esewatch.fold.identity import identity
from esewatch.fold.state.state import Database, Failover, Host, Notice, Power, State
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


MOST_OF_HOST = 1024
MOST_OF_DATABASE = 64
WHOLE_SERVER = 2093
"""Exchange 2007: a clustered mailbox server moves with all its databases."""
DONE = "failover"
FAILOVERS = frozenset({DONE, "failover_started"})
_EXCHANGE = "ese"


def note_failover(host: Host, event: Event, time: float) -> None:
    operation = str(event.fields.get("operation", ""))
    names = tuple(name for name in names_in(event) if name != operation.lower())
    whole = event.event_id == WHOLE_SERVER
    if names or operation or whole:
        done = event.fields["state"] == DONE
        told = Failover(time, done, operation, names, whole)
        insort(host.failovers, told, key=lambda each: each.time)
        del host.failovers[:-MOST_OF_HOST]


def refresh_failovers(state: State, settings: Settings) -> set[tuple[str, str, str]]:
    """Work out when each database failed over; returns the rows of the journal that changed."""
    if not any(host.failovers for host in state.hosts.values()):
        return set()
    found = _by_database(state, settings)
    changed = set()
    for key, entry in state.databases.items():
        times = sorted(found.get(key, ()))[-MOST_OF_DATABASE:]
        if times != entry.failovers:
            entry.failovers = times
            changed.add(("database", *key))
    return changed


def _by_database(state: State, settings: Settings) -> Mapping[tuple[str, str], set[float]]:
    copies = by_name(state, settings)
    moves: dict[str, set[str]] = defaultdict(set)
    for host in state.hosts.values():
        for each in host.failovers:
            moves[each.operation].update(each.names)
    found: dict[tuple[str, str], set[float]] = defaultdict(set)
    for host in state.hosts.values():
        for each in host.failovers:
            if not each.done:
                continue
            if each.whole_server:
                moved = [
                    entry
                    for entry in state.databases.values()
                    if entry.computer == host.computer and entry.provider.lower() == _EXCHANGE
                ]
            else:
                names = moves[each.operation] if each.operation else set(each.names)
                moved = []
                for name in names & copies.keys():
                    moved += concerned(copies[name], names, state, settings) or copies[name]
            for entry in moved:
                found[entry.computer, entry.database].add(each.time)
    return found


OF_COPIES = ("failed", "suspended", "seeding_failed")
OF_DIRECTORIES = ("usn_rollback", "database_error", "replication_stopped")
NOTICES = frozenset({*OF_COPIES, *OF_DIRECTORIES})
MOST_NOTICES = 64
MAX_TEXT = 200


def note_notice(host: Host, event: Event, time: float) -> None:
    """Keep a notice; beyond 64 of a computer the least recently heard one is dropped."""
    state = str(event.fields["state"])
    adam = str(event.fields.get("adam_instance", "")).lower()
    names = names_in(event) if state in OF_COPIES else (adam,)
    text = str(event.fields.get("reason", event.fields.get("error", "")))[:MAX_TEXT]
    new = Notice(state, event.event_id, names, 1, time, text)
    for known in host.notices:
        if _what(known) == _what(new):
            known.count += 1
            if time >= known.last:
                known.last, known.text = time, text
            return
    host.notices.append(new)
    if len(host.notices) > MOST_NOTICES:
        host.notices.remove(min(host.notices, key=lambda each: (each.last, _what(each))))


def notices(state: State, settings: Settings) -> Mapping[tuple[str, str], Sequence[Notice]]:
    found: dict[tuple[str, str], list[Notice]] = defaultdict(list)
    hosts = [host for host in state.hosts.values() if host.notices]
    copies = by_name(state, settings) if hosts else {}
    for host in hosts:
        here = [entry for entry in state.databases.values() if entry.computer == host.computer]
        for notice in host.notices:
            if notice.state in OF_DIRECTORIES:
                meant = directories(here, "".join(notice.names))
            else:
                # The copy on the server that is named, else on the one that logged it.
                named = [copy for name in notice.names for copy in copies.get(name, ())]
                own = [copy for copy in named if copy.computer == host.computer]
                meant = concerned(named, notice.names, state, settings) or own
            for entry in meant:
                if notice.last > entry.damage_mended:
                    found[entry.computer, entry.database].append(notice)
    for told in found.values():
        told.sort(key=lambda each: (each.last, _what(each)))
    return found


def _what(notice: Notice) -> tuple[str, int, tuple[str, ...]]:
    return notice.state, notice.event_id, notice.names


def fold_companion(
    state: State, settings: Settings, computer: str, event: Event, time: float
) -> AbstractSet[tuple[str, str, str]]:
    """Fold a companion event; returns the rows of the journal that changed."""
    says = event.fields.get("state")
    if "power" in event.fields:
        note_power(state.hosts[computer].power, event)
    elif says in FAILOVERS:
        note_failover(state.hosts[computer], event, time)
    elif says in NOTICES:
        note_notice(state.hosts[computer], event, time)
    else:
        entry = _white_space(state, settings, computer, event, time)
        return {("database", computer, entry.database)} if entry is not None else set()
    return {("host", computer, "")}


def note_power(power: Power, event: Event) -> Power:
    """Note a shutdown or a start of the computer; returns `power`."""
    name, time = str(event.fields["power"]), event.time or 0.0
    setattr(power, name, max(getattr(power, name), time))
    return power


def _white_space(
    state: State, settings: Settings, computer: str, event: Event, time: float
) -> Database | None:
    """Fold the white space of a companion event; returns its database, None when unclear. 1646
    speaks of a directory database, 1221 of a store named in words."""
    free = event.fields.get("free_bytes")
    if not isinstance(free, int | float):
        return None
    entries = [entry for (owner, _), entry in state.databases.items() if owner == computer]
    if event.event_id == 1646:
        owned = directories(entries, str(event.fields.get("adam_instance", "")))
    else:
        name = str(event.fields.get("database_name", "")).lower()
        owned = [e for e in entries if identity.database_name(e, settings).lower() == name]
    if len(owned) != 1:
        return None
    fold_free_space(owned[0], float(free), time)
    size = event.fields.get("size_bytes")
    if isinstance(size, int):
        resize(owned[0], float(size), time)
    return owned[0]
