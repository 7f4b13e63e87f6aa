"""White space that other providers report (semantics.md 4): 1646 and 1221."""

from esewatch.config import Settings
from esewatch.fold import identity
from esewatch.fold.databases import fold_free_space, resize
from esewatch.fold.state import Database, State
from esewatch.model import Event


def fold_companion(
    state: State, settings: Settings, computer: str, event: Event, time: float
) -> Database | None:
    """Take over the white space of a companion event; the database it was, None when unclear.

    1646 speaks of the directory database, 1221 of a store named in words.
    """
    free = event.fields.get("free_bytes")
    if not isinstance(free, int | float):
        return None
    entries = [entry for (owner, _), entry in state.databases.items() if owner == computer]
    if event.event_id == 1646:
        owned = [entry for entry in entries if entry.database.endswith("ntds.dit")]
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
