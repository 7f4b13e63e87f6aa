"""ESE events of one chunk of an event log."""

from collections.abc import Collection, Iterable

import msgspec

from esewatch.ese.companions.companion_table import PROVIDER_WORDS
from esewatch.ese.dates import DateOrder
from esewatch.ese.events.from_strings import Around, event_of_strings
from esewatch.ese.providers import is_ese_provider
from esewatch.model import Coverage, Event
from esewatch.sources.evtx.chunks import CHUNK_HEADER_BYTES, Chunk, salvage, walk
from esewatch.sources.evtx.record_reader import RecordReader
from esewatch.sources.evtx.templates import FAILURES, Templates


class Decoded(msgspec.Struct):
    """The result of a chunk: its events, its coverage when that is certain, its failures."""

    events: list[Event] = []
    coverage: Coverage | None = None
    failed: int = 0
    """Records that could not be read."""
    reason: str = ""
    """Reason why the first of them could not."""


class ChunkDecoder:
    """Decodes chunks; remembers their templates.

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
        self._templates = Templates(self._is_wanted)

    def decode(self, chunk: Chunk, *, after: int = -1) -> Decoded:
        """Events of `chunk` in records whose id is greater than `after`.

        What a record of another provider holds is not asked, so a failure in it is not told.
        """
        result = Decoded()
        if chunk.end <= CHUNK_HEADER_BYTES:
            return result
        offsets = None if chunk.problem else walk(chunk)
        if offsets is None:
            records = chunk.found if chunk.problem else salvage(chunk.data)
            offsets = [record.offset for record in records]
            if not chunk.problem:
                result.failed, result.reason = 1, "the records do not follow each other"
        reader = RecordReader(chunk.data, self._templates)
        self._take(reader.wanted(offsets, after), result)
        if reader.failures:
            result.failed += len(reader.failures)
            result.reason = result.reason or reader.failures[0]
        if not chunk.problem and not result.failed:
            result.coverage = self._coverage(chunk, reader, offsets)
        return result

    def _is_wanted(self, provider: str) -> bool:
        """True if the provider may be one whose events are asked for."""
        name = provider.lower()
        return is_ese_provider(name, self._providers) or any(word in name for word in self._words)

    def _take(self, found: Iterable[tuple[Around, list[str]]], result: Decoded) -> None:
        """Add the events among these records."""
        for head, strings in found:
            if not head[3] and self._computer:
                head = (*head[:3], self._computer, *head[4:])
            event = event_of_strings(head, tuple(strings), self._providers, self._date_order)
            if event is not None and (self._companions or not event.companion):
                result.events.append(event)

    def _coverage(self, chunk: Chunk, reader: RecordReader, offsets: list[int]) -> Coverage | None:
        """The range of `EventRecordID` the chunk covers, from its first and last record.

        None unless both name the same log and the numbers between them are as
        many as the chunk has records: a filtered export or a collector's log of
        forwarded events leaves ids out.
        """
        try:
            first, last = (reader.head(at) for at in (offsets[0], offsets[-1]))
        except FAILURES:
            return None
        if first.record_id is None or last.record_id is None:
            return None
        if last.record_id - first.record_id != chunk.last - chunk.first:
            return None
        if first.time is None or last.time is None or not first.channel:
            return None
        if (first.computer, first.channel) != (last.computer, last.channel):
            return None
        return Coverage(
            computer=first.computer or self._computer,
            channel=first.channel,
            first=first.record_id,
            last=last.record_id,
            first_time=first.time,
            last_time=last.time,
        )
