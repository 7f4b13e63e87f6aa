"""The performance counters of ESE: names of both generations, kinds, and what they feed.

Names and types are those of the engine's counter table (schema version 305); the
Exchange 2007 names are those of its documentation. Names are compared without case.
"""

import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from esewatch.model import Kind

ObjectKind = Literal["process", "table_classes", "instances", "databases"]

ONLINE_DEFRAG = "Online Defrag"
DATABASE_MAINTENANCE = "Database Maintenance"

_P: ObjectKind = "process"
_T: ObjectKind = "table_classes"
_I: ObjectKind = "instances"
_D: ObjectKind = "databases"


class Counter(msgspec.Struct, frozen=True, gc=False):
    """One counter. `name` is that of current engines, also for names of Exchange 2007.

    `metric` is what it feeds where it belongs to one instance, empty elsewhere.
    """

    name: str
    kind: Kind
    objects: tuple[ObjectKind, ...]
    metric: str = ""
    former: str = ""
    """The name in Exchange 2007 where it differs."""
    german: str = ""
    """The name on a German Windows where it differs."""


def _rates(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "rate", objects) for name in names]


def _totals(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "total", objects) for name in names]


def _levels(objects: tuple[ObjectKind, ...], *names: str) -> list[Counter]:
    return [Counter(name, "level", objects) for name in names]


_DEFRAG = [
    Counter("Online Defrag Pages Read/sec", "rate", (_P, _I), "ese_defrag_pages_read_total"),
    Counter("Online Defrag Pages Freed/sec", "rate", (_P, _I), "ese_defrag_pages_freed_total"),
    Counter("Online Defrag Log Bytes/sec", "rate", (_P, _I), "ese_defrag_log_bytes_total"),
    *_rates(
        (_P, _I),
        "Online Defrag Pages Preread/sec",
        "Online Defrag Pages Dirtied/sec",
        "Online Defrag Data Moves/sec",
        "Online Defrag Pages Moved/sec",
        "Defragmentation Tasks Scheduled/sec",
        "Defragmentation Tasks Completed/sec",
        # Exchange 2007 only
        "Online Defrag Pages Re-Dirtied/sec",
        "Online Defrag Pages Referenced/sec",
        "Online Defrag Log Records/sec",
    ),
    Counter("Defragmentation Tasks", "level", (_P, _I), german="Defragmentierungstasks"),
    Counter(
        "Defragmentation Tasks Pending",
        "level",
        (_P, _I),
        german="Ausstehende Defragmentierungstasks",
    ),
    Counter(
        "Defragmentation Tasks Postponed",
        "level",
        (_P, _I),
        former="Defragmentation Tasks Discarded",
        german="Verschobene Defragmentierungstasks",
    ),
    *_levels((_P, _I), "Online Defrag Average Log Bytes"),
]

_MAINTENANCE = [
    Counter(
        "Database Maintenance Pages Read",
        "total",
        (_P, _I),
        "ese_maintenance_pages_read_total",
        former="Online Maintenance (DB Scan) Pages Read",
    ),
    Counter(
        "Database Maintenance Pages Read/sec",
        "rate",
        (_P, _I),
        "ese_maintenance_pages_read_total",
        former="Online Maintenance (DB Scan) Pages Read/sec",
    ),
    Counter(
        "Database Maintenance Pages Zeroed",
        "total",
        (_P, _I),
        "ese_maintenance_pages_zeroed_total",
        former="Online Maintenance (DB Scan) Pages Zeroed",
    ),
    Counter(
        "Database Maintenance Pages Zeroed/sec",
        "rate",
        (_P, _I),
        "ese_maintenance_pages_zeroed_total",
        former="Online Maintenance (DB Scan) Pages Zeroed/sec",
    ),
    Counter(
        "Database Maintenance Duration",
        "level",
        (_P, _I),
        german="Datenbankwartung: Dauer seit letzter",
    ),
    *_rates((_P, _I), "Database Maintenance IO Reads/sec", "Database Maintenance IO Re-Reads/sec"),
    *_levels((_P, _I), "Database Maintenance IO Reads Average Bytes"),
    *_levels((_I,), "Database Maintenance Throttle Setting"),
    *_totals(
        (_P, _I),
        "Database Maintenance Zero Ref Count LVs Deleted",
        "Database Maintenance Pages with Flag Deleted LVs Reclaimed",
    ),
    *_totals(
        (_I,),
        "Database Maintenance Pages Skipped by Recovery",
        "Database Maintenance Pages Checked for Divergences",
    ),
    *_rates(
        (_I,),
        "Database Maintenance Pages Skipped by Recovery/sec",
        "Database Maintenance Pages Checked for Divergences/sec",
    ),
]


