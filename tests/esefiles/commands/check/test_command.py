import dataclasses
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from esefiles.scans.devices.device_lock import DeviceLock
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.recovery import backup_trailer as backup_trailer_module
from esewatch.cli import main
from tests.esefiles.commands.one_disk import OneDisk
from tests.esefiles.scans.faulty import disk_below
from tests.support.edb import (
    Edb,
    Value,
    backup_trailer,
    log_position,
    sealed_header,
    write_edb,
)
from tests.support.logs import (
    SEGMENT,
    Log,
    attachment,
    checkpoint,
    created,
    flip,
    series,
    write_logs,
)

Captured = pytest.CaptureFixture[str]
FIRST, LAST, COMMITTED, CURRENT = 10, 12, 13, 14


class Copy:
    """A dirty database that needs logs 10 to 12, with logs 9 to 14 and a checkpoint at log 9."""

    def __init__(self, folder: Path, header: dict[str, Value] | None = None) -> None:
        folder.mkdir()
        self.folder = folder
        dirty: dict[str, Value] = {
            "state": 2,
            "required_first": FIRST,
            "required_last": LAST,
            "committed_last": COMMITTED,
            "max_required_created": created(LAST),
            "attach_position": log_position(8, 2, 0),
        }
        self.edb: Edb = write_edb(folder / "a.edb", pages=20, header={**dirty, **(header or {})})
        self.logs = write_logs(folder, series(range(9, CURRENT + 1)))
        self.checkpoint = folder / "edb.chk"
        self.checkpoint.write_bytes(checkpoint(9))


def verdict(capsys: Captured, *paths: Path | str) -> dict[str, Any]:
    """The only object that `check` prints; the exit status is that of its verdict."""
    exit_status = main(["check", "--format", "json", *map(str, paths)])
    (line,) = capsys.readouterr().out.splitlines()
    found: dict[str, Any] = json.loads(line)
    mounts = found["verdict"] in ("restorable", "replay_needed")
    assert exit_status == (0 if mounts else 1)
    return found


def test_a_clean_database_needs_no_logs(tmp_path: Path, capsys: Captured) -> None:
    edb = write_edb(tmp_path / "a.edb")
    found = verdict(capsys, tmp_path)
    assert found["verdict"] == "restorable"
    assert (found["path"], found["state"], found["complete"]) == (str(edb.path), "clean", True)
    assert found["required_logs"] == {
        "first": 0,
        "last": 0,
        "committed": 0,
        "missing": [],
        "bad": [],
    }
    assert found["pages"]["pages_seen"] == 30
    assert found["structure"] == {"checked": False, "errors": []}
    assert found["lost_writes"] == []


