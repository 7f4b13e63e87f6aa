"""What the fuzzer runs: one function a parser, bytes in, an exception for a defect.

Each checks more than that nothing is raised: the same bytes in two pieces give
the same records, a second poll gives none, times and numbers are finite.
"""

import functools
import math
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from esefiles.commands.header import header_object, header_text
from esefiles.pages.header import HEADER_BYTES, Header, parse_header
from esefiles.pages.layout import PAGE_SIZES
from esewatch.cli.inputs.command import event_line
from esewatch.ese.programs.eseutil import runs
from esewatch.model import CopyChecked, Coverage, Event, Reading, Record, SourceError
from esewatch.sources.counters.json_counters import JsonCounters
from esewatch.sources.counters.perfmon_csv import PerfmonDecoder
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.files.decoder import Decoder, DecoderFactory
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.eseutil_records import Whose, complaints, record_of
from esewatch.sources.logs.event_stream import decoder_factory
from esewatch.sources.logs.formats.times import Times
from esewatch.sources.logs.ntbackup_log import NtbackupDecoder
from esewatch.sources.logs.sqlserver_errorlog import ErrorlogDecoder
from tests.fuzz.counter_logs import perfmon_blg
from tests.fuzz.logs import log
from tests.fuzz.pages import page
from tests.fuzz.structures import flush_map, structure
from tests.support.decoding import event_from_strings, event_from_text
from tests.support.edb import header_page, sealed_header
from tests.support.evtx_writer import EvtxWriter


def check(record: Record) -> None:
    """Raise for a record that no source may hand out, or that cannot be printed."""
    if isinstance(record, Event):
        msgspec.json.encode(event_line(record))
        assert record.time is None or math.isfinite(record.time)
        assert 0 <= record.event_id < 2**32
        assert all(isinstance(text, str) for text in record.strings)
        assert record.event_id not in {474, 703} or len(record.fields) < 20
    elif isinstance(record, Reading):
        assert math.isfinite(record.time)
        assert math.isfinite(record.value)
        assert record.kind in {"rate", "total", "level"}
    elif isinstance(record, Coverage):
        assert record.first <= record.last


def _feed_all(decoder: Decoder, data: bytes) -> list[Record]:
    fed = decoder.feed(data, final=True)
    assert 0 <= fed.consumed <= len(data)
    for record in fed.records:
        check(record)
    return fed.records


