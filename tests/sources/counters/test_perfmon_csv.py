"""Perfmon counter logs: cells, headers, damage, growth."""

import csv
import io
import itertools
import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.model import CountersSeen, Feed, Reading, Source, SourceError, Unreadable
from esewatch.sources.counters.perfmon_csv import (
    PerfmonDecoder,
    perfmon_csv_source,
    recognise,
)
from esewatch.sources.files.decoder import NO_ZONE
from tests.sources.followed import Journal
from tests.support.blg import NOON, counted, write_log
from tests.support.blg import READ as LOGGED
from tests.support.samples import sample

BERLIN = '"(PDH-CSV 4.0) (W. Europe Daylight Time)(-120)"'
INSTANCES = r"MSExchange Database ==> Instances(Information Store/SG06)"
EXCHANGE = "MSExchange Database ==> Instances"
FREED = rf"\\EX01\{INSTANCES}\Online Defrag Pages Freed/sec"
READ = rf"\\EX01\{INSTANCES}\Online Defrag Pages Read/sec"

_opened: list[Source] = []


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


def source(*paths: Path | str, **settings: object) -> Source:
    made = perfmon_csv_source("perf", [str(path) for path in paths], **settings)  # type: ignore[arg-type]
    _opened.append(made)
    return made


def row(*cells: str, first: str = "06/21/2007 03:14:15.123") -> str:
    return ",".join(f'"{cell}"' for cell in (first, *cells)) + "\r\n"


def head(*columns: str, first: str = BERLIN) -> str:
    return ",".join([first, *(f'"{column}"' for column in columns)]) + "\r\n"


def decode(
    text: str | bytes, **settings: object
) -> tuple[list[Reading], list[str], list[CountersSeen]]:
    """Readings, reasons of what is unreadable, and counters seen."""
    options: dict[str, object] = {"computer": "", "zone": None, "ese_only": False, **settings}
    decoder = PerfmonDecoder(b"", **options)  # type: ignore[arg-type]
    fed = decoder.feed(text.encode() if isinstance(text, str) else text, final=True)
    readings = [record for record in fed.records if isinstance(record, Reading)]
    seen = [record for record in fed.records if isinstance(record, CountersSeen)]
    return readings, [reason for _, reason in fed.unreadable], seen


def poll(source: Source) -> tuple[list[Reading], list[Unreadable]]:
    batches = list(source.poll(final=True))
    found = [record for batch in batches for record in batch.records]
    return (
        [record for record in found if isinstance(record, Reading)],
        [item for batch in batches for item in batch.unreadable],
    )


def instant(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_a_cell_becomes_a_reading_with_all_its_names() -> None:
    readings, faults, _ = decode(head(FREED) + row("812.4"))
    assert faults == []
    assert readings == [
        Reading(
            time=instant("2007-06-21T01:14:15.123"),
            computer="EX01",
            object="MSExchange Database ==> Instances",
            counter="Online Defrag Pages Freed/sec",
            instance="Information Store/SG06",
            value=812.4,
            kind="rate",
            feed=Feed(metric="ese_defrag_pages_freed_total", name="SG06"),
        )
    ]


def test_a_real_log_of_india_is_read_as_its_facts_say() -> None:
    readings, faults = poll(source(sample("perf/pdh-csv-logicaldisk-india.csv")))
    assert faults == []
    assert len(readings) == 21 * 12 - 8
    assert readings[0].time == instant("2017-09-19T04:21:39.073")
    assert readings[-1].time == instant("2017-09-19T04:26:39.072")
    assert {reading.computer for reading in readings} == {"IMPC3116"}
    assert {reading.instance for reading in readings} == {"HarddiskVolume2", "C:", "D:", "_Total"}


def test_a_real_log_of_new_york_is_read_as_its_facts_say() -> None:
    readings, faults = poll(source(sample("perf/pdh-csv-process-edt-1.csv")))
    assert faults == []
    assert len(readings) == 30 * 8
    assert readings[0].time == instant("2021-09-16T12:01:28.780")
    assert readings[-1].time == instant("2021-09-16T12:02:26.764")
    assert readings[0].value == 238133047951360
    assert readings[-1].instance == "AnyDesk#2"


@pytest.mark.parametrize("name", ["pdh-csv-logicaldisk-india.csv", "pdh-csv-process-edt-1.csv"])
def test_a_log_without_ese_counters_gives_nothing_where_only_those_are_wanted(name: str) -> None:
    assert poll(source(sample(f"perf/{name}"), ese_only=True)) == ([], [])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (r"\\H\Memory\Pages/sec", ("H", "Memory", "", "Pages/sec")),
        (
            r"\\h.corp.example\A -> B(p/i(x)#1)\C (D)/sec",
            ("h.corp.example", "A -> B", "p/i(x)#1", "C (D)/sec"),
        ),
        (r"\\H\Process(c:\dir\x)\% Time", ("H", "Process", r"c:\dir\x", "% Time")),
        (r"\\H\Obj\I/O Reads (Attached)/sec", ("H", "Obj", "", "I/O Reads (Attached)/sec")),
        (r"\Memory\Pages/sec", ("here", "Memory", "", "Pages/sec")),
    ],
)
def test_a_counter_path_is_taken_apart(path: str, names: tuple[str, str, str, str]) -> None:
    readings, faults, _ = decode(head(path) + row("1"), computer="here")
    found = readings[0]
    assert (found.computer, found.object, found.instance, found.counter) == names
    assert faults == []


