"""Binary performance logs by hand: what the bundled engine does not write."""

import struct
from collections.abc import Sequence
from math import isfinite
from pathlib import Path

from eselab.logs.binary.binary_log import (
    FREQUENCY,
    NAMES,
    SINGLE,
    BinaryLog,
    Entry,
    filetime,
    single,
    text,
)
from esewatch.model import Reading, Source, Unreadable
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source

NOON = 1_182_427_200.0
"""2007-06-21 12:00 UTC."""
READ = Entry(
    "EX01", "MSExchange Database ==> Instances", "Information Store/SG06",
    "Online Defrag Pages Read/sec", 0x10410400, SINGLE,
)  # fmt: skip


def write_log(
    path: Path,
    entries: Sequence[Entry],
    samples: Sequence[tuple[float, Sequence[bytes]]],
    *,
    size: int = 65536,
    mode: int = 1,
    west: int = 0,
    names: bytes = b"",
) -> Path:
    """A whole log: samples are (local seconds, one record for each entry)."""
    log = BinaryLog(path, NOON, size=size, mode=mode, west=west)
    if names:
        log.event(NAMES, filetime(NOON), names)
    log.catalogue(entries, filetime(NOON))
    for seconds, records in samples:
        log.sample(filetime(seconds), records)
    log.close()
    return path


def counted(seconds: float, first: int, status: int = 0) -> bytes:
    """A single value of a counter whose clock is the time."""
    return single(filetime(seconds), first, filetime(seconds), status)


def name_table(names: dict[int, str]) -> bytes:
    """The body of the event with the names of counters."""
    pairs = [text(each) for number, name in names.items() for each in (str(number), name)]
    return text("EX01") + b"".join(pairs)


def whole_object(
    time: int,
    definitions: Sequence[tuple[int, int, int]],
    instances: Sequence[tuple[str, Sequence[int]]] | Sequence[int],
    *,
    clock: tuple[int, int] = (0, FREQUENCY),
    object_clock: tuple[int, int] = (0, FREQUENCY),
    utc: int = 0,
) -> bytes:
    """The record of a whole object. Definitions: (number of the name, type, bytes).

    `instances`: (name, values), or the values of an object without instances. Clocks: (ticks,
    ticks a second).
    """
    counters, offset = b"", 8
    for title, kind, size in definitions:
        offset += -offset % size
        counters += struct.pack("<10I", 40, title, 0, 0, 0, 0, 100, kind, size, offset)
        offset += size
    length = offset + -offset % 8

    def block(values: Sequence[int]) -> bytes:
        data, at = bytearray(length), 8
        struct.pack_into("<I", data, 0, length)
        for (_, _, size), value in zip(definitions, values, strict=True):
            at += -at % size
            data[at : at + size] = value.to_bytes(size, "little")
            at += size
        return bytes(data)

    body, number = b"", -1
    if instances and isinstance(instances[0], int):
        body = block(instances)  # type: ignore[arg-type]
    else:
        number = len(instances)
        for name, values in instances:  # type: ignore[misc]
            stored = text(name)
            size = 24 + len(stored) + -len(stored) % 8
            head = struct.pack("<IIIiII", size, 0, 0, -1, 24, len(stored))
            body += (head + stored).ljust(size, b"\0") + block(values)
    defined = 64 + len(counters)
    head = struct.pack(
        "<12Iqq", defined + len(body), defined, 64, 500, 0, 0, 0, 0, len(definitions), 0,
        number & 0xFFFFFFFF, 0, *object_clock,
    )  # fmt: skip
    content = head + counters + body
    data = struct.pack(
        "<8sIIIIIIi16s4xqqqII16x", "PERF".encode("utf-16-le"), 1, 1, 1, 104 + len(content), 104, 1,
        -1, bytes(16), *clock, utc, 0, 0,
    )  # fmt: skip
    record = data + content
    return struct.pack("<4sI", b"BL\3\5", 8 + len(record)) + record


def poll(source: Source, *, final: bool = True) -> tuple[list[Reading], list[Unreadable]]:
    """The readings of one poll that have a value or a total, and what could not be read."""
    records: list[Reading] = []
    unreadable: list[Unreadable] = []
    for batch in source.poll(final=final):
        readings = [each for each in batch.records if isinstance(each, Reading)]
        records += [each for each in readings if each.kind == "total" or isfinite(each.value)]
        unreadable += batch.unreadable
    return records, unreadable


def read_log(
    path: Path | str, *, computer: str = "", timezone: str | None = None
) -> tuple[list[Reading], list[Unreadable]]:
    """The readings of a log, and what could not be read."""
    source = perfmon_blg_source("counters", [str(path)], computer=computer, timezone=timezone)
    try:
        return poll(source)
    finally:
        source.close()
