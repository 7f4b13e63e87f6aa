"""The interface of a format that can be followed: bytes of whole lines in, records out."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from esewatch.model import Heard, Record

NO_ZONE = "name no zone and are taken for UTC; set timezone or --timezone, such as Europe/Berlin"
"""Remark (`Batch.remarks`)."""
NO_YEAR = "have no year: the last one is taken for the latest before the date of the file"


class Fed(msgspec.Struct, gc=False):
    """The result of a decoder for the bytes it was fed. `records` and `unreadable` belong to the
    first `consumed` bytes only: the rest is fed again, with more behind it. `unreadable` holds
    (byte offset in the data, reason); the follower turns the offset into a line number. `remarks`:
    see `Batch`."""

    records: list[Record] = []
    unreadable: list[tuple[int, str]] = []
    remarks: list[str] = []
    consumed: int = 0
    heard: list[Heard] = []


class Decoder(Protocol):
    """Turns the lines of one file into records. It never raises on content."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        """Decode `data`: whole lines of UTF-8, starting where the last `consumed` ended.

        Without byte order mark, UTF-16 already transcoded, invalid bytes kept as they are, line
        ends as they are (CRLF or LF). `final` says that nothing follows for now: a record without
        successor is complete. A last line without its newline is in `data` only when `final`.
        `consumed` ends at a line end, or where the data ends.
        """

    def save(self) -> bytes:
        """The context needed to continue behind the last consumed byte (a CSV header ...)."""


DecoderFactory = Callable[[str, bytes, bytes], Decoder]
"""(path, first up to 64 KiB as UTF-8, saved context or b"") -> decoder.

Called when the first whole line is there, so the beginning may be no more than
that. Raises SourceError when it shows a format that cannot be read at all; the file
is then left alone until it is rewritten.
"""

OrderKey = Callable[[str, bytes], float | None]
"""(path, first up to 64 KiB as UTF-8) -> epoch seconds of the first record, None for the mtime."""