def test_quotes_inside_an_instance_are_part_of_it() -> None:
    readings, _, _ = decode(head(r'\\H\Obj(say ""hi"")\C') + row("1"))
    assert readings[0].instance == 'say "hi"'


@pytest.mark.parametrize("cell", ["", " ", "   "])
def test_a_blank_cell_is_no_sample(cell: str) -> None:
    assert decode(head(FREED, READ) + row(cell, "2"))[0][0].value == 2
    assert len(decode(head(FREED, READ) + row(cell, "2"))[0]) == 1


@pytest.mark.parametrize("cell", ["abc", "-1.#IND", "nan", "inf", "1_000", "1,2,3", "0x10"])
def test_a_cell_that_is_no_number_is_reported_once_a_column(cell: str) -> None:
    readings, faults, _ = decode(head(FREED, READ) + row(cell, "2") + row(cell, "3"))
    assert [reading.value for reading in readings] == [2, 3]
    assert faults == [f"column 2 is not a number: {cell!r}"]


def test_decimal_commas_are_read_in_quotes_and_between_semicolons() -> None:
    assert [r.value for r in decode(head(FREED, READ) + row("1,5", "2,25"))[0]] == [1.5, 2.25]
    german = (head(FREED, READ) + "06/21/2007 03:14:15.123;1,5;2,25\r\n").replace('","', '";"')
    assert [r.value for r in decode(german)[0]] == [1.5, 2.25]


def test_tab_separated_logs_are_read() -> None:
    text = (head(FREED, READ) + row("1", "2")).replace('","', '"\t"').replace("CSV", "TSV")
    assert [reading.value for reading in decode(text)[0]] == [1, 2]


def test_names_of_another_code_page_are_read() -> None:
    path = r"\\EX01\Datenbank ==> Instanzen(lsass/NTDSA)\E/A: Datenbanklesevorgänge/Sek."
    for encoding in ("utf-8", "cp1252"):
        readings, faults, _ = decode((head(path) + row("7")).encode(encoding))
        assert faults == []
        assert readings[0].counter == "E/A: Datenbanklesevorgänge/Sek."
        assert readings[0].kind == "rate"


def test_names_of_exchange_2007_feed_the_same_metric() -> None:
    path = rf"\\EX01\{INSTANCES}\Online Maintenance (DB Scan) Pages Read"
    reading = decode(head(path) + row("99"))[0][0]
    assert reading.feed == Feed(metric="ese_maintenance_pages_read_total", name="SG06")
    assert reading.kind == "total"


@pytest.mark.parametrize(
    "path",
    [
        r"\\EX01\MSExchange Database(Information Store)\Online Defrag Pages Read/sec",
        r"\\EX01\MSExchange Database ==> Instances(_Total)\Online Defrag Pages Read/sec",
        r"\\EX01\MSExchange Database ==> Instances(p/_Total)\Online Defrag Pages Read/sec",
    ],
)
def test_processes_and_totals_feed_no_metric(path: str) -> None:
    reading = decode(head(path) + row("5"))[0][0]
    assert reading.feed is None
    assert decode(head(path) + row("5"), ese_only=True)[0] == []


