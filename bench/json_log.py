"""Events of ESE as JSON lines, as each collector writes them.

`SHAPES` has one function a collector: an event in, its line out. Everything comes from one seed,
and all collectors write the same events.
"""

import json
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from bench.text_log import SEED, stores, with_strings
from esewatch.cli.inputs.command import event_line
from esewatch.ese.events.from_strings import event_from_strings
from esewatch.ese.raw_event import RawEvent
from tests.support.ese_text import render

_BEGIN = datetime(2026, 1, 2)


class Logged(NamedTuple):
    """One event as it stands in a log of Windows."""

    time: datetime
    computer: str
    provider: str
    event_id: int
    record_id: int
    strings: list[str]
    message: str

    @property
    def moment(self) -> str:
        """Its time as Windows writes it."""
        return f"{self.time.isoformat(timespec='microseconds')}0Z"


def logged(count: int) -> Iterator[Logged]:
    """So many events, a week or so of them an hour."""
    rng = random.Random(SEED)
    known = stores()
    time = _BEGIN
    for record_id in range(1, count + 1):
        time += timedelta(seconds=rng.randint(1, 7), microseconds=rng.randint(1, 999_999))
        store = rng.choice(known)
        event_id, strings = with_strings(store, rng)
        text = render(event_id, strings)
        yield Logged(time, store.computer, store.provider, event_id, record_id, strings, text)


def _evtx_dump(event: Logged) -> dict[str, Any]:
    system = {
        "Provider": {"#attributes": {"Name": event.provider}},
        "EventID": {"#attributes": {"Qualifiers": 0}, "#text": event.event_id},
        "Level": 4,
        "Task": 2,
        "Keywords": "0x80000000000000",
        "TimeCreated": {"#attributes": {"SystemTime": event.moment[:-2] + "Z"}},
        "EventRecordID": event.record_id,
        "Channel": "Application",
        "Computer": event.computer,
        "Security": None,
    }
    return {
        "Event": {
            "#attributes": {"xmlns": "http://schemas.microsoft.com/win/2004/08/events/event"},
            "System": system,
            "EventData": {"Data": {"#text": event.strings}, "Binary": None},
        }
    }


def _winlogbeat(event: Logged) -> dict[str, Any]:
    params = {f"param{number}": text for number, text in enumerate(event.strings, 1)}
    return {
        "@timestamp": event.moment[:-5] + "Z",
        "@metadata": {"beat": "winlogbeat", "type": "_doc", "version": "8.11.0"},
        "winlog": {
            "provider_name": event.provider,
            "record_id": event.record_id,
            "computer_name": event.computer,
            "event_id": str(event.event_id),
            "event_data": params,
            "task": "Online Defragmentation",
            "keywords": ["Classic"],
            "channel": "Application",
            "api": "wineventlog",
        },
        "event": {"kind": "event", "code": str(event.event_id), "provider": event.provider,
                  "created": event.moment[:-5] + "Z"},
        "log": {"level": "information"},
        "message": event.message,
        "host": {"name": event.computer},
        "ecs": {"version": "8.0.0"},
        "agent": {"name": event.computer, "type": "winlogbeat", "version": "8.11.0"},
    }  # fmt: skip


def _nxlog(event: Logged) -> dict[str, Any]:
    return {
        "EventTime": event.moment[:-2] + "Z",
        "Hostname": event.computer,
        "Keywords": "36028797018963968",
        "LevelValue": 2,
        "EventType": "INFO",
        "SeverityValue": 2,
        "Severity": "INFO",
        "EventID": event.event_id,
        "SourceName": event.provider,
        "TaskValue": 2,
        "RecordNumber": event.record_id,
        "ExecutionProcessID": 0,
        "ExecutionThreadID": 0,
        "Channel": "Application",
        "Message": event.message,
        "Opcode": "Info",
        "Data": event.strings[0],
        "EventReceivedTime": event.moment[:-2] + "Z",
        "SourceModuleName": "in",
        "SourceModuleType": "im_msvistalog",
    }


