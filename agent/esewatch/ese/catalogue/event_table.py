"""Every ESE event the agent knows, one row each. To add an event, add a row to a part.

The parts group the ids by meaning; nothing depends on which part a row stands in.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from esewatch.ese.catalogue import backup, definitions, integrity, maintenance, recovery, storage
from esewatch.ese.catalogue.event_row import EventRow

_PARTS: tuple[tuple[EventRow, ...], ...] = (
    maintenance.DEFRAGMENTATION,
    maintenance.SPACE,
    maintenance.SCANS,
    integrity.PAGES,
    integrity.STRUCTURE,
    definitions.INDEXES,
    definitions.DEFINITIONS,
    storage.IO,
    storage.LOG_WRITES,
    storage.BLOCK_CACHE,
    storage.SPACE,
    storage.VERSION_STORE,
    backup.STREAMING,
    backup.SEEDING,
    backup.SHADOW_COPY,
    backup.REVERT_SNAPSHOTS,
    recovery.LIFE_CYCLE,
    recovery.RECOVERY,
    backup.RESTORE,
    definitions.FAILURE_ITEMS,
)


def _by_id() -> Mapping[int, EventRow]:
    rows: dict[int, EventRow] = {}
    for row in chain.from_iterable(_PARTS):
        if row.event_id in rows:
            raise ValueError(f"event {row.event_id} has two rows in the catalogue")
        rows[row.event_id] = row
    return MappingProxyType(dict(sorted(rows.items())))


CATALOGUE: Mapping[int, EventRow] = _by_id()
"""Event id -> row, in order of id, both generations and the ids no engine raises any more."""
