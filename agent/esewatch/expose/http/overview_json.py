"""The figures of all databases as JSON."""

from collections.abc import Iterable
from typing import Any

import msgspec

from esewatch.expose.formatting import iso_time
from esewatch.expose.pages.overview import DatabaseFigures, Overview
from esewatch.fold.state.state import UNLOCATED, BadPage


def overview_json(view: Overview, found: Iterable[DatabaseFigures] | None = None) -> bytes:
    """`/api/v1/databases`: `{"time": …, "fleet": {…}, "databases": [{…}]}`, times in ISO 8601.

    `found` are the databases that are asked for, None: all. `fleet` always counts all.

    A key is absent when it is unknown.
    """
    fleet = view.fleet
    return msgspec.json.encode(
        {
            "time": iso_time(view.now),
            "fleet": {
                "bad": fleet.bad,
                "unverified": fleet.unverified,
                "writes_at_risk": fleet.writes_at_risk,
                "blind": [{"name": each.name, "why": each.why} for each in fleet.blind],
            },
            "databases": [
                _database_json(figures) for figures in (view.databases if found is None else found)
            ],
        }
    )


def _bad_page_json(bad: BadPage) -> dict[str, Any]:
    row: dict[str, Any] = {
        "page_number": None if bad.page == UNLOCATED else bad.page,
        "kind": bad.kind,
        "first": iso_time(bad.first),
        "last": iso_time(bad.last),
        "found_in_history": bad.history,
        "pages": bad.pages,
    }
    return {key: value for key, value in row.items() if value is not None}


def _database_json(figures: DatabaseFigures) -> dict[str, Any]:
    row: dict[str, Any] = {
        "computer": figures.computer,
        "ese_instance": figures.ese_instance or None,
        "database": figures.database,
        "name": figures.name,
        "path": figures.path,
        "tier": figures.tier,
        "model": figures.model,
        "role": figures.role or None,
        "status": figures.status,
        "verdict": figures.verdict,
        "behind": figures.behind,
        "reasons": figures.reasons,
        "running": figures.running,
        "interrupted": figures.interrupted,
        "collisions": figures.collisions,
        "last_defrag_completed": iso_time(figures.last_defrag),
        "last_checksum_completed": iso_time(figures.last_checksum),
        "ratio": figures.ratio,
        "known_bad_pages": figures.bad_pages,
        "bad_pages": [_bad_page_json(bad) for bad in figures.bad_page_list],
        "verified": {by: iso_time(time) for by, time in figures.verified.items()},
        "verification_deadline_seconds": figures.verification_deadline,
        "size_bytes": figures.size_bytes,
        "free_bytes": figures.free_bytes,
    }
    return {key: value for key, value in row.items() if value is not None}
