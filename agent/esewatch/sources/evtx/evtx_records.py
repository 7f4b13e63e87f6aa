"""ESE events of one chunk of an event log, by way of the `evtx` parser.

The parser gets a log of this one chunk in memory, so that damage stays where it
is. Of a whole chunk it sees only the records that may be wanted. It returns a record
as JSON text, which is decoded when it names a wanted provider.
"""

import io
import struct
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, Final

import evtx
import msgspec

from esewatch.ese.companions.companion_table import PROVIDER_WORDS
from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import event_from_strings
from esewatch.ese.providers import WORDS, is_ese_provider
from esewatch.model import Coverage, Event, Level
from esewatch.sources.evtx.chunks import (
    CHUNK_HEADER_BYTES,
    FILE_HEADER_BYTES,
    FILE_MAGIC,
    Chunk,
    rebuilt,
)
from esewatch.sources.evtx.evtx_select import Selector

_HEADER: Final = FILE_MAGIC + struct.pack("<QQQIHHHHxx", 0, 0, 0, 128, 1, 3, 4096, 1)
_FILE_HEADER: Final = _HEADER.ljust(FILE_HEADER_BYTES, b"\0")
_NO_TABLES: Final = bytes(CHUNK_HEADER_BYTES - 128)
_LEVELS: Final[dict[int, Level]] = {
    0: "information",
    1: "critical",
    2: "error",
    3: "warning",
    4: "information",
    5: "verbose",
}
_NAME: Final = '"Name":"'
_NO_STRINGS: Final = ("#attributes", "Binary")
_STR: Final = frozenset({str})
_HEAD_MOST: Final = 200
_HEADS_KEPT: Final = 4096
_TEXT_MOST: Final = 1 << 20
"""Windows logs at most 64 KiB of text; a crafted template can repeat it a thousand times."""
_RECORDS_MOST: Final = 4096
"""More than 64 KiB can hold: an end for a parser that stands still."""


class _Text(msgspec.Struct, rename={"text": "#text"}):
    """An element with attributes."""

    text: int | str | None = None


_Number = int | str | _Text | None


class _Provider(msgspec.Struct, rename={"attributes": "#attributes"}):
    class Attributes(msgspec.Struct, rename={"name": "Name"}):
        """Attributes of Provider."""

        name: str = ""

    attributes: Attributes = msgspec.field(default_factory=Attributes)


class _TimeCreated(msgspec.Struct, rename={"attributes": "#attributes"}):
    class Attributes(msgspec.Struct, rename={"time": "SystemTime"}):
        """Attributes of TimeCreated."""

        time: str = ""

    attributes: Attributes = msgspec.field(default_factory=Attributes)


class _System(msgspec.Struct, rename="pascal"):
    """The System part; the parser writes null for a missing field."""

    provider: _Provider | None = None
    event_id: _Number = msgspec.field(default=None, name="EventID")
    level: _Number = None
    time_created: _TimeCreated | None = None
    record_id: _Number = msgspec.field(default=None, name="EventRecordID")
    channel: str | None = None
    computer: str | None = None


class _Event(msgspec.Struct, rename="pascal"):
    system: _System
    event_data: Any = None
    user_data: Any = None


class _Record(msgspec.Struct, rename="pascal"):
    event: _Event


_DECODER: Final = msgspec.json.Decoder(_Record)


class Decoded(msgspec.Struct):
    """The result of a chunk: its events, its coverage when that is certain, its failures."""

    events: list[Event] = []
    coverage: Coverage | None = None
    seen: int = 0
    """Records the parser could read."""
    failed: int = 0
    """Records the parser could not read."""
    reason: str = ""
    """The parser's message for the first of them."""


