"""The maintenance model of a database (semantics.md 5), and the copies of it (1).

The only place that decides either: the integrity ledger compares copies by it, and rules join by
the metric that exports it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from esewatch.config import DatabaseRule, Settings, rule_for
from esewatch.fold.databases.databases import FAMILY_2007
from esewatch.fold.identity.identity import (
    computer_label,
    database_label,
    database_name,
    is_snapshot,
    role_of,
)
from esewatch.fold.identity.owners import STORES
from esewatch.fold.passes.transitions import event_ids
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Database, State

Model = Literal["window", "garbage_collection", "background", "application"]

_STORE_2007 = ("msexchangeis", "information store", "store")
_REPLICATION = "msexchangerepl"
_TOOLS = ("eseutil", "esentutl")
"""Programs that work on the files of others: they show nothing of whose database it is."""
_WORKER = ("microsoft.exchange.store.worker", "information store - ")
"""Since Exchange 2013 each database has a process, which may call itself by its name."""
_DIRECTORY = re.compile(r"(NTDS|ADAM \[.*\]) ISAM", re.IGNORECASE)
_OLD_EVENTS = frozenset({700, 701, 702, 703, 704})
_SCAN_STARTS = frozenset({717, 719})
_SCAN_2007 = frozenset({721, 722})
_SCAN_CURRENT = frozenset({*range(732, 739), *range(744, 748)})


def maintenance_model(database: Database, settings: Settings) -> Model:
    """The scheduling of maintenance: only `window` is judged by ratio, cadence and length.

    The configuration decides first, a window too unless a current engine scans beside it. A
    directory (domain controller, AD LDS) and DFSR collect garbage; an Exchange store that logs
    online defragmentation or a scan as of 2007 has a window, and so has its passive copy; current
    engines scan in the background.
    """
    rule = rule_for(settings, database.computer, database.database)
    if rule is not None and rule.model is not None:
        return rule.model
    process = database.process.lower()
    seen = event_ids(database.transitions)
    seen |= {ended.completion_event for ended in database.old_passes}
    seen |= database.untimed.events.keys()
    if rule is not None and rule.window is not None:
        return "background" if _scans_beside_window(database, process, seen) else "window"
    if _collects_garbage(database, process):
        return "garbage_collection"
    if process.startswith(_WORKER):
        return "background"
    if database.provider.upper() == "ESE" and _is_of_2007(process, seen):
        return "window"
    if seen & _SCAN_CURRENT or (seen & _SCAN_STARTS and not seen & _SCAN_2007):
        return "background"
    return "application"


def is_worker(process: str) -> bool:
    """True if it is the process that has the databases of Exchange 2013 and later."""
    return process.lower().startswith(_WORKER)


def _scans_beside_window(database: Database, process: str, seen: set[int]) -> bool:
    """True if both models fit: it is `window` only where background scanning is off, and the store
    then logs online defragmentation alone."""
    if seen & _SCAN_CURRENT or (database.generation == "current" and seen & _SCAN_STARTS):
        return True
    return process.startswith(_WORKER) and not seen & _OLD_EVENTS


def _is_of_2007(process: str, seen: set[int]) -> bool:
    """True if it is maintained as Exchange 2007 does: the active copy, or the one of CCR and LCR.
    The replication service replays logs into that copy, and nothing maintains it."""
    if process.startswith(_REPLICATION) and not seen & _SCAN_CURRENT:
        return True
    return process.startswith((*_STORE_2007, _REPLICATION, *_TOOLS)) and bool(
        seen & (_OLD_EVENTS | FAMILY_2007)
    )


def _collects_garbage(database: Database, process: str) -> bool:
    label = database.database.lower()
    return (
        _DIRECTORY.fullmatch(database.provider) is not None
        or database.ese_instance.upper() == "NTDSA"
        or label.endswith(("ntds.dit", "dfsr.db"))
        or process.startswith("dfsr")
    )


REPLICATED: frozenset[Model] = frozenset({"window", "background"})
"""Models of databases whose copies have roles: Exchange's, once their scans were seen."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    computer: str
    database: str
    name: str
    """Copies of one database share it, compared without case."""
    named: bool = False
    """The name is configured: paths may differ then."""
    copies: Sequence[DatabaseKey] = ()
    """Configured ones: (computer, database)."""
    model: Model
    replicated: bool = False
    """The store of Exchange owns it, and nothing else shows a model yet."""
    served: bool = True
    """A program has it. Else it was only read, by a tool, a page scan or in a snapshot."""
    role: str
    """active, passive, or empty when unknown."""


