"""Every ESE event the agent knows, one row each. To add an event, add a row to a part.

The parts group the ids by meaning; nothing depends on which part a row stands in.
"""

from collections.abc import Mapping
from itertools import chain
from types import MappingProxyType

from esewatch.ese import (
    catalogue_backup,
    catalogue_definitions,
    catalogue_failure_items,
    catalogue_integrity,
    catalogue_maintenance,
    catalogue_recovery,
    catalogue_restore,
    catalogue_scan,
    catalogue_storage,
)
from esewatch.ese.catalogue_row import Kind, Param, Row

__all__ = ["CATALOGUE", "Kind", "Param", "Row"]

_PARTS: tuple[tuple[Row, ...], ...] = (
    catalogue_maintenance.DEFRAGMENTATION,
    catalogue_maintenance.SPACE,
    catalogue_scan.SCANS,
    catalogue_integrity.PAGES,
    catalogue_integrity.STRUCTURE,
    catalogue_definitions.INDEXES,
    catalogue_definitions.DEFINITIONS,
    catalogue_storage.IO,
    catalogue_storage.LOG_WRITES,
    catalogue_storage.BLOCK_CACHE,
    catalogue_storage.SPACE,
    catalogue_storage.VERSION_STORE,
    catalogue_backup.STREAMING,
    catalogue_backup.SEEDING,
    catalogue_backup.SHADOW_COPY,
    catalogue_backup.REVERT_SNAPSHOTS,
    catalogue_recovery.LIFE_CYCLE,
    catalogue_recovery.RECOVERY,
    catalogue_restore.RESTORE,
    catalogue_failure_items.FAILURE_ITEMS,
)


def _by_id() -> Mapping[int, Row]:
    rows: dict[int, Row] = {}
    for row in chain.from_iterable(_PARTS):
        if row.event_id in rows:
            raise ValueError(f"event {row.event_id} has two rows in the catalogue")
        rows[row.event_id] = row
    return MappingProxyType(dict(sorted(rows.items())))


CATALOGUE: Mapping[int, Row] = _by_id()
"""Event id -> row, in order of id, both generations and the ids no engine raises any more."""
