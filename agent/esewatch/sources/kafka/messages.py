"""The records in the messages of a topic: any form that `event_stream` reads."""

from collections.abc import Iterable
from typing import Any

from esewatch.model import Record, Unreadable
from esewatch.sources.files.decoder import DecoderFactory

HEAD = 1 << 16


def decode(
    messages: Iterable[Any], factory: DecoderFactory
) -> tuple[list[Record], list[Unreadable]]:
    """Records and complaints of the messages, in their order. Never raises for content."""
    records: list[Record] = []
    unreadable: list[Unreadable] = []
    for message in messages:
        value = message.value()
        if not value:
            continue
        place = f"{message.topic()}[{message.partition()}]"
        try:
            fed, complaints = _decode(place, value, factory)
        except Exception as error:  # a message that cannot be read must not stop the next ones
            fed, complaints = [], [f"{type(error).__name__}: {error}"]
        records += fed
        where = f"offset {message.offset()}"
        unreadable += [Unreadable(path=place, place=where, reason=each) for each in complaints]
    return records, unreadable


def _decode(place: str, value: bytes, factory: DecoderFactory) -> tuple[list[Record], list[str]]:
    decoder = factory(place, value[:HEAD], b"")
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