def test_two_hosts_in_one_file_are_kept_apart() -> None:
    other = FREED.replace("EX01", "EX02")
    readings, _, seen = decode(head(FREED, READ, other) + row("1", "2", "3"))
    assert [reading.computer for reading in readings] == ["EX01", "EX01", "EX02"]
    assert [(item.computer, item.present["Online Defrag"]) for item in seen] == [
        ("EX01", True),
        ("EX02", False),
    ]


def test_what_a_header_exposes_is_said_once_with_the_first_row() -> None:
    _, _, seen = decode(head(FREED) + row("1") + row("2"))
    assert seen == [
        CountersSeen(
            time=instant("2007-06-21T01:14:15.123"),
            computer="EX01",
            present={"Online Defrag": False, "Database Maintenance": False},
        )
    ]
    assert decode(head(r"\\H\Memory\Pages/sec") + row("1"))[2] == []


def test_a_new_header_in_the_middle_changes_the_columns() -> None:
    readings, faults, _ = decode(head(FREED) + row("1") + head(READ, FREED) + row("2", "3"))
    assert [(r.counter[-9:], r.value) for r in readings] == [
        ("Freed/sec", 1),
        (" Read/sec", 2),
        ("Freed/sec", 3),
    ]
    assert faults == []


def test_a_header_that_was_cut_leaves_the_whole_columns() -> None:
    readings, faults, _ = decode(head(FREED, READ)[:-8] + "\r\n" + row("1", "2"))
    assert [reading.value for reading in readings] == [1]
    assert faults == ["header is cut short after column 2"]


def test_rows_longer_than_the_header_are_reported_once_and_used_as_far_as_they_fit() -> None:
    readings, faults, _ = decode(head(FREED) + row("1", "9") + row("2", "9"))
    assert [reading.value for reading in readings] == [1, 2]
    assert faults == ["row has 3 whole cells where the header has 2"]


def test_the_last_cell_of_a_row_that_was_cut_is_not_believed() -> None:
    readings, faults, _ = decode(head(FREED, READ) + row("100", "250")[:-4])
    assert [reading.value for reading in readings] == [100]
    assert len(faults) == 1


def test_columns_that_are_no_counter_paths_are_reported_and_left_out() -> None:
    readings, faults, _ = decode(head("nonsense", FREED, r"\\H\x") + row("1", "2", "3"))
    assert [reading.value for reading in readings] == [2]
    assert faults == ["2 columns are not counter paths, first column 2: 'nonsense'"]


@pytest.mark.parametrize(
    "first",
    ["", "yesterday", "13/41/2007 00:00:00.000", "06/21/2007 25:00:00", "06/21/0000 01:00:00"],
)
def test_a_row_without_a_time_is_reported_and_the_next_is_read(first: str) -> None:
    readings, faults, _ = decode(head(FREED) + row("1", first=first) + row("2"))
    assert [reading.value for reading in readings] == [2]
    assert len(faults) == 1


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("begin", ["", "\n"])
def test_typeperf_output_is_read_with_utc_where_nothing_names_a_zone(begin: str, ends: str) -> None:
    closing = "\nExiting, please wait...                         \n" if begin else ""
    text = (
        begin + head(FREED, first='"(PDH-CSV 4.0)"') + row("1") + closing
        + "The command completed successfully.\n\n"
    )  # fmt: skip
    readings, faults, _ = decode(text.replace("\r\n", "\n").replace("\n", ends))
    assert [each.time for each in readings] == [instant("2007-06-21T03:14:15.123")]
    assert faults == []


def test_other_lines_of_a_program_behind_the_rows_are_reported() -> None:
    _, faults, _ = decode(head(FREED) + row("1") + "The command failed.\r\n")
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("zone", "when", "told"),
    [
        (None, "2007-01-21T01:00", []),
        ("Europe/Berlin", "2007-01-21T02:00", []),  # has the offset of the header in summer
        ("Africa/Johannesburg", "2007-01-21T01:00", []),
        ("America/New_York", "2007-01-21T01:00", ["America/New_York"]),
        ("Europe/Lisbon", "2007-01-21T01:00", ["Europe/Lisbon"]),
    ],
)
def test_a_configured_zone_decides_where_it_has_the_offset_of_the_header(
    zone: str | None, when: str, told: list[str]
) -> None:
    decoder = PerfmonDecoder(
        b"", computer="", zone=ZoneInfo(zone) if zone else None, ese_only=False
    )
    text = head(FREED) + row("1", first="01/21/2007 03:00:00.000")
    fed = decoder.feed(text.encode(), final=True)
    assert [each.time for each in fed.records if isinstance(each, Reading)] == [instant(when)]
    assert [each.rpartition(" ")[2] for each in fed.remarks] == told


