"""Failovers of copies, as logged by other programs of their servers (semantics.md 1 and 4).

A logged failover stays with the computer that logged it; the database it belongs to is worked out
again whenever more is known, so that the order of arrival makes no difference.
"""

from bisect import insort
from collections import defaultdict
from collections.abc import Mapping

from esewatch.config import Settings
from esewatch.fold.identity.named import by_name, concerned, names_in
from esewatch.fold.state.state import Database, Failover, Host, State
from esewatch.model import Event

MOST_OF_HOST = 1024
MOST_OF_DATABASE = 64
WHOLE_SERVER = 2093
"""Exchange 2007: a clustered mailbox server moves with all its databases."""
DONE = "failover"
STATES = frozenset({DONE, "failover_started"})
_EXCHANGE = "ese"


def note(host: Host, event: Event, time: float) -> None:
    operation = str(event.fields.get("operation", ""))
    names = tuple(name for name in names_in(event) if name != operation.lower())
    whole = event.event_id == WHOLE_SERVER
    if names or operation or whole:
        done = event.fields["state"] == DONE
        told = Failover(time, done, operation, names, whole)
        insort(host.failovers, told, key=lambda each: each.time)
        del host.failovers[:-MOST_OF_HOST]


def refresh(state: State, settings: Settings) -> set[tuple[str, str, str]]:
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
    moves = _moves(state)
    found: dict[tuple[str, str], set[float]] = defaultdict(set)
    for host in state.hosts.values():
        for each in host.failovers:
            if not each.done:
                continue
            if each.whole_server:
                moved = _exchange(state, host.computer)
            else:
                names = moves[each.operation] if each.operation else set(each.names)
                moved = []
                for name in names & copies.keys():
                    moved += concerned(copies[name], names, state, settings) or copies[name]
            for entry in moved:
                found[entry.computer, entry.database].add(each.time)
    return found


def _moves(state: State) -> Mapping[str, set[str]]:
    names: dict[str, set[str]] = defaultdict(set)
    for host in state.hosts.values():
        for each in host.failovers:
            names[each.operation].update(each.names)
    return names


def _exchange(state: State, computer: str) -> list[Database]:
    return [
        entry
        for entry in state.databases.values()
        if entry.computer == computer and entry.provider.lower() == _EXCHANGE
    ]
