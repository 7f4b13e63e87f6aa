"""`engine disks` as a user meets it."""

from pathlib import Path

import msgspec
import pytest

from eselab.__main__ import main
from eselab.disk.load import Figures
from tests.eselab.commanding import command, expect_one_line

EXAMPLE = (
    b'{"lun": {"spindles": 2}, "workloads": ['
    b'{"name": "users", "bytes": 8192, "pattern": "random", "outstanding": 4, "seconds": 0.5},'
    b'{"name": "check", "bytes": 65536, "outstanding": 64, "seconds": 0.5}]}'
)


def test_the_example_of_the_help_prints_a_line_for_each_workload(tmp_path: Path) -> None:
    words = command("disks", "--help").out.rpartition("example: esewatch engine ")[2].split()
    file = tmp_path / words[-1]
    file.write_bytes(EXAMPLE)
    done = command(*words[:-1], file)

    assert (done.status, done.error) == (0, "")
    found = [msgspec.json.decode(line, type=Figures) for line in done.out.splitlines()]
    assert [each.name for each in found] == ["users", "check"]
    assert all(each.requests > 10 for each in found)
    # Only an update has the latency of its reads.
    *names, last = Figures.__struct_fields__
    assert last == "latency_read"
    assert list(msgspec.json.decode(done.out.splitlines()[0])) == names


def test_the_same_seed_prints_the_same_bytes_and_another_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "load.json"
    file.write_bytes(EXAMPLE)
    printed = []
    for seed in ("1", "1", "-2"):
        assert main(["disks", str(file), "--seed", seed]) == 0
        printed.append(capsys.readouterr().out)

    assert printed[0] == printed[1] != printed[2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "truncated"),
        (b"workloads: []", "malformed"),
        (b"[" * 100_000, "Expected `object`"),
        (b'{"workloads": []}', "length >= 1 - at `$.workloads`"),
        (b'{"workloads": [{"bytes": 512, "count": 1}]}', "missing required field `name`"),
        (EXAMPLE.replace(b"8192", b"-1"), ">= 512 - at `$.workloads[0].bytes`"),
        (EXAMPLE.replace(b"8192", b"9" * 400), "`$.workloads[0].bytes`"),
        (EXAMPLE.replace(b"0.5", b"NaN"), "malformed"),
        (EXAMPLE.replace(b"0.5", b"1e999"), "out of range"),
        (EXAMPLE.replace(b"0.5", b"-1"), "> 0.0 - at `$.workloads[0].seconds`"),
        (EXAMPLE.replace(b"random", b"zigzag"), "'zigzag'"),
        (EXAMPLE.replace(b"64,", b"5000,"), "<= 4096 - at `$.workloads[1].outstanding`"),
        (EXAMPLE.replace(b"spindles", b"spindels"), "`spindels` - at `$.lun`"),
        (EXAMPLE.replace(b'"check"', b'"users"'), "2 of them have the name users"),
        (EXAMPLE.replace(b'"spindles": 2', b'"stripe": 5000'), "`$.lun.stripe`"),
        (EXAMPLE.replace(b'"random"', b'"random", "span": 5'), "workload users: "),
        (b" " * (1 << 24) + b"{}", "at most"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: bytes, said: str
) -> None:
    file = tmp_path / "load.json"
    file.write_bytes(text)
    status = main(["disks", str(file)])
    printed = capsys.readouterr()

    assert (status, printed.out) == (2, "")
    assert printed.err.startswith(f"esewatch engine: {file}: ")
    assert said in printed.err
    assert printed.err.count("\n") == 1


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    expect_one_line(command("disks", tmp_path / "none"), "No such file or directory")
    expect_one_line(command("disks", tmp_path), "Is a directory")
    expect_one_line(command("disks"), "FILE")
