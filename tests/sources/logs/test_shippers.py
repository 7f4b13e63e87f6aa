"""Messages as shippers write them into a topic say the same as the lines they were made of."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.json_log import SHAPES, logged
from esewatch.cli import main

EVENTS = list(logged(50))


def fluent_bit() -> list[str]:
    """The output `kafka` puts the time of the record beside its fields."""
    lines = []
    for event in EVENTS:
        fields = {k: v for k, v in SHAPES["Fluent Bit"](event).items() if k != "date"}
        lines.append(json.dumps({"@timestamp": event.time.timestamp(), **fields}))
    return lines


def opentelemetry_of_alloy() -> list[str]:
    """The line of `loki.source.windowsevent` is the body of a record."""

    def resource(body: str) -> dict[str, Any]:
        host = {"key": "host.name", "value": {"stringValue": "ex01"}}
        record = {"timeUnixNano": "1767312000000000000", "body": {"stringValue": body}}
        return {
            "resource": {"attributes": [host]},
            "scopeLogs": [{"scope": {}, "logRecords": [record]}],
        }

    return [json.dumps({"resourceLogs": [resource(line)]}) for line in of("Alloy")]


def vector() -> list[str]:
    """What a source took in is the field `message`."""
    return [json.dumps({"source_type": "socket", "message": line}) for line in of("Alloy")]


def of(shape: str) -> list[str]:
    return [json.dumps(SHAPES[shape](event)) for event in EVENTS]


@pytest.mark.parametrize(
    ("messages", "shape"),
    [
        pytest.param(fluent_bit(), "Fluent Bit", id="Fluent Bit"),
        pytest.param(opentelemetry_of_alloy(), "Alloy", id="OpenTelemetry of Alloy"),
        pytest.param(vector(), "Alloy", id="Vector"),
    ],
)
def test_messages_are_read_like_the_lines_of_the_shipper(
    messages: list[str], shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def events(name: str, lines: list[str]) -> list[Any]:
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        main(["events", "--format", "json", str(tmp_path / name)])
        said = capsys.readouterr()
        assert said.err == ""
        found = [json.loads(line) for line in said.out.splitlines()]
        # Fluent Bit gives the time in whole seconds, and in the zone of the server.
        return [{key: each[key] for key in each if key != "time"} for each in found]

    expected = events("lines.json", of(shape))

    assert len(expected) == len(EVENTS)
    assert events("messages.json", messages) == expected
