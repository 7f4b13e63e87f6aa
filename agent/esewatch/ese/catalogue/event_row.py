"""The shape of a catalogue row: one logged event, its parameters and its words.

A row is data. Parameters stand in the order of the insertion strings from `%4`
on. A parameter may carry hints: where its value stands in the rendered English
text, for inputs that carry no positional strings.

Hint language: `{}` is the value, `'{}'` a value in any kind of quotes, `#` any number;
a leading `=` marks a label of a list that is written `5 pages seen` or `Pages seen: 5`.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from esewatch.model import FieldValue, Level, Stage, Task


class Kind(Enum):
    """Form of a parameter in the log, by which it is read."""

    SKIP = "not decoded"
    DATABASE = "path of the database"
    FILE = "path of a database, log, checkpoint or flush-map file"
    TEXT = "text as logged"
    INT = "non-negative integer, `123` or `123 (0x7b)`"
    VERSION = "one part of a version: digits without groups"
    SIGNED = "signed integer"
    ERROR = "signed 32-bit error code"
    DECIMAL = "seconds with a decimal point"
    DATE = "short date of the service's locale, perhaps with a time"
    STATS = "runtime stats of a scan: `<pages of this run>, <bad checksums of this run>`"
    SIZE = "size as `2 Mb`"
    TIMING = "timing sequence; its step 1 is the time in seconds"
    MINUTES = "minutes of a time span, counted into `seconds`"
    ADD_SECONDS = "seconds of a time span, added to its minutes"
    EXPECTED_PAGE = "number of the page that should lie there"
    OWNED = "` / <owned pages> = <percent>` of skipped pages"


class Param(NamedTuple):
    """One insertion string: the field it becomes, how it is written, where text shows it."""

    name: str
    kind: Kind
    hints: tuple[str, ...] = ()


class EventRow(NamedTuple):
    """One event of the catalogue. `phrases` are lower-case pieces of the rendered English text that
    all must be there. `level` is the severity used when the input names none. `constants` are
    fields that follow from the id alone. `page_error` marks the events that name a bad page by
    offset. `raised` is False for ids that only older engines log."""

    event_id: int
    symbol: str
    level: Level
    phrases: tuple[str, ...]
    params: tuple[Param, ...]
    task: Task | None = None
    stage: Stage | None = None
    constants: Mapping[str, FieldValue] = {}
    page_error: bool = False
    raised: bool = True


SKIP = Param("", Kind.SKIP)
"""A parameter that is there but not decoded."""


def row(
    event_id: int,
    symbol: str,
    level: Level,
    phrases: str | tuple[str, ...],
    *params: Param,
    task: Task | None = None,
    stage: Stage | None = None,
    constants: Mapping[str, FieldValue] | None = None,
    page_error: bool = False,
    raised: bool = True,
) -> EventRow:
    """A catalogue row, parameters from `%4` on as positional arguments."""
    words = (phrases,) if isinstance(phrases, str) else phrases
    return EventRow(
        event_id, symbol, level, words, params, task, stage, constants or {}, page_error, raised
    )


def db(*hints: str) -> Param:
    """Path of the database; without hints the text has it as `database '<path>'`."""
    return Param("database", Kind.DATABASE, hints or ("database '{}'",))


def file(*hints: str) -> Param:
    """Path of any file of the engine; without hints the text has it as `file "<path>"`."""
    return Param("file", Kind.FILE, hints or ("file '{}'",))


def num(name: str, *hints: str) -> Param:
    return Param(name, Kind.INT, hints)


def count(name: str, label: str) -> Param:
    """An integer of a list, with its label in the text; one below 0 is no count."""
    return Param(name, Kind.SIGNED, ("=" + label,))


def err(*hints: str, name: str = "error") -> Param:
    """An error code; without hints the text has it as `error <code>`."""
    return Param(name, Kind.ERROR, hints or ("error {}",))


def txt(name: str, *hints: str) -> Param:
    return Param(name, Kind.TEXT, hints)


def date(name: str, *hints: str) -> Param:
    """A short date, perhaps with a time; gives `<name>` and, when certain, `<name>_date`."""
    return Param(name, Kind.DATE, hints)


def as_kind(name: str, kind: Kind, *hints: str) -> Param:
    """A parameter of one of the rarer kinds."""
    return Param(name, kind, hints)