def _database_io() -> list[Counter]:
    german = {
        "I/O Database Reads/sec": "E/A: Datenbanklesevorgänge/Sek.",
        "I/O Database Reads (Attached)/sec": "E/A: Datenbanklesevorgänge (Angefügt)/Sek.",
        "I/O Database Reads Average Latency": (
            "E/A: Durchschnittliche Wartezeit für Datenbanklesevorgänge"
        ),
        "I/O Database Reads (Attached) Average Latency": (
            "E/A: Durchschnittliche Wartezeit für Datenbanklesevorgänge (Angefügt)"
        ),
        "I/O Database Writes (Attached)/sec": "E/A: Datenbankschreibvorgänge (Angefügt)/Sek.",
        "I/O Database Writes (Attached) Average Latency": (
            "E/A: Durchschnittliche Wartezeit für Datenbankschreibvorgänge (Angefügt)"
        ),
    }
    found = []
    for operation in ("Reads", "Writes"):
        for phase in ("", " (Attached)", " (Recovery)"):
            base = f"I/O Database {operation}{phase}"
            where = (_P, _I) if phase else (_P, _I, _D)
            for name, kind in ((f"{base}/sec", "rate"), (f"{base} Average Latency", "level")):
                found.append(Counter(name, kind, where, german=german.get(name, "")))  # type: ignore[arg-type]
        found += _levels((_P, _I, _D), f"I/O Database {operation} Average Bytes")
        for cause in ("Transactional", "Maintenance"):
            base = f"I/O Database {operation} ({cause})"
            found += _totals((_D,), f"{base} Total IO")
            found += _levels(
                (_D,),
                *(
                    f"{base} {which} Latency (us)"
                    for which in ("Mean", "50th Pct", "90th Pct", "99th Pct", "Max Pct")
                ),
            )
    return found


_IO = [
    *_database_io(),
    *_rates((_P, _I), "I/O Log Reads/sec", "I/O Flush Map Writes/sec"),
    Counter("I/O Log Writes/sec", "rate", (_P, _I), german="E/A: Protokollschreibvorgänge/Sek."),
    Counter(
        "I/O Log Writes Average Latency",
        "level",
        (_P, _I),
        german="E/A: Durchschnittliche Wartezeit für Protokollschreibvorgänge",
    ),
    *_levels((_P, _I), "I/O Log Reads Average Latency", "I/O Flush Map Writes Average Latency"),
]

_CACHE = [
    *_levels((_P,), "Database Cache Size", "Database Cache Size Effective (MB)"),
    *_levels((_P,), "Database Cache Size Resident (MB)"),
    *_levels((_P,), "Database Cache Memory Committed (MB)", "Database Cache Memory Reserved (MB)"),
    Counter(
        "Database Cache Size (MB)", "level", (_P, _I, _D, _T), german="Datenbankcachegröße (MB)"
    ),
    Counter("Database Cache % Hit", "level", (_P, _I, _T), german="Datenbankcache % Treffer"),
    *_levels((_P, _I, _T), "Database Cache % Hit (Unique)"),
    Counter("Database Cache Misses/sec", "rate", (_P, _I, _T), german="Datenbankcachefehler/Sek."),
    *_levels((_P, _I, _T), "Database Cache Miss (Attached) Average Latency"),
    Counter("Database Page Faults/sec", "rate", (_P,), german="Datenbank: Seitenfehler/Sek."),
    *_rates((_P,), "Database Page Evictions/sec"),
    Counter(
        "Database Page Fault Stalls/sec",
        "rate",
        (_P,),
        german="Datenbank: Seitenfehlerverzögerungen/Sek.",
    ),
]

