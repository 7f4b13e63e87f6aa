"""Event streams as a whole: recognition, samples, feeds in pieces, files on disk."""

import gzip
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.model import Event, SourceError
from esewatch.sources.files import follow
from esewatch.sources.files.decoder import NO_YEAR, NO_ZONE
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import (
    decoder_factory,
    event_stream_source,
    first_time,
    format_of,
)
from tests.sources.followed import Journal
from tests.sources.logs.formats.reading import (
    TEXT_703,
    TEXT_721,
    epoch,
    json_line,
    read,
    read_in_pieces,
)
from tests.sources.logs.formats.test_csv_events import NAMES, ROW, table
from tests.sources.logs.formats.test_tables import EVENTLOG, WINEVENT, eventlog_row, winevent_row
from tests.sources.logs.formats.test_text_events import (
    CLASSIC,
    FORMAT_LIST,
    GERMAN,
    NOISE,
    VIEWER,
    WEVTUTIL,
)
from tests.sources.logs.formats.test_xml_events import xml
from tests.support.campaign import EXAMPLES
from tests.support.samples import sample

PRETTY = json.dumps([json.loads(json_line()), {"Id": 1}], indent=2)
BLOCKS = [VIEWER, CLASSIC, WEVTUTIL, GERMAN, FORMAT_LIST]
LINE, FOREIGN = json_line(), json_line(SourceName="x")
_TEXTS: dict[str, str] = {
    "json lines": f"{LINE}\n{FOREIGN}\n{LINE[:-9]}\n{LINE}\n",
    "json pretty": "\n".join([PRETTY, PRETTY, PRETTY[:200], PRETTY]),
    "json side by side": PRETTY.replace("},\n  {", "}, {") * 2 + "\n{\n" + json_line()[1:],
    "xml": "<Events>\n" + xml(end="\n") * 2 + xml(end="\n")[:-20] + "\n" + xml() + "</Events>",
    "csv": table([NAMES, ROW, (TEXT_721, "721", *ROW[2:]), ROW[:4], ROW]),
    "csv broken": table([NAMES, ROW]) + table([ROW]).replace('"703"', '"703') + table([ROW] * 3),
    "lines": NOISE + f"2007-06-21 03:14:15 ESE 721 {TEXT_721}\n" * 2 + NOISE + TEXT_703 + "\n",
    **{f"block {n}": f"{block}{TEXT_721}\n\n" * 2 for n, block in enumerate(BLOCKS)},
    "mixed": "".join(f"{block}{TEXT_721}\n{NOISE}" for block in BLOCKS[:4])
    + f"\n   ProviderName: ESE\n\n{WINEVENT}{winevent_row(TEXT_703)}"
    + winevent_row(TEXT_703.replace(" pages", f"\n\n{' ' * 44}pages"))
    + f"\n{EVENTLOG}{eventlog_row(1, 703)}{eventlog_row(2, 703)}\n{xml(end=chr(10))}\n{LINE}\n",
}  # fmt: skip
STREAMS = {name: text.encode() for name, text in _TEXTS.items()}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("restart", [False, True])
@settings(max_examples=2 * EXAMPLES // 5, deadline=None)
@given(data=st.data())
def test_the_same_bytes_in_any_pieces_give_the_same_events(
    name: str, restart: bool, data: st.DataObject
) -> None:
    stream = STREAMS[name]
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=12))
    whole = read(stream)
    records, places = read_in_pieces(stream, cuts, restart=restart)
    assert len(whole.records) >= 2
    assert records == whole.records
    assert places == whole.unreadable


@pytest.mark.parametrize("name", STREAMS)
def test_line_by_line_it_reads_the_same(name: str) -> None:
    stream = STREAMS[name]
    cuts = [index + 1 for index, byte in enumerate(stream) if byte == 10]
    assert read_in_pieces(stream, cuts, restart=True)[0] == read(stream).records


