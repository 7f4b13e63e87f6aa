"""Damage x kind of file: the verdict on each copy (semantics.md, docs/check.md)."""

from collections.abc import Callable
from pathlib import Path

import pytest

import esefiles
from esefiles import page_scan
from tests.esefiles.commands.check.test_command import Copy
from tests.esefiles.commands.one_disk import OneDisk
from tests.support import ese_database, flush_maps
from tests.support.edb import write_edb

PAGE = 4096
RANDOM = bytes((7 * at * at + 3 * at) % 251 + 1 for at in range(20_000))

Damage = Callable[[Path], None]


def flip(*places: int) -> Damage:
    """One byte at each place."""

    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        for place in places:
            content[place] ^= 0xFF
        path.write_bytes(content)

    return damage


def cut(size: int) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:size])

    return damage


def filled(content: bytes) -> Damage:
    def damage(path: Path) -> None:
        path.write_bytes(content[: path.stat().st_size])

    return damage


def swapped(path: Path) -> None:
    """Pages 3 and 4 stand in each other's place: their checksums have their numbers in them."""
    content = path.read_bytes()
    three, four = content[4 * PAGE : 5 * PAGE], content[5 * PAGE : 6 * PAGE]
    path.write_bytes(content[: 4 * PAGE] + four + three + content[6 * PAGE :])


def one_bit(path: Path) -> None:
    """A bit of a page: the engine corrects it when it reads the page."""
    content = bytearray(path.read_bytes())
    content[5 * PAGE + 500] ^= 1
    path.write_bytes(content)


def gone(path: Path) -> None:
    path.unlink()


def clean(folder: Path) -> dict[str, Path]:
    """A database that was shut down."""
    return {"database": write_edb(folder / "a.edb", pages=20, page_size=PAGE).path}


def structured(folder: Path) -> dict[str, Path]:
    """The same with trees in it."""
    return {"database": ese_database.database(PAGE).write(folder / "a.edb")}


def dirty(folder: Path) -> dict[str, Path]:
    """A database that needs logs, which are beside it."""
    return {"database": Copy(folder / "copy").edb.path}


def mapped(folder: Path) -> dict[str, Path]:
    """A database beside its flush map."""
    types = dict.fromkeys(range(1, 9), 1)
    path = flush_maps.database(folder / "a.edb", types)
    beside = path.with_suffix(".jfm")
    beside.write_bytes(flush_maps.map_header() + flush_maps.map_page(types))
    return {"database": path, "flush map": beside}


def temporary(folder: Path) -> dict[str, Path]:
    path = folder / "temp.edb"
    write_edb(path, pages=20, header={"state": 1})
    return {"database": path}


HEADER, SHADOW, BODY = 100, PAGE + 100, 5 * PAGE + 500
OF_DATABASES: dict[str, tuple[Damage, str]] = {
    "none": (lambda _: None, "mounts"),
    "a byte of the header": (flip(HEADER), "unknown"),
    "a byte of the shadow header": (flip(SHADOW), "unknown"),
    "a byte of both": (flip(HEADER, SHADOW), "not_restorable"),
    "a byte of a page": (flip(BODY), "not_restorable"),
    "a bit of a page": (one_bit, "unknown"),
    "pages in each other's place": (swapped, "not_restorable"),
    "its end cut off": (cut(12 * PAGE), "not_restorable"),
    "cut within a page": (cut(12 * PAGE + 100), "not_restorable"),
    "cut behind the headers": (cut(2 * PAGE), "not_restorable"),
    "empty": (cut(0), "not_restorable"),
    "zeros": (filled(bytes(100 * PAGE)), "not_restorable"),
    "random bytes": (filled(RANDOM * 20), "not_restorable"),
    "gone": (gone, "failed"),
}
OTHERS: dict[str, Damage] = {
    "none": lambda _: None,
    "a byte": flip(5000),
    "empty": cut(0),
    "gone": gone,
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scan, "Topology", OneDisk)
    monkeypatch.setattr("esefiles.scans.reading.header_reading.PAUSES", ())


def verdict(path: Path) -> str:
    (copy,) = esefiles.check([str(path)])
    return copy.verdict.outcome if copy.verdict is not None else copy.file.ended


@pytest.mark.parametrize("damage", OF_DATABASES)
@pytest.mark.parametrize("kind", [clean, structured, dirty])
def test_a_damaged_database_has_the_verdict_of_its_damage(
    tmp_path: Path, kind: Callable[[Path], dict[str, Path]], damage: str
) -> None:
    harm, expected = OF_DATABASES[damage]
    if damage == "its end cut off" and kind is not structured:
        expected = "mounts"  # nothing in it says how long it was
    path = kind(tmp_path)["database"]
    harm(path)
    mounts = "replay_needed" if kind is dirty else "restorable"
    assert verdict(path) == (mounts if expected == "mounts" else expected)


@pytest.mark.parametrize("damage", OTHERS)
def test_a_damaged_flush_map_takes_nothing_from_its_database(tmp_path: Path, damage: str) -> None:
    files = mapped(tmp_path)
    OTHERS[damage](files["flush map"])
    assert verdict(files["database"]) == "restorable"


@pytest.mark.parametrize("damage", ["none", "a byte of a page", "zeros", "random bytes", "empty"])
def test_a_temporary_database_has_no_verdict(tmp_path: Path, damage: str) -> None:
    path = temporary(tmp_path)["database"]
    OF_DATABASES[damage][0](path)
    assert verdict(path) == "temporary"
