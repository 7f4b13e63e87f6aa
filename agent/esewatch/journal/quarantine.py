"""Records that could not be processed, and those that end the process again and again.

The first are kept for the developer, as JSON lines in a file beside the journal. It is bounded: the
first records show the cause, those for which there is no more room are only counted. For the others
the lock file of the journal has a note of what is being read, which outlives the process, not the
machine. After an end in good order its first line is empty, and the next start notes nothing.
"""

import contextlib
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec

from esefiles.base import crash, names
from esewatch.model import FromInput, Record

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


MAX_STARTS = 20
"""A source at which so many starts in a row ended is left alone."""
MAX_ENDS = 2
"""A record at which so many starts ended is set aside: a kill from outside may have come once."""


class _Note(msgspec.Struct):
    source: str = ""
    """The one that is being read."""
    record: str = ""
    """Digest of the record that is being folded, where each is noted."""
    sources: dict[str, int] = {}
    """Source -> starts in a row that ended while it was read, before it got any further."""
    records: dict[str, int] = {}
    """Digest of a record -> starts that ended while it was folded."""


class Starts:
    """Notes for this start, and those of the last one. `file` is open for reading and writing."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._note = _Note()
        file.seek(0)
        line = file.read().partition(b"\n")[0]
        self._noting = bool(line)
        with contextlib.suppress(msgspec.MsgspecError):
            self._note = msgspec.json.decode(line, type=_Note)
        last = self._note
        for ends, name in ((last.sources, last.source), (last.records, last.record)):
            if name:
                ends[name] = ends.get(name, 0) + 1
        self.left_alone = {name for name, ends in last.sources.items() if ends >= MAX_STARTS}
        last.source = last.record = ""
        self._write()

    @contextlib.contextmanager
    def reading(self, source: str) -> Iterator[None]:
        """A turn of this source: it gets on where the block ends."""
        self._say(source)
        yield
        self.got_on(source)
        self._say("")

    def got_on(self, source: str) -> None:
        """Note that a part of the source is read and committed."""
        if self._note.sources.pop(source, 0):
            self._note.records.clear()
            self._write()

    def each(
        self, source: str, records: Iterable[FromInput], set_aside: Callable[[Record], object]
    ) -> Iterable[FromInput]:
        """The records but those at which starts ended; noted one by one if a start ended here."""
        return self._each(source, records, set_aside) if source in self._note.sources else records

    def _each(
        self, source: str, records: Iterable[FromInput], set_aside: Callable[[Record], object]
    ) -> Iterator[FromInput]:
        for number, record in records:
            text = repr(record).encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(text, digest_size=8).hexdigest()
            if self._note.records.get(digest, 0) >= MAX_ENDS:
                set_aside(record)
                continue
            self._say(source, digest)
            yield number, record
        self._say(source)

    def end(self) -> None:
        self._put(b"")

    def _say(self, source: str, record: str = "") -> None:
        if self._noting:
            self._note.source, self._note.record = source, record
            self._write()

    def _write(self) -> None:
        self._put(msgspec.json.encode(self._note))

    def _put(self, line: bytes) -> None:
        with contextlib.suppress(OSError):  # as on a full disk: the last note stands
            self._file.seek(0)
            self._file.write(line + b"\n")
