"""What the fuzzer begins with: one small valid input of each form."""

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from esewatch.ese.counters.counter_table import COUNTERS
from tests.fuzz import structures
from tests.fuzz.counter_logs import counter_log_seeds
from tests.fuzz.logs import CHANGE, COPY
from tests.fuzz.pages import FORMS, LAST
from tests.support import flush_maps
from tests.support.edb import HEADER_FIELDS, header_page
from tests.support.ese_text import render
from tests.support.eseutil_text import check, check_begin, header, summary, terminated
from tests.support.logs import Log, attachment, checkpoint
from tests.support.ntbackup_text import ENGLISH, FRENCH, GERMAN, PORTUGUESE, job

KEPT = Path(__file__).parent / "corpus"

HEAD = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
EVENTS: dict[int, list[str]] = {
    700: HEAD,
    703: [*HEAD, "42794", "6/16/2007", "124919", "7", "4", "14", "73"],
    704: HEAD,
    721: [*HEAD, "6/19/2007", "208", "2", "1", "5850768", "0", "72682"],
    474: [
        *HEAD,
        "155648 (0x0000000000026000)",
        "8192 (0x00002000)",
        "-1018 (0xfffffc06)",
        "[1111222233334444]",
        "[5555666677778888]",
        "17 (0x11)",
    ],
    735: [*HEAD, "6/16/2007 01:00:00", "124919", "4", "7", "5850768", "12, 0", "1", "2", "3", "4"],
}


def kept(target: str) -> list[bytes]:
    """Inputs that fuzzing of the target found to reach something new: a line of hex each."""
    lines = (KEPT / f"{target}.hex").read_text(encoding="ascii").splitlines()
    return [bytes.fromhex(line) for line in lines]


def seeds(target: str) -> Iterator[bytes]:
    """The seeds of a target of `targets.py`."""
    if target == "strings":
        for event_id, parts in EVENTS.items():
            yield event_id.to_bytes(2, "little") + "\0".join(parts).encode()
    elif target == "message":
        for event_id, parts in EVENTS.items():
            yield render(event_id, parts).encode()
    elif target == "perfmon_csv":
        yield from _counters()
    elif target == "perfmon_blg":
        yield from counter_log_seeds()
    elif target == "json_counters":
        yield from _counter_lines()
    elif target == "event_stream":
        yield from _streams()
    elif target == "eseutil":
        yield from _checks()
    elif target == "errorlog":
        yield from _errorlogs()
    elif target == "ntbackup":
        yield from _backups()
    elif target == "header":
        yield from _headers()
    elif target in _OF_FILES:
        yield from _OF_FILES[target]()
    elif target == "page":
        yield from _pages()
    else:
        yield b"\0\x10\0\0"
        yield b"\x80\x11\0\xff\x90\x11\0\x01"


def _counter_lines() -> Iterator[bytes]:
    """Each counter that feeds a metric, in both forms."""
    where = {"instance": "lsass/NTDSA"}
    for number, each in enumerate(each for each in COUNTERS if each.metric):
        own: dict[str, object] = {
            "time": "2007-06-16T01:00:15Z",
            "object": "Database ==> Instances",
            **where,
        }
        own |= {"counter": each.name, "kind": each.kind, "value": number / 4, "raw": number}
        yield json.dumps(own).encode() + b"\n"
        tags = {"objectname": "Database ==> Instances", **where}
        field = each.name.replace("/sec", "_persec").replace(" ", "_")
        fields = {f"{field}_Raw": number, field: number / 4}
        metric = {"fields": fields, "tags": tags, "timestamp": 1181955615 * 10 ** (number % 10)}
        yield json.dumps(metric).encode() + b"\n"


def _counters() -> Iterator[bytes]:
    column = (
        "\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)\\Online Defrag Pages"
    )
    header = (
        f'"(PDH-CSV 4.0) (Eastern Daylight Time)(240)","{column} Read/sec","{column} Freed/sec"'
    )
    rows = ['"06/16/2007 01:00:00.000"," "," "', '"06/16/2007 01:00:15.000","812.5","5.6"']
    yield "\r\n".join([header, *rows, ""]).encode()
    yield "\r\n".join(rows).encode()


def _structures() -> Iterator[bytes]:
    """Sound ones, and one field of a page's header or one tag changed."""
    for form in range(4):
        yield bytes([form])
    for page in (0, 1, 2, 3, 30, 31, 33, 34, 40, 43):
        for place, value in ((16, 35), (24, 9), (32, 60), (34, 3), (36, 0x2825), (4090, 8)):
            yield bytes([page % 4]) + structures.CHANGE.pack(page, place, value)


def _flush_maps() -> Iterator[bytes]:
    """Whole maps, headers with one field changed, pages with types."""
    yield flush_maps.map_header() + flush_maps.map_page({3: 2})
    for at in range(0, 196, 4):
        yield bytes(at) + b"\1\0\0\0"
    for flush_type in (1, 2, 3):
        yield flush_maps.map_page({3: flush_type, 4: flush_type})


def _logs() -> Iterator[bytes]:
    yield Log(7).header()
    yield Log(7, attached=(attachment("e:\\a.edb"), attachment("e:\\b.edb", number=2))).header()
    yield Log(7, version=(7, 3704, 15, 0)).header()
    yield checkpoint(12)
    for used in range(14):
        yield bytes([used])
        for change in (1, 0xFE, COPY):
            yield bytes([used]) + CHANGE.pack(used, 99, change)
            yield bytes([used]) + CHANGE.pack(used - 1 & 0xFF, used, change) * 2