@given(
    start=st.sampled_from([b"", b"{", b"[{", b"<Event>", b'"Id","Message","Source"\n', b"-- --\n"]),
    rest=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(
                [b"\n", b"ESE", b'"', b"{", b"}", b"<Event >", b"</Event>", b"Event ID: 3\n",
                 b"ESENT 474 x (1) y: z", b"2020-01-01 00:00:00 ", b"-- ---\n", TEXT_703.encode()]
            ),
        ),
        max_size=20,
    ),
)  # fmt: skip
@settings(deadline=None)
def test_no_bytes_ever_raise(start: bytes, rest: list[bytes]) -> None:
    data = start + b"".join(rest)
    try:
        decoder = decoder_factory(EventOptions(companions=True))("f", data, b"")
    except SourceError:
        assert format_of(data) is None
        return
    assert decoder.feed(data, final=True).consumed == len(data)
    assert decoder_factory(EventOptions())("f", data, decoder.save()) is not None


@pytest.mark.parametrize("name", STREAMS)
@given(data=st.data())
@settings(max_examples=2 * EXAMPLES // 5, deadline=None)
def test_a_stream_cut_off_anywhere_keeps_what_was_whole(name: str, data: st.DataObject) -> None:
    stream = STREAMS[name]
    end = data.draw(st.integers(0, len(stream)))
    whole = read(stream).records
    kept = decoder_factory(EventOptions())("f", stream[:65536], b"").feed(stream[:end], final=True)
    assert len(kept.records) <= len(whole) + 1
    assert kept.records[:-1] == whole[: max(len(kept.records) - 1, 0)]


@pytest.mark.parametrize(
    ("head", "form"),
    [
        ('{"a": 1}\n', "json"),
        ("[\n  {\n", "json"),
        ("Record 1\n{\n", "json"),
        ("Starting\n{\"a\": 1}\n", "json"),
        ("<?xml version='1.0'?><Events>", "xml"),
        ("Record 1\n<?xml version='1.0'?>\n<Event>", "xml"),
        ('"Id","ProviderName","Message"\n', "csv"),
        ("Level\tDate and Time\tSource\tEvent ID\tTask Category\n", "csv"),
        ("[2024-01-01 00:00:00] hello\n", "text"),
        ("<14>Jan  1 00:00:00 host app: hello\n", "text"),
        ("a,b,c\n1,2,3\n", "text"),
        ("", "text"),
        ("\0\1\2\3" * 50, None),
    ],
)  # fmt: skip
def test_the_format_is_told_by_the_first_lines(head: str, form: str | None) -> None:
    assert format_of(head.encode()) == form


@pytest.mark.parametrize("line", [LINE, f"2007-06-21 03:14:15 ESE 703 {TEXT_703}"])
def test_zeros_that_a_crash_left_cost_at_most_the_line_that_they_are_in(line: str) -> None:
    whole, zeros = f"{line}\n".encode(), bytes(20_000)
    assert len(read(5 * whole + zeros + b"\n" + 5 * whole).records) == 10
    assert len(read(zeros + b"\n" + 5 * whole).records) == 5
    assert len(read(5 * whole + zeros + 5 * whole).records) >= 9


@pytest.mark.parametrize("zeros", [1, 5_000, 70_000, 3_000_001])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_log_that_begins_with_zeros_is_read_behind_them(
    zeros: int, encoding: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """`copytruncate` of logrotate under a writer that does not append leaves them."""
    path = tmp_path / "a.ndjson"
    path.write_bytes(
        pack(bytes(zeros - zeros % len("a".encode(encoding))) + (3 * f"{LINE}\n").encode(encoding))
    )
    source = event_stream_source("a", [str(path)])
    assert sum(len(batch.records) for batch in source.poll(final=True)) == 3
    source.close()


def test_a_log_of_zeros_alone_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(bytes(200_000))
    source = event_stream_source("a", [str(path)])
    assert [batch.records for batch in source.poll() if batch.records] == []
    with path.open("ab") as file:
        file.write(f"{LINE}\n".encode())
    assert sum(len(batch.records) for batch in source.poll()) == 1
    source.close()


JSON_COUNTS = {
    "json/otrf-lsass02-procdump.jsonl.gz": {102: 9, 412: 114},
    "json/otrf-lsass06-dumpert.jsonl.gz": {102: 9, 412: 10},
    "json/otrf-volume-shadow-copy.jsonl.gz": {412: 62},
}


@pytest.mark.parametrize("name", JSON_COUNTS)
def test_collector_samples_give_all_their_ese_events(name: str) -> None:
    fed = read(gzip.decompress(sample(name).read_bytes()))
    found = [record for record in fed.records if isinstance(record, Event)]
    assert Counter(event.event_id for event in found) == JSON_COUNTS[name]
    assert fed.unreadable == []
    assert all(event.time and event.computer and event.process for event in found)


def test_the_ntdsutil_sample_gives_both_providers() -> None:
    fed = read(sample("json/otrf-ntdsutil.jsonl").read_bytes())
    counts = Counter(record.provider for record in fed.records if isinstance(record, Event))
    assert counts == {"ESENT": 69, "NTDS ISAM": 11}
    assert fed.unreadable == []


@pytest.mark.parametrize(
    ("letter", "completions", "first", "last"),
    [
        ("a", range(7, 16), "2025-11-08T19:40:48", "2025-11-13T07:40:40"),
        ("b", range(105, 114), "2025-11-23T07:43:19", "2025-11-27T19:28:11"),
        ("c", range(91, 100), "2025-11-15T19:43:33", "2025-11-20T07:43:26"),
    ],
)
def test_export_csv_samples_give_their_passes(
    letter: str, completions: range, first: str, last: str
) -> None:
    name = f"csv/get-winevent-directory-service-{letter}.csv"
    fed = read(sample(name).read_bytes(), companions=True)
    found = [record for record in fed.records if isinstance(record, Event)]
    ours = [event for event in found if not event.companion]
    assert Counter(event.event_id for event in ours) == {700: 9, 701: 9}
    done = [event.fields for event in ours if event.event_id == 701]
    assert [fields["completions"] for fields in done] == list(reversed(completions))
    assert {fields["pages_freed"] for fields in done} == {0}
    times = [event.time for event in found if event.time is not None]
    assert epoch(first) <= min(times) < max(times) <= epoch(last)
    assert fed.unreadable == []


@pytest.mark.parametrize(
    "name", ["evtx/parser-json-examples.jsonl", "evtx/parser-xml-examples.xml"]
)
def test_samples_of_a_converter_give_one_event_of_each_id(name: str) -> None:
    fed = read(sample(name).read_bytes())
    found = [record for record in fed.records if isinstance(record, Event)]
    assert len({event.event_id for event in found}) == len(found) == 20
    assert all(event.time and event.record_id and event.strings for event in found)
    assert fed.unreadable == []


def test_both_renderings_of_one_log_give_the_same_events() -> None:
    as_json = read(sample("evtx/parser-json-examples.jsonl").read_bytes()).records
    as_xml = read(sample("evtx/parser-xml-examples.xml").read_bytes()).records
    assert as_json == as_xml


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("text/console-get-eventlog-1.txt", {701: 8, 700: 8}),
        ("text/console-get-eventlog-2-wrapped.txt", {701: 8, 700: 6}),
        ("text/console-get-eventlog-3.txt", {701: 8, 700: 6}),
    ],
)
def test_console_samples_give_the_events_of_both_tables(name: str, counts: dict[int, int]) -> None:
    fed = read(sample(name).read_bytes())
    found = [record for record in fed.records if isinstance(record, Event)]
    assert Counter(event.event_id for event in found) == counts
    assert {event.provider for event in found} == {"NTDS ISAM"}
    half = len(found) // 2
    assert all(event.time is None for event in found[:half])
    assert all(event.time is not None for event in found[half:])


