"""Events from fields, and records that nobody reads."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.cli import main
from esewatch.cli.inputs.command import event_line
from esewatch.ese.events.from_text import event_from_text
from esewatch.ese.raw_event import RawEvent
from esewatch.model import Event
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.formats import event_builder as module
from esewatch.sources.logs.formats.event_builder import Harvest, Maker, named_provider, unread
from tests.sources.logs.formats.reading import TEXT_703, epoch, one, read
from tests.support.ese_text import render

HEAD = ("MSExchangeIS", "3392", "SG06: ")


def line(**changes: object) -> str:
    """An event as a collector writes it, in one line."""
    return (
        json.dumps({"SourceName": "ESE", "EventID": 703, "Message": "(12) text", **changes}) + "\n"
    )


@pytest.mark.parametrize("name", ["Channel", "Hostname", "Message"])
def test_half_a_character_anywhere_does_not_keep_an_event_from_being_printed(name: str) -> None:
    event = one(line(**{name: "Application \ud800"}))
    assert "\N{REPLACEMENT CHARACTER}" in msgspec.json.encode(event_line(event)).decode()
    assert msgspec.json.encode(event)


def test_half_a_character_in_a_time_can_be_complained_of() -> None:
    fed = read(line(EventTime="2007\ud800"))
    assert [reason for _, reason in fed.unreadable] == [
        "the time '2007\N{REPLACEMENT CHARACTER}' cannot be read: the time of this event is unknown"
    ]
    assert len(fed.records) == 1


def test_a_broken_element_in_json_between_text_lines_is_complained_of() -> None:
    pasted = json.dumps({"System": "<Event ESE", "Message": "ESE"})
    text = f"2007-06-21 03:14:15 EX01 ESE 1\n2007-06-21 03:14:15 EX01 {pasted}\n"
    fed = read(text)
    assert ["<Event>" in reason for _, reason in fed.unreadable] == [True]


def test_events_that_are_logged_word_for_word_have_their_own_times_and_computers() -> None:
    message = render(700, [*HEAD, "e:\\MDB06\\priv06.edb"])
    maker, harvest = Maker(EventOptions()), Harvest()
    for time, computer in (("2007-06-21 03:14:15", "EX01"), ("2007-06-22 03:14:15", "EX01"),
                           ("2007-06-23 03:14:15", "EX02"), (None, "EX01")):  # fmt: skip
        found = RawEvent(
            provider="ESE", event_id=700, time=time, computer=computer, message=message
        )
        assert maker.add(found, 0, harvest)
    events = [record for record in harvest.records if isinstance(record, Event)]
    assert [event.computer for event in events] == ["EX01", "EX01", "EX02", "EX01"]
    assert [event.time for event in events] == [
        *(epoch(f"2007-06-{day}T03:14:15") for day in (21, 22, 23)), None
    ]  # fmt: skip
    assert {event.database for event in events} == {"e:\\MDB06\\priv06.edb"}


def test_an_event_whose_time_cannot_be_read_has_none() -> None:
    fed = read(line(EventTime="99/99/2007 10:00"))
    assert [record.time for record in fed.records if isinstance(record, Event)] == [None]
    assert len(fed.unreadable) == 1


@pytest.mark.parametrize(
    ("event_id", "strings", "text", "read"),
    [
        (700, [*HEAD, "e:\\a.edb"], [*HEAD, "e:\\b.edb"], 0),  # all that a 700 could say is there
        (700, [*HEAD], [*HEAD, "e:\\b.edb"], 1),
        (702, [*HEAD, "e:\\a.edb"], [*HEAD, "e:\\b.edb", "6/16/2007", "8"], 1),
    ],
)
def test_the_text_is_read_only_where_it_could_say_more_than_the_strings(
    monkeypatch: pytest.MonkeyPatch, event_id: int, strings: list[str], text: list[str], read: int
) -> None:
    texts: list[str] = []

    def counted(raw: RawEvent, *rest: Any) -> Event | None:
        texts.append(raw.message)
        return event_from_text(raw, *rest)

    monkeypatch.setattr(module, "event_from_text", counted)
    maker, harvest = Maker(EventOptions()), Harvest()
    message = render(event_id, text)
    found = RawEvent(
        "ESE", event_id, "2007-06-21 03:14:15", strings=tuple(strings), message=message
    )
    assert maker.add(found, 0, harvest)
    assert len(texts) == read


RECORDS = [
    "Hændelseskilde:\tESE\nHændelses-id:\tx\n",
    "Tapahtuman lähde: NTDS ISAM\n",
    "2026-03-02 10:00:00 ex01 ESENT: svchost (1234,R,0) words of no known event\n",
    "<Event><System><Provider Name='ESENT'/><Computer>A</Computer></System></Event>\n",
    '{"who":"ESENT","what":"474"}\n',
    '{"a":{"b":{"c":["NTDS ISAM", 1]}}}\n',
    "2026-03-02\t10:00\tADAM [one] ISAM\tbroken\n",
    "<?xml version='1.0'?><list><source>ESE</source><id>474</id></list>\n",
]
OTHERS = [
    "2026-03-02 10:00:00 dc01 4663: Object: C:\\Windows\\NTDS\\ntds.dit Process: lsass (612)\n",
    "2026-03-02 10:00:00 host app: ese archivo (1234) No existe\n",
    "The Extensible Storage Engine (ESE) is used by Exchange; ESE events say so.\n",
    "Source: MSExchangeIS\nEvent ID: 1221\nLevel: Information\nDescription: the engine [ESE] ran\n",
    '{"EventID": 4663, "SourceName": "Security", "Message": "ntds.dit was read by \\"ESE\\"."}\n',
    "<Event><System><Provider Name='Other'/><EventID>1</EventID></System>"
    "<EventData><Data>ESENT</Data></EventData></Event>\n",
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_that_names_ese_and_gives_no_event_is_told(record: str) -> None:
    fed = read(record)

    assert fed.records == []
    assert len(fed.unreadable) == 1, fed.unreadable


@pytest.mark.parametrize("record", OTHERS)
def test_what_only_speaks_of_ese_is_not_told(record: str) -> None:
    fed = read(record)

    assert (fed.records, fed.unreadable) == ([], [])


def test_the_exit_status_is_2_alone_and_1_beside_an_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    for command in (["events", str(path)], ["report", str(path), "-o", str(tmp_path / "r.html")]):
        path.write_text(RECORDS[0], encoding="utf-8")
        assert main(command) == 2
        told = capsys.readouterr().err
        assert f"{path}: line 1: {unread('ESE')}" in told
        path.write_text(
            RECORDS[0] + f"\n2026-03-02 10:00:00 ESE 703: {TEXT_703}\n", encoding="utf-8"
        )
        assert main(command) == 1
        assert unread("ESE") in capsys.readouterr().err


def test_the_providers_of_the_operator_are_told_too() -> None:
    record = json.dumps({"who": "MYAPP"})

    assert named_provider(record) == ""
    assert named_provider(record, ["MYAPP"]) == "MYAPP"


BLOCK = "Log Name: Application\nSource: ESE\nEvent ID: 703\nDescription: " + TEXT_703 + "\n"


@pytest.mark.parametrize("count", [1, 15, 16, 31, 32, 33, 127, 128, 129])
@pytest.mark.parametrize("line", ["Source: ESE\n", "      Source: ESE\n", "> Source: ESE\n"])
def test_a_run_of_labels_is_reported_line_by_line_and_hides_no_event(line: str, count: int) -> None:
    fed = read(line * count + "\n" + BLOCK + "\n" + line * count)

    assert [each.event_id for each in fed.records if isinstance(each, Event)] == [703]
    assert len(fed.unreadable) in {count, 2 * count}


def test_labels_without_a_number_hide_no_header_in_their_order() -> None:
    words = "\n".join(f"Mærke {chr(97 + number)}: ord" for number in range(26))
    fed = read(f"{words}\n{words}\n{BLOCK}{words}\n{words}\n")

    assert [each.event_id for each in fed.records if isinstance(each, Event)] == [703]
