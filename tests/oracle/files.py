"""Logged events as the files that people have: what a collector, an archive or a console keeps."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.oracle.history import Logged
from tests.support.evtx_writer import EvtxWriter

LEVELS = {"critical": 1, "error": 2, "warning": 3, "information": 4}


def json_line(event: Logged) -> str:
    """The record as evtx_dump prints it, positional strings as they are."""
    system: dict[str, Any] = {
        "Provider": {"#attributes": {"Name": event.provider}},
        "EventID": event.event_id,
        "Level": LEVELS[event.level],
        "TimeCreated": {"#attributes": {"SystemTime": stamp(event.time)}},
        "Channel": event.channel,
        "Computer": event.computer,
    }
    if event.record_id is not None:
        system["EventRecordID"] = event.record_id
    data = {"Data": {"#text": list(event.strings)}}
    return json.dumps({"Event": {"System": system, "EventData": data}})


def stamp(time: float) -> str:
    """`2024-03-01T02:00:00.000000Z`."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_json(path: Path, events: Iterable[Logged]) -> Path:
    """The records as JSON lines, in the order given."""
    path.write_text("".join(json_line(event) + "\n" for event in events))
    return path


def write_evtx(path: Path, events: Sequence[Logged]) -> Path:
    """The records of one computer and channel as an event log, with their own record numbers."""
    with EvtxWriter(path) as writer:
        for event in events:
            writer.write(
                event.record_id or 0,
                datetime.fromtimestamp(event.time, UTC),
                event.event_id,
                event.provider,
                event.channel,
                event.computer,
                event.strings,
            )
    return path
