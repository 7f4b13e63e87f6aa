"""The columns of a table of separated values, recognised by its first rows."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from esewatch.sources.logs.formats.fields import FIELD_OF, integer, labelled
from esewatch.sources.logs.formats.times import looks_dated

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
        if any(_is_viewer_row(row) for row in rows):
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


def _is_viewer_row(cells: Sequence[str]) -> bool:
    """Level, date and time, source, event id, task category, others, message: the order of Event
    Viewer, in every language."""
    return len(cells) >= 6 and looks_dated(cells[1]) and integer(cells[3]) is not None


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
