"""Role of a copy that its scans show: active or passive (semantics.md 1)."""

from collections.abc import Iterable

from esewatch.fold.state.state import Database, Transition

ACTIVE_FAMILY = frozenset({735, 736, 737, 738, 744})
PASSIVE_FAMILY = frozenset({717, 719, 732, 733, 745, 746, 747})
"""Of a current engine: the scan of a copy that replays logs (ese-facts 1.5)."""
SKIPPED = 747
"""An event that comes with a resume, which shows the role."""
OF_BOTH_GENERATIONS = frozenset({717, 719})
"""The scan of Exchange 2007 logs these too, which shows no role."""


_FAMILY = dict.fromkeys(ACTIVE_FAMILY, "active") | dict.fromkeys(PASSIVE_FAMILY, "passive")


def family(event_id: int) -> str:
    """active or passive: the role whose scan this event belongs to, empty where it shows
    neither."""
    return _FAMILY.get(event_id, "")


def role_changes(database: Database, transitions: Iterable[Transition]) -> list[float]:
    """Times at which the copy changed its role: its events changed family, or a failover.
    `transitions` are sorted. A database of Exchange 2007 logs one family only."""
    changes = list(database.failovers)
    role = database.evicted_role
    for each in transitions:
        if each.event_id != SKIPPED and (new := family(each.event_id)):
            if role and new != role:
                changes.append(each.time)
            role = new
    return sorted(changes)


def role_at(transitions: Iterable[Transition], time: float) -> str:
    """The role that the events up to `time` show, empty without any; `transitions` are sorted."""
    role = ""
    for each in transitions:
        if each.time > time:
            break
        role = family(each.event_id) or role
    return role
