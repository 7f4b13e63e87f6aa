"""Hidden counters, grouped by the action that is needed."""

from collections.abc import Iterable

import msgspec

from esewatch.ese.counters.counter_commands import (
    LIBRARIES,
    CounterCommands,
    Library,
    counter_commands,
    library_of,
)
from esewatch.expose.formatting import tidy
from esewatch.fold.instances.counters import counters_present
from esewatch.fold.state.state import State

MAX_NAMED = 50


class Hidden(msgspec.Struct, frozen=True, kw_only=True):
    computer: str
    counters: tuple[str, ...]
    libraries: tuple[Library, ...]
    """The processes that serve the known databases; empty when none is known."""


class HiddenGroup(msgspec.Struct, frozen=True, kw_only=True):
    computers: tuple[str, ...]
    """The first of them."""
    more: int
    counters: tuple[str, ...]
    commands: tuple[CounterCommands, ...]
    """One for each library that serves databases there; of both where no database is known."""


def hidden_counters(state: State) -> tuple[Hidden, ...]:
    present = counters_present(state)
    serving: dict[str, set[Library]] = {}
    for database in state.databases.values():
        serving.setdefault(database.computer, set()).add(library_of(database.provider))
    return tuple(
        Hidden(
            computer=tidy(host.computer),
            counters=tuple(tidy(name) for name in names),
            libraries=tuple(sorted(serving.get(host.computer, ()))),
        )
        for key, host in sorted(state.hosts.items())
        if (names := sorted(name for name, there in present[key].items() if not there))
    )


def grouped(hidden: Iterable[Hidden]) -> list[HiddenGroup]:
    """Computers with the same commands together, so that a farm has few groups."""
    found: dict[tuple[object, ...], list[Hidden]] = {}
    for each in hidden:
        found.setdefault((each.counters, each.libraries), []).append(each)
    return [_group(members) for members in found.values()]


def _group(members: list[Hidden]) -> HiddenGroup:
    first = members[0]
    return HiddenGroup(
        computers=tuple(each.computer for each in members[:MAX_NAMED]),
        more=max(0, len(members) - MAX_NAMED),
        counters=first.counters,
        commands=commands_of(first),
    )


def commands_of(hidden: Hidden) -> tuple[CounterCommands, ...]:
    told = [counter_commands(hidden.counters, each) for each in hidden.libraries or LIBRARIES]
    return tuple(each for each in told if each is not None)
