"""The target `perfmon_blg`: the events of a binary counter log, in buffers that hold."""

import struct
import tempfile
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from eselab.logs.binary.binary_log import WHOLE_OBJECT, Entry, filetime, wildcard
from esewatch.model import Coverage, Reading, Record
from esewatch.sources.counters.blg.blg_decoder import BlgDecoder
from esewatch.sources.counters.blg.buffers import BUFFER_HEAD, buffer_size
from tests.support.blg import NOON, READ, counted, name_table, whole_object, write_log

SIZE = 4096
_ROOM = SIZE - BUFFER_HEAD
MOST_RECORDS = 100_000


def _log(*entries: Entry, records: list[list[bytes]], names: bytes = b"") -> bytes:
    samples = [(NOON + 10 * number, row) for number, row in enumerate(records)]
    with tempfile.TemporaryDirectory() as folder:
        path = write_log(Path(folder) / "a.blg", entries, samples, size=SIZE, names=names)
        return path.read_bytes()


_FIRST = _log(READ, records=[])[:SIZE]


def _events(log: bytes) -> bytes:
    """What is in its buffers behind the first one."""
    found = b""
    for at in range(SIZE, len(log), SIZE):
        (used,) = struct.unpack_from("<I", log, at + 0x30)
        found += log[at + BUFFER_HEAD : at + used]
    return found


def counter_log_seeds() -> Iterator[bytes]:
    """Logs of each form of record, long samples in parts, and their beginnings."""
    now = filetime(NOON)
    singles = [[counted(NOON + 10 * n, 30 * n)] for n in range(4)]
    some = wildcard(now, [("a", 1, 2), ("a", 3, 4)])
    many = wildcard(now, [(f"process {n}", n, now) for n in range(150)])
    wild = READ._replace(instance="*", kind=1)
    whole = [
        whole_object(now, [(2, 0x10410400, 4), (4, 0x40020500, 8), (0, 0x40030402, 4)], values)
        for values in ([("x/a", (1, 2, 3))], [("x/a", (4, 5, 6)), ("x/b", (7, 8, 9))], (1, 2, 3))
    ]
    names = name_table({2: READ.counter, 4: "I/O Database Reads Average Latency"})
    every = READ._replace(counter="*", instance="*", kind=WHOLE_OBJECT, type=0x10)
    logs = [
        _log(READ, records=singles),
        _log(READ._replace(type=0x20510500), records=singles),
        _log(wild, records=[[some], [some]]),
        _log(wild, READ, records=[[many, singles[0][0]]]),
        *[_log(every, records=[[record], [record]], names=names) for record in whole],
        _log(READ, records=[[counted(NOON, 0, 0x800007D0)]], names=names),
    ]
    for log in map(_events, logs):
        yield log
        yield from (log[: len(log) * part // 8] for part in range(1, 8))


def in_buffers(events: bytes) -> bytes:
    """A log with these events."""
    log = _FIRST
    for number, at in enumerate(range(0, len(events), _ROOM), 1):
        piece = events[at : at + _ROOM]
        used = BUFFER_HEAD + len(piece)
        head = struct.pack("<IIIIQQ16xI20x", SIZE, used, 0, 0, 0, number, used)
        log += (head + piece).ljust(SIZE, b"\xff")
    return log


def perfmon_blg(data: bytes) -> None:
    """A binary counter log: as it is, and as the events of one."""
    for log in (data, in_buffers(data)):
        read_in_pieces(log)


def read_in_pieces(log: bytes) -> None:
    """At once, and with a restart at each of a few buffers: the same records."""
    size = buffer_size(log)
    if not size:
        return
    whole = _feed(BlgDecoder(log, b"", computer="a", zone=None, ese_only=False), log)
    for cut in {size, len(log) // 2 // size * size, (len(log) - 1) // size * size} - {0}:
        first = BlgDecoder(log, b"", computer="a", zone=None, ese_only=False)
        fed = first.feed(log[:cut], final=False)
        assert 0 <= fed.consumed <= cut
        again = BlgDecoder(log, first.save(), computer="a", zone=None, ese_only=False)
        rest = _feed(again, log[fed.consumed :])
        assert str([*fed.records, *rest]) == str(whole), "in two pieces it reads otherwise"


def _feed(decoder: BlgDecoder, log: bytes) -> list[Record]:
    fed = decoder.feed(log, final=True)
    assert fed.consumed == len(log)
    assert len(fed.records) < MOST_RECORDS + len(log)
    assert all(0 <= at <= len(log) and reason for at, reason in fed.unreadable)
    for record in fed.records:
        assert not isinstance(record, Coverage)
        assert isfinite(record.time or 0)
        if isinstance(record, Reading):
            assert isfinite(record.value) or record.raw is not None
            assert record.kind in {"rate", "total", "level"}
    return fed.records
