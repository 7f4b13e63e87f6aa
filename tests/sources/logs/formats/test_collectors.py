"""Events as log collectors write them: `examples/` and its README name the sources."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.model import Event
from esewatch.sources.logs.formats.event_builder import unread
from tests.sources.logs.formats.reading import (
    FIELDS_703,
    STRINGS_703,
    TEXT_703,
    epoch,
    events,
    one,
    read,
    read_in_pieces,
)

EXAMPLES = Path(__file__).parent / "examples"
EXACT = epoch("2007-06-21T03:14:15.123456")
SECOND = epoch("2007-06-21T03:14:15")
WITH_SECONDS = ("fluent-bit-winevtlog", "fluent-bit-winevtlog-text", "fluent-bit-winlog")
FILES = sorted(path for path in EXAMPLES.iterdir() if path.suffix != ".md")


def assert_is_703(found: Event, *, time: float = EXACT, record_id: int = 4711) -> None:
    assert (found.event_id, found.provider, found.time) == (703, "ESE", time)
    assert (found.computer, found.channel) == ("EX01.corp.example", "Application")
    assert (found.record_id, found.level) == (record_id, "information")
    assert (found.ese_instance, found.database) == ("SG06", "e:\\MDB06\\priv06.edb")
    assert FIELDS_703.items() <= found.fields.items()
    assert found.strings == STRINGS_703


def any_value(value: object) -> dict[str, Any]:
    """A plain value as the AnyValue of the OTLP."""
    match value:
        case dict():
            pairs = [{"key": key, "value": any_value(item)} for key, item in value.items()]
            return {"kvlistValue": {"values": pairs}}
        case list():
            return {"arrayValue": {"values": [any_value(item) for item in value]}}
        case int():
            return {"intValue": str(value)}
        case _:
            return {"stringValue": value}


def body(**changes: Any) -> dict[str, Any]:
    """An event as the receiver `windowseventlog` gives it, with numbered data."""
    return {
        "channel": "Application",
        "computer": "EX01.corp.example",
        "event_id": {"id": 703, "qualifiers": 0},
        "level": "Information",
        "provider": {"event_source": "", "guid": "", "name": "ESE"},
        "record_id": 4711,
        "system_time": "2007-06-21T03:14:15.123456700Z",
        "event_data": {f"Data{n}": text for n, text in enumerate(STRINGS_703, 1)},
        **changes,
    }


def otlp(*bodies: dict[str, Any], **changes: Any) -> str:
    """A line of the file exporter; each body is a record in its own scope, in two resources."""
    scopes = [{"scope": {}, "logRecords": [{"body": item, **changes}]} for item in bodies]
    resource: dict[str, Any] = {"attributes": [{"key": "a", "value": {"stringValue": "b"}}]}
    half = len(scopes) // 2
    return json.dumps(
        {
            "resourceLogs": [
                {"resource": resource, "scopeLogs": scopes[:half], "schemaUrl": "https://x/1.6.1"},
                {"resource": {}, "scopeLogs": scopes[half:]},
            ]
        },
        separators=(",", ":"),
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_event_of_each_collector_is_read_with_its_positional_strings(path: Path) -> None:
    found = events(path.read_bytes())

    time = SECOND if path.stem in WITH_SECONDS else EXACT
    assert len(found) == (2 if path.stem == "otelcol-otlp" else 1)
    for number, event in enumerate(found):
        assert_is_703(event, time=time, record_id=4711 + number)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_is_read_the_same_in_pieces_and_over_several_lines(path: Path) -> None:
    whole = path.read_bytes()
    spread = "\n".join(json.dumps(json.loads(line), indent=1) for line in lines_of(whole)).encode()

    for data in (whole, spread):
        records, places = read_in_pieces(data, range(0, len(data), 700), restart=True)
        assert records == events(whole)
        assert places == []


def lines_of(data: bytes) -> list[bytes]:
    try:
        json.loads(data)
    except json.JSONDecodeError:
        return data.splitlines()
    return [data]


def test_each_example_has_its_source_in_the_readme() -> None:
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in FILES if f"`{path.name}`" not in readme] == []


def test_all_events_of_an_otlp_line_are_handed_out() -> None:
    bodies = [any_value(body(record_id=number)) for number in range(1, 12)]

    assert [event.record_id for event in events(otlp(*bodies))] == list(range(1, 12))


def test_an_otlp_line_far_longer_than_a_record_is_read_to_its_end() -> None:
    bodies = [any_value(body(record_id=n, message=TEXT_703)) for n in range(1, 801)]
    line = otlp(*bodies)
    assert len(line) > 1 << 20

    assert [event.record_id for event in events(line + "\n")] == list(range(1, 801))


def test_what_stands_beside_and_behind_the_records_does_not_end_the_reading() -> None:
    records = [{"body": any_value(body(record_id=number))} for number in (1, 2)]
    scopes = [
        {
            "logRecords": [record],
            "scope": {"name": "a"},
            "schemaUrl": 'a"}]',
            "dropped": -1,
            "x": None,
        }
        for record in records
    ]
    resource = {"scopeLogs": scopes, "deprecatedScopeLogs": [], "resource": {"attributes": []}}
    line = json.dumps({"resourceLogs": [resource, resource], "last": True}, separators=(",", ":"))

    assert [event.record_id for event in events(f"{line}\n{line}\n")] == [1, 2] * 4


def test_anonymous_data_is_in_the_order_of_its_numbers_not_of_its_keys() -> None:
    numbered = {f"Data{n}": text for n, text in enumerate(STRINGS_703, 1)}
    shuffled = {key: numbered[key] for key in sorted(numbered)}
    assert list(shuffled) != list(numbered)

    assert one(otlp(any_value(body(event_data=shuffled)))).strings == STRINGS_703


def test_data_that_has_names_keeps_its_order() -> None:
    named = {"data": [{f"name{n}": text} for n, text in enumerate(STRINGS_703)]}

    assert one(json.dumps(body(event_data=named))).strings == STRINGS_703


def test_the_time_of_a_log_record_stands_in_for_that_of_its_body() -> None:
    untimed = any_value({key: item for key, item in body().items() if key != "system_time"})

    for nanoseconds in ("1182395655123456700", 1182395655123456700):
        assert one(otlp(untimed, timeUnixNano=nanoseconds)).time == EXACT
    assert one(otlp(untimed, timeUnixNano="0", observedTimeUnixNano="1182395656")).time is None
    assert one(otlp(any_value(body()), timeUnixNano="1")).time == EXACT


def test_a_body_of_json_text_is_opened() -> None:
    assert_is_703(one(otlp({"stringValue": json.dumps(body())})))


def test_an_event_as_broken_xml_is_one_complaint_and_the_next_is_read() -> None:
    broken = {"stringValue": "<Event><System><Provider Name='ESE'/></System>"}
    fed = read(otlp(broken, any_value(body())))

    assert [record.event_id for record in fed.records if isinstance(record, Event)] == [703]
    assert len(fed.unreadable) == 1
    assert "<Event>" in fed.unreadable[0][1]


def test_the_labels_of_a_loki_line_are_no_event() -> None:
    line = {"labels": {"source": "ESE", "event_id": "703"}, "line": "plain text", "timestamp": "x"}

    fed = read(json.dumps(line))
    assert (fed.records, fed.unreadable) == ([], [(0, unread("ESE"))])


def test_a_multiline_message_of_the_text_form_is_whole() -> None:
    text = "ProviderName=ESE\nEventID=703\nMessage=" + TEXT_703.replace(". ", ".\nX=")

    assert one(json.dumps({"log": text})).event_id == 703


WRAPPINGS: list[Callable[[Any], Any]] = [
    lambda value: {"kvlistValue": {"values": value}},
    lambda value: {"arrayValue": {"values": [value]}},
    lambda value: {"kvlistValue": {"values": [{"key": "event_data", "value": value}]}},
    lambda value: {"kvlistValue": {"values": [{"key": 7, "value": value}, value]}},
    lambda value: {"stringValue": value},
    lambda value: {"body": value, "timeUnixNano": value},
    lambda value: {"line": value},
    lambda value: {"System": value, "Message": value, "StringInserts": value},
    lambda value: {"log": value, "StringInserts": value},
    lambda value: {"event_data": value, "event_id": value, "provider": value},
    lambda value: [value, value],
    lambda value: json.dumps(value)[:2000],
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["ESE", "703", "<Event>", "<Event/>", "<Data>", "ProviderName=ESE\nEventID=x"]),
    st.text(max_size=20),
)


@given(leaf=LEAVES, path=st.lists(st.sampled_from(WRAPPINGS), max_size=9))
def test_no_shape_of_any_value_does_harm(leaf: object, path: list[Callable[[Any], Any]]) -> None:
    value = leaf
    for wrap in path:
        value = wrap(value)
    line = json.dumps({"resourceLogs": [{"ESE": 1, "scopeLogs": [{"logRecords": [value]}]}]})
    alone = json.dumps({"provider": "ESE", "body": value})

    fed = read(f"{line}\n{alone}\n{json.dumps(body())}\n")

    assert isinstance(fed.records[-1], Event)
    assert_is_703(fed.records[-1])


@pytest.mark.parametrize("piece", ["<Data>", "<Data", "<Data/>", "<Data>x</Data>", "<Event>"])
def test_a_megabyte_of_elements_is_read_in_one_go(piece: str) -> None:
    data = json.dumps(body(event_data=piece * (900_000 // len(piece))))

    assert one(data).event_id == 703


def test_a_body_nested_too_deep_is_passed_over() -> None:
    deep: dict[str, Any] = {"stringValue": "ESE"}
    for _ in range(300):
        deep = {"arrayValue": {"values": [deep]}}

    fed = read(otlp(deep, any_value(body())))
    assert [reason for _, reason in fed.unreadable] == [unread("ESE")]
    (found,) = fed.records
    assert isinstance(found, Event)
    assert_is_703(found)