def test_the_wrapped_console_sample_gives_whole_summaries() -> None:
    fed = read(sample("text/console-get-eventlog-2-wrapped.txt").read_bytes())
    found = [record for record in fed.records if isinstance(record, Event) and record.time]
    assert [event.fields["completions"] for event in found if event.event_id == 701] == [
        16,
        15,
        14,
        13,
    ]


def test_published_texts_give_their_ids() -> None:
    fed = read(sample("text/event-texts.txt").read_bytes())
    ids = Counter(record.event_id for record in fed.records if isinstance(record, Event))
    assert ids >= Counter({700: 2, 701: 4, 225: 1, 508: 1, 509: 1, 533: 1, 412: 1, 486: 1, 300: 1,
                           102: 1, 326: 1})  # fmt: skip


def test_texts_of_exchange_5_5_are_none_of_ours() -> None:
    assert read(sample("text/kb-classic-ese-events.txt").read_bytes()).records == []


def test_files_are_followed_and_a_restart_reads_nothing_twice(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(f"2007-06-21T03:14:15Z ex01 ESE 703 {TEXT_703}\n" + NOISE)
    positions: dict[str, bytes] = {}

    def poll() -> list[object]:
        source = event_stream_source("s", [str(tmp_path / "*.log")])
        source.restore(positions)
        records: list[object] = []
        for batch in source.poll(final=True):
            records += batch.records
            positions.update({key: value for key, value in batch.positions.items() if value})
        source.close()
        return records

    assert len(poll()) == 1
    assert poll() == []
    with path.open("a") as file:
        file.write(f"2007-06-22T03:14:15Z ex01 ESE 703 {TEXT_703}\n")
    assert len(poll()) == 1


def test_an_unknown_time_zone_is_an_error_of_the_source() -> None:
    with pytest.raises(SourceError, match="Mars"):
        event_stream_source("s", ["x"], EventOptions(timezone="Mars/Phobos"))


def test_binary_content_is_refused_with_its_path() -> None:
    with pytest.raises(SourceError, match=r"^f: not a supported input"):
        read(bytes(range(32)) * 50)


def test_a_damaged_context_is_a_fresh_start() -> None:
    decoder = decoder_factory(EventOptions())("f", json_line().encode(), b"\xffnonsense")
    assert len(decoder.feed(json_line().encode() + b"\n", final=True).records) == 1


def test_files_are_ordered_by_the_first_date_in_them() -> None:
    key = first_time(EventOptions())
    assert key("f", b"x\nDate: 13/06/2025 10:00:00\n") == epoch("2025-06-13T10:00:00")
    assert key("f", json_line().encode()) == epoch("2007-06-21T03:14:15.123456")
    assert key("f", b"nothing 10.0.17134.1") is None


@pytest.mark.parametrize(
    "broken",
    [
        "Log Name: Application\nSource: ESE\nDate: 6/21/2007 3:14:15 AM\nEvent ID: 70555555550\n"
        "Level: Information\nComputer: EX01\nDescription:\nnothing\n",
        '{"SourceName":"ESE","EventID":70555555550,"EventTime":"2007-06-21T03:14:15Z"}\n',
        '{"provider":"ESE","event_id":70555555550,"time":"2007-06-21T03:14:15Z"}\n',
    ],
)
def test_a_number_that_is_no_event_id_makes_no_event(broken: str) -> None:
    decoder = decoder_factory(EventOptions())("x", broken.encode(), b"")
    fed = decoder.feed(broken.encode(), final=True)
    assert fed.records == []
    assert len(fed.unreadable) == 1


def test_a_batch_of_events_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "BATCH_RECORDS", 100)
    path = tmp_path / "a.log"
    path.write_text(f"2007-06-21 03:14:15 EX01 ESE 703 {TEXT_703}\n" * 3_000, encoding="utf-8")
    source = event_stream_source("log", [str(path)])
    sizes = [len(batch.records) for batch in source.poll(final=True)]
    source.close()
    assert sum(sizes) == 3_000
    assert sorted(sizes)[len(sizes) // 2] <= 200


def polled(path: Path, **options: str) -> tuple[list[float | None], list[str], int]:
    """Times of the events of a file, the remarks on it, and its unreadable pieces."""
    source = event_stream_source("logs", [str(path)], EventOptions(**options))  # type: ignore[arg-type]
    batches = list(source.poll(final=True))
    source.close()
    times = [each.time for batch in batches for each in batch.records if isinstance(each, Event)]
    remarks = dict.fromkeys(text for batch in batches for _, text in batch.remarks)
    return times, [*remarks], sum(len(batch.unreadable) for batch in batches)


@pytest.mark.parametrize(
    ("changed", "days", "expected"),
    [
        ("2024-03-15", ["Nov 30", "Dec 31", "Jan  2", "Mar 15"],
         ["2023-11-30", "2023-12-31", "2024-01-02", "2024-03-15"]),
        ("2024-12-01", ["Nov 30", "Dec 31", "Jan  2"], ["2023-11-30", "2023-12-31", "2024-01-02"]),
        ("2024-01-02", ["Aug 30", "Jan  2"], ["2023-08-30", "2024-01-02"]),
        ("2024-07-02", ["Jan 30", "Jul  1"], ["2024-01-30", "2024-07-01"]),
        ("2025-03-15", ["Feb 28", "Feb 29"], ["2024-02-28", "2024-02-29"]),
        ("2025-01-15", ["Dec 31", "Feb 29"], ["2023-12-31", "2024-02-29"]),
        ("2024-06-01", ["Dec 30", "Dec 30", "Jan  1", "Nov 30", "Jan  5"],
         ["2023-12-30", "2023-12-30", "2024-01-01", "2023-11-30", "2024-01-05"]),
    ],
)  # fmt: skip
def test_dates_without_a_year_end_before_the_date_of_the_file(
    tmp_path: Path, changed: str, days: list[str], expected: list[str]
) -> None:
    path = tmp_path / "[x].log"
    path.write_text("".join(f"{day} 06:40:12 ex01 ESE[9]: {TEXT_703}\n" for day in days))
    os.utime(path, (epoch(f"{changed}T12:00:00"),) * 2)
    told = [epoch(f"{day}T06:40:12") for day in expected]
    assert polled(path, timezone="UTC") == (told, [NO_YEAR], 0)
    assert polled(path)[1] == [NO_ZONE, NO_YEAR]


def test_a_file_without_years_that_grows_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    journal, times = Journal(), list[float | None]()
    for day in ("Dec 30", "Dec 31", "Jan  1", "Jan  2"):
        with path.open("a") as file:
            file.write(f"{day} 06:40:12 ex01 ESE[9]: {TEXT_703}\n")
        os.utime(path, (epoch("2024-01-01T12:00:00"),) * 2)
        source = event_stream_source("logs", [str(path)], EventOptions(timezone="UTC"))
        source.restore(journal.positions)
        for batch in source.poll(final=True):
            journal.commit(batch)
            times += [each.time for each in batch.records if isinstance(each, Event)]
        source.close()
    days = ["2023-12-30", "2023-12-31", "2024-01-01", "2024-01-02"]
    assert times == [epoch(f"{day}T06:40:12") for day in days]


@pytest.mark.parametrize(
    ("time", "zone", "told"),
    [
        ("2025-06-21 03:14:15", None, [NO_ZONE]),
        ("21.06.2025 03:14:15", None, [NO_ZONE]),
        ("2025-06-21T03:14:15Z", None, []),
        ("2025-06-21T03:14:15+02:00", None, []),
        ("2025-06-21 03:14:15", "UTC", []),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json", "lines"])
def test_times_that_are_taken_for_utc_are_told(
    tmp_path: Path, form: str, time: str, zone: str | None, told: list[str]
) -> None:
    path = tmp_path / "x.log"
    other = f"{time} ex01 Other[9]: nothing\n"
    path.write_text({
        "csv": table([NAMES, tuple(time if each == "TimeCreated" else value
                                   for each, value in zip(NAMES, ROW, strict=True))]),
        "json": json_line(EventTime=time) + "\n",
        "lines": other + f"{time} ex01 ESE[9]: {TEXT_703}\n" + other,
    }[form])  # fmt: skip
    options = {"timezone": zone} if zone else {}
    assert polled(path, **options)[1:] == (told, 0)
