"""Lines give the same whether or not a block is searched for objects: samples, made-up lines."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.json_log import SHAPES, logged
from esewatch.sources.files.decoder import Fed
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import decoder_factory
from esewatch.sources.logs.formats import json_events
from esewatch.sources.logs.formats.event_builder import unread
from esewatch.sources.logs.formats.json_events import JsonEvents
from tests.fuzz.seeds import kept, seeds
from tests.sources.logs.formats.reading import STRINGS_703, TEXT_703, events, json_line
from tests.support.campaign import number_of

EXAMPLES = Path(__file__).parent / "examples"
SEED = 2024
FEW, MANY = 5_000, number_of(1_000_000, 125_000)
BATCH = 2_000
ODD: tuple[Any, ...] = (
    None, True, "", " ", "0", "703", "-1", "ESE", "ESENT", "Notepad", "3", "Warnung", 0, 4, 703,
    -1, 1.5, 2**40, 2**63, 2**70, [], ["ESE"], [1, None], {}, {"Name": "ESE"}, {"#text": "703"},
    {"Value": 3}, "2026-01-02T03:04:05Z", "2026-01-02 03:04:05 +0230", "/Date(1767312001000)/",
    "<Data>a</Data><Data/>", "ProviderName=ESE\nEventID=703", "äß\u2028", "\ud800",
)  # fmt: skip
KEYS = (
    "System", "Event", "log", "host", "winlog", "event", "event_id", "EventID", "provider",
    "Provider", "source", "time", "TimeCreated", "level", "Message", "message", "strings",
    "StringInserts", "Data", "param1", "param2", "EventData", "InstanceId", "data", "value", "x",
    "fields", "Computer", "Channel", "#text", "Name", 'a"b', "event\x01id",
)  # fmt: skip


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _changed(value: dict[str, Any], rng: random.Random) -> None:
    """One change of the keys or values of an object, mostly somewhere within."""
    holder = rng.choice(list(_objects(value)))
    key = rng.choice([*holder, *KEYS[:4]]) if holder else rng.choice(KEYS)
    match rng.randrange(6):
        case 0:
            holder.pop(key, None)
        case 1:
            holder[rng.choice(KEYS)] = deepcopy(holder.get(key, rng.choice(ODD)))
        case 2:
            holder[key] = deepcopy(rng.choice(ODD))
        case 3:
            holder[rng.choice(KEYS)] = deepcopy(rng.choice(ODD))
        case 4:
            items = [*holder.items()]
            rng.shuffle(items)
            holder.clear()
            holder.update(items)
        case 5:
            holder[key] = str(holder.get(key, ""))


def _spoilt(line: str, rng: random.Random) -> str:
    """A line that is broken, spaced, wrapped or that says something twice."""
    at = rng.randrange(len(line))
    match rng.randrange(5):
        case 0:
            return line[:at] + rng.choice(["\\", '"', "}", "{", "\n", "\x00", ""]) + line[at + 1 :]
        case 1:
            return f" {line} {rng.choice([',', ']', '', chr(13)])}"
        case 2:
            return f'{{"{rng.choice(["data", "value", "records", "line"])}":[{line},{line}]}}'
        case 3:
            return line[:-1] + ',"EventID":704,"event_id":1}'
        case _:
            return '{"a":"nothing of interest"}'


def made_up(count: int, seed: int) -> Iterator[bytes]:
    """Logs of mostly one collector each, some lines of them changed, spoilt, or of another."""
    rng = random.Random(seed)
    events = list(logged(500))
    for _ in range(0, count, BATCH):
        own = rng.choice(list(SHAPES))
        often = rng.choice((0.0, 0.02, 0.3))
        lines = []
        for _ in range(BATCH):
            shape = own if rng.random() > 0.02 else rng.choice(list(SHAPES))
            value = json.loads(json.dumps(SHAPES[shape](rng.choice(events))))
            while rng.random() < often:
                _changed(value, rng)
            line = json.dumps(value, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
            lines.append(_spoilt(line, rng) if rng.random() < often / 8 else line)
        yield "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def _in_blocks(data: bytes, options: EventOptions) -> Fed:
    """The data as the follower feeds it."""
    decoder = decoder_factory(options)("f", data[:65536], b"")
    whole, at = Fed(records=[], unreadable=[]), 0
    while at < len(data):
        end = data.find(b"\n", at + 100_000) + 1 or len(data)
        fed = decoder.feed(data[at:end], final=end == len(data))
        whole.records += fed.records
        whole.unreadable += [(at + offset, reason) for offset, reason in fed.unreadable]
        at = end if not fed.consumed else at + fed.consumed
    return whole


def differences(data: bytes) -> list[str]:
    """What is read otherwise when every block is searched beforehand."""
    found = []
    for options in (EventOptions(), EventOptions(companions=True, computer="HOST")):
        fast = _in_blocks(data, options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(JsonEvents, "_whole_lines", lambda *_: 0)
            patch.setattr(json_events, "own_line", lambda _: None)
            slow = _in_blocks(data, options)
        if msgspec.json.encode(fast) != msgspec.json.encode(slow):
            pairs = zip(fast.records, slow.records, strict=False)
            first = next((pair for pair in pairs if pair[0] != pair[1]), None)
            found.append(f"{first or (fast.unreadable, slow.unreadable)}")
    return found


def test_what_was_found_by_fuzzing_and_the_examples_read_the_same_both_ways() -> None:
    inputs = [*seeds("event_stream"), *kept("event_stream")]
    inputs += [path.read_bytes() for path in EXAMPLES.iterdir() if path.suffix != ".md"]
    assert len(inputs) > 130
    assert [found for data in inputs for found in differences(data)] == []


def test_made_up_lines_read_the_same_both_ways() -> None:
    assert [found for data in made_up(FEW, SEED) for found in differences(data)] == []


@pytest.mark.slow
def test_up_to_a_million_made_up_lines_read_the_same_both_ways() -> None:
    assert [found for data in made_up(MANY, SEED + 1) for found in differences(data)] == []


def _exported(providers: tuple[str, ...]) -> dict[str, Any]:
    """One exported object with a record of each of these providers."""
    whole: dict[str, Any] = {}
    for event, provider in zip(logged(len(providers)), providers, strict=True):
        made = SHAPES["OpenTelemetry"](event._replace(provider=provider))
        whole = whole or made
        if whole is not made:
            records = whole["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
            records += made["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    return whole


@pytest.mark.parametrize("providers", [("ESE",), ("ESE", "Other", "ESENT"), ("Other",)])
def test_exported_objects_are_parsed_once(
    monkeypatch: pytest.MonkeyPatch, providers: tuple[str, ...]
) -> None:
    lines = 3 * [json.dumps(_exported(providers))]
    data = "".join(f"{line}\n" for line in lines).encode()
    assert differences(data) == []

    def careful(*_: object) -> None:
        raise AssertionError("an object was searched for its end")

    monkeypatch.setattr(JsonEvents, "_long_object", careful)
    found = [each.provider for each in events("".join(f"{line}\n" for line in lines))]
    assert found == 3 * [each for each in providers if each != "Other"]


def test_each_line_has_keys_of_its_own() -> None:
    lines = [json_line(), json_line(), json_line(EventID=..., event_id=704), json_line(Level=...)]

    assert [event.event_id for event in events("\n".join(lines))] == [703, 703, 704, 703]


def test_an_empty_first_place_gives_way_to_the_next() -> None:
    names = [{"Computer": "EX01"}, {"Computer": ""}, {"Computer": "EX02"}]
    lines = [json_line(Hostname="other", Message=TEXT_703, **name) for name in names]

    assert [event.computer for event in events("\n".join(lines))] == ["EX01", "other", "EX02"]


def test_without_strings_in_their_first_place_the_next_is_looked_at() -> None:
    first, other = [*STRINGS_703[:4], "1"], [*STRINGS_703[:4], "2"]
    lines = [json_line(StringInserts=each, Properties=other) for each in (first, first, [], first)]

    found = events("\n".join(lines))
    assert [event.fields["pages_freed"] for event in found] == [1, 1, 2, 1]


@pytest.mark.parametrize(("data", "string"), [("a text", "a text"), ({"a": "b"}, "b"), ({}, "")])
def test_data_that_is_no_list_is_one_string(data: object, string: str) -> None:
    system = {"Provider": {"#attributes": {"Name": "ESE"}}, "EventID": 703}
    event = {"Event": {"System": system, "EventData": {"Data": data}}}

    found = events("\n".join([json.dumps(event)] * 3))
    assert [event.strings for event in found] == [(string,)] * 3


def test_a_record_of_no_known_form_is_told_beside_one_that_is_read() -> None:
    whole = _exported(("ESE", "ESE"))
    records = whole["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    records[1]["body"] = {
        "kvlistValue": {"values": [{"key": "who", "value": {"stringValue": "ESE"}}]}
    }
    data = f"{json.dumps(whole)}\n".encode()

    fed = decoder_factory(EventOptions())("f", data, b"").feed(data, final=True)
    assert len(fed.records) == 1
    assert [reason for _, reason in fed.unreadable] == [unread("ESE")]