class ChunkDecoder:
    """Decodes chunks; caches which providers are wanted.

    `providers` are further event sources of ESE, `companions` asks for the events of semantics.md 4
    too, `computer` stands in where a record names none.
    """

    def __init__(
        self,
        *,
        providers: Collection[str] = (),
        companions: bool = False,
        date_order: DateOrder | None = None,
        computer: str = "",
    ) -> None:
        self._providers = tuple(providers)
        self._companions = companions
        self._date_order = date_order
        self._computer = computer
        self._words = tuple(word.lower() for word in PROVIDER_WORDS) if companions else ()
        named = (name.strip().lower() for name in (*WORDS, *self._providers))
        self._selector = Selector({*named, *self._words})
        self._wanted: dict[str, bool] = {}

    def decode(self, chunk: Chunk, *, after: int = -1) -> Decoded:
        """Events of `chunk` in records whose id is greater than `after`.

        Of a whole chunk only the records that may be wanted are decoded, and its first and its
        last, which its coverage needs. The decoder's result for another provider's record is not
        used.
        """
        if chunk.end <= CHUNK_HEADER_BYTES:
            return Decoded()
        if not chunk.problem:
            selection = self._selector.select(chunk, after)
            if selection is not None:
                result = self._decode_all(selection.chunk, after)
                if result.seen == selection.kept and not result.failed:
                    return result
        result = self._decode_all(chunk, after)
        if result.failed and not chunk.problem:
            # Some failures end the parser's walk; what stands behind them is worth a second one.
            second = self._decode_all(rebuilt(chunk), after)
            result.events, result.failed = second.events, max(1, second.failed)
        return result

    def _decode_all(self, chunk: Chunk, after: int) -> Decoded:
        result = Decoded()
        ends = {}
        bounds = (chunk.first, chunk.last)
        wanted = self._wanted
        for record_id, text in _records(chunk, result):
            result.seen += 1
            if record_id in bounds:
                ends[record_id] = text
            take = wanted.get(text[:_HEAD_MOST])
            if take is None:
                take = self._is_wanted(text)
            if take and record_id > after:
                self._take(text, result)
        if not chunk.problem and not result.failed:
            result.coverage = self._coverage(chunk, ends)
        return result

    def _is_wanted(self, text: str) -> bool:
        """Whether the record names a provider that may be wanted. Cached by the start of
        the text.
        """
        start = text.find(_NAME) + len(_NAME)
        end = text.find('"', start)
        name = text[start:end].lower()
        wanted = (
            is_ese_provider(name, self._providers)
            or any(word in name for word in self._words)
            or "\\" in name  # JSON's way to write some characters
        )
        if end < _HEAD_MOST:
            if len(self._wanted) >= _HEADS_KEPT:
                self._wanted.clear()
            self._wanted[text[:_HEAD_MOST]] = wanted
        return wanted

    def _take(self, text: str, result: Decoded) -> None:
        """Add the event of one record, when it is one."""
        try:
            if len(text) > _TEXT_MOST:
                raise ValueError(f"a record of {len(text)} characters")
            record = _parsed(text)
        except ValueError as error:
            result.failed += 1
            result.reason = result.reason or str(error)
            return
        system = record.system
        event = event_from_strings(
            provider=system.provider.attributes.name if system.provider else "",
            event_id=_number(system.event_id) or 0,
            strings=_strings(record.event_data or record.user_data),
            time=_time(system),
            computer=system.computer or self._computer,
            channel=system.channel or "",
            record_id=_number(system.record_id),
            level=_LEVELS.get(_number(system.level) or 0),
            extra_providers=self._providers,
            date_order=self._date_order,
        )
        if event is not None and (self._companions or not event.companion):
            result.events.append(event)

    def _coverage(self, chunk: Chunk, ends: dict[int, str]) -> Coverage | None:
        """The range of `EventRecordID` the chunk covers, from its first and last record.

        None unless both name the same log and the numbers between them are as
        many as the chunk has records: a filtered export or a collector's log of
        forwarded events leaves ids out.
        """
        try:
            first, last = (_parsed(ends[number]).system for number in (chunk.first, chunk.last))
        except (KeyError, ValueError):
            return None
        first_id, last_id = _number(first.record_id), _number(last.record_id)
        first_time, last_time = _time(first), _time(last)
        if first_id is None or last_id is None or last_id - first_id != chunk.last - chunk.first:
            return None
        if first_time is None or last_time is None or not first.channel:
            return None
        if (first.computer, first.channel) != (last.computer, last.channel):
            return None
        return Coverage(
            computer=first.computer or self._computer,
            channel=first.channel,
            first=first_id,
            last=last_id,
            first_time=first_time,
            last_time=last_time,
        )


def _records(chunk: Chunk, result: Decoded) -> Iterator[tuple[int, str]]:
    """Id (of the record's frame) and JSON of each record; counts failures in `result`."""
    # The tables of strings and templates stay out: the parser reads a name where it stands as
    # well, and a table that leads in a circle would hold it for ever.
    data = memoryview(chunk.data)
    log = io.BytesIO(b"".join((_FILE_HEADER, data[:128], _NO_TABLES, data[512:])))
    records = evtx.PyEvtxParser(log, number_of_threads=1).records_json()
    skip = chunk.rubbish
    for _ in range(_RECORDS_MOST):
        try:
            for record in records:
                if record is not None:
                    yield record["event_record_id"], record["data"]
        except RuntimeError as error:
            if not skip:
                result.failed += 1
                result.reason = result.reason or str(error)
            skip = False
        else:
            return


def _parsed(text: str) -> _Event:
    """The record; ValueError when it has not the shape of an event."""
    return _DECODER.decode(text).event


def _number(value: _Number) -> int | None:
    """A whole number, with or without attributes."""
    if isinstance(value, _Text):
        value = value.text
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() else None
    return value


def _time(system: _System) -> float | None:
    """Epoch seconds of TimeCreated, exact to the microsecond; None beyond the year 9999."""
    created = system.time_created
    try:
        return datetime.fromisoformat(created.attributes.time if created else "").timestamp()
    except (ValueError, OverflowError):
        return None


def _strings(payload: object) -> list[str]:
    """The insertion strings in their order; an empty one keeps its place.

    `Data` of classic providers is one text or a list, named items are members of
    their own, UserData has one element around its items.
    """
    if isinstance(payload, dict):
        if "#text" in payload:
            return _strings(payload["#text"])
        items = [value for name, value in payload.items() if name not in _NO_STRINGS]
        return _strings(items[0] if len(items) == 1 and items[0] is not None else items)
    if isinstance(payload, list):
        if _STR.issuperset(map(type, payload)):
            return payload
        return [text for item in payload for text in (_strings(item) if item is not None else [""])]
    return [] if payload is None else [str(payload)]
