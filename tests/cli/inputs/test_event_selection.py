"""`events --since --until --id`."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support.ese_text import render
from tests.support.evtx_writer import EvtxWriter

START = datetime(2026, 1, 31, 22, tzinfo=UTC)
STRINGS = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Events 700, 701, 717 and 719, two hours apart."""
    path = tmp_path / "x.evtx"
    with EvtxWriter(path) as writer:
        for number, event_id in enumerate((700, 701, 717, 719)):
            writer.write(event_id, STRINGS, time=START + timedelta(hours=2 * number))
    return path


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--since", "2026-02-01"], ["701", "717", "719"]),
        (["--until", "2026-02-01T00:00:00Z"], ["700", "701"]),
        (["--since", "2026-02-01T01:30+01:00", "--until", "2026-02-01T03:00"], ["717"]),
        (["--id", "701"], ["701"]),
        (["--id", "700-701,719"], ["700", "701", "719"]),
        (["--id", "700", "--id", "717"], ["700", "717"]),
        (["--id", "717-719", "--since", "2026-02-01T03:00"], ["719"]),
    ],
)
def test_events_are_selected_by_time_and_id(
    options: list[str], expected: list[str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["events", str(log), *options]) == 0
    assert [line.split()[3] for line in capsys.readouterr().out.splitlines()] == expected


@pytest.mark.parametrize("options", [["--since", "soon"], ["--id", "x"], ["--id", "9-1"]])
def test_a_selection_that_is_none_is_one_line(
    options: list[str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["events", str(log), *options])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_alike_complaints_are_summed_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.evtx"
    with EvtxWriter(path) as writer:
        for number in range(4000):
            writer.write(700, STRINGS, time=START + timedelta(seconds=number))
    data = bytearray(path.read_bytes())
    chunks = range(4096, len(data), 65536)
    for chunk in chunks:
        data[chunk + 600] ^= 0xFF
    path.write_bytes(data)
    assert len(chunks) > 4
    assert main(["events", str(path)]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if str(path) in line]
    assert len(lines) < len(chunks)
    assert any(" more pieces: " in line for line in lines)


def test_a_copy_of_a_log_counts_once_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f"2026-03-02 10:00:0{n} ex01 ESE 703: {render(703, STRINGS)}\n" for n in range(5)]
    for name in ("a.log", "a-copy.log"):
        (tmp_path / name).write_text("".join(lines))

    assert main(["events", str(tmp_path / "a.log"), str(tmp_path / "a-copy.log")]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 5
    assert "is a copy: all of it is in" in shown.err