def _headers() -> Iterator[bytes]:
    yield header_page(2048) * 2
    yield header_page(4096) * 2
    yield header_page(4096, file_type=3)
    for form in range(32):
        yield bytes([form])
    for at, _ in HEADER_FIELDS.values():
        for form in (0x19, 0x11):
            yield bytes([form]) + at.to_bytes(3, "little") + b"\xff"


def _pages() -> Iterator[bytes]:
    content = bytes(range(1, 128))
    flips = b"\x84\x03\0", b"\x45\x01\0\x10\x80\0", b"\x90\x03\0\xb0\x03\0"
    for size in range(5):
        for form in range(FORMS):
            yield bytes([size, form, 17, 0, 0, 0, 0, 0]) + content
        for flipped in flips:
            yield bytes([size, 1, 17, 0, 0, 0, 0, len(flipped) // 3]) + flipped + content
        yield bytes([size, 1, 17, 0, 0, 0, 5, 0]) + content
        yield bytes([size, 2, 17, 0, 0, 0, 5, 0]) + content
        yield bytes([size, 3 | LAST, 17, 0, 0, 0, 0, 0]) + content


def _checks() -> Iterator[bytes]:
    whole = check(bad=[17], correctable=[5]) + header(bad="found (3)") + check()
    yield whole.encode()
    yield whole.replace("\n", "\r\n").encode()
    yield (check_begin() + summary() + terminated()).encode()


def _errorlogs() -> Iterator[bytes]:
    elapsed = "Elapsed time: 0 hours 12 minutes 34 seconds.  Internal snapshot LSN = 0026:089d:0001"
    ends = (
        f"executed by D\\u found 15 errors and repaired 2 errors. {elapsed}",
        f"executed by sa terminated abnormally due to error state 6. {elapsed}",
        "x 15 y 2 z. h: 1 Stunden 3 Minuten 23 Sekunden. LSN = 1",
        "x 5. h: 0 horas 2 minutos 3 segundos.",
    )
    for clock in ("2014-11-20 14:00:00.00 spid53      ", "11/20/2014 1:00:00 PM,spid53,", ""):
        for name in ("Sales", "a (b), noindex"):
            for options in ("", " WITH no_infomsgs, physical_only", " WITH estimateonly"):
                for end in ends:
                    yield f"{clock}DBCC CHECKDB ({name}){options} {end}\n".encode()
    yield b"2014-11-20 00:00:01.13 Server      UTC adjustment: -5:00\r\n"
    yield b"2014-11-20 00:00:01.14 Server      file 'D:\\MSSQL12.PROD\\MSSQL\\Log\\ERRORLOG'\r\n"


def _backups() -> Iterator[bytes]:
    figures = {"First": ("88,464,866,402", "2 hours, 25 minutes, and  11 seconds")}
    moment = datetime(2007, 6, 21, 1, tzinfo=UTC)
    for words in (ENGLISH, PORTUGUESE, GERMAN, FRENCH):
        whole = job(figures, moment, words)
        for encoding in ("utf-8", "cp1252"):
            yield whole.encode(encoding)
            for line in whole.splitlines():
                yield f"{line}\r\n".encode(encoding)


def _streams() -> Iterator[bytes]:
    for event_id, parts in EVENTS.items():
        message = render(event_id, parts)
        time = "2007-06-21T03:14:15.123Z"
        system = {
            "Provider": {"#attributes": {"Name": "ESE"}},
            "EventID": event_id,
            "TimeCreated": {"#attributes": {"SystemTime": time}},
            "EventRecordID": 4711,
            "Channel": "Application",
            "Computer": "EX01",
        }
        dumped = {"Event": {"System": system, "EventData": {"Data": {"#text": parts}}}}
        yield json.dumps(dumped).encode() + b"\n"
        shipped = {"SourceName": "ESE", "EventID": event_id, "EventTime": time, "Message": message}
        yield json.dumps(shipped).encode() + b"\n"
        data = "".join(f"<Data>{part}</Data>" for part in parts)
        yield (
            f"<Event><System><Provider Name='ESE'/><EventID>{event_id}</EventID>"
            f"<TimeCreated SystemTime='{time}'/><EventRecordID>5</EventRecordID>"
            f"<Computer>EX01</Computer></System><EventData>{data}</EventData></Event>\n"
        ).encode()
        yield f"Information 6/21/2007 3:14:15 AM ESE {event_id} General {message}\n".encode()
        quoted = message.replace('"', '""')
        yield (
            '"Message","Id","RecordId","ProviderName","MachineName","TimeCreated"\n'
            f'"{quoted}","{event_id}","7","ESE","EX01","6/21/2007 3:14:15 AM"\n'
        ).encode()
        yield (
            "Log Name:      Application\nSource:        ESE\nDate:          6/21/2007 3:14:15 AM\n"
            f"Event ID:      {event_id}\nLevel:         Information\nComputer:      EX01\n"
            f"Description:\n{message}\n"
        ).encode()


_OF_FILES: Mapping[str, Callable[[], Iterator[bytes]]] = {
    "flush_map": _flush_maps,
    "log": _logs,
    "structure": _structures,
}