def member_of(database: Database, settings: Settings) -> Member:
    rule = rule_for(settings, database.computer, database.database)
    model = maintenance_model(database, settings)
    of_store = database.process.lower().startswith(STORES)
    configured = rule is not None and rule.model is not None
    return Member(
        computer=database.computer,
        database=database.database,
        name=database_name(database, settings),
        named=bool(rule and rule.name),
        copies=_configured(rule, settings),
        model=model,
        replicated=of_store and model == "application" and not configured,
        served=bool(database.provider),
        role=role_of(database, settings),
    )


def copies_of(members: Sequence[Member]) -> list[str | None]:
    """A key of the database that each is a copy of, equal for its copies; None: no copy.

    Those of the configuration, else of the same name. Names come from instances, and many servers
    have a "First Storage Group" or an "NTDSA" of their own: only Exchange replicates, and on the
    same path everywhere (Add-MailboxDatabaseCopy). The key depends only on the database itself and
    the configuration, so that the agents of several servers agree.
    """
    joined = _joined(members)
    return [_copy_of(each, joined.get((each.computer, each.database))) for each in members]


class Copies(NamedTuple):
    """By database of a state, its `member_of`, and its key of `copies_of`."""

    members: Mapping[DatabaseKey, Member]
    keys: Mapping[DatabaseKey, str | None]

    @classmethod
    def of(cls, members: Mapping[DatabaseKey, Member]) -> "Copies":
        return cls(members, dict(zip(members, copies_of(list(members.values())), strict=True)))

    @classmethod
    def within(cls, state: State, settings: Settings) -> "Copies":
        return cls.of({key: member_of(each, settings) for key, each in state.databases.items()})


def comparable(group: Iterable[Member]) -> bool:
    """True if roles distinguish the copies: a database is active once, and once on a computer."""
    members = list(group)
    roles = [member.role for member in members]
    computers = {member.computer for member in members}
    return all(roles) and roles.count("active") <= 1 and len(computers) == len(members)


def _copy_of(member: Member, configured: set[DatabaseKey] | None) -> str | None:
    if is_snapshot(member.database):
        return None
    if configured is not None:
        computer, database = min(configured)
        return f"copies of {database} on {computer}"
    if not member.served or (member.model not in REPLICATED and not member.replicated):
        return None
    name = member.name.casefold()
    return name if member.named else f"{name} at {member.database}"


def _joined(members: Iterable[Member]) -> dict[DatabaseKey, set[DatabaseKey]]:
    """By database, all that configured copies join with it, whichever of them names the others."""
    joined: dict[DatabaseKey, set[DatabaseKey]] = {}
    for member in members:
        own = (member.computer, member.database)
        for other in member.copies:
            if other[0] == member.computer:  # one rule for all of them names itself too
                continue
            one, two = joined.setdefault(own, {own}), joined.setdefault(other, {other})
            if one is not two:
                one |= two
                joined.update(dict.fromkeys(two, one))
    return joined


def _configured(rule: DatabaseRule | None, settings: Settings) -> list[DatabaseKey]:
    """The configured copies by their labels; a path in a snapshot is none."""
    found = []
    for copy in rule.copies if rule else ():
        label = database_label(copy.database)
        if label is not None:
            found.append((computer_label(copy.computer, settings), label))
    return found
