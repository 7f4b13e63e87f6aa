"""Logs that a database needs, by its header and those that are there."""

from typing import Final

from esewatch.ese.pages.header import Header
from esewatch.scan.recovery.log_folder import Series

DIRTY: Final = ("dirty", "dirty_patched")


def needs_logs(header: Header) -> bool:
    """True if the database mounts only after a replay of logs that its header names."""
    return header.state in DIRTY and header.log_required.first > 0


def replay_generations(header: Header, series: Series) -> range:
    """The logs that a replay reads: from the checkpoint on, or from the lowest log without one.

    From the first that is required at the latest, up to the last that is there or committed.
    """
    first = header.log_required.first
    start = checkpoint_generation(series) or min(series.logs, default=first)
    end = max(max(series.logs, default=0), header.log_required.last, header.log_committed)
    return range(min(start, first), end + 1)


def checkpoint_generation(series: Series) -> int | None:
    """The log at which a replay begins by the checkpoint; None: the checkpoint is not used."""
    file = series.checkpoint
    if file is None or file.content is None or file.content.signature != series.signature:
        return None
    position = file.content.position
    return position.generation if position and position.generation in series.logs else None
