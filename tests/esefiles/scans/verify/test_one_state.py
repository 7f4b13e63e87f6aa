"""A verdict is on one state of a copy: what was exchanged or written to meanwhile has none."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from esefiles.scans.pace import Pace
from esefiles.scans.recovery.copy_verdict import check_copy
from esefiles.scans.recovery.log_folder import LogFolders
from esefiles.scans.recovery.log_verification import LogVerifier
from esefiles.scans.results import FileResult, Place, why_not_one_state
from esefiles.scans.verify.file_scan import ScanOptions, scan_file
from tests.esefiles.scans.scanning import scan
from tests.support.edb import write_edb

PAGES = 64


def outcome(result: FileResult) -> tuple[str, str]:
    logs = LogVerifier(LogFolders([str(Path(result.path).parent)]))
    verdict = check_copy(result, logs, Pace(), deep=False).verdict
    assert verdict is not None
    return verdict.outcome, verdict.reasons[0]


def half_read(path: Path) -> Place:
    steps = scan_file(str(path), ScanOptions(read_size=65536), Pace())
    places = [step.place for step in steps if step.place is not None]
    place = places[len(places) // 2]
    assert 0 < place.counts.pages_seen < PAGES
    return place


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(4096))


def overwrite(path: Path) -> None:
    data = path.read_bytes()
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, (1, 1))


def exchange(path: Path) -> None:
    shutil.copy2(path, path.with_suffix(".new"))
    path.with_suffix(".new").rename(path)


def cut(path: Path) -> None:
    os.truncate(path, 49 * 4096)


CHANGES = {
    exchange: "another file took its place while it was read",
    Path.unlink: "it was deleted or renamed while it was read",
    cut: "it shrank from 270336 to 200704 bytes while it was read",
}


def test_a_file_that_stays_as_it_is_has_a_verdict_in_one_run_or_two(tmp_path: Path) -> None:
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    assert outcome(scan(path).result)[0] == "restorable"
    assert outcome(scan(path, place=half_read(path)).result)[0] == "restorable"


@pytest.mark.parametrize("change", CHANGES, ids=[change.__name__ for change in CHANGES])
def test_a_file_that_is_not_there_any_more_is_not_read_on(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esefiles.scans.verify.file_scan.LOOK_SECONDS", 0.0)
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    result = None
    for number, step in enumerate(scan_file(str(path), ScanOptions(read_size=16384), Pace())):
        if number == 2:
            change(path)
        result = step.result
    assert result is not None
    assert result.place is not None
    assert (result.ended, result.reason) == ("failed", f"{path}: {CHANGES[change]}")
    assert result.place.counts.pages_seen < 20


@pytest.mark.parametrize("change", [append, overwrite])
def test_a_file_that_was_written_to_while_it_was_read_has_none(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    result = None
    for number, step in enumerate(scan_file(str(path), ScanOptions(read_size=65536), Pace())):
        if number == 2:
            change(path)
        result = step.result
    assert result is not None
    assert result.place is not None
    assert result.ended == "complete"
    assert why_not_one_state(result.place) == "it was written to meanwhile"
    assert outcome(result)[0] == "unknown"
    assert "it was written to meanwhile" in outcome(result)[1]


@pytest.mark.parametrize("change", [append, overwrite, exchange])
def test_a_pass_that_went_on_in_another_state_has_none(
    change: Callable[[Path], None], tmp_path: Path
) -> None:
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    place = half_read(path)
    change(path)
    done = scan(path, place=place)
    assert done.result.ended == "complete"
    assert outcome(done.result)[0] == "unknown"
    assert "between two parts of the pass" in outcome(done.result)[1]
    # It stays so, however often it goes on from there.
    assert scan(path, place=done.place).place.mixed


def test_a_position_of_an_earlier_version_is_gone_on_from_without_a_verdict(tmp_path: Path) -> None:
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    kept = msgspec.to_builtins(half_read(path))
    del kept["file_state"], kept["mixed"]
    place = msgspec.convert(kept, Place)
    done = scan(path, place=place)
    assert done.place.counts.pages_seen == PAGES
    assert outcome(done.result)[0] == "unknown"


@pytest.mark.parametrize("pages", [4, PAGES])
def test_another_database_that_was_written_over_it_is_not_this_one_verified(
    pages: int, tmp_path: Path
) -> None:
    path = write_edb(tmp_path / "a.edb", pages=PAGES).path
    other = write_edb(tmp_path / "b.edb", pages=pages, page_size=8192).path.read_bytes()
    result = None
    for number, step in enumerate(scan_file(str(path), ScanOptions(read_size=65536), Pace())):
        if number == 2:
            with path.open("r+b") as file:
                file.write(other)
                file.truncate(len(other))
            os.utime(path, (1, 1))
        result = step.result
    assert result is not None
    assert result.ended == "failed"
    assert result.reason == f"{path}: another file was written over it while it was read"
