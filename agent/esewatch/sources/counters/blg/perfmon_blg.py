"""Binary counter logs of Performance Monitor (.blg), as they grow and rotate. Totals are taken as
they are stored, not integrated from rates."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from esewatch.config import LogFiles, Settings
from esewatch.model import Reading, Source, SourceError
from esewatch.sources.counters.blg.blg_decoder import BlgDecoder
from esewatch.sources.counters.blg.buffers import (
    BUFFER_HEAD,
    HEADER_EVENT,
    SAMPLE,
    SMALLEST_BUFFER,
    Buffers,
    buffer_size,
    sequence,
    silent,
)
from esewatch.sources.counters.blg.trace_header import CIRCULAR, COMPRESSED, read_trace_header
from esewatch.sources.counters.pdh_clock import log_zone
from esewatch.sources.files.decoder import Decoder
from esewatch.sources.files.file_identity import SAMPLE as DIGESTED
from esewatch.sources.files.file_identity import FilePosition, digest
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.files.raw_file import RawFile, open_raw, read_at
from esewatch.sources.files.text_file import HEAD, LONGEST, Lines, TextFile
from esewatch.sources.kind import Described, RecordSelection

_AHEAD: Final = 256 << 10
"""Bytes read and decoded at once."""
_MOST_BUFFERS: Final = 1 << 20
"""Of a circular log, whose buffers are put in order."""


class BufferFile(TextFile):
    """An open log from a position on; see `TextFile`, with buffers for lines. It is read when it is
    whole: the logger writes it at once. Those of a circular log are in the order of their numbers.
    """

    def __init__(self, raw: RawFile, position: FilePosition) -> None:
        super().__init__(raw, position)
        self._size = SMALLEST_BUFFER
        self._least = _AHEAD
        self._order: list[int] | None = None

    @staticmethod
    def beginning(raw: RawFile) -> bytes:
        """The buffers before the first one with a sample, and that one; up to 8 MiB."""
        head = read_at(raw, 0, HEAD)
        size = buffer_size(head)
        if not size:
            return head
        head += read_at(raw, len(head), size - len(head)) if len(head) < size else b""
        head = head[: len(head) // size * size] or head
        walk = Buffers(size)
        while len(head) + size <= LONGEST:
            more = read_at(raw, len(head), size)
            head += more
            found = {event.type for event in walk.events(more, silent)}
            if SAMPLE in found or len(more) < size:
                break
        return head

    def first_text(self) -> bytes:
        at = self.raw.position
        head = self.beginning(self.raw)
        self.raw.seek(at)
        return head

    def refresh(self) -> None:
        head = read_at(self.raw, 0, HEAD)
        self._size = buffer_size(head) or SMALLEST_BUFFER
        self._order = _order(self.raw, self._size) if _is_circular(head) else None
        self.text = b""
        self.at_end = False
        self.raw.seek(self.offset)

    def fill(self, want: int) -> None:
        """See `TextFile.fill`; at least one whole buffer."""
        want = max(want, self._size, self._least)
        want += -(self.offset + want) % self._size  # what is whole is given without being copied
        parts, there = [self.text] if self.text else [], len(self.text)
        while there < want and not self.at_end:
            block = self._block(self.offset + there, want - there)
            self.at_end = not block
            parts.append(block)
            there += len(block)
        self.text = b"".join(parts)

    def _block(self, at: int, size: int) -> bytes:
        if self._order is None:
            return self.raw.read(size)
        number, phase = divmod(at, self._size)
        if number >= len(self._order):
            return b""
        return read_at(self.raw, self._order[number] * self._size + phase, self._size - phase)

    def lines(self, want: int, *, tail: bool) -> Lines:
        """The whole buffers that are there; with `tail` also half of one."""
        there = self.offset + len(self.text)
        end = max(0, there // self._size * self._size - self.offset)
        last = self.at_end and there - self.offset - end < self._size
        if last and tail:
            end = len(self.text)
        return Lines(self.text[:end], last=last, all=last and tail)

    def take(self, size: int) -> None:
        """Consume the first `size` bytes. When it is none, a sample needs more at once."""
        if not size and not self.at_end:
            self._least = min(LONGEST, max(self._least, 2 * len(self.text)))
            return
        self._advance(memoryview(self.text)[:size])
        self.text = self.text[size:]

    def give_up(self, data: bytes) -> None:
        """Skip all of `data`."""
        self.take(len(data))

    def places(self, data: bytes, offsets: Sequence[int]) -> list[str]:
        """Names of places in `data`, which the text begins with."""
        return [f"offset {self.offset + offset}" for offset in offsets]

    def mark(self, position: FilePosition) -> None:
        """See `TextFile.mark`; a circular log is known by its bytes as they are in the file."""
        super().mark(position)
        if self._order is not None and not position.ahead:
            size = min(self.offset, DIGESTED)
            position.head = digest(read_at(self.raw, 0, size))
            position.tail = digest(read_at(self.raw, self.offset - size, size))


def _is_circular(head: bytes) -> bool:
    size = buffer_size(head)
    for event in Buffers(size).events(head[:size], silent) if size else ():
        if event.type == HEADER_EVENT:
            header = read_trace_header(head[event.start : event.end])
            return header is not None and bool(header.mode & CIRCULAR)
    return False


def _order(raw: RawFile, size: int) -> list[int]:
    """The buffers by their numbers; the first one holds the header and stays the first."""
    numbers: list[tuple[int, int]] = []
    for place in range(1, _MOST_BUFFERS):
        head = read_at(raw, place * size, BUFFER_HEAD)
        if len(head) < BUFFER_HEAD:
            break
        numbers.append((sequence(head), place))
    return [0, *(place for _, place in sorted(numbers))]


NO_LOG: Final = "not a binary counter log of Performance Monitor (.blg)"


def open(entry: LogFiles, _settings: Settings, wanted: RecordSelection) -> Source:
    return perfmon_blg_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        ese_only=wanted.ese_only,
    )


def recognise(head: bytes, _stored: bytes) -> bool:
    return is_binary_log(head)


def describe(_entry: LogFiles, path: str, _head: bytes) -> Described:
    found = look(path)
    return Described(counters=found.counters, feeds=found.feeds)


def perfmon_blg_source(
    name: str,
    paths: Sequence[str],
    *,
    computer: str = "",
    timezone: str | None = None,
    ese_only: bool = False,
) -> Source:
    """A source over binary counter logs named by `paths` (paths and globs).

    `computer`: for counters that name no machine. `timezone` (zoneinfo name): of a log in which no
    clock tells the time in UTC. `ese_only`: only the counters that feed a metric. Raises
    SourceError when the time zone is unknown.
    """
    zone = log_zone(timezone)

    def factory(path: str, head: bytes, saved: bytes) -> Decoder:
        if not is_binary_log(head):
            raise SourceError(f"{path}: {NO_LOG}")
        decoder = BlgDecoder(head, saved, computer=computer, zone=zone, ese_only=ese_only)
        if not saved:
            _refuse_others(path, head, decoder)
        return decoder

    def first_time(_path: str, head: bytes) -> float | None:
        if not is_binary_log(head):
            return None
        decoder = BlgDecoder(head, b"", computer=computer, zone=zone, ese_only=True)
        decoder.feed(head, final=True)
        return decoder.began

    return FollowedFiles(name, paths, factory, order=first_time, form=BufferFile)


class Look(NamedTuple):
    """Facts in the beginning of a log."""

    counters: list[tuple[str, str]]
    """Objects and counters."""
    feeds: bool
    """True if one of them feeds a metric."""
    zone: tuple[str, int] | None
    """Name of the time zone, empty where it is not known, and minutes west of UTC."""


def look(path: str) -> Look:
    """Look at a log up to its first sample. Raises SourceError."""
    try:
        raw = open_raw(path)
        try:
            head = BufferFile.beginning(raw)
        finally:
            raw.close()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    if not is_binary_log(head):
        raise SourceError(f"{path}: {NO_LOG}")
    decoder = BlgDecoder(head, b"", computer="", zone=None, ese_only=False)
    readings = [
        each for each in decoder.feed(head, final=True).records if isinstance(each, Reading)
    ]
    zone = None
    if decoder.west is not None:
        zone = (decoder.header.zone_name if decoder.header else "", decoder.west // 60)
    return Look(
        sorted({(entry.object, entry.counter) for entry in decoder.entries}),
        any(each.feed for each in readings),
        zone,
    )


def is_binary_log(head: bytes) -> bool:
    """Does a file that begins with `head` have the form of a binary counter log?

    Other event traces (.etl) have it too; what is in them is seen behind the first buffer.
    """
    return buffer_size(head) > 0


def _refuse_others(path: str, head: bytes, decoder: BlgDecoder) -> None:
    if decoder.header is not None and decoder.header.mode & COMPRESSED:
        raise SourceError(
            f"{path}: a compressed event trace, which is not read here; convert it on Windows: "
            f'relog "{path}" -f csv -o "{path}.csv"'
        )
    if len(head) >= 2 * buffer_size(head) and not decoder.is_counter_log:
        raise SourceError(
            f"{path}: an event trace (.etl) without counters; Windows shows what it holds: "
            f'tracerpt "{path}" -o "{path}.xml" -of XML'
        )
