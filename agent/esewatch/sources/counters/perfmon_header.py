"""The header of a perfmon log in text form: its clock and its columns.

`"(PDH-CSV 4.0) (W. Europe Daylight Time)(-120)","\\\\HOST\\Object(instance)\\Counter",...`
The number is minutes west of UTC: local time plus offset is UTC.
"""

import csv
import re
from collections.abc import Iterable
from typing import NamedTuple

from esewatch.ese.counters.counter_feeds import OwnInstances, feed_of, kind_of, present
from esewatch.ese.counters.counter_names import unknown_counters
from esewatch.model import Feed, Kind

_ZONE = re.compile(r"\(PDH-[CT]SV \d+\.\d+\)(.*)\(([+-]?\d{1,4})\)\s*")
_UTC = re.compile(r"\bUTC\b|univers|weltzeit|世界时|世界時", re.IGNORECASE)
"""Names of UTC in the languages of Windows: no zone with daylight saving time is called so."""
_LONGEST_CELL = 100


class PerfmonColumn(NamedTuple):
    """One counter of the header; `place` is that of its cell in a row."""

    place: int
    computer: str
    object: str
    instance: str
    counter: str
    kind: Kind
    feed: Feed | None


class PerfmonHeader(NamedTuple):
    delimiter: str
    west_seconds: int | None
    """Seconds to add to local time for UTC; None where the log has no offset."""
    zone: str
    """Name of its time zone."""
    is_utc: bool
    """True if its zone is UTC by name. Offset 0 alone is also Western Europe in winter."""
    width: int
    """Cells of a whole row."""
    columns: list[PerfmonColumn]
    present: dict[str, dict[str, bool]]
    """By computer: which groups of counters its ESE instances object exposes."""
    faults: list[str]
    """Faults of the header."""


def is_header(line: bytes) -> bool:
    """Does a line begin as the header of a perfmon text log?"""
    return line[:32].lstrip(b'"').startswith(b"(PDH-")


def is_header_without_tag(head: bytes) -> bool:
    """Does a text begin with counter paths as columns, but not as a perfmon log does?"""
    line = head.lstrip().split(b"\n", 1)[0]
    if is_header(line):
        return False
    text = _decode(line).strip("\r\n")
    try:
        cells = next(csv.reader([text], delimiter=_delimiter(text)), [])
    except csv.Error:
        return False
    paths = cells[1:-1] if text.count('"') % 2 == 1 else cells[1:]
    return bool(paths) and all(cell.startswith("\\\\") and cell.count("\\") > 3 for cell in paths)


def read_header(line: bytes, *, computer: str = "") -> PerfmonHeader:
    """Read a header line (UTF-8 or a code page). `computer`: for columns without a host. Columns
    that are no counter paths are left out and named in `faults`."""
    text = _decode(line).strip("\r\n")
    delimiter = _delimiter(text)
    faults: list[str] = []
    try:
        cells = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        return PerfmonHeader(
            delimiter, None, "", False, 0, [], {}, [f"header cannot be read: {error}"]
        )
    cut = len(cells) > 1 and text.count('"') % 2 == 1
    if cut:
        faults.append(f"header is cut short after column {len(cells) - 1}")
    columns, strange = [], []
    for index, cell in enumerate(cells[1 : -1 if cut else None], 1):
        if column := _column(index, cell, computer):
            columns.append(column)
        else:
            strange.append(index + 1)
    if strange:
        sample = cells[strange[0] - 1][:_LONGEST_CELL]
        faults.append(
            f"{len(strange)} columns are not counter paths, first column {strange[0]}: {sample!r}"
        )
    faults += unknown_counters((column.object, column.counter) for column in columns)
    zone = _ZONE.fullmatch(cells[0]) if cells else None
    return PerfmonHeader(
        delimiter=delimiter,
        west_seconds=int(zone[2]) * 60 if zone else None,
        zone=zone[1].strip(" ()") if zone else "",
        is_utc=zone is not None and _UTC.search(zone[1]) is not None,
        width=len(cells),
        columns=_without_stand_ins(columns),
        present=_present(columns),
        faults=faults,
    )


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def _delimiter(text: str) -> str:
    if "(PDH-TSV" in text[:16]:
        return "\t"
    end = text.find('"', 1) if text.startswith('"') else text.find(")", text.rfind("(", 0, 100))
    behind = text[end + 1 : end + 2]
    return behind if behind and behind in ",;\t" else ","


def _column(index: int, path: str, computer: str) -> PerfmonColumn | None:
    """Take `\\\\host\\object(parent/instance#1)\\counter` apart."""
    path = path.strip()
    host = computer
    if path.startswith("\\\\"):
        named, _, rest = path[2:].partition("\\")
        host = named or computer
    elif path.startswith("\\"):
        rest = path[1:]
    else:
        return None
    bracket, slash = rest.find("("), rest.find("\\")
    if 0 <= bracket < slash and (end := rest.rfind(")\\")) > bracket:
        name, instance, counter = rest[:bracket], rest[bracket + 1 : end], rest[end + 2 :]
    else:
        name, _, counter = rest.partition("\\")
        instance = ""
    if not name or not counter:
        return None
    return PerfmonColumn(
        place=index,
        computer=host,
        object=name,
        instance=instance,
        counter=counter,
        kind=kind_of(name, counter),
        feed=feed_of(name, instance, counter),
    )


def _without_stand_ins(columns: list[PerfmonColumn]) -> list[PerfmonColumn]:
    own = OwnInstances()
    for column in columns:
        own.add(column.computer, column.instance)
    return [
        column._replace(feed=None)
        if own.replace(column.computer, column.instance, column.feed)
        else column
        for column in columns
    ]


def _present(columns: Iterable[PerfmonColumn]) -> dict[str, dict[str, bool]]:
    names: dict[str, set[tuple[str, str]]] = {}
    for column in columns:
        names.setdefault(column.computer, set()).add((column.object, column.counter))
    return {computer: found for computer, pairs in names.items() if (found := present(pairs))}
