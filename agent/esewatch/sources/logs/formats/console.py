"""Tables as PowerShell prints them: a line of names, a line of dashes, rows in columns."""

import re
from typing import NamedTuple

from esewatch.sources.logs.formats.fields import FIELD_OF, Found, gather, integer, plain

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

    def row(self, line: str) -> Found | None:
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
    """Start in this row of the column whose dashes begin at `start`. A value that is aligned to the
    right may begin before its dashes."""
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