_LOG = [
    *_rates((_P, _I), "Log Record Stalls/sec"),
    Counter("Log Threads Waiting", "level", (_P, _I), german="Wartende Protokollthreads"),
    Counter(
        "Log Generation Checkpoint Depth",
        "level",
        (_P, _I),
        german="Prüfpunkttiefe für Protokollgenerierung",
    ),
    *_levels(
        (_I,),
        "Log Generation Checkpoint Depth Target",
        "Log Generation Checkpoint Depth Max",
        "Log Checkpoint Depth as a % of Target",
        "Log Generation Loss Resiliency Depth",
    ),
    *_levels((_P, _I), "Log Checkpoint Depth"),
    *_totals((_I,), "Log File Current Generation"),
    Counter("Log Files Generated", "total", (_P, _I), german="Generierte Protokolldateien"),
    Counter("Version Buckets Allocated", "level", (_P, _I), german="Zugewiesene Versionsbuckets"),
    *_levels((_P,), "Threads Blocked"),
    *_rates((_P,), "Threads Blocked/sec"),
    *_rates(
        (_P, _I),
        "Database Tasks Pages Referenced/sec",
        "Database Tasks Pages Read/sec",
        "Database Tasks Pages Dirtied/sec",
    ),
]

COUNTERS: tuple[Counter, ...] = (*_DEFRAG, *_MAINTENANCE, *_IO, *_CACHE, *_LOG)
"""Every known counter."""

_OBJECTS: dict[str, ObjectKind] = {
    f"{base}{suffix}": kind
    for base in ("database", "msexchange database")
    for suffix, kind in (
        ("", _P),
        (" ==> tableclasses", _T),
        (" ==> instances", _I),
        (" ==> databases", _D),
    )
} | {"datenbank ==> instanzen": _I}

_PER_SECOND = re.compile(r"/ ?(sec|sek|s)\.?$| pro sekunde$| per second$")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")


def _normal(name: str) -> str:
    # A code page read as another one leaves other letters in the place of an umlaut.
    return _FOREIGN.sub("?", name.strip().lower())


_BY_NAME = {
    _normal(name): counter
    for counter in COUNTERS
    for name in (counter.name, counter.former, counter.german)
    if name
}


def object_kind(name: str) -> ObjectKind | None:
    """Which kind of ESE object `name` is, None if it is none."""
    return _OBJECTS.get(" ".join(name.lower().split()))


def lookup(object_name: str, counter: str) -> Counter | None:
    """The ESE counter of that name; None for another object and an unknown name.

    Its `metric` is empty unless the object is the one of instances.
    """
    kind = object_kind(object_name)
    found = _BY_NAME.get(_normal(counter)) if kind else None
    if found is None or kind == _I:
        return found
    return msgspec.structs.replace(found, metric="")


def kind_of(object_name: str, counter: str) -> Kind:
    """What the values of any counter are: by the table, else by its name."""
    if found := lookup(object_name, counter):
        return found.kind
    return "rate" if _PER_SECOND.search(counter.strip().lower()) else "level"


def instance_name(instance: str) -> tuple[str, str]:
    """(process, ESE instance) of a perfmon instance `process/instance`.

    The ESE instance is empty for the process itself and for `_Total`, whose
    counters are never taken for an instance's (semantics.md 1).
    """
    process, _, name = instance.partition("/")
    return process, "" if name.strip().lower() == "_total" else name.strip()


_GROUPS: dict[str, tuple[str, ...]] = {
    ONLINE_DEFRAG: ("ese_defrag_pages_read_total", "ese_defrag_pages_freed_total"),
    DATABASE_MAINTENANCE: ("ese_maintenance_pages_read_total",),
}


def present(counters: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """Which groups of counters a computer exposes, from its (object, counter) names.

    `Online Defrag` needs pages read and pages freed, `Database Maintenance` pages
    read. Empty when there is no object of instances: nothing is known then.
    """
    names = {pair for pair in counters if object_kind(pair[0]) == _I}
    if not names:
        return {}
    fed = {found.metric for pair in names if (found := lookup(*pair))}
    return {group: fed.issuperset(metrics) for group, metrics in _GROUPS.items()}
