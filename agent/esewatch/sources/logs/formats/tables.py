"""Tables of events: of separated values, and as PowerShell prints them in columns."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.logs.formats.fields import FIELD_OF, gather, integer, labelled, plain
from esewatch.sources.logs.formats.times import looks_dated

DASHES = re.compile(rb"[ \t]*-{2,}(?:[ \t]+-{2,})+[ \t]*\r?\n?")
_GROUP = re.compile(r"-{2,}")


class ConsoleColumn(NamedTuple):
    """A column: its name in plain spelling, and where its dashes stand."""

    name: str
    start: int
    end: int


class Table(NamedTuple):
    """The columns of one printed table; `provider` from the heading of a grouped one."""

    columns: tuple[ConsoleColumn, ...]
    provider: str = ""

    def row(self, line: str) -> RawEvent | None:
        if not line.strip() or "\t" in line:
            return None
        values: dict[str, object] = {}
        at = 0
        for column, following in zip(self.columns, (*self.columns[1:], None), strict=True):
            end = len(line) if following is None else _boundary(line, following.start, at)
            values[column.name] = line[at:end].strip()
            at = end
        numbers = [
            column.name for column in self.columns if FIELD_OF.get(column.name) == "event_id"
        ]
        if not numbers or any(integer(values[name]) is None for name in numbers):
            return None
        found = gather(values)
        found.provider = found.provider or self.provider
        return found

    def continues(self, line: str) -> bool:
        """Is the line blank, or the next line of a wrapped message?"""
        return not line[: self.columns[-1].start].strip()


def _boundary(line: str, start: int, at: int) -> int:
    start = min(start, len(line))
    while start > at and not line[start - 1].isspace():
        start -= 1
    return start


def read_table(header: str, dashes: str, provider: str = "") -> Table | None:
    """The table under these two lines; None when it is no table of events. Names go to dashes by
    their order: a pasted first line may have lost its indent."""
    names = [plain(name) for name in header.split()]
    groups = [(group.start(), group.end()) for group in _GROUP.finditer(dashes)]
    if len(names) != len(groups):
        return None
    fields = {FIELD_OF.get(name) for name in names}
    if not {"event_id", "message"} <= fields or FIELD_OF.get(names[-1]) != "message":
        return None
    columns = (ConsoleColumn(name, *group) for name, group in zip(names, groups, strict=True))
    return Table(tuple(columns), provider)


CONTAINERS = frozenset({"raw", "message", "msg", "line", "log"})
"""Columns whose cells may be whole records as text, where no column is an event id."""
_NAME = re.compile(r"\s*[^\W\d][^\"\n:;]{0,60}")
_SEPARATORS = (",", ";", "\t")
_VIEWER = ("level", "dateandtime", "source", "eventid", "taskcategory", "message")


class ColumnNames(NamedTuple):
    separator: str
    columns: tuple[str, ...]


def find_columns(head: str) -> ColumnNames | None:
    """The layout of a table by its first rows; None when the text is no table of events."""
    lines = head.split("\n", 1)
    if lines[0].startswith("#TYPE"):
        head = lines[1] if len(lines) > 1 else ""
    for separator in _SEPARATORS:
        rows = _first_rows(head.lstrip("\r\n"), separator)
        if not rows or len(rows[0]) < 3:
            continue
        # Level, date and time, source, event id, task category, others, message: the order of Event
        # Viewer, in every language.
        if any(
            len(row) >= 6 and looks_dated(row[1]) and integer(row[3]) is not None for row in rows
        ):
            more = tuple(map(labelled, rows[0][len(_VIEWER) - 1 :]))
            more = more if len(rows[-1]) > len(_VIEWER) else ()
            return ColumnNames(separator, (*_VIEWER[:-1], *more, _VIEWER[-1]))
        layout = header_of(rows[0], separator)
        if layout is not None:
            return layout
    return None


def _first_rows(head: str, separator: str) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(head, newline=""), delimiter=separator):
            rows.append(row)
            if len(rows) == 2:
                break
    except csv.Error:
        pass
    return rows


def header_of(cells: Sequence[str], separator: str) -> ColumnNames | None:
    """The layout a header row gives; None when the row is no header of events."""
    columns = tuple(labelled(cell) for cell in cells)
    if "value" in columns and not {"message", "description"} & set(columns):
        columns = tuple("message" if name == "value" else name for name in columns)  # Zabbix
    fields = {FIELD_OF.get(column) for column in columns}
    if len(columns) < 3 or not all(map(_NAME.fullmatch, cells)):
        return None
    of_events = "event_id" in fields and fields & {"provider", "message"}
    if not of_events and len(CONTAINERS & set(columns)) != 1:
        return None
    if any(integer(cell) is not None for cell in cells):
        return None
    return ColumnNames(separator, columns)
