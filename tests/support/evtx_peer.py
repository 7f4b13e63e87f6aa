"""The records of an event log as the PyPI package `evtx` (Rust) tells them, and as we do.

Both in the shape of `RecordReader`: a `RawEvent`.
"""

import io
import json
import struct
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import evtx
from msgspec.structs import astuple

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.evtx.chunks import (
    CHUNK_BYTES,
    CHUNK_HEADER_BYTES,
    FILE_HEADER_BYTES,
    FILE_MAGIC,
    Chunk,
    chunk_offset,
    examine,
    walk,
)
from esewatch.sources.evtx.evtx_records import LEVELS, RecordReader
from esewatch.sources.evtx.templates import Templates

Told = tuple[Any, ...]
"""The fields of a `RawEvent` in their order."""
_FILE_HEADER = (FILE_MAGIC + struct.pack("<QQQIHHHH", 0, 0, 0, 128, 1, 3, 4096, 1)).ljust(
    FILE_HEADER_BYTES, b"\0"
)
_BESIDE = ("#attributes", "Binary")


def by_peer(path: Path) -> list[Told]:
    """All records as the peer tells them, without those that it cannot read.

    It is spared damage outside of the records: a file header, tables of names.
    """
    data = bytearray(path.read_bytes())
    data[:FILE_HEADER_BYTES] = _FILE_HEADER
    for at in range(chunk_offset(0), len(data), CHUNK_BYTES):
        data[at + 128 : at + CHUNK_HEADER_BYTES] = bytes(CHUNK_HEADER_BYTES - 128)
    records = evtx.PyEvtxParser(io.BytesIO(data), number_of_threads=1).records_json()
    found: list[Told] = []
    while True:
        try:
            record = next(records)
        except StopIteration:
            return found
        except RuntimeError:
            continue
        if record is not None:
            found.append(_told(json.loads(record["data"])["Event"]))


def chunks_of(path: Path) -> Iterator[Chunk]:
    """The chunks of a log that hold records."""
    data = path.read_bytes()
    for at in range(chunk_offset(0), len(data), CHUNK_BYTES):
        chunk = examine(data[at : at + CHUNK_BYTES])
        if chunk is not None:
            yield chunk


def offsets_of(chunk: Chunk) -> list[int]:
    """Where its records begin."""
    if chunk.problem:
        return [record.offset for record in chunk.found]
    return walk(chunk) or []


def by_ours(path: Path, is_wanted: Callable[[str], bool] = lambda name: True) -> list[Told]:
    """All records as we tell them, without those that cannot be read."""
    templates = Templates(is_wanted)
    found: list[Told] = []
    for chunk in chunks_of(path):
        reader = RecordReader(chunk.data, templates)
        found += map(astuple, reader.wanted(offsets_of(chunk), -1))
    return found


def _told(event: dict[str, Any]) -> Told:
    system = {name: value for name, value in event["System"].items() if value is not None}
    time = system.get("TimeCreated", {}).get("#attributes", {}).get("SystemTime", "")
    raw = RawEvent(
        provider=system.get("Provider", {}).get("#attributes", {}).get("Name", ""),
        event_id=_number(system.get("EventID")) or 0,
        level=LEVELS.get(_number(system.get("Level")) or 0),
        time=datetime.fromisoformat(time).timestamp() if time else None,
        record_id=_number(system.get("EventRecordID")),
        channel=system.get("Channel", ""),
        computer=system.get("Computer", ""),
        strings=tuple(_strings(event.get("EventData") or event.get("UserData"))),
    )
    return astuple(raw)


def _number(value: Any) -> int | None:
    if isinstance(value, dict):
        value = value.get("#text")
    return int(value) if isinstance(value, int) or (value or "").isdigit() else None


def _strings(payload: Any) -> list[str]:
    """The texts of a tree; an empty one keeps its place, what has only attributes has none."""
    if isinstance(payload, dict):
        if "#text" in payload:
            return _strings(payload["#text"])
        items = [value for name, value in payload.items() if name not in _BESIDE]
        return _strings(items[0] if len(items) == 1 and items[0] is not None else items)
    if isinstance(payload, list):
        return [text for item in payload for text in (_strings(item) if item is not None else [""])]
    if isinstance(payload, bool):
        return [str(payload).lower()]
    return [] if payload is None else [str(payload)]
