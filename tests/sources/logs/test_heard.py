"""Records of other providers show that a computer was heard, in every form of a log (5a)."""

import json
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bench.json_log import SHAPES, Logged
from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import Channel, State
from esewatch.model import Batch, Heard, Source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.kafka.messages import MessageDecoder
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import event_stream_source
from esewatch.sources.windows.windows_log import Output
from tests.sources.kafka.test_messages import Message
from tests.support.evtx_writer import EvtxWriter

BEGIN = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC)
PASS = ["MSExchangeIS", "4711", "SG06: ", "e:\\MDB06\\priv06.edb"]


class Line(NamedTuple):
    """A record: hours behind `BEGIN`, computer, provider."""

    hours: float
    computer: str
    provider: str


LOG = (
    Line(0, "EX01", "ESE"),
    Line(0.5, "EX02", "ESE"),
    *(Line(1 + number / 100, "EX01", "MSExchangeTransport") for number in range(40)),
    Line(1.7, "EX02", "VSS"),
    Line(30, "EX01", "Security-SPP"),
    Line(31, "EX02", "ESE"),
    # The last ones of each computer are of other providers, and the last of all comes earlier.
    Line(90, "EX02", "Application Error"),
    Line(60, "EX01", "Service Control Manager"),
)


def moment(line: Line) -> datetime:
    return BEGIN + timedelta(hours=line.hours)


def logged(line: Line, number: int) -> Logged:
    ese = line.provider == "ESE"
    text = f"MSExchangeIS (4711) SG06: {PASS[3]} is fine" if ese else "The service did it."
    strings = PASS if ese else ["w3wp.exe", "7.5.1"]
    time = moment(line).replace(tzinfo=None)
    return Logged(time, line.computer, line.provider, 700 if ese else 1000, number, strings, text)


def as_json(shape: str) -> str:
    lines = [json.dumps(SHAPES[shape](logged(line, n)), separators=(",", ":"))
             for n, line in enumerate(LOG, 1)]  # fmt: skip
    return "\n".join(lines) + "\n"


def as_pretty_json() -> str:
    return json.dumps([SHAPES["NXLog"](logged(line, n)) for n, line in enumerate(LOG, 1)], indent=1)


def as_xml() -> str:
    def one(line: Line, number: int) -> str:
        event = logged(line, number)
        data = "".join(f"<Data>{text}</Data>" for text in event.strings)
        return (
            f"<Event><System><Provider Name='{line.provider}'/><EventID>{event.event_id}</EventID>"
            f"<TimeCreated SystemTime='{event.moment}'/><EventRecordID>{number}</EventRecordID>"
            f"<Channel>Application</Channel><Computer>{line.computer}</Computer></System>"
            f"<EventData>{data}</EventData></Event>"
        )

    return "\n".join(one(line, number) for number, line in enumerate(LOG, 1))


def as_csv() -> str:
    head = '"TimeCreated","MachineName","LogName","ProviderName","Id","RecordId","Message"'
    return "\n".join(
        [head]
        + [
            f'"{each.moment}","{each.computer}","Application","{each.provider}","{each.event_id}",'
            f'"{each.record_id}","{each.message}"'
            for each in (logged(line, number) for number, line in enumerate(LOG, 1))
        ]
    )


def as_text(form: str) -> Callable[[], str]:
    def made() -> str:
        lines = []
        for line in LOG:
            event = logged(line, 1)
            number = f"{event.event_id} " if line.provider == "ESE" else ""
            lines.append(f"{moment(line):{form}} {line.computer} {line.provider} {number}"
                         f"{event.message}\n")  # fmt: skip
        return "".join(lines)

    return made


def as_blocks() -> str:
    return "".join(
        f"Event[{number}]:\n  Log Name: Application\n  Source: {line.provider}\n"
        f"  Date: {moment(line):%Y-%m-%dT%H:%M:%S}.000\n  Event ID: {logged(line, 1).event_id}\n"
        f"  Level: Information\n  Computer: {line.computer}\n  Description: \n"
        f"{logged(line, 1).message}\n\n"
        for number, line in enumerate(LOG)
    )


TEXTS: dict[str, Callable[[], str]] = {
    **{shape: (lambda shape=shape: as_json(shape)) for shape in SHAPES if shape != "esewatch"},  # type: ignore[misc]
    "pretty JSON": as_pretty_json,
    "XML": as_xml,
    "CSV": as_csv,
    "text": as_text("%Y-%m-%d %H:%M:%S"),
    "text with fractions": as_text("%Y-%m-%dT%H:%M:%S.123Z"),
    "text of the United States": as_text("%m/%d/%Y %H:%M:%S"),
    "labelled blocks": as_blocks,
}


def folded(name: str, batches: Iterable[Batch]) -> State:
    folder = Folder(State(), Settings())
    folder.open_source(name, 0.0)
    for batch in batches:
        folder.fold(name, batch)
    return folder.state


def last_records(state: State) -> dict[str, float]:
    """Hours behind `BEGIN`, by computer."""
    found: dict[str, float] = {}
    for (computer, _), channel in state.channels.items():
        if channel.stretches:
            hours = (channel.stretches[-1][1] - BEGIN.timestamp()) / 3600
            found[computer] = max(found.get(computer, hours), hours)
    return found


def pauses(channel: Channel) -> list[float]:
    ends = zip(channel.stretches, channel.stretches[1:], strict=False)
    return [round((after[0] - before[1]) / 3600, 2) for before, after in ends]