def _decode(factory: DecoderFactory, data: bytes) -> None:
    try:
        whole = _feed_all(factory("fuzz", data, b""), data)
    except SourceError:
        return
    cut = data.find(b"\n", len(data) // 2) + 1
    if not cut:
        return
    decoder = factory("fuzz", data, b"")
    first = decoder.feed(data[:cut], final=False)
    again = factory("fuzz", data, decoder.save())
    rest = _feed_all(again, data[first.consumed :])
    assert [*first.records, *rest] == whole, "in two pieces it reads otherwise"


def event_stream(data: bytes) -> None:
    """JSON, XML, CSV and text, recognised by content."""
    _decode(decoder_factory(EventOptions()), data)


def _counter_decoder(_path: str, _head: bytes, saved: bytes) -> Decoder:
    return PerfmonDecoder(saved, computer="EX01", zone=None, ese_only=False)


def perfmon_csv(data: bytes) -> None:
    """Counter logs."""
    header = b'"(PDH-CSV 4.0) (Eastern Daylight Time)(240)",'
    for whole in (data, header + data):
        _decode(_counter_decoder, whole)


def json_counters(data: bytes) -> None:
    """Counters as lines of JSON."""
    _decode(lambda *_: JsonCounters("EX01"), data)


def strings(data: bytes) -> None:
    """Positional strings: two bytes of event id, then strings divided by NUL."""
    event_id = int.from_bytes(data[:2], "little")
    parts = data[2:].decode("utf-8", "replace").split("\0")
    for provider in ("ESE", "NTDS ISAM", "MSExchangeIS Mailbox Store"):
        found = event_from_strings(provider=provider, event_id=event_id, strings=parts)
        if found is not None:
            check(found)


def message(data: bytes) -> None:
    """Rendered text."""
    text = data.decode("utf-8", "replace")
    for provider, event_id in (("", None), ("ESE", None), ("ESE", 474), ("ESENT", 721)):
        found = event_from_text(message=text, provider=provider, event_id=event_id)
        if found is not None:
            check(found)


@functools.cache
def _event_log() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "base.evtx"
        with EvtxWriter(path) as writer:
            for number in range(40):
                time = datetime.fromtimestamp(1_182_000_000 + number, UTC)
                head = ["MSExchangeIS", "3392", "SG06: ", "e:\\priv06.edb"]
                writer.write(700 + number % 6, head, time=time)
        return path.read_bytes()


def event_log(data: bytes) -> bytes:
    """An event log with some bytes overwritten: each 4 input bytes are place (3) and value."""
    log = bytearray(_event_log())
    for at in range(0, len(data) - 3, 4):
        log[int.from_bytes(data[at : at + 3], "little") % len(log)] = data[at + 3]
    return bytes(log)


def evtx(data: bytes) -> None:
    """What `event_log` makes, read twice."""
    with tempfile.NamedTemporaryFile(suffix=".evtx", dir=_memory()) as file:
        file.write(event_log(data))
        file.flush()
        source = EvtxSource("fuzz", [file.name])
        try:
            records = [record for batch in source.poll(final=True) for record in batch.records]
        except SourceError:
            return
        for record in records:
            check(record)
        again = [record for batch in source.poll(final=True) for record in batch.records]
        assert not again, "an unchanged file was read twice"


def eseutil(data: bytes) -> None:
    """Output of eseutil."""
    text = data.decode("utf-8", "replace")
    found = list(runs(text))
    at = 0
    for run in found:
        assert at <= run.start <= run.end <= len(text)
        at = run.end
        record = record_of(run, Whose("EX01", ""), 1e9)
        if isinstance(record, CopyChecked):
            assert 0 <= record.time <= 1e9
            assert record.bad >= len(record.bad_pages)
            assert not record.complete or (run.outcome == "success" and record.pages_seen > 0)
        assert all(complaints(run, Whose("EX01", "")))
    if found:
        assert list(runs(text, found[0].end)) == found[1:], "from a run's end on it reads otherwise"


@functools.cache
def _database(page_size: int) -> bytes:
    return (header_page(page_size) * 2).ljust(HEADER_BYTES, b"\x7f")


def _written_over(data: bytes) -> bytes:
    """The first byte chooses page size and sealing; each 4 more are place (3) and value."""
    size = PAGE_SIZES[(data[0] & 7) % len(PAGE_SIZES)]
    content = bytearray(_database(size))
    for at in range(1, len(data) - 3, 4):
        place = int.from_bytes(data[at : at + 3], "little") % len(content)
        content[place] = data[at + 3]
    for copy in range(2):
        if data[0] >> 3 + copy & 1:
            sealed = sealed_header(bytes(content[copy * size : (copy + 1) * size]))
            content[copy * size : (copy + 1) * size] = sealed
    return bytes(content)


def header(data: bytes) -> None:
    """The first bytes of a file: as they are, and written over those of a database."""
    for content in (data, _written_over(data) if data else b""):
        found = parse_header(content)
        if isinstance(found, Header):
            assert found.page_size in PAGE_SIZES
            assert len(content) >= found.page_size or not found.header_ok
            assert found.header_ok or found.remark
            assert msgspec.json.decode(msgspec.json.encode(found), type=Header) == found
            msgspec.json.encode(header_object("x.edb", len(content), found))
            shown = header_text("x.edb", len(content), found)
            assert len(shown) < 4096
            assert all(line.isprintable() for line in shown.split("\n"))
        else:
            assert 0 < len(found.reason) < 200


def _errorlog_decoder(_path: str, _head: bytes, saved: bytes) -> Decoder:
    return ErrorlogDecoder(saved, Times(), computer="SQL01")


def errorlog(data: bytes) -> None:
    """A log of SQL Server."""
    head = b"2014-11-20 00:00:01.13 Server      UTC adjustment: 1:00\n"
    start = b"2014-11-20 14:00:00.00 spid53      DBCC CHECKDB (a) executed by sa found "
    for whole in (data, head + start + data):
        _decode(_errorlog_decoder, whole)


def _ntbackup_decoder(_path: str, _head: bytes, saved: bytes) -> Decoder:
    return NtbackupDecoder(saved, Times("Europe/Lisbon"))


def ntbackup(data: bytes) -> None:
    """A log of NTBACKUP."""
    head = b'Backup of "EX01\\Microsoft Information Store\\SG06"\n'
    begun = head + b"Backup started on 6/21/2007 at 1:00 AM.\n"
    for whole in (data, head + data, begun + data):
        _decode(_ntbackup_decoder, whole)


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


TARGETS: dict[str, Callable[[bytes], None]] = {
    "errorlog": errorlog,
    "eseutil": eseutil,
    "event_stream": event_stream,
    "evtx": evtx,
    "flush_map": flush_map,
    "header": header,
    "json_counters": json_counters,
    "log": log,
    "message": message,
    "ntbackup": ntbackup,
    "page": page,
    "perfmon_blg": perfmon_blg,
    "perfmon_csv": perfmon_csv,
    "strings": strings,
    "structure": structure,
}
