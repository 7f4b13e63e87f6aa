"""The time range that could not be rebuilt after a damaged journal was set aside.

The sources are read from their beginning again. The part that the old journal knew and the
sources no longer hold is a range of time: from the oldest record that it had seen to the oldest
one that is still there. Should older ones come back, the range shrinks.
"""

import msgspec

from esewatch.fold.state.state import SourceState


class Unrebuilt(msgspec.Struct, frozen=True):
    """A range of time whose records are no longer there. `since` is None when nobody knows."""

    since: float | None
    until: float


def begin(source: SourceState, salvaged: SourceState | None) -> None:
    """The source is read again; `salvaged` is its state from the damaged journal."""
    source.rebuilding = True
    source.salvaged = (salvaged.oldest, salvaged.last_record) if salvaged else None


def unrebuilt(source: SourceState) -> Unrebuilt | None:
    """The range that could not be rebuilt; None when all was, or nothing was damaged."""
    if source.rebuilt is None:
        return None
    since, last = source.rebuilt
    until = source.oldest or last
    return Unrebuilt(since or None, until) if since < until else None


def settle(source: SourceState) -> None:
    """Note that all remaining records of the source have been read."""
    source.rebuilding = False
    # An old journal that knew of no record had nothing to lose.
    if source.salvaged != (0.0, 0.0):
        source.rebuilt = source.salvaged or (0.0, 0.0)
