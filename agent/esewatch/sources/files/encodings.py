"""Encodings of text logs, detected by content, and their conversion to UTF-8."""

import codecs
from typing import Literal

Encoding = Literal["utf-8", "utf-16-le", "utf-16-be"]

_LOOK = 4096
_BOMS: tuple[tuple[bytes, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def detect(head: bytes) -> tuple[Encoding, int]:
    """Encoding of a file that begins with `head`, and the length of its byte order mark. Without a
    mark, zeros in nearly every second byte mean UTF-16. `utf-8` also stands for any code page: its
    bytes pass through as they are."""
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding, len(bom)
    look = head[:_LOOK].rstrip(b"\0")
    look = head[: len(look) + len(look) % 2]
    if len(look) >= 4:
        even, odd = look[0::2].count(0), look[1::2].count(0)
        pairs = len(look) // 2
        if odd > 0.7 * pairs and even < 0.1 * pairs:
            return "utf-16-le", 0
        if even > 0.7 * pairs and odd < 0.1 * pairs:
            return "utf-16-be", 0
    return "utf-8", 0


class Transcoder:
    """Bytes of one encoding to UTF-8, block by block. An unpaired surrogate becomes U+FFFD, which
    is as long in UTF-16, so that lengths convert back exactly."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding: Encoding = encoding
        self._decoder = (
            None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
        )

    def feed(self, raw: bytes) -> bytes:
        """UTF-8 of `raw`; half a character waits for the next block."""
        if self._decoder is None:
            return raw
        return self._decoder.decode(raw).encode()

    def raw_length(self, text: bytes) -> int:
        """Length in the file of `text`, which `feed` gave and which ends at a character."""
        if self._decoder is None:
            return len(text)
        return len(text.decode().encode(self.encoding))


def to_utf8(head: bytes, encoding: Encoding) -> bytes:
    """The beginning of a file as UTF-8, without its byte order mark."""
    for bom, marked in _BOMS:
        if marked == encoding and head.startswith(bom):
            head = head[len(bom) :]
    return Transcoder(encoding).feed(head)