def test_a_log_without_a_zone_says_so() -> None:
    text = (head(FREED, first='"(PDH-CSV 4.0)"') + row("1")).encode()
    for zone, told in ((None, [NO_ZONE]), (ZoneInfo("Europe/Berlin"), [])):
        decoder = PerfmonDecoder(b"", computer="", zone=zone, ese_only=False)
        assert decoder.feed(text, final=True).remarks == told


def test_an_unknown_zone_is_an_error() -> None:
    with pytest.raises(SourceError, match="Middle/Earth"):
        perfmon_csv_source("perf", [], timezone="Middle/Earth")


AUTUMN = [
    f"10/28/2007 {hour}:{minute:02}:00.000" for hour in ("01", "02") for minute in (0, 20, 40)
]
AUTUMN += [
    f"10/28/2007 {hour}:{minute:02}:00.000" for hour in ("02", "03") for minute in (0, 20, 40)
]


def times(texts: Iterable[str], **settings: object) -> list[float]:
    text = head(FREED) + "".join(row("1", first=first) for first in texts)
    return [reading.time for reading in decode(text, **settings)[0]]


@pytest.mark.fault(
    "an hour occurs twice at the end of summer time",
    provoked="samples every 20 minutes through that night, in local time",
    lost="nothing: each has its own time",
    again="never wrong",
)
def test_the_ambiguous_hour_is_told_apart_by_file_order() -> None:
    expected = [instant("2007-10-27T23:00") + 1200 * number for number in range(12)]
    assert times(AUTUMN, zone=ZoneInfo("Europe/Berlin")) == expected
    assert times(AUTUMN) == expected


def test_a_log_that_begins_in_the_second_ambiguous_hour_is_told_by_its_header() -> None:
    text = head(FREED, first=BERLIN.replace("-120", "-60")) + row("1", first=AUTUMN[3])
    (reading,) = decode(text, zone=ZoneInfo("Europe/Berlin"))[0]
    assert reading.time == instant("2007-10-28T01:00")


def test_hourly_samples_pass_through_the_ambiguous_hour() -> None:
    hours = [f"10/28/2007 {hour:02}:00:00.00{digit}" for digit, hour in enumerate([0, 1, 2, 2, 3])]
    found = times(hours, zone=ZoneInfo("Europe/Berlin"))
    assert [round(b - a) for a, b in itertools.pairwise(found)] == [3600] * 4


def test_a_clock_set_back_by_a_little_is_not_the_end_of_summer() -> None:
    found = times(["06/21/2007 03:14:15.000", "06/21/2007 03:14:30.000", "06/21/2007 03:14:20.000"])
    assert found[2] - found[1] == -10


def test_spring_has_no_gap_with_a_configured_zone() -> None:
    found = times(
        ["03/25/2007 01:59:45.000", "03/25/2007 03:00:00.000"], zone=ZoneInfo("Europe/Berlin")
    )
    assert found[1] - found[0] == 15


def test_files_are_read_in_the_order_of_their_first_samples(tmp_path: Path) -> None:
    for name, day in (("a", 3), ("b", 1), ("c", 2)):
        (tmp_path / f"{name}.csv").write_text(
            head(FREED) + row(str(day), first=f"06/{day:02}/2007 00:00:00.000")
        )
    readings, _ = poll(source(tmp_path / "*.csv"))
    assert [reading.value for reading in readings] == [1, 2, 3]


