"""Events of other providers (semantics.md 4): failovers, notices, white space, shutdowns."""

from collections.abc import Set as AbstractSet

from esewatch.config import Settings
from esewatch.fold.companions import failovers, notices
from esewatch.fold.databases.databases import fold_free_space, resize
from esewatch.fold.identity import identity
from esewatch.fold.identity.named import directories
from esewatch.fold.state.state import Database, Power, State
from esewatch.model import Event


def fold_companion(
    state: State, settings: Settings, computer: str, event: Event, time: float
) -> AbstractSet[tuple[str, str, str]]:
    """Fold a companion event; returns the rows of the journal that changed."""
    says = event.fields.get("state")
    if "power" in event.fields:
        note_power(state.hosts[computer].power, event)
    elif says in failovers.STATES:
        failovers.note(state.hosts[computer], event, time)
    elif says in notices.STATES:
        notices.note(state.hosts[computer], event, time)
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
