"""Bad pages beyond the first thousand, as sorted rows of 8 bytes: page number, last time."""

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator

ROW_BYTES = 8
SLACK = 1000
"""So many more are admitted before any are dropped: one walk for all of them."""
_BITS = 32
_MOST = 2**_BITS - 1


def add(rows: bytearray, page: int, time: float, *, most: int) -> None:
    """Add a page, or renew it; of more than `most` rows the youngest stay. Times are kept in whole
    seconds, rounded up: no scan that began before an error clears it."""
    if not 0 <= page <= _MOST:
        return
    known = array("Q", bytes(rows))
    first = page << _BITS
    row = first | min(max(0, math.ceil(time)), _MOST)
    place = bisect_left(known, first)
    if place < len(known) and known[place] >> _BITS == page:
        known[place] = max(known[place], row)
    else:
        known.insert(place, row)
    if len(known) > most + SLACK:
        youngest = sorted(known, key=lambda each: each & _MOST)[-most:]
        known = array("Q", sorted(youngest))
    rows[:] = known.tobytes()


def read(rows: bytes | bytearray) -> Iterator[tuple[int, float]]:
    """(page, last time) of each row."""
    for row in array("Q", bytes(rows)):
        yield row >> _BITS, float(row & _MOST)


def drop(rows: bytearray, is_over: Callable[[int, float], bool]) -> None:
    """Drop the pages that are over, by number and last time."""
    kept = [row for row in array("Q", bytes(rows)) if not is_over(row >> _BITS, row & _MOST)]
    rows[:] = array("Q", kept).tobytes()
