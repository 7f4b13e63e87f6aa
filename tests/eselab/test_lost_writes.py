"""Lost writes of the engine's disks, which no checksum shows, against what `esewatch check` says.

Verdicts are those of docs/check.md.
"""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from esefiles.pages.checksum import xor_checksum
from esefiles.scans.lost_writes import FLUSH_MAP, LostWrites, lost_writes
from eselab.disk.disk import RealDisk
from eselab.storage.store import Store
from esewatch.cli import main

Captured = pytest.CaptureFixture[str]
NAME, SIZE, PAGES, LOST = "priv1.edb", 8192, 40, 7


def fill(store: Store, value: int) -> None:
    """Change every page, and write all of them."""
    with store.begin() as transaction:
        for number in range(1, PAGES + 1):
            transaction.page(number)[200:900] = bytes([value]) * 700
    store.checkpoint()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("esefiles.scans.reading.header_reading.PAUSES", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = tmp_path / "copy"
    made.mkdir()
    return made


def written(folder: Path, *, lost: bool, closed: bool = True) -> Path:
    """A database of which the last writing of page LOST may never have come to the disk."""
    store = Store.create(
        RealDisk(folder), NAME, page_size=SIZE, cache_pages=3, now=1e9, chance=random.Random(1)
    )
    with store.begin() as transaction:
        transaction.extend(PAGES)
    database = folder / NAME
    fill(store, 1)
    old = database.read_bytes()[(LOST + 1) * SIZE : (LOST + 2) * SIZE]
    fill(store, 2)
    if closed:
        store.close(2e9)
    if lost:
        with database.open("r+b") as file:
            file.seek((LOST + 1) * SIZE)
            file.write(old)
    return database


def compared(database: Path) -> LostWrites:
    return lost_writes(str(database), str(database.with_suffix(FLUSH_MAP)))


def verdict(capsys: Captured, database: Path) -> dict[str, Any]:
    main(["check", "--format", "json", str(database)])
    told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[0])
    return told


def test_a_lost_write_of_a_closed_database_is_found(folder: Path, capsys: Captured) -> None:
    found = compared(written(folder, lost=True))
    assert (found.state, found.pages, found.compared) == ("compared", [LOST], PAGES)
    assert verdict(capsys, folder / NAME)["verdict"] == "not_restorable"


def test_where_nothing_was_lost_all_pages_are_as_the_map_says(
    folder: Path, capsys: Captured
) -> None:
    found = compared(written(folder, lost=False))
    assert (found.state, found.pages, found.compared) == ("compared", [], PAGES)
    assert verdict(capsys, folder / NAME)["verdict"] == "restorable"


def test_a_map_in_use_proves_nothing(folder: Path) -> None:
    database = written(folder, lost=True, closed=False)
    found = compared(database)
    assert (found.pages, found.undecided) == ([], 1)
    assert "the flush map was not completed" in found.reason


def test_a_map_of_another_time_says_nothing(folder: Path, tmp_path: Path, capsys: Captured) -> None:
    database = written(folder, lost=True)
    earlier = tmp_path / "earlier.jfm"
    shutil.copy(database.with_suffix(FLUSH_MAP), earlier)
    for _ in range(2):
        store = Store.open(RealDisk(folder), NAME, cache_pages=3, now=3e9)
        store.close(3e9)
    shutil.copy(earlier, database.with_suffix(FLUSH_MAP))
    found = compared(database)
    assert (found.state, found.pages) == ("unknown", [])
    assert "signatures differ" in found.reason
    assert verdict(capsys, database)["verdict"] == "restorable"


@pytest.mark.parametrize("damage", ["header", "cut", "page", "gone"])
def test_an_unusable_map_never_speaks_against_a_copy(
    folder: Path, capsys: Captured, damage: str
) -> None:
    database = written(folder, lost=True)
    path = database.with_suffix(FLUSH_MAP)
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(data[:5000])
    else:
        data[100 if damage == "header" else 8192 + 70] ^= 1
        path.write_bytes(data)
    assert verdict(capsys, database)["verdict"] == "restorable"
    store = Store.open(RealDisk(folder), NAME, cache_pages=3, now=3e9)
    assert store.check_pages(1, PAGES).troubles == []
    store.close(3e9)


def test_an_older_version_of_the_map_is_not_read(folder: Path) -> None:
    database = written(folder, lost=True)
    path = database.with_suffix(FLUSH_MAP)
    data = bytearray(path.read_bytes())
    data[4] = 2
    data[:4] = bytes(4)
    data[:4] = xor_checksum(bytes(data[:8192])).to_bytes(4, "little")
    path.write_bytes(data)
    assert "version 2.0" in compared(database).reason
