import errno
import json
import os
import re
import struct
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esefiles.pages.layout import PAGE_SIZES
from esewatch.cli import main
from tests.support.edb import CREATED, Value, log_position, sealed_header, write_edb
from tests.support.flush_maps import map_header, map_page
from tests.support.logs import SEGMENT, Log, attachment, checkpoint, flip

Captured = pytest.CaptureFixture[str]
ATTACHED = datetime(2018, 2, 3, 14, 41, 37, 597000, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esefiles.scans.reading.header_reading.PAUSES", ())


def rows(text: str) -> dict[str, str]:
    """The table as name -> value."""
    found = (re.match(r"  (\S.*?)  +(.*)", line) for line in text.splitlines())
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_healthy_database_is_a_table_and_status_0(
    tmp_path: Path, capsys: Captured, page_size: int
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=4)
    assert main(["header", str(edb.path)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{edb.path}\n")
    found = rows(out)
    assert found["State"] == "clean shutdown"
    assert found["Header, shadow"] == "ok, ok"
    assert found["Size"] == f"{6 * page_size:,} bytes, pages of {page_size:,}"
    assert found["Format"] == "0x620.20"
    assert found["Signature"] == "1a6c23df, created 2018-01-18 11:40:08 local"
    assert (found["Bad checksums"], found["Bits corrected"]) == ("none", "none")
    assert "Remark" not in found


def test_a_dirty_database_is_no_fault(tmp_path: Path, capsys: Captured) -> None:
    edb = write_edb(tmp_path / "a.edb", header={"state": 2, "required_first": 5})
    assert main(["header", str(edb.path)]) == 0
    assert rows(capsys.readouterr().out)["State"].startswith("dirty shutdown")


@pytest.mark.parametrize(
    ("field", "row", "status"),
    [
        ("bad_checksums", "Bad checksums", 1),
        ("correction_failed", "Corrections failed", 1),
        ("corrected", "Bits corrected", 0),
    ],
)
def test_pages_that_the_engine_could_not_mend_are_status_1(
    tmp_path: Path, capsys: Captured, field: str, row: str, status: int
) -> None:
    header: dict[str, Value] = {field: 3, f"{field}_time": ATTACHED, f"{field}_old": 4}
    edb = write_edb(tmp_path / "a.edb", header=header)
    assert main(["header", str(edb.path)]) == status
    shown = rows(capsys.readouterr().out)[row]
    assert shown == "3, last 2018-02-03 14:41:37 UTC (4 before the last repair)"


@pytest.mark.parametrize(("copy", "shown"), [(-1, "damaged, ok"), (0, "ok, damaged")])
def test_a_damaged_copy_is_told_and_status_1(
    tmp_path: Path, capsys: Captured, copy: int, shown: str
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=32768, pages=2)
    edb.flip(copy, 4000)
    assert main(["header", str(edb.path)]) == 1
    found = rows(capsys.readouterr().out)
    assert found["Header, shadow"] == shown
    assert "damaged" in found["Remark"]


def test_two_damaged_copies_are_shown_with_the_assumed_page_size(
    tmp_path: Path, capsys: Captured
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=16384, pages=2)
    edb.flip(-1, 4000)
    edb.flip(0, 4000)
    assert main(["header", "--format", "json", str(edb.path)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["header_ok"], found["shadow_header_ok"]) == (False, False)
    assert found["page_size"] == 16384
    assert found["remark"].endswith("a page size of 16384 is assumed")


@pytest.mark.parametrize("how", ["overwritten", "cut"])
def test_of_a_header_that_is_gone_nothing_is_told_as_if_it_were_known(
    tmp_path: Path, capsys: Captured, how: str
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=32768, pages=20)
    if how == "cut":
        edb.cut(300)
    else:
        edb.write(-1, bytes(1 << 16))
    assert main(["header", str(edb.path)]) == 1
    found = rows(capsys.readouterr().out)
    assert list(found) == ["Remark", "Header, shadow", "State", "Size"]
    assert (found["Header, shadow"], found["State"]) == ("damaged, damaged", "unknown")
    assert main(["header", "--format", "json", str(edb.path)]) == 1
    line = json.loads(capsys.readouterr().out)
    size = edb.path.stat().st_size
    known = {"path": str(edb.path), "bytes": size, "page_size": 32768, "state": "unknown"}
    known |= {"format": "unknown", "file_type": "unknown"}
    known |= {"header_ok": False, "shadow_header_ok": False, "remark": found["Remark"]}
    assert {name: of for name, of in line.items() if of is not None} == known
    assert {"bad_checksums", "last_object_id", "log_required", "attach"} < line.keys()


def test_json_has_every_field_and_says_which_times_are_local(
    tmp_path: Path, capsys: Captured
) -> None:
    edb = write_edb(
        tmp_path / "a.edb",
        page_size=8192,
        pages=3,
        header={
            "state": 2,
            "attach_time": ATTACHED,
            "attach_position": log_position(0x3C31, 2, 0x268),
            "required_first": 7,
            "required_last": 9,
            "full_backup_time": CREATED,
        },
    )
    assert main(["header", "--format", "json", str(edb.path)]) == 0
    found = json.loads(capsys.readouterr().out)
    nothing = {"count": 0, "last": None, "before_repair": 0}
    never = {"time": None, "position": None}
    assert found == {
        "path": str(edb.path),
        "bytes": 5 * 8192,
        "page_size": 8192,
        "format": "0x620.20",
        "version": 0x620,
        "update": 20,
        "minor_update": 0,
        "created_format": "",
        "file_type": "database",
        "state": "dirty",
        "header_ok": True,
        "shadow_header_ok": True,
        "remark": "",
        "signature": {
            "random": "1a6c23df",
            "created": "2018-01-18T11:40:08.886",
            "computer": "",
        },
        "log_signature": {
            "random": "0000004d",
            "created": "2018-01-18T11:40:08.886",
            "computer": "",
        },
        "dbtime": 13_607_731,
        "database_id": 1,
        "last_object_id": 9128,
        "os_version": "6.3.9600",
        "consistent": never,
        "attach": {
            "time": "2018-02-03T14:41:37.597Z",
            "position": {"generation": 0x3C31, "sector": 2, "byte": 0x268},
        },
        "reattach": never,
        "detach": never,
        "log_required": {"first": 7, "last": 9},
        "log_committed": 0,
        "log_recovering": 0,
        "max_required_created": None,
        "unfinished_backup": {"first": 0, "last": 0},
        "corrected": nothing,
        "correction_failed": nothing,
        "bad_checksums": nothing,
        "repairs": nothing,
        "reseeds": nothing,
        "patched_pages": nothing,
        "scan_finished": None,
        "scan_started": None,
        "scan_contiguous_page": 0,
        "scan_highest_page": 0,
        "scrub_time": None,
        "scrub_dbtime": 0,
        "full_backup": {
            "kind": "streaming",
            "time": "2018-01-18T11:40:08.886",
            "position": None,
            "logs": {"first": 0, "last": 0},
        },
        "incremental_backup": None,
        "copy_backup": None,
        "differential_backup": None,
    }


def test_what_is_no_database_is_named_and_the_others_are_shown(
    tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "empty.edb").write_bytes(b"")
    (tmp_path / "x.gz").write_bytes(b"\x1f\x8b\x08\0" + bytes(999))
    edb = write_edb(tmp_path / "a.edb", pages=2)
    named = [str(tmp_path / name) for name in ("empty.edb", "x.gz", "none.edb")]
    assert main(["header", *named, str(edb.path)]) == 1
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 3
    assert f"esewatch: {named[0]}: the file is empty" in lines
    assert f"esewatch: {named[1]}: not an ESE database but gzip data: unpack it first" in lines
    assert any(line.startswith(f"esewatch: {named[2]}: no such file") for line in lines)
    assert captured.out.startswith(str(edb.path))
    assert main(["header", *named]) == 2


def test_other_files_of_a_folder_are_left_out(tmp_path: Path, capsys: Captured) -> None:
    write_edb(tmp_path / "a.edb", pages=2)
    write_edb(tmp_path / "b.edb", pages=2)
    (tmp_path / "notes.txt").write_bytes(b"notes" * 2000)
    assert main(["header", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("clean shutdown") == 2
    assert f"\n\n{tmp_path}/b.edb\n" in captured.out


def test_a_folder_without_a_database_is_status_2(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "notes.txt").write_bytes(b"notes")
    assert main(["header", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"esewatch: {tmp_path}: no ESE database")


def test_a_glob_that_matches_nothing_is_status_2(tmp_path: Path, capsys: Captured) -> None:
    assert main(["header", str(tmp_path / "*.edb")]) == 2
    assert "no file matches" in capsys.readouterr().err


def test_a_folder_that_bars_a_glob_is_named_with_the_reason(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    real = os.scandir

    def failing(path: str) -> object:
        if path.endswith("one"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", failing)
    assert main(["header", str(tmp_path / "*" / "*.edb")]) == 2
    assert capsys.readouterr().err == f"esewatch: {tmp_path}/one: Input/output error\n"


def test_control_characters_of_the_data_do_not_reach_the_terminal(
    tmp_path: Path, capsys: Captured
) -> None:
    edb = write_edb(tmp_path / "a\x1b[31m.edb", header={"signature_computer": "EX\x1b[31m\n"})
    assert main(["header", str(edb.path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="other systems allow no such file names")
def test_a_name_that_is_no_utf_8_is_escaped_in_json(tmp_path: Path, capsys: Captured) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.edb"))
    write_edb(path)

    assert main(["header", "--format", "json", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == f"{tmp_path}/\\udcff.edb"


def test_every_kind_of_row_is_shown_where_the_header_has_it(
    tmp_path: Path, capsys: Captured
) -> None:
    edb = write_edb(
        tmp_path / "a.edb",
        header={
            "reattach_time": ATTACHED,
            "detach_time": CREATED,
            "detach_position": log_position(4, 5, 6),
            "committed_last": 11,
            "recovering_log": 10,
            "required_first": 9,
            "required_last": 10,
            "scan_started": ATTACHED,
            "scan_contiguous_page": 1234,
            "scrub_time": CREATED,
            "incremental_backup_time": CREATED,
            "incremental_backup_first": 3,
            "incremental_backup_last": 4,
            "minor_update": 240,
        },
    )
    assert main(["header", str(edb.path)]) == 0
    found = rows(capsys.readouterr().out)
    assert found["Format"] == "0x620.20.240"
    assert found["Last re-attach"] == "2018-02-03 14:41:37 UTC"
    assert found["Last detach"] == "2018-01-18 11:40:08 local at log 0x4,5,6"
    assert found["Logs required"] == "9-10 (0x9-0xa)"
    assert found["Logs committed to"] == "11 (0xb)"
    assert found["Log being replayed"] == "10 (0xa)"
    assert found["Scan finished"] == "never"
    assert found["Scan started"] == "2018-02-03 14:41:37 UTC, reached page 1,234 (highest 0)"
    assert found["Zeroed"] == "2018-01-18 11:40:08 local, dbtime 0"
    assert found["Incremental backup"] == (
        "2018-01-18 11:40:08 local, streaming, logs 3-4 (0x3-0x4)"
    )


def test_a_log_shows_its_series_and_its_place_in_it(tmp_path: Path, capsys: Captured) -> None:
    log = Log(0x2804C, attached=(attachment("e:\\priv06.edb"),))
    (tmp_path / "edb.log").write_bytes(log.data())
    assert main(["header", str(tmp_path / "edb.log")]) == 0
    found = rows(capsys.readouterr().out)
    assert found["Kind"] == "transaction log"
    assert found["Generation"] == "163916 (0x2804c)"
    assert found["Log signature"] == "0000004d, created 2018-01-18 11:40:08 local"
    assert found["Format"] == "8.4000.5.16"
    assert found["Size"] == "65,536 bytes, sectors of 4,096"
    assert found["Attached"] == "e:\\priv06.edb (database 1)"
    assert found["Circular logging"] == "on, on in older logs of the series"
    assert found["Previous checksum"] == "0x0000000000000000"
    assert found["Engine's format"] == "9180"
    assert (found["Folder"], found["Checkpoint's folder"]) == ("C:\\Logs\\", "C:\\Logs\\")
    assert found["Parameters"] == (
        "sessions 64, open tables 300, version pages 128, cursors 1,024, log buffers 126,"
        " log 16 sectors, cache 496 pages"
    )


def test_a_log_that_was_cut_is_status_1(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "edb.log").write_bytes(Log(5).data()[:32768])
    assert main(["header", str(tmp_path / "edb.log")]) == 1
    assert rows(capsys.readouterr().out)["Size"].endswith(": it was cut or extended")


def test_a_log_in_json_has_its_times_and_what_was_attached(
    tmp_path: Path, capsys: Captured
) -> None:
    log = Log(5, attached=(attachment("e:\\priv06.edb"),), previous_checksum=99)
    (tmp_path / "edb.log").write_bytes(log.data())
    assert main(["header", "--format", "json", str(tmp_path / "edb.log")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["file_type"], found["generation"]) == ("transaction_log", 5)
    assert found["created"] == "2026-03-01T02:05:00.000Z"
    assert found["previous_created"] == "2026-03-01T02:04:00.000Z"
    assert found["previous_checksum"] == 99
    assert (found["circular_before"], found["engine_format"]) == (True, 9180)
    assert found["parameters"]["cache_pages"] == 496
    assert [attached["path"] for attached in found["attachments"]] == ["e:\\priv06.edb"]


def test_a_checkpoint_shows_where_a_replay_begins(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "edb.chk"
    path.write_bytes(checkpoint(12, 34))
    assert main(["header", str(path)]) == 0
    assert rows(capsys.readouterr().out)["Checkpoint"] == "0xC,22,0"
    flip(path, 99)
    assert main(["header", str(path)]) == 1
    found = rows(capsys.readouterr().out)
    assert (found["Header, shadow"], found["Checkpoint"]) == ("damaged, ok", "0xC,22,0")


def test_a_flush_map_shows_whether_it_is_whole_and_of_which_database(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "priv06.jfm"
    path.write_bytes(map_header(clean=False, log_required=0x2804C) + map_page({1: 2}))
    assert main(["header", str(path)]) == 0
    found = rows(capsys.readouterr().out)
    assert found["Kind"] == "flush map"
    assert found["Completed"] == "no: it was in use"
    assert found["Format"] == "3.0.0"
    assert found["Size"] == "16,384 bytes, room for 32,512 pages"
    assert found["Log required"] == "163916 (0x2804c)"
    assert found["Attached"] == "never"
    assert found["Flush of database"].startswith("04030201")
    assert found["Flush of map"] == "none"


def test_a_flush_map_in_json(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "priv06.jfm"
    path.write_bytes(map_header() + map_page({1: 2}))
    assert main(["header", "--format", "json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["file_type"], found["bytes"]) == ("flush_map", 16384)
    assert (found["version"], found["clean"], found["log_required"]) == ("3.0.0", True, 0)
    assert found["database_flush"]["random"] == "04030201"


def with_a_flipped_byte(data: bytes, *places: int) -> bytes:
    flipped = bytearray(data)
    for at in places:
        flipped[at] ^= 0xFF
    return bytes(flipped)


WITHIN = "within its header"


@pytest.mark.parametrize(
    ("data", "reason", "status"),
    [
        (with_a_flipped_byte(map_header(), 99), "the header of the flush map is damaged", 1),
        (map_header()[:8000], "the flush map ends within its header", 1),
        (map_header()[:671], "the flush map ends within its header", 1),
        (map_header(version=(4, 0, 0)), "the flush map has version 4.0, which is not known", 2),
        (with_a_flipped_byte(Log(5).data(), 50), "its header is damaged (checksum)", 1),
        (Log(5).data()[:4000], f"it ends after 4000 bytes, {WITHIN}", 1),
        (with_a_flipped_byte(Log(5).data()[:900], 50), f"it ends after 900 bytes, {WITHIN}", 1),
        (with_a_flipped_byte(Log(5).data(), 3000), "its header is damaged (checksum)", 1),
        (bytes(8192), "not an ESE database: its first 8192 bytes are zero", 2),
        (checkpoint(5)[:99], "not an ESE database", 2),
        (checkpoint(5)[:3000], f"it ends after 3000 bytes, {WITHIN}", 1),
        (
            with_a_flipped_byte(checkpoint(5), 99, 4195),
            "both copies of the checkpoint are damaged (checksum)",
            1,
        ),
        (b"\x7fELF" + Log(5).data()[4:], "not an ESE database but a Linux program", 2),
        (b"\x7fELF" + Log(5).data()[4:4000], "not an ESE database but a Linux program", 2),
    ],
    ids=[
        "flush map", "cut flush map", "flush map cut behind its type", "newer flush map", "log",
        "cut log", "cut and damaged log", "log, behind its fields", "zeros", "cut before its type",
        "cut checkpoint", "checkpoint", "program", "short program",
    ],
)  # fmt: skip
def test_a_damaged_header_of_a_file_of_recovery_is_a_line_and_status_1(
    tmp_path: Path, capsys: Captured, data: bytes, reason: str, status: int
) -> None:
    path = tmp_path / "edb.log"
    path.write_bytes(data)
    assert main(["header", str(path)]) == status
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"esewatch: {path}: {reason}\n")


def test_a_file_that_is_nothing_is_no_damaged_header(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "a.txt").write_text("notes " * 200)
    (tmp_path / "edb.log").write_bytes(with_a_flipped_byte(Log(5).data(), 50))
    assert main(["header", str(tmp_path / "a.txt")]) == 2
    assert main(["header", str(tmp_path / "a.txt"), str(tmp_path / "edb.log")]) == 1
    assert capsys.readouterr().err.count("not an ESE database\n") == 2


def test_no_label_touches_its_value(tmp_path: Path, capsys: Captured) -> None:
    log = bytearray(Log(5).data())
    struct.pack_into("<Q", log, 640, log_position(1, 1, 0))
    (tmp_path / "edb.log").write_bytes(sealed_header(bytes(log[:SEGMENT])) + log[SEGMENT:])
    write_edb(tmp_path / "a.edb")
    (tmp_path / "edb.chk").write_bytes(checkpoint(12, 34))
    (tmp_path / "a.jfm").write_bytes(map_header())
    named = [str(tmp_path / name) for name in ("edb.log", "a.edb", "edb.chk", "a.jfm")]
    assert main(["header", *named]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = [line for line in lines if line.startswith("  ")]
    assert len(table) > 40
    assert {line[24:26].strip() for line in table} == {""}
    assert all(line[26] != " " for line in table)


@pytest.mark.skipif(sys.platform == "win32", reason="other systems allow no such file names")
def test_a_name_with_a_line_break_is_one_line_of_an_error(tmp_path: Path, capsys: Captured) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/z\xff\n.edb"))
    path.write_bytes(b"no database")
    assert main(["header", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"esewatch: {tmp_path}/z\\udcff\\n.edb: not an ESE database\n"
    )
