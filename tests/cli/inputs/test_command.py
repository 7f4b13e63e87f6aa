import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eselab.logs.binary.binary_log import SINGLE, Entry
from esewatch.cli import main
from esewatch.expose.formatting import iso_time
from tests.support.blg import NOON, READ, counted, write_log
from tests.support.ese_text import render
from tests.support.evtx_writer import EvtxWriter
from tests.support.samples import sample

TIME = datetime(2007, 6, 21, 3, 14, 15, 123000, UTC)
HEAD = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
COMPLETED = [*HEAD, "42794", "6/16/2007", "124919", "7", "4", "14", "73"]
MISMATCH = [
    *HEAD,
    "147456 (0x0000000000024000)",
    "8192 (0x00002000)",
    "-1018 (0xfffffc06)",
    "[1111222233334444]",
    "[5555666677778888]",
    "17 (0x11)",
]
COUNTERS = (
    '"(PDH-CSV 4.0) (UTC)(0)","\\\\EX01\\MSExchange Database ==> Instances'
    '(Information Store/SG06)\\Online Defrag Pages Read/sec","\\\\EX01\\Memory\\Pages/sec"\r\n'
    '"06/21/2007 03:00:00.000","812.4","1"\r\n'
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """An event log with one completed pass, as record 4711."""
    path = tmp_path / "Application.evtx"
    with EvtxWriter(path, first_record_id=4711) as writer:
        writer.write(703, COMPLETED, time=TIME)
    return path


def objects(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_event_is_the_object_of_the_contract(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["events", "--format", "json", str(log)]) == 0
    assert objects(capsys.readouterr().out) == [
        {
            "time": "2007-06-21T03:14:15.123Z",
            "computer": "EX01.corp.example",
            "channel": "Application",
            "provider": "ESE",
            "event_id": 703,
            "record_id": 4711,
            "level": "information",
            "process": "MSExchangeIS",
            "ese_instance": "SG06",
            "database": "e:\\MDB06\\priv06.edb",
            "task": "defrag",
            "stage": "completed",
            "fields": {
                "pages_freed": 42794,
                "pass_started": "6/16/2007",
                "pass_started_date": "2007-06-16",
                "seconds": 124919,
                "invocations": 7,
                "days": 4,
                "completions": 14,
                "lifetime_days": 73,
            },
            "strings": COMPLETED,
        }
    ]


def test_the_same_figures_come_out_of_rendered_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.log"
    path.write_text(f"2007-06-21T03:14:15.123Z EX01 Information ESE 703 {render(703, COMPLETED)}\n")
    assert main(["events", "--format", "json", str(path)]) == 0
    (found,) = objects(capsys.readouterr().out)
    fields = found["fields"]
    assert isinstance(fields, dict)
    assert (fields["pages_freed"], fields["seconds"], fields["completions"]) == (42794, 124919, 14)
    assert found["time"] == "2007-06-21T03:14:15.123Z"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_time_beyond_the_calendar_is_unknown_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path = tmp_path / "far.ndjson"
    record = {
        "SourceName": "ESE",
        "EventID": 704,
        "EventTime": "9999-12-31T23:59:59-12:00",
        "Message": render(704, HEAD),
    }
    path.write_text(json.dumps(record) + "\n")
    main(["events", "--format", form, str(path)])
    out = capsys.readouterr().out
    assert "704" in out
    assert "time" not in out
    assert main(["report", str(path), "-o", str(tmp_path / "r.html")]) in {0, 1}


def test_text_output_is_one_line_an_event_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.evtx"
    with EvtxWriter(path) as writer:
        writer.write(704, [*HEAD[:3], "e:\\a\x1b[31m\nb.edb"], time=TIME)
    main(["events", str(path)])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_a_bad_page_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.evtx"
    with EvtxWriter(path) as writer:
        writer.write(474, MISMATCH, time=TIME, level=2)
    assert main(["events", "--format", "json", str(path)]) == 1
    (found,) = objects(capsys.readouterr().out)
    assert found["fields"] == {
        "file": "e:\\MDB06\\priv06.edb",
        "offset": 147456,
        "bytes": 8192,
        "error": -1018,
        "expected": "[1111222233334444]",
        "actual": "[5555666677778888]",
        "page_number": 17,
    }


@pytest.mark.parametrize("event_id", [467, 447, 539, 481, 551, 613, 568])
def test_damage_and_errors_of_the_disk_are_status_1(tmp_path: Path, event_id: int) -> None:
    with EvtxWriter(tmp_path / "x.evtx") as writer:
        writer.write(event_id, ["svc", "1", "SG06: "], time=TIME, level=2)
    assert main(["events", str(tmp_path / "x.evtx")]) == 1


def test_what_cannot_be_read_is_one_line_and_status_1_and_the_rest_comes_out(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["events", str(tmp_path / "none.evtx"), str(log)]) == 1
    captured = capsys.readouterr()
    assert captured.out.count("703") == 1
    assert captured.err.count("\n") == 1
    assert "none.evtx" in captured.err


@pytest.mark.parametrize("command", ["report", "advise", "events", "counters", "replay"])
def test_where_no_input_can_be_read_nothing_is_written(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "made"
    told = ["-o", str(output)] if command in ("report", "replay") else []
    paths = [str(tmp_path / name) for name in ("a.evtx", "b.evtx")]
    assert main([command, *paths, *told]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 2
    assert list(tmp_path.iterdir()) == []


def test_the_rest_of_the_inputs_makes_a_page(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "none.evtx"), str(log), "-o", str(page)]) == 1
    assert "priv06.edb" in page.read_text()
    assert "none.evtx" in capsys.readouterr().err


def test_a_damaged_chunk_is_told_with_file_and_place_and_status_1(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(log.read_bytes())
    data[4096 + 600] ^= 0xFF
    log.write_bytes(data)
    assert main(["events", str(log)]) == 1
    assert f"{log}: chunk 0: " in capsys.readouterr().err


def test_other_files_in_a_folder_of_logs_are_left_out(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (log.parent / "picture.png").write_bytes(b"\x89PNG" + bytes(range(256)) * 9)
    assert main(["events", str(log.parent)]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("\n") == 1
    assert "left out" in captured.err
    assert main(["events", str(log.parent / "picture.png")]) == 2


def test_counters_come_out_all_or_those_that_feed_a_metric(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "perf.csv"
    path.write_text(COUNTERS)
    assert main(["counters", "--format", "json", str(path)]) == 0
    assert [found["object"] for found in objects(capsys.readouterr().out)] == [
        "MSExchange Database ==> Instances",
        "Memory",
    ]
    assert main(["counters", "--ese", "--format", "json", str(path)]) == 0
    assert objects(capsys.readouterr().out) == [
        {
            "time": "2007-06-21T03:00:00.000Z",
            "computer": "EX01",
            "object": "MSExchange Database ==> Instances",
            "instance": "Information Store/SG06",
            "counter": "Online Defrag Pages Read/sec",
            "value": 812.4,
            "kind": "rate",
            "metric": "ese_defrag_pages_read_total",
        }
    ]


POWERSHELL = "blg/powershell-CounterSamples"


def binary_log(folder: Path) -> Path:
    entries = [READ, Entry("EX01", "Process", "lsass", "% Processor Time", 0x20510500, SINGLE)]
    rows = [
        (NOON + at, [counted(NOON + at, 30 * at), counted(NOON + at - 7200, 2_500_000 * at)])
        for at in (0, 15, 30)
    ]
    return write_log(folder / "perf.blg", entries, rows, west=-120)


def test_a_binary_log_is_decoded_to_the_value_that_is_shown_and_the_one_that_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["counters", "--format", "json", "--ese", str(binary_log(tmp_path))]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert second["time"] == "2007-06-21T10:00:30.000Z"
    assert first == {
        "time": "2007-06-21T10:00:15.000Z",
        "computer": "EX01",
        "object": "MSExchange Database ==> Instances",
        "instance": "Information Store/SG06",
        "counter": "Online Defrag Pages Read/sec",
        "value": 30.0,
        "raw": 450,
        "kind": "total",
        "metric": "ese_defrag_pages_read_total",
    }


def test_a_binary_log_as_csv_has_the_local_times_and_blanks_of_its_first_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = binary_log(tmp_path)
    assert main(["counters", "--format", "csv", str(path)]) == 0
    text = capsys.readouterr().out
    assert text.splitlines() == [
        '"(PDH-CSV 4.0) (UTC+02:00)(-120)",'
        '"\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)'
        '\\Online Defrag Pages Read/sec","\\\\EX01\\Process(lsass)\\% Processor Time"',
        '"06/21/2007 12:00:00.000"," "," "',
        '"06/21/2007 12:00:15.000","30","25"',
        '"06/21/2007 12:00:30.000","30","25"',
    ]
    again = tmp_path / "perf.csv"
    again.write_text(text, newline="")
    assert main(["counters", "--format", "csv", str(again)]) == 0
    header, _, *rows = text.splitlines()  # a row of blanks has no sample
    assert capsys.readouterr().out.splitlines() == [header, *rows]


def test_the_csv_of_a_real_log_is_the_one_that_windows_wrote(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["counters", "--format", "csv", str(sample(f"{POWERSHELL}.blg"))]) == 0
    expected = sample(f"{POWERSHELL}.csv").read_text()
    # The name of the zone is in Windows, the log has the number of a text.
    assert (
        capsys.readouterr().out.splitlines()
        == expected.replace("(Pacific Standard Time)", "(UTC-08:00)").splitlines()
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bytes(range(1, 32)) * 200, "neither text"),
        (b"<Events/>", "no counter log"),
        (b'"(Pacific Daylight Time)(420)","\\\\A\\Memory\\Pages/sec"\r\n', "without its tag"),
    ],
)
def test_what_is_no_counter_log_is_refused_under_any_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], data: bytes, words: str
) -> None:
    path = tmp_path / "perf.blg"
    path.write_bytes(data)
    assert main(["counters", str(path)]) == 2
    assert words in capsys.readouterr().err


def test_report_writes_a_page_and_says_that_a_page_is_bad(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(log), "-o", str(page)]) == 0
    assert "priv06.edb" in page.read_text()
    with EvtxWriter(tmp_path / "bad.evtx") as writer:
        writer.write(474, MISMATCH, time=TIME, level=2)
    assert main(["report", str(tmp_path / "bad.evtx"), "-o", str(page)]) == 1
    assert str(page) in capsys.readouterr().err


def test_a_place_where_no_page_can_be_written_is_status_2(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(log), "-o", str(tmp_path / "no" / "report.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000Z"),
        (1617234844.668533, "2021-03-31T23:54:04.668533Z"),
        (1182395655.123, "2007-06-21T03:14:15.123Z"),
        (-0.5, "1969-12-31T23:59:59.500Z"),
    ],
)
def test_times_keep_their_microseconds(seconds: float, text: str) -> None:
    assert iso_time(seconds) == text


