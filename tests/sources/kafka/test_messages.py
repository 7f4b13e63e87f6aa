"""Messages become records, each by itself."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from esewatch.config.files import load
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event
from esewatch.sources.kafka import messages
from esewatch.sources.kafka.messages import MessageDecoder
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.formats.event_builder import Harvest, Maker
from esewatch.sources.registry import build_source
from tests.sources.kafka.test_kafka_source import counted, logged
from tests.sources.logs.formats.test_json_lines import made_up
from tests.support.campaign import some

NXLOG = (
    b'"EventID":700,"SourceName":"ESE","EventTime":"2007-06-01 01:00:00","Hostname":"EX01",'
    b'"Message":"engine (4242) busy: Online defragmentation is beginning a full pass on e.edb"'
)
EMPTY = b'"resourceLogs":[]'
ODD = (
    b"", b"\n", b"{", b"{}", b"\xff\xfe", b"(4242)", b'{"a": "(4242)"}', b'{"a": "ESE"',
    b'{"a": {"b": "ESE"}', b'{"a": 1}}', b'{"a": "ESE \x00"}', b'{"a": 1} {"b": 2}', b"\x00" * 40,
    b"<Event>", b"2007-06-01 01:00:00 EX01 ESE 700 engine (4242) busy: begins", b'{"a": [{}]',
    b'{"records":[{"a":}]}', b'{"a": "\x01\x01\x01\x01"}', *[b'{"a":1}'] * 99, b'{"a":1} ',
    b'{"EventID":1221,"SourceName":"MSExchangeIS","EventTime":"2007-06-01 01:00:00",'
    b'"Hostname":"EX01","Message":"The database \\"SG1\\\\MB1\\" has 42 megabytes of free space'
    b' after online defragmentation has terminated."}',
    b"{%s,%s}" % (NXLOG, EMPTY), b"{%s,%s}" % (EMPTY, NXLOG),
    logged("EX01", 2)[1],
    b'{"value": [{"EventID": 700}]}', b'{"A\\u0042": "ESE"}', b"[]", b'{"a": "x"}\r\n',
    counted("EX01", 1, 2)[1], counted("EX01", 1, 2)[1][:-9], logged("EX01", 1)[1] + b"\n\n",
    logged("EX01", 1)[1].replace(b"}}}", b"}}},"), b"\xef\xbb\xbf" + logged("EX01", 1)[1],
)  # fmt: skip
PART = 97
FEW, MANY = 3_000, 1_000_000


class Message:
    """As the client hands it out."""

    def __init__(self, value: bytes, offset: int) -> None:
        self._value, self._offset = value, offset

    def value(self) -> bytes:
        return self._value

    def topic(self) -> str:
        return "events"

    def partition(self) -> int:
        return 3

    def offset(self) -> int:
        return self._offset


def decoded(
    decoder: MessageDecoder, values: Sequence[bytes], at_once: int
) -> list[tuple[bytes, list[Any]]]:
    """Records as JSON, and complaints, of messages that are handed over so many at once."""
    every = [Message(value, offset) for offset, value in enumerate(values)]
    return [
        (msgspec.json.encode(found.records), found.unreadable)
        for at in range(0, len(every), at_once)
        for found in [decoder.decode(every[at : at + at_once])]
    ]


def differences(values: Sequence[bytes], part: int = PART) -> list[Any]:
    """What is read otherwise when no message is passed over unread."""
    found: list[Any] = []
    for options in (EventOptions(), EventOptions(companions=True, computer="HOST")):
        short = decoded(MessageDecoder(options), values, part)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(messages, "_OBJECT", re.compile(b"(?!)"))
            careful = decoded(MessageDecoder(options), values, part)
        found += [pair for pair in zip(short, careful, strict=True) if pair[0] != pair[1]]
    return found


def lines(count: int, seed: int) -> list[bytes]:
    """Made-up lines of all collectors, odd ones among them."""
    each = [line for data in made_up(count, seed) for line in data.split(b"\n")]
    for number, odd in enumerate(ODD * (1 + count // 2000)):
        each.insert((number * 211) % len(each), odd)
    return each


def test_messages_read_at_once_are_read_as_each_by_itself() -> None:
    values = lines(FEW, 1)

    assert differences(values) == []
    assert differences(ODD, len(ODD)) == differences(ODD, 1) == []
    records = [found for found, _ in decoded(MessageDecoder(EventOptions()), values, PART)]
    assert sum(len(msgspec.json.decode(each)) for each in records) > FEW // 2


def test_local_times_are_of_the_zone_of_the_source(tmp_path: Path) -> None:
    """NXLog writes local times without an offset."""
    made: dict[str, Any] = {
        "type": "kafka",
        "brokers": ["k1:9092"],
        "topics": ["ese"],
        "timezone": "Europe/Berlin",
        "date_order": "dmy",
    }
    path = tmp_path / "esewatch.yml"
    path.write_text(yaml.safe_dump({"sources": [made]}))
    settings = load(path)
    source = build_source(settings.sources[0], settings)
    line = b"{%s}" % NXLOG
    numeric = line.replace(b"2007-06-01 01:00:00", b"03/06/2007 01:00:00")
    found = source._decoder.decode(  # type: ignore[attr-defined]
        [Message(each, number) for number, each in enumerate((line, line, numeric))]
    )

    assert found.unreadable == []
    moments = [datetime(2007, 5, 31, 23, tzinfo=UTC)] * 2 + [datetime(2007, 6, 2, 23, tzinfo=UTC)]
    assert [datetime.fromtimestamp(each.time, UTC) for each in found.records] == moments


def test_the_order_of_dates_in_one_message_tells_nothing_of_the_next_one() -> None:
    """They are of computers of different countries."""
    line = b"{%s}" % NXLOG
    values = [line.replace(b"2007-06-01", each) for each in (b"31/05/2007", b"03/06/2007")]
    found = MessageDecoder(EventOptions()).decode(
        [Message(each, number) for number, each in enumerate(values)]
    )

    moments = [datetime(2007, 5, 31, 1, tzinfo=UTC), datetime(2007, 3, 6, 1, tzinfo=UTC)]
    times = [each.time for each in found.records if isinstance(each, Event)]
    assert times == [moment.timestamp() for moment in moments]


@pytest.mark.parametrize("form", ["object", "text"])
def test_a_date_without_a_year_in_a_message_is_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """No file tells its year, also where one is called like the partition."""
    monkeypatch.chdir(tmp_path)
    line = b"{%s}" % NXLOG.replace(b"2007-06-01 01:00:00", b"Jun  1 01:00:00")
    if form == "text":
        words = b"engine (4242) busy: Online defragmentation is beginning a full pass on e.edb"
        line = b"<14>Jun  1 01:00:00 EX01 ESE[700]: " + words
    message = Message(line, 3)
    Path(f"{message.topic()}[{message.partition()}]").write_bytes(line + b"\n")
    found = MessageDecoder(EventOptions()).decode([message])

    assert [each.time for each in found.records if isinstance(each, Event)] == [None]
    assert [each.reason for each in found.unreadable] == [
        "dates without a year: the times are unknown"
    ]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_up_to_a_million_messages_read_at_once_are_read_as_each_by_itself() -> None:
    found: list[Any] = []
    for seed in some(range(2, 2 + MANY // 10_000), 5):
        found += differences(lines(10_000, seed))

    assert found == []


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_complaints_name_the_offset_whatever_is_read_at_once(at_once: int) -> None:
    values = [logged("EX01", 1)[1], b'{"a": "ESE"', b"", logged("EX01", 2)[1]]
    found = decoded(MessageDecoder(EventOptions()), values, at_once)

    told = [(each.path, each.place) for _, unreadable in found for each in unreadable]
    assert told == [("events[3]", "offset 1")]
    assert sum(len(msgspec.json.decode(records)) for records, _ in found) == 2


def test_a_message_whose_reading_raises_stops_none_of_the_next_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    add = Maker.add

    def failing(self: Maker, found: RawEvent, offset: int, harvest: Harvest) -> bool:
        if found.computer == "EX02":
            raise ZeroDivisionError("a defect")
        return add(self, found, offset, harvest)

    monkeypatch.setattr(Maker, "add", failing)
    values = [logged(name, n)[1] for n, name in enumerate(("EX01", "EX01", "EX02", "EX01"), 1)]
    ((records, unreadable),) = decoded(MessageDecoder(EventOptions()), values, 4)

    assert len(msgspec.json.decode(records)) == 3
    assert [each.place for each in unreadable] == ["offset 2"]
    assert "a defect" in unreadable[0].reason
