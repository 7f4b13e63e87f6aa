"""The records in the messages of a topic: any form that `event_stream` reads, and counters."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from esewatch.model import Event, Record, Unreadable
from esewatch.sources.counters.json_counters import JsonCounters, is_counters
from esewatch.sources.files.decoder import Decoder
from esewatch.sources.logs.event_stream import decoder_factory
from esewatch.sources.logs.formats.event_builder import EventOptions, Maker
from esewatch.sources.logs.formats.json.json_events import is_passed
from esewatch.sources.logs.formats.json.json_plan import JsonPlan
from esewatch.sources.logs.formats.prefilter import Prefilter

HEAD = 1 << 16
_OBJECT = re.compile(rb'\{"[^\x00-\x1f]*+\r?\n?')
"""A message that is one line of text and begins as an object does."""
_COUNTER_KEYS = (b'"counter"', b'"objectname"')


class MessageDecoder:
    """Decodes each message by itself; what one has taught of its shape is known of the next."""

    def __init__(self, options: EventOptions) -> None:
        self._computer = options.computer
        self._plan = JsonPlan()
        self._events = decoder_factory(options, self._plan)
        self._maker = Maker(options)
        self._prefilter = Prefilter(options.providers, companions=options.companions)

    def decode(self, messages: Sequence[Any]) -> tuple[list[Record], list[Unreadable]]:
        """Records and complaints of the messages, in their order. Never raises for content."""
        records: list[Record] = []
        unreadable: list[Unreadable] = []
        values: list[bytes] = [message.value() or b"" for message in messages]
        lines = [self._is_line(value) for value in values]
        hits = self._hits(value if line else b"" for value, line in zip(values, lines, strict=True))
        for number, value in enumerate(values):
            if lines[number]:
                if number not in hits:
                    continue
                if (event := self._short(value)) is not None:
                    records.append(event)
                    continue
            if not value:
                continue
            message = messages[number]
            place = f"{message.topic()}[{message.partition()}]"
            try:
                fed, complaints = self._decode(place, value)
            except Exception as error:  # a message that cannot be read must not stop the next ones
                fed, complaints = [], [f"{type(error).__name__}: {error}"]
            records += fed
            where = f"offset {message.offset()}"
            unreadable += [Unreadable(path=place, place=where, reason=each) for each in complaints]
        return records, unreadable

    def _short(self, value: bytes) -> Event | None:
        """The event of a line of a known shape; None where the careful way must decide."""
        try:
            found = self._plan.read(value)
            return self._maker.usual(found) if found is not None else None
        except Exception:  # the careful way meets it too, and tells it with its offset
            return None

    def _is_line(self, value: bytes) -> bool:
        """True for an object on one line that holds one event or none."""
        if len(value) > HEAD or any(key in value for key in _COUNTER_KEYS):
            return False
        return _OBJECT.fullmatch(value) is not None and is_passed(value.rstrip(b"\r\n"))

    def _hits(self, values: Iterable[bytes]) -> set[int]:
        """The numbers of the messages that may hold an event. One search does for all."""
        found: set[int] = set()
        ends: list[int] = []
        end = 0
        pieces = []
        for value in values:
            pieces.append(value)
            end += len(value) + 1
            ends.append(end)
        number = 0
        for at in self._prefilter.hits(b"\n".join(pieces)):
            while ends[number] <= at:
                number += 1
            found.add(number)
        return found

    def _decode(self, place: str, value: bytes) -> tuple[list[Record], list[str]]:
        decoder = self._decoder(place, value[:HEAD])
        records: list[Record] = []
        complaints: list[str] = []
        rest = value if value.endswith(b"\n") else value + b"\n"
        while rest:
            fed = decoder.feed(rest, final=True)
            records += fed.records
            complaints += [reason for _, reason in fed.unreadable]
            if not fed.consumed:
                complaints.append("the end of the message is not a record")
                break
            rest = rest[fed.consumed :]
        return records, complaints

    def _decoder(self, place: str, head: bytes) -> Decoder:
        if is_counters(head):
            return JsonCounters(self._computer)
        return self._events(place, head, b"")
