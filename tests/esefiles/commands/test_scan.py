import contextlib
import errno
import fcntl
import gzip
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from esefiles import page_scan
from esefiles.commands import scan_run
from esefiles.scans.position import Positions
from esefiles.scans.reading.reading import DatabaseFile
from esewatch.cli import main
from tests.esefiles.commands.one_disk import OneDisk
from tests.esefiles.scans.faulty import Disk, disk_below
from tests.support.campaign import COMMAND, number_of
from tests.support.edb import Edb, write_edb
from tests.support.figures import record
from tests.support.patience import PATIENCE
from tests.support.samples import sample

ROOT = Path(__file__).resolve().parents[3]

DIRTY = {"goese-ual-hyperv-Current-dirty.mdb"}
BAD = {"dissect-SRUDB-16-bad-pages.dat": list(range(143, 159))}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the positions."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(page_scan, "Topology", OneDisk)
    monkeypatch.setattr(scan_run, "yield_the_disk", lambda: None)
    return tmp_path / "state" / "esewatch" / "scan"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return disk_below(monkeypatch)


class Said:
    """What one call of `scan` printed, and its exit status."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.text = out
        self.errors = err.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        (found,) = self.objects
        return found


class Scan:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str | Path) -> Said:
        self._capsys.readouterr()
        status = main(["scan", *map(str, words)])
        return Said(status, *self._capsys.readouterr())

    def json(self, *words: str | Path) -> Said:
        return self("--format", "json", *words)


@pytest.fixture
def scan(capsys: pytest.CaptureFixture[str]) -> Scan:
    return Scan(capsys)


@pytest.fixture
def edb(tmp_path: Path) -> Edb:
    (tmp_path / "snap").mkdir()
    return write_edb(tmp_path / "snap" / "priv06.edb", page_size=8192, pages=300)


def test_real_databases_are_good_but_for_the_one_that_is_not(scan: Scan, tmp_path: Path) -> None:
    for name in [*DIRTY, *BAD, "strozfriedberg-decompress_test-8k.edb"]:
        packed = sample(f"db/{name}.gz")
        (tmp_path / name).write_bytes(gzip.decompress(packed.read_bytes()))

    said = scan.json(tmp_path)
    dirty = scan(tmp_path / next(iter(DIRTY)))

    assert said.status == 1
    assert {
        Path(found["path"]).name: [bad["page_number"] for bad in found["bad_pages"]]
        for found in said.objects
        if found["bad_pages"]
    } == BAD
    assert len(said.objects) == 3
    assert dirty.status == 0
    assert "dirty" in dirty.text


def test_json_has_the_keys_of_the_contract(scan: Scan, edb: Edb) -> None:
    edb.flip(17, 12345)
    edb.misplace(40, 43)

    found = scan.json(edb.path).object

    assert {key: found[key] for key in found if key not in ("seconds", "read_latency_seconds")} == {
        "path": str(edb.path),
        "page_size": 8192,
        "format": "0x620.20",
        "state": "clean",
        "header_ok": True,
        "shadow_header_ok": True,
        "pages_seen": 300,
        "bad_checksums": 0,
        "correctable": 1,
        "wrong_page_number": 1,
        "uninitialized_pages": 0,
        "truncated": 0,
        "unread_bytes": 0,
        "bytes": 302 * 8192,
        "size_bytes": 302 * 8192,
        "direct": found["direct"],
        "device": found["device"],
        "bad_pages": [
            {
                "page_number": 17,
                "offset": 18 * 8192,
                "kind": "correctable",
                "block": 0,
                "bit": 12345,
            },
            {"page_number": 40, "offset": 41 * 8192, "kind": "wrong_page", "written_as": 43},
        ],
        "bad_pages_not_listed": 0,
        "complete": True,
        "ended": "complete",
        "remarks": [],
    }
    assert found["seconds"] > 0
    assert set(found["read_latency_seconds"]) == {"p50", "p99"}
    assert found["device"].startswith("disk of")


def test_what_was_read_through_the_page_cache_says_so(scan: Scan, edb: Edb) -> None:
    assert scan.json("--buffered", edb.path).object["direct"] is False
    assert "read through the page cache" in scan("--buffered", edb.path).text


def test_text_says_what_is_bad_and_what_to_do_next(scan: Scan, edb: Edb) -> None:
    edb.flip(17, 12345)
    edb.misplace(40, 43)
    for number in range(100, 110):
        edb.flip(number, 1000, 3000)

    said = scan(edb.path)
    lines = [line.strip() for line in said.text.splitlines()]

    assert said.status == 1
    assert lines[0] == str(edb.path)
    assert "8 KiB pages" in lines[1]
    assert lines[2] == (
        "300 pages read: 0 blank, 12 bad (10 checksum, 1 correctable, 1 wrong page)"
    )
    assert lines[3:6] == [
        f"page 17 at byte {18 * 8192}: one flipped bit a block, correctable (bit 12345)",
        f"page 40 at byte {41 * 8192}: wrong page, written as page 43",
        "pages 100-109: checksum",
    ]
    assert lines[-1].startswith("BAD: 12 pages are bad.")
    assert "docs/runbooks/EseKnownBadPage.md" in lines[-1]


def test_a_good_database_ends_with_the_word(scan: Scan, edb: Edb) -> None:
    said = scan(edb.path)

    assert (said.status, said.errors) == (0, [])
    assert said.text.splitlines()[-1].strip() == "GOOD: every page verifies"


def test_a_correctable_page_leads_to_its_own_runbook(scan: Scan, edb: Edb) -> None:
    edb.flip(17, 12345)

    said = scan(edb.path)

    assert said.status == 1
    assert "docs/runbooks/EseCorrectedPage.md" in said.text


@pytest.mark.parametrize("last", [300, 299])
def test_bad_pages_in_one_run_to_the_end_may_be_space_that_was_never_written(
    last: int, scan: Scan, edb: Edb
) -> None:
    for number in range(280, last + 1):
        edb.flip(number, 1000, 3000)

    remarks = scan.json(edb.path).object["remarks"]

    assert [("never written" in remark) for remark in remarks] == [True] * (last == 300)


def test_a_damaged_copy_of_the_header_is_wrong(scan: Scan, edb: Edb) -> None:
    edb.flip(0, 9000)

    said = scan.json(edb.path)

    assert said.status == 1
    assert (said.object["header_ok"], said.object["shadow_header_ok"]) == (True, False)
    assert "header is damaged" in scan(edb.path).text


def test_bad_pages_are_listed_up_to_a_limit_and_then_counted(scan: Scan, edb: Edb) -> None:
    for number in range(1, 101, 2):
        edb.flip(number, 1000, 3000)

    few = scan.json("--list", "3", edb.path).object
    text = scan(edb.path).text
    none = scan("--list", "0", edb.path).text

    assert [bad["page_number"] for bad in few["bad_pages"]] == [1, 3, 5]
    assert (few["bad_pages_not_listed"], few["bad_checksums"]) == (47, 50)
    assert "and 30 more" in text
    assert text.count(": checksum") == 20
    assert "page 1" not in none
    assert "50 checksum" in none


@pytest.mark.parametrize(
    "option",
    [
        ["--rate", "fast"],
        ["--rate", "0"],
        ["--read-size", "1000"],
        ["--read-size", "1G"],
        ["--max-time", "soon"],
        ["--max-time", "0s"],
        ["--throttle-ms", "-1"],
        ["--list", "1001"],
    ],
    ids=" ".join,
)
def test_an_option_that_cannot_be_is_a_usage_error_in_one_line(
    option: list[str], edb: Edb, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["scan", *option, str(edb.path)])

    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_folders_are_searched_for_databases_by_their_content(
    scan: Scan, edb: Edb, tmp_path: Path
) -> None:
    deep = edb.path.parent / "a" / "b"
    deep.mkdir(parents=True)
    write_edb(deep / "store.dat", pages=20)
    (edb.path.parent / "edb00001.log").write_bytes(b"log" * 9000)
    os.mkfifo(edb.path.parent / "pipe")
    (edb.path.parent / "loop").symlink_to(edb.path.parent)
    (edb.path.parent / "again.edb").symlink_to(edb.path)
    os.link(edb.path, deep / "linked.edb")
    (edb.path.parent / "dead.edb").symlink_to(tmp_path / "nowhere")

    said = scan.json(edb.path.parent, edb.path, deep)

    assert (said.status, said.errors) == (0, [])
    assert sorted(found["pages_seen"] for found in said.objects) == [20, 300]


@pytest.mark.parametrize(
    "content", [b"", bytes(20_000), b"\xe5\x9a" * 9000], ids=["empty", "zeros", "?"]
)
def test_a_lost_database_of_a_folder_is_told(
    scan: Scan, edb: Edb, tmp_path: Path, content: bytes
) -> None:
    """A copy that was interrupted, or that somebody encrypted."""
    lost = edb.path.parent / "lost.edb"
    lost.write_bytes(content)
    (edb.path.parent / "access.edb").write_bytes(b"\0\1\0\0Standard Jet DB\0" + bytes(5000))
    (edb.path.parent / "other.dat").write_bytes(content)

    said = scan.json(edb.path.parent)

    assert (said.status, [found["path"] for found in said.objects]) == (1, [str(edb.path)])
    assert [str(lost) in line for line in said.errors if "Access database" not in line] == [True]
    assert scan(lost).status == 1


def test_a_temporary_database_is_one_line(scan: Scan, edb: Edb) -> None:
    edb.path.unlink()
    write_edb(edb.path.parent / "temp.edb", header={"state": 1}).flip(7, 999, 1001)

    said = scan.json(edb.path.parent)

    assert (said.status, said.objects) == (0, [])
    (line,) = said.errors
    assert "temp.edb: a temporary database" in line


def test_a_link_that_cannot_be_followed_keeps_nobody_from_the_others(
    scan: Scan, edb: Edb, tmp_path: Path
) -> None:
    link = edb.path.parent / "link.edb"
    link.symlink_to(tmp_path / ("x" * 300))

    for words in ([edb.path.parent], [link, edb.path]):
        said = scan.json(*words)

        assert said.object["path"] == str(edb.path)
        (error,) = said.errors
        assert f"{link}: cannot be opened: File name too long" in error


def test_a_database_whose_header_was_overwritten_is_found_in_a_folder(scan: Scan, edb: Edb) -> None:
    lost = write_edb(edb.path.parent / "lost.edb", pages=300)
    lost.write(-1, bytes(1 << 16))

    said = scan.json(edb.path.parent)
    text = scan(lost.path)

    assert (said.status, len(said.objects)) == (1, 2)
    (found,) = [each for each in said.objects if each["path"] == str(lost.path)]
    assert (found["header_ok"], found["shadow_header_ok"]) == (False, False)
    assert (found["pages_seen"], found["uninitialized_pages"]) == (300, 14)
    assert text.status == 1
    assert "BAD: all pages read are good, but the header and its shadow are damaged." in text.text


@pytest.mark.parametrize("left", [300, 20_000])
@pytest.mark.parametrize("state", [2, 3])
def test_a_copy_that_ends_within_its_header_is_not_left_out_of_a_folder(
    scan: Scan, edb: Edb, left: int, state: int
) -> None:
    cut = write_edb(edb.path.parent / "cut.edb", page_size=32768, header={"state": state})
    cut.cut(left)

    said = scan.json(edb.path.parent)
    text = scan(cut.path)

    assert (said.status, text.status) == (1, 1)
    (found,) = [each for each in said.objects if each["path"] == str(cut.path)]
    assert (found["page_size"], found["header_ok"], found["truncated"]) == (32768, False, 1)
    assert f"  note: the file ends after {left:,} bytes, within its header\n" in text.text
    assert "The file ends within its header, before the end of the database" in text.text
    assert "  BAD: 1 page is bad." in text.text


def test_an_unreadable_header_keeps_no_database_out_of_a_folder(
    scan: Scan, edb: Edb, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = DatabaseFile.read

    def read(self: DatabaseFile, offset: int, length: int) -> bytes:
        if offset < 4096:
            raise OSError(errno.EIO, "Input/output error")
        return whole(self, offset, length)

    monkeypatch.setattr(DatabaseFile, "read", read)

    said = scan.json(edb.path.parent)

    assert (said.status, said.errors) == (1, [])
    assert (said.object["header_ok"], said.object["pages_seen"]) == (False, 300)


def test_a_folder_without_a_database_is_told(scan: Scan, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "x.log").write_text("x")

    said = scan(tmp_path / "logs")

    assert (said.status, said.text) == (2, "")
    assert said.errors == [f"esewatch: {tmp_path}/logs: no ESE database in this folder or below it"]


def test_globs_and_names_with_brackets(scan: Scan, tmp_path: Path) -> None:
    for name in ("db[1].edb", "db1.edb", "db2.edb"):
        write_edb(tmp_path / name, pages=20)
    (tmp_path / "loop").symlink_to(tmp_path)

    def names(*patterns: str) -> list[str]:
        found = scan.json(*(tmp_path / pattern for pattern in patterns)).objects
        return sorted(Path(item["path"]).name for item in found)

    assert names("db[1].edb") == ["db[1].edb"]
    assert names("db[2].edb") == ["db2.edb"]
    assert names("*.edb", "db1.edb") == ["db1.edb", "db2.edb", "db[1].edb"]
    assert names("**/db?.edb") == ["db1.edb", "db2.edb"]
    assert scan(tmp_path / "*.mdb").status == 2


def test_what_cannot_be_scanned_is_one_line_and_the_others_go_on(
    scan: Scan, edb: Edb, tmp_path: Path
) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x"))
    unusable = [tmp_path / "a.gz", tmp_path / "gone.edb"]

    said = scan.json(*unusable, edb.path)

    assert said.status == 1
    assert said.object["path"] == str(edb.path)
    assert len(said.errors) == 2
    assert any("gzip" in line for line in said.errors)
    assert any("gone.edb: no such file" in line for line in said.errors)
    assert [scan(path, edb.path).status for path in unusable] == [1, 1]
    assert (scan(*unusable).status, scan(edb.path).status) == (2, 0)


def test_a_name_with_control_characters_does_not_reach_the_terminal(
    scan: Scan, tmp_path: Path
) -> None:
    write_edb(tmp_path / "a\x1b[2Jb.edb", pages=20)

    said = scan(tmp_path)

    assert said.status == 0
    assert "\x1b" not in said.text


def test_a_name_that_is_no_utf_8_is_scanned_and_told(scan: Scan, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.edb"))
    write_edb(path, pages=20)

    assert scan.json(tmp_path).object["path"] == f"{tmp_path}/\\udcff.edb"
    assert scan(tmp_path).status == 0


def test_a_scan_that_ran_out_of_time_goes_on_with_resume(scan: Scan, edb: Edb, state: Path) -> None:
    edb.flip(17, 12345)
    first = scan.json("--rate", "1M", "--read-size", "64K", "--max-time", "1s", edb.path)
    (kept,) = state.glob("*.json")
    second = scan.json("--resume", edb.path)

    assert first.status == 1
    assert (first.object["complete"], first.object["ended"]) == (False, "time")
    assert 0 < first.object["pages_seen"] < 300
    assert "time was up" in first.errors[0]
    assert "--resume" in first.errors[-1]
    assert (second.object["complete"], second.object["pages_seen"]) == (True, 300)
    assert second.object["correctable"] == 1
    assert not kept.exists()
    assert len(list(state.glob("*.last"))) == 1


def test_the_end_of_time_alone_is_no_fault(scan: Scan, edb: Edb) -> None:
    assert scan("--rate", "256K", "--max-time", "1s", edb.path).status == 0


def test_without_resume_the_scan_begins_anew(scan: Scan, edb: Edb, state: Path) -> None:
    scan("--rate", "1M", "--read-size", "64K", "--max-time", "1s", edb.path)
    assert scan.json(edb.path).object["bytes"] == 302 * 8192
    assert list(state.glob("*.json")) == []


def test_a_damaged_position_is_left_out_with_one_line(scan: Scan, edb: Edb, state: Path) -> None:
    scan("--rate", "1M", "--read-size", "64K", "--max-time", "1s", edb.path)
    (kept,) = state.glob("*.json")
    kept.write_bytes(b"{")

    said = scan.json("--resume", edb.path)

    assert (said.status, said.object["pages_seen"]) == (0, 300)
    assert len(said.errors) == 1
    assert "position" in said.errors[0]


def test_positions_that_cannot_be_kept_do_not_stop_the_scan(
    scan: Scan, edb: Edb, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")

    said = scan.json("--position-folder", tmp_path / "file" / "x", edb.path)

    assert (said.status, said.object["pages_seen"]) == (0, 300)
    assert len(said.errors) == 1
    assert "--position-folder" in said.errors[0]


def test_what_was_read_whole_longest_ago_comes_first(
    scan: Scan, tmp_path: Path, state: Path
) -> None:
    names = ["a.edb", "b.edb", "c.edb"]
    for age, name in enumerate(names):
        write_edb(tmp_path / name, pages=20)
        if name != "c.edb":
            Positions(state, print).complete(str(tmp_path / name), 1000.0 - age)

    found = scan.json(tmp_path / "*.edb").objects

    assert [Path(item["path"]).name for item in found] == ["c.edb", "b.edb", "a.edb"]


def test_unreadable_pages_are_bad_and_the_scan_goes_on(scan: Scan, edb: Edb, disk: Disk) -> None:
    disk.bad = {18 * 8192}

    said = scan.json(edb.path)
    text = scan(edb.path).text

    assert said.status == 1
    assert (said.object["unread_bytes"], said.object["pages_seen"]) == (8192, 299)
    assert "1 unreadable" in text


def test_a_device_that_vanishes_is_a_failure_with_what_was_read(
    scan: Scan, edb: Edb, disk: Disk
) -> None:
    disk.errno = errno.ENODEV
    disk.bad = set(range(1 << 20, 3 << 20, 4096))

    said = scan.json("--read-size", "64K", edb.path)

    assert said.status == 1
    assert (said.object["ended"], said.object["complete"]) == ("failed", False)
    assert any("disappeared" in line for line in said.errors)


def other_content(edb: Edb, disk: Disk, data: bytes) -> None:
    """Another content is written over the file when the scan is in the middle of it."""

    def write(offset: int) -> None:
        if offset >= 1 << 20:
            disk.before_read = lambda _offset: None
            edb.path.write_bytes(data)
            os.utime(edb.path, (1, 1))

    disk.before_read = write


def test_a_bad_page_counts_though_another_file_was_written_over_this_one(
    scan: Scan, edb: Edb, disk: Disk, tmp_path: Path
) -> None:
    edb.flip(17, 1000, 3000)
    other = write_edb(tmp_path / "other.edb", pages=100, seed=9, header={"signature_random": 9})
    other_content(edb, disk, other.path.read_bytes())

    said = scan("--read-size", "64K", edb.path)

    assert "BAD: " in said.text
    assert said.status == 1
    assert any("another file was written over it" in line for line in said.errors)


def test_a_file_that_is_emptied_while_it_is_read_is_not_to_be_gone_on_with(
    scan: Scan, edb: Edb, disk: Disk
) -> None:
    other_content(edb, disk, b"")

    said = scan("--read-size", "64K", edb.path)

    assert said.status == 1
    assert said.text.splitlines()[-1].strip() == (
        "NOT DONE: it was changed while it was read: the file is empty. No bad page so far."
    )
    assert "--resume" not in said.text + "".join(said.errors)


def test_a_file_that_fails_before_its_first_page_was_not_scanned(
    scan: Scan, edb: Edb, disk: Disk
) -> None:
    def vanish(offset: int) -> None:
        if offset:
            disk.bad = set(range(0, 3 << 20, 4096))

    disk.errno, disk.before_read = errno.ENODEV, vanish

    assert scan("--read-size", "64K", edb.path).status == 2


def test_a_pipe_that_nobody_reads_any_more_ends_the_scan(edb: Edb) -> None:
    write_edb(edb.path.parent / "a.edb", pages=20)
    read, write = os.pipe()
    os.close(read)
    done = run_scan("--rate", "64K", edb.path.parent, stdout=write)
    os.close(write)

    assert done.wait(PATIENCE) == 0
    assert done.stderr is not None
    assert b"Traceback" not in done.stderr.read()
    done.stderr.close()


def run_scan(
    *words: str | Path, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.esefiles.commands.one_disk", "scan", *map(str, words)],
        stdout=stdout,
        stderr=stderr,
        cwd=ROOT,
    )


def wait_for(path: Path, pattern: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while not list(path.glob(pattern)):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_position_and_ends_the_scan(
    number: signal.Signals, edb: Edb, state: Path
) -> None:
    process = run_scan("--rate", "256K", "--read-size", "64K", edb.path)
    wait_for(state, "*.json", process)
    process.send_signal(number)
    out, err = process.communicate(timeout=600)

    assert process.returncode == 128 + number
    assert b"--resume" in err
    assert b"Traceback" not in err
    assert b"NOT DONE" in out
    assert list(state.glob("*.json"))


def killed_until_done(edb: Edb, state: Path, kills: int) -> dict[str, Any]:
    """Kill a resumed scan so often, each time behind another place; then let it end."""
    # Slow: there is more to do than the kills take, whatever else the machine does.
    words = ["--format", "json", "--resume", "--rate", "512K", "--read-size", "64K", str(edb.path)]
    seen = b""
    for _ in range(kills):
        process = run_scan(*words)
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            now = b"".join(file.read_bytes() for file in state.glob("*.json"))
            if now not in (b"", seen):
                seen = now
                break
            time.sleep(0.01)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    words.remove("--rate")
    words.remove("512K")
    process = run_scan(*words)
    out, err = process.communicate(timeout=PATIENCE)
    assert err == b""
    found: dict[str, Any] = json.loads(out)
    return found


def check_kills(edb: Edb, state: Path, scan: Scan, kills: int) -> None:
    for number in range(7, edb.pages, 97):
        edb.flip(number, 1000, 3000)
    edb.flip(20, 12345)
    whole = scan.json(edb.path).object
    changing = ("seconds", "read_latency_seconds", "device")

    found = killed_until_done(edb, state, kills)

    for key in changing:
        found.pop(key, None)
        whole.pop(key, None)
    assert found == whole


def test_a_scan_killed_five_times_counts_every_page_once(
    edb: Edb, state: Path, scan: Scan, tmp_path: Path
) -> None:
    longer = write_edb(tmp_path / "long.edb", page_size=8192, pages=1500)
    check_kills(longer, state, scan, 5)


@pytest.mark.slow
def test_a_scan_killed_up_to_fifty_times_counts_every_page_once(
    state: Path, scan: Scan, tmp_path: Path
) -> None:
    kills = number_of(50, 20)
    longer = write_edb(tmp_path / "long.edb", page_size=8192, pages=240 * kills)
    check_kills(longer, state, scan, kills)
    record(
        "`kill -9` of a resumed scan, each time behind another place",
        f"{kills} kills, {longer.pages:,} pages and {len(range(7, longer.pages, 97)) + 1} bad "
        "ones, all counts and places as without a kill",
        COMMAND,
    )


def test_a_terminal_shows_a_bar_a_device(edb: Edb) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 100, 0, 0))
    process = run_scan("--rate", "2M", "--read-size", "64K", edb.path, stderr=theirs)
    os.close(theirs)
    shown = b""
    # At the end of the process Linux answers with an I/O error.
    with contextlib.suppress(OSError):
        while piece := os.read(ours, 4096):
            shown += piece
    out, _ = process.communicate(timeout=600)
    os.close(ours)

    assert process.returncode == 0
    assert b"GOOD" in out
    assert b"%" in shown
    assert b"B/s" in shown


def test_nothing_but_the_data_is_printed_into_pipes(edb: Edb) -> None:
    process = run_scan("--format", "json", edb.path)
    out, err = process.communicate(timeout=600)

    assert (process.returncode, err) == (0, b"")
    assert json.loads(out)["pages_seen"] == 300
