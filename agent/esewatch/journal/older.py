"""Rows as versions before this one wrote them."""

import msgspec

from esewatch.fold.integrity import note_error
from esewatch.fold.state import Database

_KEPT_TIMES = 256


class _PageErrors(msgspec.Struct):
    """Of a database up to schema version 2: single times, sorted, the last 256."""

    page_error_times: list[float] = []


def take_over(database: Database, row: bytes) -> None:
    """Give a database what its row says in an older form.

    Raises msgspec.MsgspecError where the row cannot be decoded.
    """
    if b"page_error_times" not in row:
        return
    times = msgspec.msgpack.decode(row, type=_PageErrors).page_error_times
    if len(times) >= _KEPT_TIMES:
        # There were others before, nobody knows when: no scan of that time is known to be clean.
        database.page_error_spans = [(0.0, times[0])]
    for time in times:
        note_error(database, time)
