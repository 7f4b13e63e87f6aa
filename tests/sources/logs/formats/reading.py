"""Reading bytes as an event stream in one piece or in many, for the tests of the formats."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from esewatch.model import Event
from esewatch.sources.files.decoder import Fed
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import decoder_factory
from tests.support.ese_text import render

STRINGS_703 = (
    "MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb", "42794", "6/16/2007", "124919",
    "7", "4", "14", "73",
)  # fmt: skip
STRINGS_721 = (
    "MSExchangeIS", "3392", "SG03: ", "J:\\sg3\\priv3.edb", "6/19/2007", "208", "2", "1",
    "5850768", "0", "72682",
)  # fmt: skip
TEXT_703 = render(703, STRINGS_703)
TEXT_721 = render(721, STRINGS_721)
FIELDS_703 = {"pages_freed": 42794, "seconds": 124919, "invocations": 7, "days": 4}
FIELDS_721 = {"pages_seen": 5850768, "bad_checksums": 0, "uninitialized_pages": 72682}


def epoch(text: str) -> float:
    """Epoch seconds of an ISO time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def read(data: bytes | str, **options: Any) -> Fed:
    """The data in one piece, to its end."""
    data = data.encode() if isinstance(data, str) else data
    return decoder_factory(EventOptions(**options))("f", data[:65536], b"").feed(data, final=True)


def events(data: bytes | str, **options: Any) -> list[Event]:
    """The events of the data; nothing in it may be unreadable."""
    fed = read(data, **options)
    assert fed.unreadable == []
    assert all(isinstance(record, Event) for record in fed.records)
    return [record for record in fed.records if isinstance(record, Event)]


def one(data: bytes | str, **options: Any) -> Event:
    """The only event of the data."""
    found = events(data, **options)
    assert len(found) == 1, found
    return found[0]


def read_in_pieces(
    data: bytes, cuts: Sequence[int], *, restart: bool = False, **options: Any
) -> tuple[list[Any], list[tuple[int, str]]]:
    """Records and unreadable places (by offset in the data) of the data fed in whole lines.

    With `restart` a new decoder takes up the saved context at each cut.
    """
    factory = decoder_factory(EventOptions(**options))
    decoder = factory("f", data[:65536], b"")
    records: list[Any] = []
    places: list[tuple[int, str]] = []
    at = 0
    for cut in [*sorted(cuts), len(data)]:
        final = cut == len(data)
        end = cut if final else data.rfind(b"\n", 0, cut) + 1
        if end <= at and not final:
            continue
        fed = decoder.feed(data[at:end], final=final)
        records += fed.records
        places += [(at + offset, reason) for offset, reason in fed.unreadable]
        assert 0 <= fed.consumed <= end - at
        at += fed.consumed
        assert at == end or data[at - 1 : at] in (b"\n", b"")
        if restart:
            decoder = factory("f", data[:65536], decoder.save())
    assert at == len(data)
    return records, places


def json_line(**changes: Any) -> str:
    """An event as a collector writes it, in one line."""
    event = {
        "SourceName": "ESE",
        "EventID": 703,
        "Channel": "Application",
        "Hostname": "EX01.corp.example",
        "EventTime": "2007-06-21T03:14:15.123456Z",
        "RecordNumber": 4711,
        "Level": "4",
        "Message": TEXT_703,
    }
    return json.dumps(
        {key: value for key, value in {**event, **changes}.items() if value is not ...}
    )
