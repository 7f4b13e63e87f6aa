"""The header of a database file that may be in use: torn copies are read again."""

import time
from collections.abc import Callable
from typing import Final

from esewatch.ese.pages.header import HEADER_BYTES, Header, NotDatabase, parse_header
from esewatch.scan.reading.reading import DatabaseFile

PAUSES: Final = (0.05, 0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2)
"""Seconds before a header that looks damaged is read again: the engine may be writing it."""

_STEADY = 3
"""Number of times that the same damaged bytes are read again before they count as damaged."""

_PIECE = 4096


def read_header(
    file: DatabaseFile, *, sleep: Callable[[float], object] = time.sleep
) -> Header | NotDatabase:
    """The header of an open file.

    A copy in an unreadable place of the disk counts as damaged. Raises OSError where the readable
    part does not show a database.
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
    return found


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
