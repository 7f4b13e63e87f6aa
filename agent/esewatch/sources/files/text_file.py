"""One text file as UTF-8 lines, with a position that survives rotation and restart."""

from collections.abc import Sequence

import msgspec

from esewatch.sources.files.encodings import Encoding, Transcoder, detect, to_utf8
from esewatch.sources.files.file_identity import SAMPLE, FilePosition, digest, samples_of
from esewatch.sources.files.raw_file import MovedError, RawFile, read_at

BLOCK = 128 << 10
"""Bytes read and decoded at once: few enough to stay in a cache while they are searched."""
LONGEST = 8 << 20
"""A longer line, or a record that is not complete within so many bytes, is skipped."""

HEAD = 64 << 10
_LEAST_ZEROS = 16
"""Fewer are a part of the data: a binary counter log begins with two."""
_THROWN_BLOCKS = 512


def _first_data(raw: RawFile) -> tuple[int, bytes]:
    """Offset of the first data, and up to 64 KiB from there. Zeros before it are what a crash left,
    or a log that was cut under its writer."""
    at = 0
    while True:
        head = read_at(raw, at, HEAD)
        zeros = len(head) - len(head.lstrip(b"\0"))
        if zeros < len(head):
            if at + zeros < _LEAST_ZEROS:
                return at, head
            first = at + zeros - zeros % 2  # half a character of UTF-16 may be zero
            return first, read_at(raw, first, HEAD)
        behind = raw.next_data(at + len(head)) if len(head) == HEAD else None
        if behind is None or at > _THROWN_BLOCKS * BLOCK:
            return at, head
        at = behind - behind % 2


class Lines(msgspec.Struct, gc=False):
    data: bytes
    too_long: bool = False
    """The first line is longer than 8 MiB."""
    cut_off: bool = False
    """Zeros of a crash follow: an incomplete record will never be completed."""
    last: bool = False
    """No whole line follows for now."""
    all: bool = False
    """Not even half a line follows for now."""


