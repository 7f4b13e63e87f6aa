"""Hidden counters, by what is to be done about them."""

from collections.abc import Iterable

import msgspec

from esewatch.ese.counter_commands import LIBRARIES, CounterCommands, counter_commands
from esewatch.expose.overview import Hidden

MAX_NAMED = 50


class HiddenGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Computers that hide the same counters and need the same commands."""

    computers: tuple[str, ...]
    """The first of them."""
    more: int
    counters: tuple[str, ...]
    commands: tuple[CounterCommands, ...]
    """One for each library that serves databases there; of both where no database is known."""


def grouped(hidden: Iterable[Hidden]) -> list[HiddenGroup]:
    """Those with the same commands together, so that a farm has few of them."""
    found: dict[tuple[object, ...], list[Hidden]] = {}
    for each in hidden:
        found.setdefault((each.counters, each.libraries), []).append(each)
    return [_group(members) for members in found.values()]


def _group(members: list[Hidden]) -> HiddenGroup:
    first = members[0]
    told = [counter_commands(first.counters, library) for library in first.libraries or LIBRARIES]
    return HiddenGroup(
        computers=tuple(each.computer for each in members[:MAX_NAMED]),
        more=max(0, len(members) - MAX_NAMED),
        counters=first.counters,
        commands=tuple(each for each in told if each is not None),
    )
