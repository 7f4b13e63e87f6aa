"""The fields of a row of the catalogue, and the meaning of each label."""

import re
from itertools import chain
from typing import NamedTuple

D = ("computer", "database")
I = ("computer", "ese_instance")  # noqa: E741 - the contract's own letter
S = ("source",)
V = ("computer", "device")
_LETTERS = {"D": D, "I": I, "S": S, "V": V}

LABELS = {
    "computer": "Computer that logged the record: lower case, first DNS label.",
    "database": "Path of the database file, lower case where it has a drive letter or UNC root;"
    " of SQL Server the name of the database, behind that of a named instance.",
    "database_name": "Configured name, else instance name, else file name without extension.",
    "ese_instance": "ESE instance (storage group, mailbox database) as logged.",
    "copies_of": "The same for all copies of a database: the first of the configured copies, else"
    " its name, and its path unless the name is configured.",
    "path": "Path of the database as last logged.",
    "role": "active, passive; empty when unknown.",
    "model": "Maintenance model: window, garbage_collection, background, application.",
    "tier": "watched, observed, ignored.",
    "generation": "2007 or current: the family of maintenance events; empty when none was seen.",
    "page_size": "Page size in bytes; empty when unknown.",
    "provider": "Event source as logged (ESE, ESENT, NTDS ISAM, ...).",
    "event_id": "Event id; other for those beyond the limit.",
    "task": "defrag, checksum, zeroing.",
    "kind": "Kind of page, error or backup; the line of the metric names them.",
    "action": "Advised action on the maintenance window; the line of the metric names them.",
    "confidence": "p50, p90: the probability, in percent, of completion by then.",
    "finding": "A finding of the database; the line of the metric names them.",
    "severity": "critical, warning, info.",
    "physical_only": "true, false: whether the check left out the logical half.",
    "verdict": "Urgency of the database; the line of the metric names them.",
    "reason": "The rule that decided the window advice; the line of the metric names them.",
    "by": "online_scan, page_scan, streaming_backup, external.",
    "operation": "read, write.",
    "file": "database, log.",
    "phase": "attached, recovery; all where the engine does not distinguish them.",
    "process": "Process that holds the database cache, as performance counters name it.",
    "device": "Whole disk: wwid or serial, else its name in the system or the exporter.",
    "source": "Name of the source in the configuration.",
    "part": "Part of esewatch: fold, source, journal, metrics, advice, other.",
    "name": "Name of the performance object or counter.",
    "external_url": "Address of the pages of esewatch.",
    "version": "Version of esewatch.",
    "python_version": "Version of the Python that runs it.",
    "kernel": "compiled or python: the kernel that verifies the checksums of pages.",
    "le": "Upper bound of the bucket, in seconds.",
}


class MetricRow(NamedTuple):
    """One metric. `what` is one sentence, `origin` completes "From ..."."""

    name: str
    type: str
    labels: tuple[str, ...]
    what: str
    origin: str
    unit: str
    """Base unit as OpenMetrics knows it: the last part of the name without `_total`."""

    @property
    def help(self) -> str:
        return f"{self.what} From {self.origin}."

    @property
    def family(self) -> str:
        """The family name of OpenMetrics: counters without their `_total`."""
        return self.name.removesuffix("_total") if self.type == "counter" else self.name


def rows(table: str) -> tuple[MetricRow, ...]:
    """The rows of a table: a line of type, name and labels, the HELP text indented below it."""
    return tuple(map(_row, re.split(r"\n(?=\S)", table.strip())))


def _row(text: str) -> MetricRow:
    head, *lines = text.splitlines()
    type_, name, *labels = head.split()
    what, origin = " ".join(map(str.strip, lines)).removesuffix(".").rsplit(" From ", 1)
    unit = re.search("_(seconds|bytes)$", name.removesuffix("_total"))
    flat = chain.from_iterable(_LETTERS.get(label, (label,)) for label in labels)
    return MetricRow(name, type_, tuple(flat), what, origin, unit[1] if unit else "")