@pytest.mark.parametrize("form", ["text", "json"])
def test_names_come_out_in_utf_8_whatever_the_locale(tmp_path: Path, form: str) -> None:
    path = tmp_path / "x.evtx"
    with EvtxWriter(path) as writer:
        writer.write(704, [*HEAD[:3], "e:\\M\u00fcller\\\U0001f600.edb"], time=TIME)
    done = subprocess.run(
        [sys.executable, "-m", "esewatch", "events", "--format", form, str(path)],
        capture_output=True,
        check=False,
        env={"PYTHONIOENCODING": "ascii", "PATH": "", "LC_ALL": "C"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "M\u00fcller" in done.stdout.decode()


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "many.evtx"
    with EvtxWriter(path) as writer:
        for _ in range(3000):
            writer.write(704, HEAD, time=TIME)
    command = f"{sys.executable} -m esewatch events {path} | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
    assert done.returncode == 0


def test_standard_input_is_read_like_a_file(log: Path) -> None:
    command = [sys.executable, "-m", "esewatch", "events", "--format", "json"]
    with log.open("rb") as given:
        piped = subprocess.run([*command, "-"], stdin=given, capture_output=True, check=True)
    named = subprocess.run([*command, str(log)], capture_output=True, check=True)
    assert piped.stdout == named.stdout != b""
