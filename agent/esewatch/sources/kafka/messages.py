"""The records in the messages of a topic: any form that `event_stream` reads, and counters."""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from esefiles.base import crash
from esewatch.model import Batch, Heard, Unreadable
from esewatch.sources.counters.json_counters import JsonCounters, is_counters
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import decoder_factory
from esewatch.sources.logs.formats.event_builder import Harvest, Maker
from esewatch.sources.logs.formats.json_events import JsonEvents, is_passed
from esewatch.sources.logs.formats.json_heads import JsonHeads
from esewatch.sources.logs.formats.prefilter import Prefilter

HEAD = 1 << 16
_OBJECT = re.compile(rb'\{"[^\x00-\x1f]*+\r?\n?')
"""A message that is one line of text and begins as an object does."""
_COUNTER_KEY, _OBJECT_KEY = b'"counter"', b'"objectname"'


class MessageDecoder:
    """Decodes each message by itself."""

    def __init__(self, options: EventOptions) -> None:
        self._computer = options.computer
        self._heads = JsonHeads(Maker(options))
        self._prefilter = Prefilter(options.providers, companions=options.companions)
        self._objects = JsonEvents(Maker(options), self._prefilter)
        self._files = decoder_factory(options, of_files=False)

    def decode(self, messages: Sequence[Any]) -> Batch:
        """Records and complaints of the messages, in their order. Never raises for content."""
        batch = Batch()
        harvest = Harvest()
        values: list[bytes] = [message.value() or b"" for message in messages]
        lines = [self._is_line(value) for value in values]
        hits = self._hits(value if line else b"" for value, line in zip(values, lines, strict=True))
        others: list[bytes] = []
        for number, value in enumerate(values):
            if not value:
                continue
            if lines[number] and number not in hits and is_passed(line := value.rstrip(b"\r\n")):
                others.append(line)
                continue
            message = messages[number]
            place = f"{message.topic()}[{message.partition()}]"
            try:
                if not lines[number] or not self._objects.take_object(value.rstrip(), harvest):
                    self._decode(place, value, harvest, batch.heard)
            except Exception as error:  # a message that cannot be read must not stop the next ones
                crash.if_short(error)
                harvest.complain(0, f"{type(error).__name__}: {error}")
            if harvest.unreadable:
                where = f"offset {message.offset()}"
                batch.unreadable += [
                    Unreadable(path=place, place=where, reason=reason)
                    for _, reason in harvest.unreadable
                ]
                harvest.unreadable.clear()
        self._heads.hear(others, harvest)
        batch.records = harvest.records
        batch.heard += harvest.heard.taken()
        return batch

    def _is_line(self, value: bytes) -> bool:
        """True for what begins as an object, is one line, and holds no counters."""
        if len(value) > HEAD or _COUNTER_KEY in value or _OBJECT_KEY in value:
            return False
        return _OBJECT.fullmatch(value) is not None

    def _hits(self, values: Iterable[bytes]) -> set[int]:
        """The numbers of the messages that may hold an event. One search does for all."""
        found: set[int] = set()
        pieces = list(values)
        ends = list(accumulate(len(piece) + 1 for piece in pieces))
        number = 0
        for at in self._prefilter.hits(b"\n".join(pieces)):
            while ends[number] <= at:
                number += 1
            found.add(number)
        return found

    def _decode(self, place: str, value: bytes, harvest: Harvest, heard: list[Heard]) -> None:
        head = value[:HEAD]
        counters = (_COUNTER_KEY in head or _OBJECT_KEY in head) and is_counters(head)
        decoder = JsonCounters(self._computer) if counters else self._files(place, head, b"")
        rest = value if value.endswith(b"\n") else value + b"\n"
        while rest:
            fed = decoder.feed(rest, final=True)
            harvest.records += fed.records
            harvest.unreadable += fed.unreadable
            heard += fed.heard
            if not fed.consumed:
                harvest.complain(0, "the end of the message is not a record")
                break
            rest = rest[fed.consumed :]
