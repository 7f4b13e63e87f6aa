"""Reading one insertion string: numbers, sizes, dates, the process string `%2`, paths.

A string that is not what its parameter should be gives nothing: the field is absent. So is a number
beyond 63 bits. The parameters of a catalogue row become one prepared function (`prepared`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from esewatch.ese.catalogue.event_row import Kind
from esewatch.ese.dates import DateOrder, parse_short_date, without_marks
from esewatch.model import FieldValue

Fields = dict[str, FieldValue]
Writer = Callable[[Fields, str, str, DateOrder | None], None]
"""Puts the value of one string into the fields: (fields, name, string, date order)."""

_LARGEST = 2**63 - 1
_SURE_DIGITS = 18
"""This many digits are less than the largest number."""
_LONGEST_REPEATED = 20
"""Sizes and errors with their hexadecimal form are short and few; offsets are longer."""
_LONGEST_PATH = 32_767
_LONGEST_TEXT = 4_096
_LONGEST_DATE = 64
_LONGEST_PROCESS = 80

# Thousands separators of the locales: comma, point, apostrophes, spaces.
GROUPS = r"[,.'’\u00a0\u202f\u2009 ]"
_NUMBER = re.compile(
    rf"\s*([-+−]?)(?:(\d{{1,19}})|(\d{{1,3}}(?:({GROUPS})\d{{2,3}}(?:\4\d{{2,3}}){{0,5}})))"
    r"(?:\s*\(\s*0x[0-9a-f]{1,16}\s*\))?\s*",
    re.IGNORECASE,
)
_HEX = re.compile(r"\s*0x([0-9a-f]{1,16})\s*", re.IGNORECASE)
_PROCESS = re.compile(r"\s*(\d{1,10})(?:,([A-Z-]),(\d{1,20})(?:,([\d.]{1,32}))?)?\s*")
_DECIMAL = re.compile(r"\s*(\d{1,12})(?:[.,](\d{1,9}))?\s*")
_STATS = re.compile(r"\s*(-|-?\d{1,19})\s*,\s*(-|-?\d{1,19})\s*\.?\s*")
_SIZE = re.compile(r"\s*(\d{1,12})(?:[.,](\d{1,3}))?\s*([kmgt]?)b(?:ytes)?\s*", re.IGNORECASE)
_TIMING = re.compile(r"\s*\[1\]\s*(\d{1,9}(?:\.\d{1,9})?)")
_OWNED = re.compile(r"\s*/\s*(\d{1,19})\s*=\s*(\d{1,3})(?:[.,](\d{1,6}))?")
_FACTORS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}

# Transaction logs (and reserves), checkpoints, flush maps, shadow logs, patch files of a backup.
_NO_DATABASE = frozenset({".log", ".jrs", ".jtx", ".chk", ".jcp", ".jfm", ".jsl", ".pat"})


class Process(NamedTuple):
    """The process string `%2`: `3392`, `5960,D,50` or `5960,D,50,15.01.2507.012`."""

    pid: int
    state: str
    version: str


def parse_process(text: str) -> Process | None:
    return _process(text) if len(text) <= _LONGEST_PROCESS else None


@lru_cache(maxsize=4096)
def _process(text: str) -> Process | None:
    match = _PROCESS.fullmatch(text)
    if match is None:
        return None
    return Process(int(match[1]), match[2] or "", match[4] or "")


def lowered(text: str) -> str:
    """Lower case with every character at its place, for searching."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(part if len(part := mark.lower()) == 1 else mark for mark in text)


def parse_instance(text: str) -> str:
    return text.strip().removesuffix(":").rstrip()


def parse_int(text: str) -> int | None:
    """A decimal integer, perhaps grouped, perhaps with its hex form behind; or hex alone. None when
    it is neither or does not fit 64 bits."""
    if len(text) <= _SURE_DIGITS and text.isdecimal():
        return int(text)
    return _kept_int(text) if len(text) <= _LONGEST_REPEATED else _int(text)


def _int(text: str) -> int | None:
    head, brackets, hexed = text.partition(" (0x")
    if brackets and head.isdecimal() and len(head) <= _SURE_DIGITS and hexed[-1:] == ")":
        return int(head)
    match = _NUMBER.fullmatch(text)
    if match is None:
        return _parse_hex(text)
    digits = match[2]
    if digits is None:
        groups = match[3].split(match[4])
        if len(groups[-1]) != 3:
            return None
        digits = "".join(groups)
    value = int(digits)
    if value > _LARGEST:
        return None
    return -value if match[1] in ("-", "−") else value


_kept_int = lru_cache(maxsize=4096)(_int)


def _parse_hex(text: str) -> int | None:
    match = _HEX.fullmatch(text)
    if match is None:
        return None
    value = int(match[1], 16)
    return value if value <= _LARGEST else None


def parse_count(text: str) -> int | None:
    """A non-negative integer. Some engines print 64-bit counts with a 32-bit format: a small
    negative number is taken as the smallest count that prints so."""
    value = parse_int(text)
    if value is None or value >= 0:
        return value
    return value + 2**32 if value >= -(2**31) else None


def parse_error(text: str) -> int | None:
    """A signed 32-bit error code, from `-1018`, `-1018 (0xfffffc06)` or `0xfffffc06`."""
    value = parse_int(text)
    if value is not None and 2**31 <= value < 2**32:
        value -= 2**32
    return value if value is not None and -(2**31) <= value < 2**31 else None