def assert_heard(state: State, zone: float = 0) -> None:
    """`zone`: hours that the local times are ahead."""
    assert last_records(state) == pytest.approx({"ex01": 60 - zone, "ex02": 90 - zone}, abs=0.001)
    channels = {computer: each for (computer, _), each in state.channels.items() if each.others}
    assert pauses(channels["ex01"]) == [28.61, 30]
    assert pauses(channels["ex02"]) == [29.3, 59]
    assert set(state.hosts) == {"ex01", "ex02"}


def read(source: Source) -> State:
    state = folded("log", source.poll(final=True))
    source.close()
    return state


def source_of(path: Path) -> Source:
    return event_stream_source("log", [str(path)])


@pytest.mark.parametrize("form", TEXTS)
def test_other_providers_move_the_last_record(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(TEXTS[form]())
    assert_heard(read(source_of(path)), zone=2 if form == "Fluent Bit" else 0)


@pytest.mark.parametrize("form", ["evtx_dump", "XML", "CSV", "text"])
def test_a_log_that_grows_line_by_line_is_heard_the_same(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    source = source_of(path)
    folder = Folder(State(), Settings())
    path.write_text("")
    folder.open_source("log", 0.0)
    for line in TEXTS[form]().splitlines(keepends=True):
        with path.open("a") as file:
            file.write(line)
        for batch in source.poll():
            folder.fold("log", batch)
    for batch in source.poll(final=True):
        folder.fold("log", batch)
    source.close()
    assert_heard(folder.state)


@pytest.mark.parametrize("place", [3, 17_997])
def test_a_large_text_is_heard_though_not_each_line_is_looked_at(
    tmp_path: Path, place: int
) -> None:
    """Also where two megabytes of other providers stand before its events."""
    lines = [Line(number / 180, f"EX0{1 + number % 3}", "W3SVC1") for number in range(18_000)]
    for each in (place, place + 1):
        lines[each] = lines[each]._replace(provider="ESE")
    event = f"700 MSExchangeIS (4711) SG06: {PASS[3]} is fine"
    text = "".join(
        f"{moment(each):%Y-%m-%d %H:%M:%S} {each.computer} {each.provider} "
        f"{event if each.provider == 'ESE' else 'GET /EX09 ' + 'x' * 90}\n"
        for each in lines
    )
    path = tmp_path / "log"
    path.write_text(text)
    state = read(source_of(path))
    assert last_records(state) == pytest.approx({"ex01": 100, "ex02": 100}, abs=0.02)
    assert [len(each.stretches) for each in state.channels.values()] == [1, 1]
    assert [each.stretches[0][0] for each in state.channels.values()] == pytest.approx(
        [moment(lines[0]).timestamp()] * 2, abs=3600
    )


def test_a_topic_is_heard() -> None:
    values = [line.encode() for line in as_json("Winlogbeat").splitlines()]
    batch = MessageDecoder(EventOptions()).decode(
        [Message(each, n) for n, each in enumerate(values)]
    )
    assert_heard(folded("kafka", [batch]))


def test_a_channel_of_this_machine_is_heard() -> None:
    output = Output("Application", EventOptions())
    output.feed(as_xml().replace("'EX02'", "'EX02'").encode(), final=True)
    records = output.finish()
    assert_heard(folded("log", [Batch(records=records, heard=output.heard())]))


@pytest.mark.parametrize("forwarded", [False, True])
def test_an_event_log_is_heard(forwarded: bool, tmp_path: Path) -> None:
    """That of a collector has records of several computers, whose numbers have holes."""
    for computers in [("EX01", "EX02")] if forwarded else [("EX01",), ("EX02",)]:
        with EvtxWriter(tmp_path / f"{len(list(tmp_path.iterdir()))}.evtx") as log:
            for number, line in enumerate(LOG, 1):
                if line.computer in computers:
                    log.write(
                        logged(line, number).event_id,
                        logged(line, number).strings,
                        provider=line.provider,
                        time=moment(line),
                        computer=line.computer,
                        event_record_id=7 * number if forwarded else None,
                    )
    assert_heard(read(EvtxSource("log", [str(tmp_path / "*.evtx")])))


def test_a_computer_is_heard_before_its_first_event() -> None:
    """It is none of ours until then: a log host has hundreds that have no database."""
    folder = Folder(State(), Settings())
    folder.open_source("log", 0.0)
    others = [Heard(f"web{number}", "Application", (5.0,)) for number in range(3000)]
    folder.fold("log", Batch(heard=[*others, Heard("EX01", "Application", (10.0, 20.0))]))
    assert not folder.state.hosts
    folder.fold("log", Batch(records=events(Line(0, "EX01", "ESE"))))
    ((_, channel),) = folder.state.channels.items()
    assert channel.others == 20.0
    assert channel.stretches[0] == (10.0, 20.0)
    assert set(folder.state.hosts) == {"ex01"}


def events(*lines: Line) -> list[Any]:
    values = [json.dumps(SHAPES["NXLog"](logged(line, 1))).encode() for line in lines]
    return (
        MessageDecoder(EventOptions())
        .decode([Message(each, n) for n, each in enumerate(values)])
        .records
    )


@pytest.mark.parametrize("form", ["evtx_dump", "XML", "CSV", "text"])
@pytest.mark.parametrize(("written", "kept"), [(62.0, False), (-9000.0, True)])
def test_what_is_later_than_its_file_is_no_record_of_it(
    form: str, written: float, kept: bool, tmp_path: Path
) -> None:
    """Unless most of the file is: then the time of the file is wrong."""
    path = tmp_path / "log"
    path.write_text(TEXTS[form]())
    at = BEGIN.timestamp() + written * 3600
    os.utime(path, (at, at))
    last = last_records(read(source_of(path)))
    assert last == pytest.approx({"ex01": 60, "ex02": 90 if kept else 31}, abs=0.001)