def _fluent_bit(event: Logged) -> dict[str, Any]:
    return {
        "date": round(event.time.timestamp(), 6),
        "ProviderName": event.provider,
        "ProviderGuid": "",
        "Qualifiers": 0,
        "EventID": event.event_id,
        "Version": 0,
        "Level": 4,
        "Task": 2,
        "Opcode": 0,
        "Keywords": "0x80000000000000",
        "TimeCreated": f"{event.time:%Y-%m-%d %H:%M:%S} +0200",
        "EventRecordID": event.record_id,
        "ActivityID": "",
        "RelatedActivityID": "",
        "ProcessID": 0,
        "ThreadID": 0,
        "Channel": "Application",
        "Computer": event.computer,
        "UserID": "",
        "Message": event.message,
        "StringInserts": event.strings,
    }


def _alloy(event: Logged) -> dict[str, Any]:
    data = "".join(f"<Data>{text}</Data>" for text in event.strings)
    return {
        "source": event.provider,
        "channel": "Application",
        "computer": event.computer,
        "event_id": event.event_id,
        "level": 4,
        "task": 2,
        "levelText": "Information",
        "taskText": "Online Defragmentation",
        "opCodeText": "Info",
        "keywords": "Classic",
        "timeCreated": event.moment,
        "eventRecordID": event.record_id,
        "execution": {"processId": 3392, "threadId": 4480, "processName": "store.exe"},
        "security": {"userId": "S-1-5-18", "userName": "NT AUTHORITY\\SYSTEM"},
        "event_data": f"{data}<Binary></Binary>",
        "message": event.message,
    }


def _otel(event: Logged) -> dict[str, Any]:
    body = {
        "channel": "Application",
        "computer": event.computer,
        "event_data": {"data": [{"": text} for text in event.strings]},
        "event_id": {"id": event.event_id, "qualifiers": 0},
        "keywords": ["Classic"],
        "level": "Information",
        "message": event.message,
        "opcode": "Info",
        "provider": {"event_source": "", "guid": "", "name": event.provider},
        "record_id": event.record_id,
        "system_time": event.moment[:-1] + "00Z",
        "task": "Online Defragmentation",
        "version": 0,
    }
    resource = {"attributes": [{"key": "host.name", "value": {"stringValue": "COLLECTOR1"}}]}
    record = {
        "timeUnixNano": f"{event.time.timestamp() * 1e9:.0f}",
        "severityNumber": 9,
        "severityText": "Information",
        "body": _any_value(body),
        "traceId": "",
        "spanId": "",
    }
    scope = {"scope": {}, "logRecords": [record]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [scope]}]}


def _any_value(value: object) -> dict[str, Any]:
    match value:
        case dict():
            pairs = [{"key": key, "value": _any_value(item)} for key, item in value.items()]
            return {"kvlistValue": {"values": pairs}}
        case list():
            return {"arrayValue": {"values": [_any_value(item) for item in value]}}
        case int():
            return {"intValue": str(value)}
        case _:
            return {"stringValue": value}


def _own(event: Logged) -> dict[str, Any]:
    raw = RawEvent(
        provider=event.provider,
        event_id=event.event_id,
        strings=tuple(event.strings),
        time=(event.time - datetime(1970, 1, 1)).total_seconds(),
        computer=event.computer,
        channel="Application",
        record_id=event.record_id,
    )
    found = event_from_strings(raw)
    assert found is not None
    return msgspec.to_builtins(event_line(found))  # type: ignore[no-any-return]


SHAPES: dict[str, Callable[[Logged], dict[str, Any]]] = {
    "evtx_dump": _evtx_dump,
    "Winlogbeat": _winlogbeat,
    "NXLog": _nxlog,
    "Fluent Bit": _fluent_bit,
    "Alloy": _alloy,
    "OpenTelemetry": _otel,
    "esewatch": _own,
}


def write(path: Path, shape: str, count: int) -> None:
    """Write so many events as this collector does."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for event in logged(count):
            file.write(json.dumps(SHAPES[shape](event), separators=(",", ":")) + "\n")
