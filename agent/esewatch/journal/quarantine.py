"""Quarantine of records that could not be processed, for the developer: JSON lines in a file.

The file lies beside the journal and is bounded: the first records show the cause, those for
which there is no more room are only counted.
"""

import logging
import os
import time
from pathlib import Path

import msgspec

from esefiles.base import crash, names
from esewatch.model import Record

MAX_BYTES = 1 << 20
MAX_LINE = 64 << 10
"""A longer record is cut to this length."""

log = logging.getLogger(__name__)


class Kept(msgspec.Struct, kw_only=True):
    time: float
    """The time of the quarantine."""
    source: str
    error: str
    kind: str
    record: str
    """Its fields, as Python's repr."""


class Quarantine:
    """The file `path`; it is made when the first record comes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def keep(self, source: str, record: Record, error: Exception) -> None:
        """Add a record. Never raises: a record that cannot be kept is logged."""
        try:
            kept = Kept(
                time=time.time(),
                source=names.printable(source),
                error=names.printable(f"{type(error).__name__}: {error}"[:MAX_LINE]),
                kind=type(record).__name__,
                record=repr(record)[:MAX_LINE],
            )
            line = msgspec.json.encode(kept) + b"\n"
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            with os.fdopen(os.open(self.path, flags, 0o600), "ab") as file:
                if file.tell() + len(line) <= MAX_BYTES:
                    file.write(line)
        except Exception as problem:
            crash.if_short(problem)
            log.warning("%s: a record that was set aside is not kept: %s", self.path, problem)
