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


def write_evtx(folder: Path, events: Sequence[Logged]) -> list[Path]:
    """The records of one channel as event logs: one each for numbers that follow each other."""
    written: list[Path] = []
    for part in _stretches(events):
        first = part[0].record_id or 1
        path = folder / f"log-{len(written):04}.evtx"
        with EvtxWriter(path, channel=part[0].channel, first_record_id=first) as writer:
            for event in part:
                write_record(writer, event)
        written.append(path)
    return written


def write_record(writer: EvtxWriter, event: Logged) -> None:
    """Append it to an event log, with the number that comes next there."""
    writer.write(
        event.event_id,
        event.strings,
        provider=event.provider,
        time=datetime.fromtimestamp(event.time, UTC),
        level=LEVELS[event.level],
        computer=event.computer,
    )


def _stretches(events: Iterable[Logged]) -> Iterable[list[Logged]]:
    stretch: list[Logged] = []
    for event in events:
        number = event.record_id or 0
        if stretch and number != (stretch[-1].record_id or 0) + 1:
            yield stretch
            stretch = []
        stretch.append(event)
    if stretch:
        yield stretch
