"""From what was found in a record to its event."""

import json
from typing import Any

import msgspec
import pytest

from esewatch.cli.inputs.command import event_line
from esewatch.ese.events.from_text import event_from_text
from esewatch.model import Event
from esewatch.sources.logs.formats import event_builder as module
from esewatch.sources.logs.formats.event_builder import EventOptions, Harvest, Maker
from esewatch.sources.logs.formats.fields import Found
from tests.sources.logs.formats.reading import epoch, one, read
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
        found = Found(provider="ESE", event_id=700, time=time, computer=computer, message=message)
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

    def counted(**given: Any) -> Event | None:
        texts.append(given["message"])
        return event_from_text(**given)

    monkeypatch.setattr(module, "event_from_text", counted)
    maker, harvest = Maker(EventOptions()), Harvest()
    message = render(event_id, text)
    found = Found("ESE", event_id, "2007-06-21 03:14:15", strings=tuple(strings), message=message)
    assert maker.add(found, 0, harvest)
    assert len(texts) == read
