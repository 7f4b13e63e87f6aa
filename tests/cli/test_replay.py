"""`replay` as people run it."""

import gzip
import shlex
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_fd_to_metric_families

from esewatch.cli import main
from esewatch.cli.output import ended_by_signals
from esewatch.expose.replay.replay_files import TextSize
from tests.support.evtx_writer import EvtxWriter

HEAD = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
START = datetime(2026, 1, 31, 22, 1, 15, 123000, UTC)
MISMATCH = [
    *HEAD,
    "147456 (0x0000000000024000)",
    "8192 (0x00002000)",
    "-1018 (0xfffffc06)",
    "[1111222233334444]",
    "[5555666677778888]",
    "17 (0x11)",
]


def summary(freed: int) -> list[str]:
    return [*HEAD, str(freed), "1/31/2026", "7200", "1", "1", "14", "73"]


def write_log(path: Path, nights: range, start: datetime = START) -> Path:
    """A pass of two hours each night; night n frees n + 1 pages."""
    with EvtxWriter(path, first_record_id=2 * nights.start + 1) as writer:
        for night in nights:
            begin = start + timedelta(days=night)
            writer.write(700, HEAD, time=begin)
            writer.write(701, summary(night + 1), time=begin + timedelta(hours=2))
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three nights: the first begins in January and ends in February."""
    return write_log(tmp_path / "log.evtx", range(3))


def series(path: Path, name: str, part: str = "") -> list[tuple[float, float]]:
    """(time, value) of the samples of one metric, strictly parsed."""
    text = path.read_text(encoding="utf-8")
    return [
        (round(float(sample.timestamp), 3), sample.value)
        for family in text_fd_to_metric_families(StringIO(text))  # type: ignore[no-untyped-call]
        for sample in family.samples
        if sample.name == name and part in {"", *sample.labels.values()}
    ]


def test_a_file_a_month_with_samples_at_each_step_and_at_each_change(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(log), "-o", str(tmp_path / "history.om")]) == 0
    january, february = tmp_path / "history-2026-01.om", tmp_path / "history-2026-02.om"
    freed = "ese_defrag_reported_pages_freed_total"
    begin, first_end = START.timestamp(), (START + timedelta(hours=2)).timestamp()
    step = begin - begin % 300 + 300

    found = series(january, freed)
    assert found[:2] == [(begin, 0.0), (step, 0.0)]
    assert len(found) == 1 + 23
    found = series(february, freed)
    assert found[0] == (datetime(2026, 2, 1, tzinfo=UTC).timestamp(), 0.0)
    assert (first_end, 1.0) in found
    assert found[-1] == (first_end + 2 * 86400, 6.0)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "history-2026-01.om",
        "history-2026-02.om",
        "log.evtx",
    ]
    for path in (january, february):
        assert path.read_text(encoding="utf-8").endswith("\n# EOF\n")
    said = capsys.readouterr()
    assert said.out == ""
    lines = [line.split() for line in said.err.splitlines() if line.startswith("  promtool")]
    assert [line[-2:] for line in lines] == [
        [str(january), "DATA_DIR"],
        [str(february), "DATA_DIR"],
    ]


def test_archives_in_any_order_and_twice_give_what_one_log_gives(log: Path, tmp_path: Path) -> None:
    write_log(tmp_path / "1-young.evtx", range(1, 3))
    write_log(tmp_path / "2-old.evtx", range(2))
    output = ["-o", str(tmp_path / "parts.om")]

    assert main(["replay", str(log), "-o", str(tmp_path / "whole.om")]) == 0
    assert main(["replay", *map(str, sorted(tmp_path.glob("?-*.evtx"))), *output]) == 0
    for month in ("2026-01", "2026-02"):
        whole = (tmp_path / f"whole-{month}.om").read_text()
        assert (tmp_path / f"parts-{month}.om").read_text() == whole


def test_events_and_counters_are_brought_into_the_order_of_their_times(
    log: Path, tmp_path: Path
) -> None:
    counters = tmp_path / "counters.csv"
    column = (
        "\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)"
        "\\Online Defrag Pages Read/sec"
    )
    rows = [f'"(PDH-CSV 4.0) (UTC)(0)","{column}"']
    rows += [
        f'"{(START + timedelta(minutes=5 * n)).strftime("%m/%d/%Y %H:%M:%S.000")}","10"'
        for n in range(24 * 12)
    ]
    counters.write_text("\r\n".join(rows) + "\r\n")

    assert main(["replay", str(counters), str(log), "-o", str(tmp_path / "h.om")]) == 0
    begin = START.replace(microsecond=0).timestamp()
    read = "ese_defrag_pages_read_total"
    found = dict(series(tmp_path / "h-2026-01.om", read) + series(tmp_path / "h-2026-02.om", read))
    assert found[begin] == 0.0
    assert found[begin + 3600] == 36_000.0
    assert found[begin + 23 * 3600] == 23 * 36_000.0
    assert found[begin - begin % 300 + 3600] == 33_000.0


def test_match_limits_the_metrics(log: Path, tmp_path: Path) -> None:
    command = ["replay", str(log), "-o", str(tmp_path / "h.om")]

    assert main([*command, "--match", "ese_pass_running", "--match", "ese_events_.*"]) == 0
    types = {
        line.split()[2]
        for line in (tmp_path / "h-2026-01.om").read_text().splitlines()
        if line.startswith("# TYPE")
    }
    assert types == {"ese_pass_running", "ese_events"}


def test_advice_is_written_from_the_first_record_on(log: Path, tmp_path: Path) -> None:
    assert main(["replay", str(log), "-o", str(tmp_path / "h.om")]) == 0
    found = series(tmp_path / "h-2026-01.om", "ese_window_advice", "insufficient_evidence")
    assert found[0] == (START.timestamp(), 1.0)
    assert {value for _, value in found} == {1.0}


def test_a_step_beyond_the_memory_of_prometheus_is_warned_of(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["replay", str(log), "-o", str(tmp_path / "h.om"), "--step"]

    assert main([*command, "1h"]) == 0
    assert "warning: --step 1h" in capsys.readouterr().err
    assert main([*command, "5m"]) == 0
    assert "warning" not in capsys.readouterr().err


def test_a_bad_page_at_the_end_is_exit_status_1_and_the_files_are_there(tmp_path: Path) -> None:
    with EvtxWriter(tmp_path / "bad.evtx") as writer:
        writer.write(474, MISMATCH, time=START, level=2)

    assert main(["replay", str(tmp_path / "bad.evtx"), "-o", str(tmp_path / "h.om")]) == 1
    found = series(tmp_path / "h-2026-01.om", "ese_known_bad_pages", "uncorrectable")
    assert found == [(START.timestamp(), 1.0)]


def test_an_unreadable_piece_is_told_and_the_rest_is_replayed(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(log.read_bytes())
    data[4096 + 512 + 24 : 4096 + 512 + 40] = b"\xff" * 16
    log.write_bytes(data)

    assert main(["replay", str(log), "-o", str(tmp_path / "h.om")]) == 1
    assert "unreadable" in capsys.readouterr().err
    assert (tmp_path / "h-2026-02.om").exists()


def test_events_without_a_time_are_counted(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strings = '["MSExchangeIS", "3392", "SG06: ", "e:\\\\MDB06\\\\priv06.edb"]'
    stream = tmp_path / "stream.ndjson"
    stream.write_text(
        '{"provider": "ESE", "event_id": 700, "computer": "EX01", "strings": ' + strings + "}\n"
    )

    assert main(["replay", str(log), str(stream), "-o", str(tmp_path / "h.om")]) == 0
    assert "left out, without a usable time: 1" in capsys.readouterr().err


def test_a_clock_that_stood_at_1980_is_told_and_start_leaves_it_out(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(tmp_path / "old.evtx", range(1), datetime(1980, 1, 6, tzinfo=UTC))
    command = ["replay", str(log), str(tmp_path / "old.evtx"), "-o", str(tmp_path / "h.om")]

    assert main(command) == 2
    assert "1980-01-06" in capsys.readouterr().err
    assert main([*command, "--start", "2026-02-01", "--end", "2026-02-01T12:00:00"]) == 0
    assert sorted(path.name for path in tmp_path.glob("*.om")) == ["h-2026-02.om"]
    found = series(tmp_path / "h-2026-02.om", "ese_defrag_reported_pages_freed_total")
    assert found[0] == (datetime(2026, 2, 1, tzinfo=UTC).timestamp(), 1.0)
    assert found[-1] == ((START + timedelta(hours=2)).timestamp(), 2.0)


@pytest.mark.parametrize(
    "words",
    [
        ["--step", "0s"],
        ["--step", "2d"],
        ["--step", "five"],
        ["--start", "tomorrow"],
        ["--start", "2031-01-01"],
        ["--end", "2019-01-01"],
        ["--match", "("],
        ["--match", "up"],
        ["-o", "no-such-folder/h.om"],
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_status_2(
    log: Path, tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["replay", str(log), "-o", str(tmp_path / "h.om"), *words])
    except SystemExit as error:
        status = int(error.code or 0)

    assert status == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["log.evtx"]


@pytest.mark.parametrize("output", ["", ".", "..", "made", "made/", "none/", "made/."])
def test_an_output_that_names_a_folder_is_refused(
    log: Path,
    tmp_path: Path,
    output: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["replay", str(log), "-o", output]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    example = Path(output) / "history.om"
    ends = f"names a folder, not a file: name a file in it, such as {example}"
    assert line == f"esewatch: {output or 'an empty -o'}: {ends}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.evtx", "made"]
    assert not list((tmp_path / "made").iterdir())


INTERRUPTED = """
import signal, sys
from esewatch.cli import main, replay
replay._read = lambda *_: signal.raise_signal(getattr(signal, sys.argv[1]))
sys.exit(main(["replay", sys.argv[2], "-o", sys.argv[3]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="others have no such signals")
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_leaves_nothing_beside_the_output(
    log: Path, tmp_path: Path, name: str, status: int
) -> None:
    words = [sys.executable, "-c", INTERRUPTED, name, str(log), str(tmp_path / "h.om")]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, restore_signals=True,
        # A shell without job control starts what is in its background with SIGINT ignored.
        preexec_fn=lambda: signal.signal(getattr(signal, name), signal.SIG_DFL),
    )  # fmt: skip
    said = "" if name == "SIGINT" else f"esewatch: ended by {name}\n"
    assert (done.returncode, done.stderr) == (status, said)
    assert [path.name for path in tmp_path.iterdir()] == ["log.evtx"]


@pytest.mark.skipif(sys.platform == "win32", reason="others have no such signals")
def test_a_signal_that_nohup_ignores_ends_nothing() -> None:
    before = [
        (signal.SIGTERM, signal.signal(signal.SIGTERM, signal.SIG_DFL)),
        (signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_IGN)),
    ]
    try:
        with ended_by_signals():
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def test_a_file_of_somebody_else_is_not_overwritten(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = tmp_path / "h-2026-02.om"
    stranger.write_text("thesis\n")
    command = ["replay", str(log), "-o", str(tmp_path / "h.om")]

    assert main(command) == 2
    assert str(stranger) in capsys.readouterr().err
    assert stranger.read_text() == "thesis\n"
    assert not (tmp_path / "h-2026-01.om").exists()
    stranger.unlink()
    assert main(command) == 0
    assert main(command) == 0


def test_an_input_that_cannot_be_read_is_exit_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(tmp_path / "none.evtx"), "-o", str(tmp_path / "h.om")]) == 2
    assert "none.evtx" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_path_with_a_blank_is_quoted_for_the_shell(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my files"
    folder.mkdir()

    assert main(["replay", str(log), "-o", str(folder / "h.om")]) == 0
    (line, _) = [
        line for line in capsys.readouterr().err.splitlines() if line.startswith("  promtool")
    ]
    assert shlex.split(line)[-2] == str(folder / "h-2026-01.om")


def test_the_size_is_told_before_and_what_has_no_room_is_refused(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    total = TextSize.total

    def noted(self: TextSize) -> int:
        sizes.append(total(self))
        return sizes[-1]

    monkeypatch.setattr(TextSize, "total", noted)
    assert main(["replay", str(log), "-o", str(tmp_path / "h.om")]) == 0
    written = sum(path.stat().st_size for path in tmp_path.glob("h-*.om"))
    assert sizes[0] == pytest.approx(written, rel=0.02)
    assert "2 files with about" in capsys.readouterr().err.splitlines()[0]

    room = shutil.disk_usage(tmp_path)._replace(free=sizes[0] - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: room)
    assert main(["replay", str(log), "-o", str(tmp_path / "later.om")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "too little space: 2 files with about" in said
    assert "-o later.om.gz" in said
    assert list(tmp_path.glob("*later*")) == []
    assert main(["replay", str(log), "-o", str(tmp_path / "later.om.gz")]) == 0


def test_compressed_files_hold_the_same_text(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(log), "-o", str(tmp_path / "h.om")]) == 0
    capsys.readouterr()
    for _ in range(2):  # the second takes the place of the first
        assert main(["replay", str(log), "-o", str(tmp_path / "h.om.gz")]) == 0
    for month in ("2026-01", "2026-02"):
        packed = tmp_path / f"h-{month}.om.gz"
        assert gzip.decompress(packed.read_bytes()) == (tmp_path / f"h-{month}.om").read_bytes()
        text = tmp_path / f"h-{month}.om"
        assert (
            f"gunzip --keep {packed} && promtool tsdb create-blocks-from"
            f" --max-block-duration=744h openmetrics {text} DATA_DIR && rm {text}"
        ) in capsys.readouterr().err or month == "2026-02"
    (tmp_path / "h-2026-01.om.gz").write_bytes(gzip.compress(b"of somebody else"))
    assert main(["replay", str(log), "-o", str(tmp_path / "h.om.gz")]) == 2
