"""The header of a database file that may be in use: torn copies are read again."""

import time
from collections.abc import Callable
from typing import Final

from esefiles.pages.header import (
    HEADER_BYTES,
    Header,
    NotDatabase,
    overwritten_header,
    parse_header,
)
from esefiles.pages.header_fields import u32
from esefiles.pages.kernels import classify
from esefiles.pages.layout import GOOD, HEADER_PAGES, OBJECT_OFFSET, PAGE_SIZES, number_at
from esefiles.scans.reading.reading import DatabaseFile

PAUSES: Final = (0.05, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2)
"""Seconds before a header that looks damaged is read again: the engine may be writing it."""

_STEADY = 3
"""Number of times that the same damaged bytes are read again before they count as damaged."""

_PIECE = 4096

_SEARCHED: Final = 4 * HEADER_BYTES
"""Bytes from the start of a file in which pages are looked for where it has no header."""


def read_header(
    file: DatabaseFile, *, sleep: Callable[[float], object] = time.sleep
) -> Header | NotDatabase:
    """The header of an open file.

    A copy in an unreadable place of the disk counts as damaged. Where both were overwritten the
    pages behind them show that the file is a database. Raises OSError where the readable part does
    not show a database.
    """
    data, failure = _beginning(file)
    found, steady = parse_header(data), 0
    for pause in PAUSES:
        if isinstance(found, NotDatabase) or not found.remark or steady == _STEADY:
            break
        sleep(pause)
        before = data
        data, failure = _beginning(file)
        found, steady = parse_header(data), steady + 1 if data == before else 0
    if isinstance(found, NotDatabase) and failure is not None:
        raise failure
    if isinstance(found, NotDatabase) and not found.named:
        return _overwritten(file) or found
    return found


def _overwritten(file: DatabaseFile) -> Header | None:
    """None: there are no pages of a tree that verify. Those of a flush map are of no tree. One
    alone may be the shadow header of a log or a checkpoint, which have the same checksum."""
    data = file.read(0, _SEARCHED)
    for size in PAGE_SIZES:
        first = HEADER_PAGES * size
        classes = classify(data[first:], size, number_at(first, size))
        starts = (first + at * size for at, of_class in enumerate(classes) if of_class == GOOD)
        if sum(u32(data, start + OBJECT_OFFSET) > 0 for start in starts) > 1:
            return overwritten_header(size)
    return None


def _beginning(file: DatabaseFile) -> tuple[bytes, OSError | None]:
    """The first bytes, zeros where the disk gives none, and the reason."""
    try:
        return file.read(0, HEADER_BYTES), None
    except OSError as error:
        pieces = [_piece(file, at) for at in range(0, HEADER_BYTES, _PIECE)]
        if not any(pieces):
            raise error from None
        size = min(HEADER_BYTES, file.size())
        return b"".join((piece or b"").ljust(_PIECE, b"\0") for piece in pieces)[:size], error


def _piece(file: DatabaseFile, at: int) -> bytes | None:
    try:
        return file.read(at, _PIECE)
    except OSError:
        return None
