"""Computers whose databases are shown and judged together.

What is derived and judged of a database follows from what its computer logged, from the copies of
it on other computers, and from disks of other computers that it shares. So a state falls into
groups of computers: a view of all of it is the views of its groups side by side, and what one
record changes is that of its group alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from esewatch.advice.history.copies import copies_of, member_of
from esewatch.advice.history.derived import leaving_out
from esewatch.config import Settings
from esewatch.fold.identity.identity import device_of
from esewatch.fold.state.state import Database, SourceState, State

Link = tuple[str, ...]
"""Something that a computer has in common with those of its group."""
Group = tuple[str, ...]
"""Computers, sorted."""

_CALLED, _NOTICED, _COMPUTER = "called", "noticed", "computer"


def links_of(
    state: State, settings: Settings, computers: Collection[str]
) -> dict[str, frozenset[Link]]:
    """By computer, of those that are named, its links. A notice of a server is of a database by its
    name, wherever that is."""
    found: dict[str, set[Link]] = {computer: {(_COMPUTER, computer)} for computer in computers}
    pools = {device: pool for pool, devices in settings.pools.items() for device in devices}
    for key, entry in state.databases.items():
        if key[0] in found:
            with leaving_out(key, {}):
                found[key[0]] |= _links_of(entry, state, settings, pools)
    for computer in computers:
        host = state.hosts.get(computer)
        names = {name for each in host.notices for name in each.names} if host is not None else ()
        found[computer].update((_NOTICED, name) for name in names)
    return {computer: frozenset(links) for computer, links in found.items()}


def _links_of(
    entry: Database, state: State, settings: Settings, pools: Mapping[str, str]
) -> set[Link]:
    member = member_of(entry, settings)
    links: set[Link] = {(_COMPUTER, other) for other, _ in member.copies}
    links.add((_CALLED, member.name.lower()))
    if (copy_of := copies_of([member])[0]) is not None:
        links.add(("copy", copy_of))
    if pools:
        host = state.hosts.get(entry.computer)
        device = device_of(entry, host.volumes if host is not None else {}, settings)
        if (pool := pools.get(device or "")) is not None:
            links.add(("pool", pool))
    return links


def groups_of(links: Mapping[str, Iterable[Link]]) -> list[Group]:
    """The groups of the computers with these links."""
    noticed = {link[1] for each in links.values() for link in each if link[0] == _NOTICED}
    group: dict[str, set[str]] = {}
    first: dict[Link, str] = {}
    for computer, own in links.items():
        mine = group[computer] = {computer}
        for link in own:
            if link[0] in (_CALLED, _NOTICED):
                if link[1] not in noticed:
                    continue
                link = (_CALLED, link[1])
            other = group[first.setdefault(link, computer)]
            if other is not mine:
                mine, less = (other, mine) if len(other) > len(mine) else (mine, other)
                mine |= less
                group.update(dict.fromkeys(less, mine))
    return sorted({tuple(sorted(each)) for each in group.values()})


def states_of(state: State, groups: Collection[Group]) -> list[State]:
    """The part of the state that each of these groups has, which is not to be folded into."""
    part: dict[str, State] = {}
    found = []
    for group in groups:
        found.append(State())
        part.update(dict.fromkeys(group, found[-1]))
    for table in _TABLES:
        for key, entry in getattr(state, table).items():
            if (of := part.get(key[0])) is not None:
                getattr(of, table)[key] = entry
    for computer, host in state.hosts.items():
        if (of := part.get(computer)) is not None:
            of.hosts[computer] = host
    for source in state.sources.values():
        own: dict[int, list[str]] = defaultdict(list)
        for computer in source.computers:
            if (of := part.get(computer)) is not None:
                own[id(of)].append(computer)
        for of in found:
            if computers := own.get(id(of)):
                known = msgspec.structs.replace(source, computers=computers)
                of.sources[source.name] = known
    return found


_TABLES = ("channels", "instances", "devices", "databases", "sql_databases")


def readings_of(sources: Iterable[SourceState]) -> dict[str, tuple[tuple[str, bool, bool], ...]]:
    """By computer, the sources that have records of it, and whether each is up and read to its
    end."""
    found: dict[str, list[tuple[str, bool, bool]]] = defaultdict(list)
    for each in sources:
        told = (each.name, each.up, each.caught_up)
        for computer in each.computers:
            found[computer].append(told)
    return {computer: tuple(sorted(told)) for computer, told in found.items()}
