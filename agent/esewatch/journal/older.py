"""Upgrade of rows that earlier versions wrote."""

import msgspec

from esewatch import names
from esewatch.fold.databases.integrity import note_error
from esewatch.fold.state.record_ranges import Range
from esewatch.fold.state.state import Channel, Database

_KEPT_TIMES = 256


class _PageErrors(msgspec.Struct):
    """Page errors of a database up to schema version 2: single times, sorted, the last 256."""

    page_error_times: list[float] = []


class _Epoch(msgspec.Struct):
    """Epoch of a channel up to schema version 3: missed records were kept by epoch."""

    claimed: list[tuple[int, int]] = []


class _Epochs(msgspec.Struct):
    epochs: list[_Epoch] = []


def take_over_channel(channel: Channel, row: bytes) -> None:
    """Give the ranges of a channel times where its row has none: those of their epoch.

    Raises msgspec.MsgspecError, UnicodeError where the row cannot be decoded.
    """
    for epoch in channel.epochs:
        for each in (*epoch.seen, *epoch.covered):
            if each.early > each.late:
                each.early, each.late = epoch.start, epoch.max_time
    if b"claimed" not in row or channel.claimed:
        return
    older = names.unpack(row, _Epochs).epochs
    channel.claimed = [
        Range(first, last, epoch.start, epoch.max_time)
        for epoch, of_epoch in zip(channel.epochs, older, strict=True)
        for first, last in of_epoch.claimed
    ]


def take_over(database: Database, row: bytes) -> None:
    """Convert the older form of a database's row.

    Raises msgspec.MsgspecError, UnicodeError where the row cannot be decoded.
    """
    if b"page_error_times" not in row:
        return
    times = names.unpack(row, _PageErrors).page_error_times
    if len(times) >= _KEPT_TIMES:
        # There were others before, at unknown times: no scan of that time is known to be clean.
        database.page_error_spans = [(0.0, times[0])]
    for time in times:
        note_error(database, time)