def parse_path(text: str) -> str:
    """A path as logged, empty if there is none or it is longer than Windows allows."""
    path = text.strip()
    return path if len(path) <= _LONGEST_PATH else ""


def is_database_path(path: str) -> bool:
    """True if a file of the engine is a database: not a log, checkpoint, flush map or patch."""
    return bool(path) and path[-4:].lower() not in _NO_DATABASE


def _writer(parse: Callable[[str], FieldValue | None]) -> Writer:

    def write(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
        if (value := parse(text)) is not None and value != "":
            fields[name] = value

    return write


def _decimal(text: str) -> float | int | None:
    if (match := _DECIMAL.fullmatch(text)) is None:
        return None
    return float(f"{match[1]}.{match[2]}") if match[2] else int(match[1])


def _text(text: str) -> str:
    value = text.strip()
    return value if len(value) <= _LONGEST_TEXT else ""


def _write_date(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
    value, day = _kept_day(text, order) if len(text) <= _LONGEST_DATE else _day(text, order)
    if value:
        fields[name] = value
        if day:
            fields[name + "_date"] = day


def _day(text: str, order: DateOrder | None) -> tuple[str, str]:
    """A date as logged and, when it is certain, as ISO date; empty when it is none."""
    value = (text if text.isascii() else without_marks(text)).strip()
    if len(value) <= 1 or len(value) > _LONGEST_DATE:
        return "", ""
    found = parse_short_date(value, order)
    return value, found.isoformat() if found else ""


_kept_day = lru_cache(maxsize=4096)(_day)


def _write_stats(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
    if match := _STATS.fullmatch(text):
        if (value := parse_int(match[1])) is not None:
            fields[name] = value
        if (value := parse_int(match[2])) is not None:
            fields["run_bad_checksums"] = value


def _size(text: str) -> int | None:
    if match := _SIZE.fullmatch(text):
        amount = float(f"{match[1]}.{match[2] or 0}")
        size = round(amount * _FACTORS[match[3].lower()])
        return size if size <= _LARGEST else None
    value = parse_int(text)
    return value if value is not None and value >= 0 else None


def _timing(text: str) -> float | None:
    match = _TIMING.match(text)
    return float(match[1]) if match else None


def _minutes(text: str) -> int | None:
    value = parse_count(text)
    return value * 60 if value is not None and value * 60 <= _LARGEST else None


def _write_added(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
    minutes, value = fields.get(name), parse_count(text)
    if isinstance(minutes, int) and value is not None and minutes + value <= _LARGEST:
        fields[name] = minutes + value


def _write_expected_page(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
    if (value := parse_count(text)) is not None:
        fields[name] = value
        fields["page_number"] = value


def _write_owned(fields: Fields, name: str, text: str, order: DateOrder | None) -> None:
    if match := _OWNED.match(text):
        if (value := parse_int(match[1])) is not None:
            fields[name] = value
        fields["skipped_percent"] = float(f"{match[2]}.{match[3] or 0}")


_write_int, _write_signed, _write_error = map(_writer, (parse_count, parse_int, parse_error))

WRITERS: dict[Kind, Writer] = {
    Kind.FILE: _writer(parse_path),
    Kind.TEXT: _writer(_text),
    Kind.INT: _write_int,
    Kind.VERSION: _write_int,
    Kind.SIGNED: _write_signed,
    Kind.ERROR: _write_error,
    Kind.DECIMAL: _writer(_decimal),
    Kind.DATE: _write_date,
    Kind.STATS: _write_stats,
    Kind.SIZE: _writer(_size),
    Kind.TIMING: _writer(_timing),
    Kind.MINUTES: _writer(_minutes),
    Kind.ADD_SECONDS: _write_added,
    Kind.EXPECTED_PAGE: _write_expected_page,
    Kind.OWNED: _write_owned,
}
"""Function by which each kind becomes fields. `SKIP` and `DATABASE` write none."""

SHORT_DIGITS = 9
"""Up to so many decimal digits are the number itself to each of `PLAIN_NUMBERS`."""
PLAIN_NUMBERS = frozenset({_write_int, _write_signed, _write_error})

_PAGE_SIZES = frozenset({2048, 4096, 8192, 16384, 32768})


def add_page_number(fields: Fields) -> None:
    """Page number from offset and page size where the event names none (474 of Exchange 2003). Page
    p lies at (p + 1) x page size; the two header pages have no number."""
    if "page_number" in fields:
        return
    offset, size = fields.get("offset"), fields.get("bytes")
    if isinstance(offset, int) and isinstance(size, int) and size in _PAGE_SIZES:
        page, rest = divmod(offset, size)
        if not rest and page >= 2:
            fields["page_number"] = page - 1


RowPlan = Callable[[Sequence[str], DateOrder | None], Fields]
"""Texts and the order of dates -> fields."""


class FieldStep(NamedTuple):
    """One text becomes one field."""

    place: int
    name: str
    writer: Writer
    digits: bool = False
    """The text is the number itself: decimal digits, and nothing else."""


def prepared(constants: Mapping[str, FieldValue], steps: Sequence[FieldStep]) -> RowPlan:
    written: Fields = dict(constants)
    told = tuple((*step, step.writer in PLAIN_NUMBERS) for step in steps)

    def plan(texts: Sequence[str], order: DateOrder | None) -> Fields:
        fields = written.copy()
        for place, name, write, digits, plain in told:
            text = texts[place]
            if digits or (plain and len(text) <= SHORT_DIGITS and text.isdecimal()):
                fields[name] = int(text)
            else:
                write(fields, name, text, order)
        return fields

    return plan