def test_a_growing_log_continues_after_a_restart_with_columns_and_clock(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(head(FREED, READ) + "".join(row("1", "2", first=at) for at in AUTUMN[:7]))
    journal, found = Journal(), []
    for more in (AUTUMN[7:9], AUTUMN[9:]):
        following = source(path, timezone="Europe/Berlin")
        following.restore(journal.positions)
        for batch in following.poll():
            journal.commit(batch)
            found += [r.time for r in batch.records if isinstance(r, Reading)]
        following.close()
        with path.open("a") as file:
            file.write("".join(row("1", "2", first=at) for at in more))
    following = source(path, timezone="Europe/Berlin")
    following.restore(journal.positions)
    found += [r.time for batch in following.poll() for r in batch.records if isinstance(r, Reading)]
    start = instant("2007-10-27T23:00")
    assert found == [start + 1200 * (number // 2) for number in range(24)]


def test_half_a_row_waits_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    whole = row("1234")
    path.write_text(head(FREED) + whole[:-5])
    following = source(path)
    assert [r for batch in following.poll() for r in batch.records] == []
    with path.open("a") as file:
        file.write(whole[-5:])
    records = [record for batch in following.poll() for record in batch.records]
    assert [r.value for r in records if isinstance(r, Reading)] == [1234]


def test_a_binary_log_is_an_error_that_names_the_source_that_reads_it(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.blg", [LOGGED], [(NOON, [counted(NOON, 1)])])
    with pytest.raises(SourceError, match=r"x\.blg: .*perfmon_blg"):
        poll(source(path))
    found, faults = poll(source(tmp_path / "*.blg"))
    assert found == []
    assert any("perfmon_blg" in fault.reason for fault in faults)


def test_an_older_binary_log_is_an_error_with_the_command_that_converts_it(tmp_path: Path) -> None:
    path = tmp_path / "x.blg"
    path.write_bytes(b'"(PDH-BIN 4.0)' + bytes(5000) + b"\n" * 9)
    with pytest.raises(SourceError, match=r'relog ".*x\.blg" -f csv -o ".*x\.blg\.csv"'):
        poll(source(path))


def test_another_csv_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match="no perfmon log"):
        poll(source(tmp_path / "x.csv"))


def test_logs_are_known_by_content() -> None:
    assert recognise(head(FREED).encode())
    assert recognise(b"\r\n" + head(FREED).encode())
    assert not recognise(b"a,b\n1,2\n")


def test_a_utf_16_log_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(head(FREED) + row("4"), encoding="utf-16")
    assert [reading.value for reading in poll(source(tmp_path / "a.csv"))[0]] == [4]


NAMES = st.text(st.characters(codec="utf-8", exclude_characters='\\()\r\n\0/"'), min_size=1).filter(
    lambda name: name.strip() == name
)
NUMBERS = st.floats(min_value=0, allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=6),
    st.lists(st.lists(st.one_of(st.none(), NUMBERS), min_size=6, max_size=6), max_size=5),
    st.sampled_from([",", ";"]),
)
def test_numbers_read_are_those_written(
    columns: list[tuple[str, str, str]], rows: list[list[float | None]], delimiter: str
) -> None:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writerow([BERLIN.strip('"'), *(rf"\\H\{a}({b})\{c}" for a, b, c in columns)])
    for number, cells in enumerate(rows):
        found = [" " if cell is None else repr(cell) for cell in cells[: len(columns)]]
        writer.writerow([f"06/21/2007 03:14:{number:02}.000", *found])
    readings, faults, _ = decode(out.getvalue())
    assert faults == []
    assert [reading.value for reading in readings] == [
        cell for cells in rows for cell in cells[: len(columns)] if cell is not None
    ]


PIECES = st.lists(
    st.sampled_from(
        [
            head(FREED, READ),
            row("1", "2"),
            row("1"),
            '"',
            ",",
            ";",
            "\t",
            "\n",
            "\r",
            "\0",
            "(PDH-CSV 4.0)",
        ]
    )
    | st.text(max_size=5),
    max_size=12,
)


@given(PIECES, st.booleans())
def test_no_text_raises_and_all_values_are_finite(pieces: list[str], ese_only: bool) -> None:
    readings, _, _ = decode("".join(pieces).encode("utf-8", "replace"), ese_only=ese_only)
    assert all(math.isfinite(reading.value) for reading in readings)


@given(st.binary(max_size=300))
def test_no_bytes_behind_a_header_raise(tail: bytes) -> None:
    decoder = PerfmonDecoder(b"", computer="", zone=ZoneInfo("Europe/Berlin"), ese_only=False)
    data = head(FREED).encode() + tail
    assert decoder.feed(data, final=True).consumed == len(data)
    again = PerfmonDecoder(decoder.save(), computer="", zone=None, ese_only=False)
    assert again.feed(tail, final=True).consumed == len(tail)


def test_free_space_of_drives_and_mount_points_is_read_in_bytes() -> None:
    volumes = ("L:", "C:\\Mounts\\SG06 (new)", "_Total", "HarddiskVolume1")
    columns = [rf"\\EX01\LogicalDisk({volume})\Free Megabytes" for volume in volumes]

    found, unreadable, _ = decode(head(*columns) + row("2048", "3", "4", "5"), ese_only=True)

    assert unreadable == []
    assert {each.feed.labels: each.value * each.feed.scale for each in found if each.feed} == {
        ("l:",): 2.0**31,
        ("c:\\mounts\\sg06 (new)",): 3 * 2.0**20,
    }


def test_the_minus_one_of_typeperf_is_no_value_and_another_negative_one_is_told() -> None:
    readings, faults, _ = decode(
        head(READ, FREED)
        + row("5", "2")
        + row("-1", "3", first="06/21/2007 03:14:30.123")
        + row("-7", "3", first="06/21/2007 03:14:45.123")
    )

    assert [each.value for each in readings] == [5, 2, 3, 3]
    assert faults == ["column 2 is below 0: '-7'"]
    offset = r"\\EX01\Windows Time Service\Computed Time Offset"
    assert [each.value for each in decode(head(offset) + row("-1") + row("-7"))[0]] == [-1, -7]


@pytest.mark.parametrize("name", ["german-exchange-counters", "exchange2016-total-instances"])
def test_counters_of_a_real_exchange_are_told_of_none(name: str) -> None:
    faults = decode(sample(f"reports/{name}.csv").read_bytes())[1]
    assert faults == []


def test_a_german_exchange_feeds_what_an_english_one_feeds() -> None:
    fed = []
    for name in ("german-exchange-counters", "german-exchange-counters-in-english"):
        readings, faults, seen = decode(sample(f"reports/{name}.csv").read_bytes(), ese_only=True)
        fed.append(([(each.time, each.kind, each.feed) for each in readings], faults, seen))
    assert fed[0] == fed[1]
    assert len({feed for _, _, feed in fed[0][0]}) == 12


def test_the_total_of_a_process_with_one_database_stands_for_it() -> None:
    readings = decode(sample("reports/exchange2016-total-instances.csv").read_bytes())[0]
    fed = {each.feed.metric: each.feed.name for each in readings if each.feed}
    assert fed == {"ese_io_latency_seconds": "DB01", "ese_database_io_total": "DB01"}


def test_a_total_stands_for_no_instance_that_has_samples_itself() -> None:
    columns = [
        rf"\\{computer}\{EXCHANGE}(Information Store - {instance})\Log Threads Waiting"
        for computer, instance in (
            ("EX01", "DB01/_Total"), ("EX01", "DB01/db01"), ("EX01", "DB02/_Total"),
            ("EX02", "DB01/_Total"), ("EX02", "DB02/DB02"),
        )
    ]  # fmt: skip
    cells = ",".join('"3"' for _ in columns)
    readings = decode(head(*columns) + f'"06/21/2007 03:14:15.123",{cells}\r\n')[0]
    assert [each.feed.name if each.feed else None for each in readings] == [
        None, "db01", "DB02", "DB01", "DB02",
    ]  # fmt: skip


def test_what_looks_like_an_object_of_ese_and_is_not_known_is_told_once_a_header() -> None:
    log = head(
        rf"\\EX01\{EXCHANGE}(a/b)\Log Threads Waiting",
        rf"\\EX01\{EXCHANGE}(a/b)\B+ Tree Seeks/sec",
        rf"\\EX01\{EXCHANGE}(a/b)\Loggskrivningar/s",
        r"\\EX01\Databas ==> Instanser(a/b)\Log Threads Waiting",
        r"\\EX01\Databas ==> Instanser(a/c)\Log Threads Waiting",
        r"\\EX01\Databas ==> Instanser(a/b)\Loggskrivningar/s",
        r"\\EX01\Databas(a)\Trådar",
        r"\\EX01\Minne\Sidor/s",
    )
    row = '"06/21/2007 03:14:15.123"' + 8 * ',"1"' + "\r\n"
    assert decode(log + row + row)[1] == [
        "1 counter of Databas is not known, such as Trådar",
        "2 counters of Databas ==> Instanser are not known, such as Log Threads Waiting",
        f"1 counter of {EXCHANGE} is not known, such as Loggskrivningar/s",
    ]