def test_a_dirty_database_with_all_its_logs_needs_a_replay(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy")
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "replay_needed", found["reasons"]
    assert found["required_logs"] == {
        "first": 10,
        "last": 12,
        "committed": 13,
        "missing": [],
        "bad": [],
    }
    assert found["checkpoint"] == {"path": str(copy.checkpoint), "readable": True, "log": 9}
    assert found["log_folder"] == str(copy.folder)


@pytest.mark.skipif(sys.platform == "win32", reason="other systems allow no such file names")
def test_a_checkpoint_that_cannot_be_opened_in_a_folder_whose_name_is_no_text(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / os.fsdecode(b"c\xff"))
    copy.checkpoint.unlink()
    copy.checkpoint.symlink_to(copy.checkpoint.name)
    found = verdict(capsys, copy.folder)["checkpoint"]
    assert (found["readable"], "c\\udcff" in found["reason"]) == (False, True)


def test_the_text_says_what_json_says(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    assert main(["check", str(copy.folder)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"a.edb would mount.\n\n{copy.edb.path}\n")
    assert "  logs 9 to 14 in " in out
    assert out.endswith("  RESTORABLE: it mounts after a replay of its logs, which are all here.\n")
    copy.logs[11].unlink()
    assert main(["check", str(copy.folder)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("a.edb would not mount.\n")
    assert "Of the logs that are needed (10 to 12) log 11 is missing." in out
    assert out.endswith("  NOT RESTORABLE.\n")


def test_logs_and_a_checkpoint_with_the_newer_endings(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    for path in copy.logs.values():
        path.rename(path.with_suffix(".jtx"))
    newer = copy.checkpoint.rename(copy.folder / "edb.JCP")

    found = verdict(capsys, copy.folder)

    assert (found["verdict"], found["checkpoint"]["path"]) == ("replay_needed", str(newer))
    newer.write_bytes(checkpoint(LAST))
    assert verdict(capsys, copy.folder)["verdict"] == "unknown"
    # One of the older ending is of the time before the names were changed.
    copy.checkpoint.write_bytes(checkpoint(9))
    assert verdict(capsys, copy.folder)["checkpoint"]["path"] == str(newer)
    main(["check", str(copy.edb.path), str(newer)])
    assert "edb.JCP" not in capsys.readouterr().err


def test_a_checkpoint_of_the_newer_ending_does_not_belong_to_older_logs(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy")
    (copy.folder / "edb.jcp").write_bytes(checkpoint(LAST))

    assert verdict(capsys, copy.folder)["checkpoint"]["path"] == str(copy.checkpoint)


def remove(generation: int) -> Callable[[Copy], None]:
    return lambda copy: copy.logs[generation].unlink()


def bad_byte(generation: int, segment: int = 5, mask: int = 0xFF) -> Callable[[Copy], None]:
    return lambda copy: flip(copy.logs[generation], segment * SEGMENT + 99, mask)


def bad_at(*places: int) -> Callable[[Copy], None]:
    """Bytes of the database file."""
    return all_of(*(lambda copy, at=at: flip(copy.edb.path, at) for at in places))


def bad_checkpoint(*places: int) -> Callable[[Copy], None]:
    return all_of(*(lambda copy, at=at: flip(copy.checkpoint, at) for at in places))


def all_of(*steps: Callable[[Copy], object]) -> Callable[[Copy], None]:
    def do(copy: Copy) -> None:
        for step in steps:
            step(copy)

    return do


def cut(generation: int) -> Callable[[Copy], None]:
    def do(copy: Copy) -> None:
        data = copy.logs[generation].read_bytes()
        copy.logs[generation].write_bytes(data[:-SEGMENT])

    return do


def replace(generation: int, log: Log) -> Callable[[Copy], object]:
    return lambda copy: copy.logs[generation].write_bytes(log.data())


def other_content(generation: int) -> Callable[[Copy], object]:
    """Another history of the same generation: every checksum in it is right."""
    return replace(generation, Log(generation, content=1))


DAMAGE: dict[str, tuple[Callable[[Copy], object], str]] = {
    "nothing": (lambda _: None, "replay_needed"),
    "first required log gone": (remove(FIRST), "not_restorable"),
    "middle required log gone": (remove(11), "not_restorable"),
    "last required log gone": (remove(LAST), "not_restorable"),
    "committed log gone": (remove(COMMITTED), "loss"),
    "log behind the committed gone": (remove(CURRENT), "replay_needed"),
    "log below the required gone": (remove(9), "replay_needed"),
    "all logs gone": (all_of(*map(remove, range(9, CURRENT + 1))), "not_restorable"),
    "required log damaged": (bad_byte(11), "not_restorable"),
    "required log with one flipped bit": (bad_byte(11, mask=1), "unknown"),
    "header of a required log damaged": (lambda c: flip(c.logs[11], 50), "not_restorable"),
    "required log cut": (cut(11), "not_restorable"),
    "required log empty": (lambda c: c.logs[11].write_bytes(b""), "not_restorable"),
    "required log zeroed": (
        lambda c: c.logs[11].write_bytes(bytes(16 * SEGMENT)),
        "not_restorable",
    ),
    "required log of another series": (replace(11, Log(11, series=5)), "not_restorable"),
    "required log of another history": (other_content(11), "not_restorable"),
    "last required log of another history": (other_content(LAST), "not_restorable"),
    "required log is another generation": (replace(11, Log(10)), "not_restorable"),
    "committed log damaged": (bad_byte(COMMITTED), "loss"),
    "committed log with one flipped bit": (bad_byte(COMMITTED, mask=1), "unknown"),
    "current log damaged": (bad_byte(CURRENT), "loss"),
    "header of the current log damaged": (lambda c: flip(c.logs[CURRENT], 50), "loss"),
    "last write to the current log torn": (bad_byte(CURRENT, 13), "replay_needed"),
    "last write and its shadow damaged": (
        all_of(bad_byte(CURRENT, 13), bad_byte(CURRENT, 14)),
        "loss",
    ),
    "log below the required damaged": (bad_byte(9), "unknown"),
    "checkpoint gone": (lambda c: c.checkpoint.unlink(), "replay_needed"),
    "one copy of the checkpoint damaged": (bad_checkpoint(99), "replay_needed"),
    "checkpoint damaged": (
        bad_checkpoint(99, SEGMENT + 99),
        "replay_needed",
    ),
    "checkpoint of another series": (
        lambda c: c.checkpoint.write_bytes(checkpoint(12, series=5)),
        "replay_needed",
    ),
    "checkpoint behind the required logs": (
        lambda c: c.checkpoint.write_bytes(checkpoint(12)),
        "unknown",
    ),
    "page damaged": (lambda c: c.edb.flip(7, 999, 1001), "not_restorable"),
    "page with one flipped bit": (lambda c: c.edb.flip(7, 999), "unknown"),
    "wrong page": (lambda c: c.edb.misplace(7, 8), "not_restorable"),
    "database cut": (lambda c: c.edb.cut(12 * 4096 + 5), "not_restorable"),
    "header damaged": (bad_at(99), "unknown"),
    "shadow header damaged": (bad_at(4096 + 99), "unknown"),
    "header and shadow damaged": (
        bad_at(99, 4096 + 99),
        "not_restorable",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_each_kind_of_damage_has_its_verdict(tmp_path: Path, capsys: Captured, damage: str) -> None:
    copy = Copy(tmp_path / "copy")
    do, expected = DAMAGE[damage]
    do(copy)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == expected, found["reasons"]
    assert all(reason.endswith(".") for reason in found["reasons"])


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ({"state": 1}, "not_restorable"),
        ({"state": 4}, "not_restorable"),
        ({"state": 5}, "not_restorable"),
        ({"state": 6}, "not_restorable"),
        ({"state": 7}, "replay_needed"),
        ({"state": 8}, "not_restorable"),
        ({"state": 9}, "unknown"),
        ({"unfinished_backup_first": 10}, "backup_set"),
        ({"unfinished_backup_first": 10, "unfinished_backup_last": 12}, "replay_needed"),
        ({"required_first": 0, "required_last": 0, "committed_last": 0}, "unknown"),
        ({"committed_last": 20}, "loss"),
        ({"required_last": 20, "committed_last": 20}, "not_restorable"),
        ({"required_first": 8}, "not_restorable"),
        ({"required_first": 8, "state": 7}, "unknown"),
        ({"max_required_created": created(99)}, "not_restorable"),
        ({"max_required_created": None}, "replay_needed"),
        ({"log_signature_random": 5}, "not_restorable"),
        ({"attach_position": log_position(12, 15, 0)}, "not_restorable"),
        ({"required_last": 0xFFFFFFFF, "committed_last": 0xFFFFFFFF}, "not_restorable"),
    ],
)
def test_what_the_header_asks_for_decides(
    tmp_path: Path, capsys: Captured, header: dict[str, Value], expected: str
) -> None:
    copy = Copy(tmp_path / "copy", header)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == expected, found["reasons"]


OUT_OF_BACKUP: dict[str, Value] = {
    "unfinished_backup_position": log_position(10, 20, 300),
    "unfinished_backup_first": 10,
    "signature_random": 7,
}


def test_the_page_behind_the_last_one_says_which_logs_a_restore_needs(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy", OUT_OF_BACKUP)
    append(copy.edb.path, backup_trailer(copy.edb.read(-1), 10, 14))
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "backup_set", found["reasons"]
    assert found["reasons"][0].endswith("It needs logs 10 to 14 of that set.")


def test_a_restore_without_that_page_is_refused(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy", OUT_OF_BACKUP)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "backup_set", found["reasons"]
    assert "missing or damaged: a restore refuses the file" in found["reasons"][0]


@pytest.mark.parametrize("bits", [(9000, 9001, 9700), (9000,)], ids=["damaged", "one bit"])
def test_that_page_counts_as_missing_where_it_is_damaged(
    tmp_path: Path, capsys: Captured, bits: tuple[int, ...]
) -> None:
    copy = Copy(tmp_path / "copy", OUT_OF_BACKUP)
    append(copy.edb.path, backup_trailer(copy.edb.read(-1), 10, 14))
    copy.edb.flip(21, *bits)
    found = verdict(capsys, copy.folder)
    assert [bad["page_number"] for bad in found["pages"]["bad_pages"]] == [21]
    assert found["verdict"] == "backup_set", found["reasons"]
    assert "missing or damaged: a restore refuses the file" in found["reasons"][0]
    assert len(found["reasons"]) == 2, found["reasons"]

    copy.edb.flip(7, 999, 1001)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "not_restorable"
    assert found["reasons"][0].startswith("1 page is damaged and would be lost.")


def test_that_page_counts_as_missing_where_it_cannot_be_read(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy", OUT_OF_BACKUP)
    append(copy.edb.path, backup_trailer(copy.edb.read(-1), 10, 14))
    disk_below(monkeypatch, backup_trailer_module).bad = {copy.edb.path.stat().st_size - 1}
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "backup_set", found["reasons"]
    assert "missing or damaged: a restore refuses the file" in found["reasons"][0]


@pytest.mark.parametrize("at", [40, 60, 64, 92], ids=["begin", "logs", "database", "log series"])
def test_that_page_of_another_backup_is_no_backup_set(
    tmp_path: Path, capsys: Captured, at: int
) -> None:
    copy = Copy(tmp_path / "copy", OUT_OF_BACKUP)
    page = bytearray(backup_trailer(copy.edb.read(-1), 10, 14))
    page[at : at + 4] = bytes(4) if at == 60 else b"\x99\x99\x99\x99"
    append(copy.edb.path, sealed_header(bytes(page)))
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "not_restorable", found["reasons"]
    assert "belongs to another backup" in found["reasons"][0]


def append(path: Path, page: bytes) -> None:
    with path.open("ab") as file:
        file.write(page)


def test_missing_and_bad_logs_are_named(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[11].unlink()
    bad_byte(13)(copy)
    found = verdict(capsys, copy.folder)
    assert (found["required_logs"]["missing"], found["required_logs"]["bad"]) == ([11], [13])


def test_logs_may_stand_in_another_folder_that_is_named(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    logs = tmp_path / "logs"
    logs.mkdir()
    for path in copy.logs.values():
        path.rename(logs / path.name)
    assert verdict(capsys, copy.edb.path)["verdict"] == "not_restorable"
    assert verdict(capsys, copy.edb.path, logs)["verdict"] == "replay_needed"
    assert verdict(capsys, tmp_path)["verdict"] == "replay_needed"
    assert verdict(capsys, copy.edb.path, logs / "edb.log")["log_folder"] == str(logs)


def copy_beside_its_logs(root: Path) -> Copy:
    """Below `root` the folders `db` and `logs`."""
    root.mkdir()
    copy, logs = Copy(root / "db"), root / "logs"
    logs.mkdir()
    for path in [*copy.logs.values(), copy.checkpoint]:
        path.rename(logs / path.name)
    return copy


def test_a_glob_is_the_same_as_what_fits_it(tmp_path: Path, capsys: Captured) -> None:
    copy = copy_beside_its_logs(tmp_path / "root")

    named = verdict(capsys, copy.folder, tmp_path / "root" / "logs")

    assert named["verdict"] == "replay_needed"
    for glob in ("root/*", "root/**", "r*t/[dl]*", "root/*/*"):
        found = verdict(capsys, tmp_path / glob)
        assert (found["verdict"], found["log_folder"]) == ("replay_needed", named["log_folder"])


def test_a_glob_of_logs_is_the_same_as_their_names(tmp_path: Path, capsys: Captured) -> None:
    copy = copy_beside_its_logs(tmp_path / "root")

    found = verdict(capsys, copy.edb.path, tmp_path / "root" / "logs" / "*.log")

    assert found["verdict"] == "replay_needed"
    assert main(["check", str(tmp_path / "root" / "logs" / "*.log")]) == 2
    assert "no ESE database is named" in capsys.readouterr().err


def test_the_logs_of_another_copy_are_not_taken(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "root").mkdir()
    whole, holed = Copy(tmp_path / "root" / "whole"), Copy(tmp_path / "root" / "holed")
    holed.logs[11].unlink()
    assert main(["check", "--format", "json", str(tmp_path / "root")]) == 1
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    found = {line["path"]: line["verdict"] for line in lines}
    assert found == {
        str(whole.edb.path): "replay_needed",
        str(holed.edb.path): "not_restorable",
    }


def test_other_databases_of_the_same_logs_are_named(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    logs = series(range(9, 15))
    ours = attachment("e:\\a.edb")
    other = attachment("e:\\other.edb", number=2, signature_random=3)
    first = Log(9, attached=(ours, other))
    copy.logs[9].write_bytes(first.data())
    assert logs[0].checksum() == first.checksum()
    assert verdict(capsys, copy.folder)["same_logs"] == ["e:\\other.edb"]


def test_reserved_and_temporary_logs_and_foreign_files_do_no_harm(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy")
    (copy.folder / "edbtmp.log").write_bytes(bytes(16 * SEGMENT))
    (copy.folder / "edbres00001.jrs").write_bytes(bytes(16 * SEGMENT))
    (copy.folder / "setup.log").write_text("installed\n" * 1000)
    (copy.folder / "e00.log").write_bytes(Log(3, series=5).data())
    (copy.folder / f"edb{CURRENT + 1:05X}.log").mkdir()
    assert verdict(capsys, copy.folder)["verdict"] == "replay_needed"


def test_a_log_that_is_a_link_that_cannot_be_followed_is_bad(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[LAST].unlink()
    copy.logs[LAST].symlink_to("x" * 300)

    found = verdict(capsys, copy.edb.path)

    assert found["verdict"] == "not_restorable"
    assert "File name too long" in found["reasons"][0]


def without_permission(monkeypatch: pytest.MonkeyPatch, module: str, path: Path) -> None:
    """What root does not see: this file may not be read."""

    class Barred(DatabaseFile):
        def __init__(self, named: str, *, buffered: bool = False) -> None:
            if named == str(path):
                raise PermissionError(errno.EACCES, "Permission denied", named)
            super().__init__(named, buffered=buffered)

    monkeypatch.setattr(f"esefiles.{module}.DatabaseFile", Barred)


def without_listing(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What root does not see: this folder may not be listed."""
    real = os.scandir

    def barred(path: str) -> object:
        if path == str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", barred)


@pytest.mark.parametrize("named", ["root", "root/*", "root/db/a.edb root/logs"])
def test_logs_in_a_folder_that_may_not_be_listed_are_not_missing(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    copy_beside_its_logs(tmp_path / "root")
    without_listing(monkeypatch, tmp_path / "root" / "logs")

    found = verdict(capsys, *(tmp_path / name for name in named.split()))

    assert found["verdict"] == "unknown", found["reasons"]
    assert f"{tmp_path / 'root' / 'logs'}: no permission to read it" in found["reasons"][0]


def test_a_glob_that_a_folder_bars_leaves_it_open_whether_logs_are_there(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = copy_beside_its_logs(tmp_path / "root")
    without_listing(monkeypatch, tmp_path / "root" / "logs")

    found = verdict(capsys, copy.edb.path, tmp_path / "root" / "logs" / "*.log")

    assert found["verdict"] == "unknown", found["reasons"]


def test_a_folder_that_may_not_be_listed_may_have_the_log_that_is_missing(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root").mkdir()
    copy = Copy(tmp_path / "root" / "copy")
    inner = copy.folder / "logs"
    inner.mkdir()
    without_listing(monkeypatch, inner)
    # What is here suffices, whatever is there.
    assert main(["check", str(copy.edb.path), str(inner)]) == 1
    assert "RESTORABLE: it mounts after a replay" in capsys.readouterr().out

    logs = tmp_path / "root" / "logs"
    logs.mkdir()
    for number, path in copy.logs.items():
        path.rename(logs / path.name)
        if number == 11:
            (logs / path.name).unlink()
    found = verdict(capsys, copy.edb.path, inner, logs)
    assert (found["verdict"], found["required_logs"]["missing"]) == ("unknown", [11])
    assert found["reasons"][0].startswith("Its logs may be in a folder that cannot be searched: ")

    # Those of a folder further away would not be taken.
    monkeypatch.undo()
    without_listing(monkeypatch, tmp_path / "far" / "away")
    assert verdict(capsys, copy.edb.path, tmp_path / "far" / "away", logs)["verdict"] == (
        "not_restorable"
    )


def test_a_folder_that_may_not_be_listed_keeps_no_other_database_from_its_verdict(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, clean = Copy(tmp_path / "copy"), tmp_path / "clean"
    clean.mkdir()
    edb = write_edb(clean / "b.edb")
    without_listing(monkeypatch, copy.folder)

    assert main(["check", "--format", "json", str(copy.edb.path), str(edb.path)]) == 1

    lines = map(json.loads, capsys.readouterr().out.splitlines())
    found = {line["path"]: line["verdict"] for line in lines}
    assert found == {str(copy.edb.path): "unknown", str(edb.path): "restorable"}


def test_a_checkpoint_without_permission_to_read_it_leaves_the_verdict_open(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy")
    without_permission(monkeypatch, "scans.recovery.log_folder", copy.checkpoint)

    found = verdict(capsys, copy.edb.path)

    assert found["verdict"] == "unknown"
    assert found["checkpoint"]["readable"] is False
    assert f"{copy.checkpoint}: no permission to read it" in found["reasons"][0]


def test_a_log_without_permission_to_read_it_may_be_good(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy")
    without_permission(monkeypatch, "scans.recovery.log_folder", copy.logs[LAST])

    found = verdict(capsys, copy.edb.path)

    assert (found["verdict"], found["required_logs"]["bad"]) == ("unknown", [])
    assert f"{copy.logs[LAST]}: no permission to read it" in found["reasons"][0]


def test_a_log_that_was_not_read_is_not_counted_as_read(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy")
    bad_byte(COMMITTED)(copy)
    line = f"  logs 9 to 14 in {copy.folder}: "
    main(["check", str(copy.edb.path)])
    assert f"{line}6 read, 1 bad\n" in capsys.readouterr().out

    without_permission(monkeypatch, "scans.recovery.log_folder", copy.logs[LAST])
    main(["check", str(copy.edb.path)])
    assert f"{line}5 read, 1 bad, 1 not read\n" in capsys.readouterr().out

    monkeypatch.undo()
    without_permission(monkeypatch, "scans.recovery.log_reader", copy.logs[LAST])
    main(["check", str(copy.edb.path)])
    assert f"{line}5 read, 1 bad, 1 not read\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bad", "said"), [([8], "log 8 is missing or damaged"), ([8, 9], "logs 8, 9 are missing or")]
)
def test_logs_that_a_replay_begins_with_and_needs_not_are_named(
    tmp_path: Path, capsys: Captured, bad: list[int], said: str
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs |= write_logs(copy.folder, series(range(8, CURRENT + 1)))
    copy.checkpoint.write_bytes(checkpoint(8))
    for number in bad:
        bad_byte(number)(copy)

    (reason, *_) = verdict(capsys, copy.folder)["reasons"]

    assert reason.startswith(f"A replay begins at log 8, and {said}")


def test_logs_none_of_which_may_be_read_are_not_missing(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(tmp_path / "copy")
    for number, log in copy.logs.items():
        if number != LAST:
            log.unlink()
    without_permission(monkeypatch, "scans.recovery.log_folder", copy.logs[LAST])

    found = verdict(capsys, copy.edb.path)

    assert found["required_logs"]["missing"] == [10, 11, 13]
    assert found["required_logs"]["bad"] == []


def test_a_flush_map_without_permission_proves_nothing_and_is_no_error(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    edb = write_edb(tmp_path / "a.edb")
    flush_map = tmp_path / "a.jfm"
    flush_map.write_bytes(bytes(8192))
    without_permission(monkeypatch, "scans.lost_writes", flush_map)

    found = verdict(capsys, edb.path)

    assert (found["verdict"], found["flush_map"]["state"]) == ("restorable", "unknown")
    assert "no permission to read it" in found["flush_map"]["reason"]


@pytest.mark.parametrize("left", [300, 20_000])
@pytest.mark.parametrize("options", [[], ["--deep"]], ids=["", "deep"])
def test_a_copy_that_ends_within_its_header_has_its_verdict(
    tmp_path: Path, capsys: Captured, left: int, options: list[str]
) -> None:
    write_edb(tmp_path / "cut.edb", page_size=32768).cut(left)

    found = verdict(capsys, *options, tmp_path)

    assert found["verdict"] == "not_restorable"
    ends = "The file ends within its header, before the end of the database. Copy it again."
    assert ends in found["reasons"]


def test_without_a_current_log_it_says_how_to_begin(tmp_path: Path, capsys: Captured) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[CURRENT].unlink()
    found = verdict(capsys, copy.folder)
    assert any("There is no edb.log" in reason for reason in found["reasons"])


@pytest.mark.parametrize(
    "version", [(8, 4000, 140, 300), (9, 4000, 0, 0), (7, 3704, 17, 0), (6, 1503, 0, 0)], ids=str
)
def test_a_format_whose_records_are_not_read_is_unknown(
    tmp_path: Path, capsys: Captured, version: tuple[int, int, int, int]
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[11].write_bytes(Log(11, version=version).data())
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == "unknown"
    assert any(reason.startswith("Log 11: ") for reason in found["reasons"])


@pytest.mark.parametrize("version", [(8, 4000, 90, 200), (8, 4000, 130, 280)], ids=str)
def test_logs_of_today_have_a_verdict(
    tmp_path: Path, capsys: Captured, version: tuple[int, int, int, int]
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[11].write_bytes(dataclasses.replace(series(range(9, 15))[2], version=version).data())
    assert verdict(capsys, copy.folder)["verdict"] == "replay_needed"
    bad_byte(11)(copy)
    assert verdict(capsys, copy.folder)["verdict"] == "not_restorable"


@pytest.mark.parametrize(
    ("damage", "expected", "said"),
    [
        (lambda _: None, "unknown", "read as 8.130, nothing is wrong"),
        (bad_byte(11), "unknown", "read as 8.130, segment 5 at byte 20480 is damaged"),
        (lambda copy: flip(copy.logs[11], 50), "not_restorable", "header is damaged"),
        (cut(11), "not_restorable", "bytes, its header says"),
    ],
    ids=["good", "segment", "header", "cut"],
)
def test_a_newer_log_is_bad_where_no_version_makes_it_good(
    tmp_path: Path,
    capsys: Captured,
    damage: Callable[[Copy], None],
    expected: str,
    said: str,
) -> None:
    copy = Copy(tmp_path / "copy")
    copy.logs[11].write_bytes(Log(11, version=(8, 4000, 140, 300)).data())
    damage(copy)
    found = verdict(capsys, copy.folder)
    assert found["verdict"] == expected
    assert any(said in reason for reason in found["reasons"]), found["reasons"]


@pytest.mark.parametrize("name", ["nothing-here", "edb.log"])
def test_what_is_no_database_is_status_2(tmp_path: Path, capsys: Captured, name: str) -> None:
    (tmp_path / "edb.log").write_bytes(Log(3).data())
    assert main(["check", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_what_stops_halfway_is_unknown_and_goes_on_with_resume(
    tmp_path: Path, capsys: Captured
) -> None:
    copy = Copy(tmp_path / "copy")
    found = verdict(
        capsys, "--max-time", "1s", "--throttle-ms", "300", "--read-size", "4K", copy.folder
    )
    assert (found["verdict"], found["complete"]) == ("unknown", False)
    found = verdict(capsys, "--resume", copy.folder)
    assert (found["verdict"], found["complete"]) == ("replay_needed", True)


def test_a_database_that_was_not_begun_in_time_is_no_good_news(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, disk = str(write_edb(tmp_path / "a.edb").path), OneDisk()
    monkeypatch.setattr("esefiles.page_scan.Topology", lambda: disk)
    (device,) = disk.devices_of(path)
    of_another_scan = DeviceLock(device)
    assert of_another_scan.acquire()
    try:
        status = main(["check", "--max-time", "1s", path])
    finally:
        of_another_scan.release()
    assert (status, capsys.readouterr().out) == (1, "")


def test_a_lost_database_of_a_folder_is_judged(tmp_path: Path, capsys: Captured) -> None:
    """Of four databases one was copied in part, one is encrypted, one is empty."""
    write_edb(tmp_path / "priv06.edb")
    (tmp_path / "priv05.edb").write_bytes(bytes(1 << 16))
    (tmp_path / "priv07.edb").write_bytes(b"\xe5\x9a\x01" * 20_000)
    (tmp_path / "priv08.edb").write_bytes(b"")
    (tmp_path / "notes.edb").write_bytes(b"SQLite format 3\0" + bytes(5000))
    (tmp_path / "photo.dat").write_bytes(bytes(1 << 16))

    assert main(["check", "--format", "json", str(tmp_path)]) == 1
    told = capsys.readouterr()
    found = {Path(each["path"]).name: each for each in map(json.loads, told.out.splitlines())}
    verdicts = {name: each["verdict"] for name, each in found.items()}
    lost = dict.fromkeys(("priv05.edb", "priv07.edb", "priv08.edb"), "not_restorable")
    assert verdicts == {"priv06.edb": "restorable", **lost}
    assert found["priv05.edb"]["reasons"] == [
        "Its first 65536 bytes are zero: nothing of a database is in it. Take another copy."
    ]
    assert (
        told.err == f"esewatch: {tmp_path}/notes.edb: not an ESE database but a SQLite database\n"
    )

    assert main(["check", str(tmp_path)]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == "3 of 4 databases would not mount: priv05.edb, priv07.edb, priv08.edb."


def test_where_some_have_no_verdict_the_first_line_does_not_speak_of_all(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        write_edb(tmp_path / f"{name}.edb")
    without_permission(monkeypatch, "scans.verify.file_scan", tmp_path / "c.edb")
    rest = "Others have no verdict: the lines on standard error say why."

    assert main(["check", *(str(tmp_path / f"{name}.edb") for name in ("a", "b", "c"))]) == 1
    assert capsys.readouterr().out.startswith(f"2 databases would mount. {rest}\n")
    assert main(["check", str(tmp_path / "a.edb"), str(tmp_path / "nowhere.edb")]) == 1
    assert capsys.readouterr().out.startswith(f"a.edb would mount. {rest}\n")
    (tmp_path / "b.edb").write_bytes(b"")
    assert main(["check", *(str(tmp_path / f"{name}.edb") for name in ("a", "b", "c"))]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first == f"1 of 2 databases would not mount: b.edb. {rest}"


@pytest.mark.parametrize("ending", [".mdb", ".dat"])
@pytest.mark.parametrize("beside", ["flush map", "log", "checkpoint", "nothing"])
def test_a_name_that_much_else_has_is_a_database_where_something_beside_it_says_so(
    tmp_path: Path, capsys: Captured, ending: str, beside: str
) -> None:
    copy = Copy(tmp_path / "copy")
    (copy.folder / f"Store{ending}").write_bytes(bytes(1 << 16))
    entry = attachment(f"C:\\data\\STORE{ending.upper()}")
    if beside == "flush map":
        (copy.folder / "store.jfm").write_bytes(bytes(8192))
    elif beside == "log":
        copy.logs[CURRENT].write_bytes(
            dataclasses.replace(series(range(9, 15))[5], attached=(entry,)).data()
        )
    elif beside == "checkpoint":
        (copy.folder / "store.chk").write_bytes(b"damaged")
    main(["check", "--format", "json", str(copy.folder)])
    found = {
        Path(each["path"]).name for each in map(json.loads, capsys.readouterr().out.splitlines())
    }
    assert found == {"a.edb"} | ({f"Store{ending}"} if beside != "nothing" else set())


def test_a_temporary_database_has_no_verdict(tmp_path: Path, capsys: Captured) -> None:
    write_edb(tmp_path / "a.edb")
    write_edb(tmp_path / "temp.edb", header={"state": 1}).flip(7, 999, 1001)
    assert verdict(capsys, tmp_path)["path"] == str(tmp_path / "a.edb")
    write_edb(tmp_path / "b.edb", header={"state": 1})
    assert main(["check", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("1 of 2 databases would not mount: b.edb.\n")


def test_what_is_replaced_while_it_is_read_has_one_line_and_no_verdict(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esefiles.scans.verify.file_scan.LOOK_SECONDS", 0.0)
    edb, other = write_edb(tmp_path / "a.edb", pages=64), write_edb(tmp_path / "b.bin", pages=64)

    class Exchanged(DatabaseFile):
        def read_into(self, buffer: memoryview, offset: int) -> int:
            if offset > 1 << 16 and other.path.exists():
                other.path.replace(edb.path)
            return super().read_into(buffer, offset)

    monkeypatch.setattr("esefiles.scans.verify.file_scan.DatabaseFile", Exchanged)
    assert main(["check", "--read-size", "16K", str(edb.path)]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        f"esewatch: {edb.path}: another file took its place while it was read\n",
    )


def test_logs_elsewhere_are_named_by_an_option(tmp_path: Path, capsys: Captured) -> None:
    copy = copy_beside_its_logs(tmp_path / "root")
    write_edb(tmp_path / "root" / "logs" / "other.edb")
    options = ("--logs", str(tmp_path / "root" / "logs"))
    assert verdict(capsys, *options, copy.edb.path)["verdict"] == "replay_needed"
    assert main(["check", "--logs", str(tmp_path / "none"), str(copy.edb.path)]) == 1
    assert "none: no such file or folder" in capsys.readouterr().err
