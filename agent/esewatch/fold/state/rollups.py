"""Long-term rollups: sums by day and by hour, as rows of fixed size in arrays of bytes.

A day runs from noon to noon UTC, so that the nightly windows of Europe and America are
not cut: day n is the one that ends at noon of the n-th day after 1970-01-01. Rows are
sorted, a day without growth has none, and beyond the limit the oldest are dropped.

The newest day of an instance is summed with 64 bits. Once the next one begins, 32 are
kept: they are right to 1 part in 10 million, and a year of an instance is 9 KB.
"""

from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import Final, Literal, NamedTuple

Field = Literal["pages_read", "pages_freed", "log_bytes", "scan_pages_read", "log_generations"]

PAGES_READ: Final = "ese_defrag_pages_read_total"
PAGES_FREED: Final = "ese_defrag_pages_freed_total"
RATIO = frozenset({PAGES_READ, PAGES_FREED})

FIELDS: dict[str, Field] = {
    PAGES_READ: "pages_read",
    PAGES_FREED: "pages_freed",
    "ese_defrag_log_bytes_total": "log_bytes",
    "ese_maintenance_pages_read_total": "scan_pages_read",
    "ese_log_generations_total": "log_generations",
}
"""Series of an instance -> the field of its days that grows with it."""

LATENCY: Final = "exchange_rpc_latency_seconds"

MAX_DAYS = 400
MAX_HOURS = 14 * 24

DAY_SECONDS = 86400.0
HOUR_SECONDS = 3600.0
NOON = DAY_SECONDS / 2
FURTHEST = 4e12
"""A time further than this from 1970 is damage: its day has no row."""
MOST = 2.0**127
"""A larger amount is damage too, and does not fit in 32 bits."""

_KEY = Struct("<i")
_AMOUNT = Struct("<d")
_NARROW = Struct("<f")
_SAMPLES = Struct("<dI")
_key_at = _KEY.unpack_from


class Day(NamedTuple):
    """Growth of an instance's totals in one day. Read and freed by online defragmentation, bytes
    that it logged, pages that the database scan read, log files that were begun."""

    day: int
    pages_read: float
    pages_freed: float
    log_bytes: float
    scan_pages_read: float
    log_generations: float


class Size(NamedTuple):
    day: int
    bytes: float


class Hour(NamedTuple):
    """Samples of a latency within one hour, numbered from 1970 on: their sum and their number."""

    hour: int
    seconds: float
    samples: int


class _Table:
    """Rows that begin with their key and are sorted by it, at most `limit`."""

    def __init__(self, row: Struct, limit: int) -> None:
        self.row = row
        self._size = row.size
        self._limit = limit

    def place(self, rows: bytearray, key: int, end: int) -> int | None:
        """Offset of the row of `key`, made of zeros when it is new; None: it is too old. The table
        is `rows` up to `end`."""
        size = self._size
        last = end - size
        if last >= 0 and _key_at(rows, last)[0] == key:
            return last
        places = range(0, end, size)
        at = size * bisect_left(places, key, key=lambda place: _key_at(rows, place)[0])
        if at < end and _key_at(rows, at)[0] == key:
            return at
        full = len(places) >= self._limit
        if full and at == 0:
            return None
        rows[at:at] = _KEY.pack(key).ljust(size, b"\0")
        if full:
            del rows[:size]
            at -= size
        return at


_NEWEST = Struct("<i5d")
_OLDER = _Table(Struct("<i5f"), MAX_DAYS - 1)
"""The days before the newest one, whose row comes after them."""
_SIZES = _Table(Struct("<if"), MAX_DAYS)
_HOURS = _Table(Struct("<idI"), MAX_HOURS)
_PLACES: dict[Field, int] = {field: place for place, field in enumerate(FIELDS.values())}


def day_of(time: float) -> int:
    """The day that `time` (epoch seconds) falls in; noon is the beginning of the next one."""
    return int((time + NOON) // DAY_SECONDS)


def day_start(day: int) -> float:
    """The noon, epoch seconds, at which a day begins."""
    return day * DAY_SECONDS - NOON


def add(rows: bytearray, time: float, field: Field, amount: float) -> None:
    """Add to the day of `time`, also when it is an older one than the last. The growth over an
    interval counts at its end: intervals are short beside a day."""
    if not -FURTHEST < time < FURTHEST:
        return
    day = day_of(time)
    newest = len(rows) - _NEWEST.size
    known = _key_at(rows, newest)[0] if rows else None
    if known is not None and day < known:
        place = _OLDER.place(rows, day, newest)
        if place is not None:
            at = place + _KEY.size + _NARROW.size * _PLACES[field]
            _NARROW.pack_into(rows, at, _narrow(_NARROW.unpack_from(rows, at)[0] + amount))
        return
    if day != known:
        newest = _begin(rows, day)
    at = newest + _KEY.size + _AMOUNT.size * _PLACES[field]
    _AMOUNT.pack_into(rows, at, _AMOUNT.unpack_from(rows, at)[0] + amount)


def _begin(rows: bytearray, day: int) -> int:
    """Offset of the row of a new newest day; the one before is an older one from now on."""
    if rows:
        last = len(rows) - _NEWEST.size
        before, *amounts = _NEWEST.unpack_from(rows, last)
        rows[last:] = _OLDER.row.pack(before, *map(_narrow, amounts))
        if len(rows) >= MAX_DAYS * _OLDER.row.size:
            del rows[: _OLDER.row.size]
    newest = len(rows)
    rows += _KEY.pack(day).ljust(_NEWEST.size, b"\0")
    return newest


def _narrow(amount: float) -> float:
    return min(amount, MOST)


def older(rows: bytearray) -> bytes:
    """The rows of an instance without that of its newest day: they change once a day."""
    return bytes(rows[: -_NEWEST.size])


def newest(rows: bytearray) -> bytearray:
    """The row of the newest day, which `older` leaves out; together they are the rows again."""
    return rows[-_NEWEST.size :]


def days(rows: bytes | bytearray) -> list[Day]:
    """The days of an instance in which something grew, oldest first, at most 400."""
    if not rows:
        return []
    newest = len(rows) - _NEWEST.size
    older = _OLDER.row.iter_unpack(rows[:newest])
    return [*map(Day._make, older), Day._make(_NEWEST.unpack_from(rows, newest))]


def set_size(rows: bytearray, time: float, size: float) -> None:
    if not -FURTHEST < time < FURTHEST:
        return
    place = _SIZES.place(rows, day_of(time), len(rows))
    if place is not None:
        _NARROW.pack_into(rows, place + _KEY.size, _narrow(size))


def sizes(rows: bytes | bytearray) -> list[Size]:
    return list(map(Size._make, _SIZES.row.iter_unpack(rows)))


def add_sample(rows: bytearray, time: float, seconds: float) -> None:
    if not -FURTHEST < time < FURTHEST:
        return
    place = _HOURS.place(rows, int(time // HOUR_SECONDS), len(rows))
    if place is not None:
        total, samples = _SAMPLES.unpack_from(rows, place + _KEY.size)
        _SAMPLES.pack_into(rows, place + _KEY.size, total + seconds, samples + 1)


def hours(rows: bytes | bytearray) -> Iterator[Hour]:
    """The hours with samples of a latency, oldest first, at most two weeks of them."""
    return map(Hour._make, _HOURS.row.iter_unpack(rows))
