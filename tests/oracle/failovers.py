"""When each copy failed over, as the programs around the engine log it (semantics, 1 and 4)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tests.oracle.chronicle import Event
from tests.oracle.history import History, Logged
from tests.oracle.identity import Computers, database_name
from tests.oracle.subject import Subject

FAILOVER = -1
"""Stands for the id of an event that tells a failover: the ids of other programs are not ours."""
LATEST = 1 << 62


class Told(NamedTuple):
    """A failover that was logged."""

    time: float
    place: int
    computer: str
    names: frozenset[str]
    """What it names, in lower case: a database, servers."""
    whole_server: bool


def failovers(history: History, computers: Computers) -> list[Told]:
    """All that were logged."""
    logged = [
        (place, each) for place, each in enumerate(history.records) if isinstance(each, Logged)
    ]
    moves: dict[str, set[str]] = {}
    for _, record in logged:
        if is_move(record) and record.event_id in (306, 308):
            moves.setdefault(record.strings[0], set()).update(lower(record.strings[1:]))
    found = []
    for place, record in logged:
        names: set[str] | None = None
        if is_move(record) and record.event_id == 308:
            names = moves[record.strings[0]]
        elif record.provider == "ExchangeStoreDB":
            text = " ".join(record.strings)
            if record.event_id == 126 or "A successful failover restored service" in text:
                names = {name.lower() for name in re.findall(r"database '([^']+)'", text)}
        elif record.provider == "MSExchangeRepl" and record.event_id == 2093:
            names = set()
        if names is not None:
            label = computers.label(record.computer)
            whole = record.event_id == 2093
            found.append(Told(record.time, place, label, frozenset(names), whole))
    return found


def is_move(record: Logged) -> bool:
    """Whether the Active Manager logged it, with its operation."""
    return record.provider == "Microsoft-Exchange-HighAvailability" and len(record.strings) > 1


def lower(strings: Sequence[str]) -> set[str]:
    """The strings in lower case."""
    return {each.lower() for each in strings}


def concerning(
    subject: Subject, told: Sequence[Told], subjects: Sequence[Subject], computers: Computers
) -> list[Event]:
    """Those of one copy, as events that end its open pass.

    "those of the database by that name on the computers that the event names, or all known copies
    of that name where the event names none"; 2093 is of a clustered mailbox server as a whole.
    """

    def on_named(one: Subject, names: frozenset[str]) -> bool:
        return any(computers.same(name, one.computer) for name in names)

    found = []
    for each in told:
        if each.whole_server:
            provider = subject.owned[-1].provider.upper() if subject.owned else ""
            mine = each.computer == subject.computer and provider == "ESE"
        else:
            copies = [one for one in subjects if name_of(one) in each.names]
            named = [one for one in copies if on_named(one, each.names)]
            mine = subject in (named or copies)
        if mine:
            found.append(
                Event(each.time, LATEST, each.place, each.time, subject.computer, "", "", FAILOVER,
                      "information", "", "", "", ())
            )  # fmt: skip
    return found


def name_of(subject: Subject) -> str:
    """What a failover calls it."""
    return database_name(subject.entry, subject.instances, subject.label)