class TextFile:
    """An open file from a position on. `text` is the part that is read and not yet consumed. Raises
    MovedError where the position does not hold any more, OSError from `refresh` and `fill` where
    the file cannot be read."""

    def __init__(self, raw: RawFile, position: FilePosition) -> None:
        self.raw = raw
        self.offset = position.offset - position.ahead
        self._known = position.offset, position.head, position.tail
        self.line = position.line
        self.skipping = position.skipping
        self.encoding: Encoding = position.encoding
        size = min(self.offset, SAMPLE)
        self._head = read_at(raw, 0, size)
        self._tail = read_at(raw, self.offset - size, size)
        if (
            size
            and not position.ahead
            and (digest(self._head), digest(self._tail)) != self._known[1:]
        ):
            raise MovedError
        self.text = b""
        self.at_end = False
        self.zeros = 0
        """Zero bytes discarded where a line should begin, not yet reported."""
        self.end = b""
        """Digest of the last up to 1 KiB before the limit, as the last look found it."""
        self._before = self._tail
        """The last bytes that were read."""
        self._codec = Transcoder(self.encoding)
        self._stored = b""

    @property
    def known(self) -> int:
        """Offset up to which the content was read, here or in another file that begins alike."""
        return max(self.offset, self._known[0])

    def know(self, offset: int, head: bytes, tail: bytes) -> None:
        """The content up to `offset`, with these digests, was read in another file."""
        self._known = offset, head, tail

    def samples(self, end: int) -> list[bytes]:
        """The first and the last up to 1 KiB before `end`, as `samples_of` gives them."""
        if end == self.offset:
            return [self._head, self._tail]
        at = self.raw.position
        found = samples_of(self.raw, end)
        self.raw.seek(at)
        return found

    def refresh(self) -> None:
        """Discard the unconsumed text and read it again: the file may have changed there."""
        if self.offset == 0:
            at, head = _first_data(self.raw)
            self.encoding, mark = detect(head)
            if at == 0:
                self._advance(head[:mark])
        self._codec = Transcoder(self.encoding)
        self.text = self._stored = b""
        self.at_end = False
        self.zeros = 0
        self._before = b"" if self.raw.compressed else self._tail
        self.raw.seek(self.offset)

    @staticmethod
    def beginning(raw: RawFile) -> bytes:
        """The first up to 64 KiB of data as UTF-8."""
        _, head = _first_data(raw)
        return to_utf8(head, detect(head)[0])

    def first_text(self) -> bytes:
        """The first up to 64 KiB of data as UTF-8, in the encoding that the file had."""
        at = self.raw.position
        _, head = _first_data(self.raw)
        self.raw.seek(at)
        return to_utf8(head, self.encoding)

    def fill(self, want: int) -> None:
        """Read until `want` bytes of text are there or no more are available for now. Returns
        earlier after 64 MiB that were discarded."""
        thrown = 0
        self._drop_zeros()
        while len(self.text) < want and not self.at_end and thrown < _THROWN_BLOCKS:
            start = self.raw.position
            missing = BLOCK if self.skipping else want - len(self.text)
            block = self._next(max(HEAD, min(BLOCK, missing)))
            self.at_end = not block
            if block.endswith(b"\0"):
                block = self._without_padding(start, block)
            self.text += self._codec.feed(block)
            if self.encoding != "utf-8":
                self._stored += block
            if self.skipping:
                self._skip()
            else:
                self._drop_zeros()
            thrown += not self.text

    def _next(self, size: int) -> bytes:
        """The next bytes, together with what stands before them: that, or the end, is something
        else where the file was written anew since the last look."""
        before = len(self._before)
        if before:
            self.raw.seek(self.raw.position - before)
        block = self.raw.read(before + size)
        if block[:before] != self._before:
            raise MovedError
        if not self.raw.compressed:
            self._before = block[-SAMPLE:]
            left = self.raw.limit - self.raw.position
            if (left and len(block) < before + size) or (
                not left and self.end and digest(self._before) != self.end
            ):
                raise MovedError
        return block[before:]

    def _drop_zeros(self) -> None:
        """Discard the zeros the text begins with: a crash left them, no line has them."""
        if self.text.startswith(b"\0"):
            zeros = len(self.text) - len(self.text.lstrip(b"\0"))
            self.zeros += zeros
            self.take(zeros)

    def _without_padding(self, start: int, block: bytes) -> bytes:
        """Zeros up to the end of the file are space set aside for later, not data."""
        data = len(block.rstrip(b"\0"))
        if self.encoding != "utf-8":
            data += (start + data) % 2
        if data < len(block) and self.raw.next_data(start + len(block)) is None:
            self.at_end = True
            return block[:data]
        return block

    def lines(self, want: int, *, tail: bool) -> "Lines":
        """Whole lines of the text: up to `want` bytes, at least one line. `tail` says that a last
        line without newline is a line."""
        text = self.text
        end = text.rfind(b"\n", 0, want) + 1 or text.find(b"\n", want) + 1
        if end > LONGEST or (not end and len(text) >= LONGEST):
            return Lines(b"", too_long=True)
        # One byte is found far faster than two, and nearly all texts have no zeros.
        if b"\0" in text:
            end = text.find(b"\n\0", 0, end + 1) + 1 or end
        cut_off = end > 0 and text.startswith(b"\0", end)
        if self.at_end and tail and not cut_off and text.find(b"\n", end) < 0:
            end = len(text)
        return Lines(
            text[:end],
            cut_off=cut_off,
            last=self.at_end and not cut_off and text.find(b"\n", end) < 0,
            all=self.at_end and end == len(text),
        )

    def give_up(self, data: bytes) -> None:
        """Skip the first line of `data`, which the text begins with."""
        self.take(data.find(b"\n") + 1 or len(data))

    def places(self, data: bytes, offsets: Sequence[int]) -> list[str]:
        """Names of places in `data`, which the text begins with; the offsets in their order."""
        line, at, found = self.line, 0, []
        for offset in offsets:
            line += data.count(b"\n", at, offset)
            at = offset
            found.append(f"line {line + 1}")
        return found

    def reaches(self, size: int) -> int:
        """Offset behind the first `size` bytes of the text."""
        return self.offset + self._codec.raw_length(self.text[:size])

    def take(self, size: int) -> None:
        piece, self.text = self.text[:size], self.text[size:]
        self.line += piece.count(b"\n")
        if self.encoding == "utf-8":
            self._advance(piece)
        else:
            length = self._codec.raw_length(piece)
            stored, self._stored = self._stored[:length], self._stored[length:]
            self._advance(stored)

    def _advance(self, stored: bytes | memoryview) -> None:
        self.offset += len(stored)
        if len(self._head) < SAMPLE:
            self._head += stored[: SAMPLE - len(self._head)]
        self._tail = (self._tail + stored[-SAMPLE:])[-SAMPLE:]

    def skip_line(self) -> None:
        """Skip the line the text begins with, up to its newline."""
        self.skipping = True
        self._skip()

    def _skip(self) -> None:
        end = self.text.find(b"\n")
        self.skipping = end < 0
        self.take(end + 1 or len(self.text))

    @property
    def only_zeros(self) -> bool:
        """No line was consumed, and the last KiB of what was are zeros."""
        return self.offset > 0 and self.line == 0 and not self._tail.strip(b"\0")

    def mark(self, position: FilePosition) -> None:
        position.line = self.line
        position.encoding = self.encoding
        position.skipping = self.skipping
        position.ahead = self.known - self.offset
        if position.ahead:
            position.offset, position.head, position.tail = self._known
        else:
            position.offset = self.offset
            position.head, position.tail = digest(self._head), digest(self._tail)
