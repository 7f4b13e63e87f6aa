"""A database beside its flush map: which writes were lost, and when that is not known."""

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from esefiles.pages.flush_map.map_header import MAP_PAGE, MapHeader, parse_map_header
from esefiles.scans import lost_writes as lost_writes_module
from esefiles.scans.lost_writes import LostWrites, lost_writes
from tests.esefiles.scans.faulty import disk_below
from tests.support.flush_maps import (
    OTHER,
    PAGES,
    SIGNATURE,
    UNSET,
    database,
    map_header,
    map_page,
    typed_page,
)
from tests.support.samples import sample

TYPES = {number: number % 3 + 1 for number in range(1, 15)}


def compared(
    folder: Path,
    of_map: Mapping[int, int],
    *,
    header: bytes | None = None,
    pages: bytes | None = None,
    page_size: int = 4096,
    **of_database: Any,
) -> LostWrites:
    edb = database(folder / "a.edb", TYPES, page_size=page_size, **of_database)
    jfm = folder / "a.jfm"
    jfm.write_bytes((header or map_header()) + (map_page(of_map) if pages is None else pages))
    return lost_writes(str(edb), str(jfm))


@pytest.mark.parametrize("page_size", [4096, 8192, 16384, 32768])
def test_a_page_of_an_older_writing_was_lost(tmp_path: Path, page_size: int) -> None:
    assert compared(tmp_path, TYPES, page_size=page_size).pages == []

    newer = {**TYPES, 4: TYPES[4] % 3 + 1, 9: TYPES[9] % 3 + 1}
    found = compared(tmp_path, newer, page_size=page_size)
    assert (found.state, found.pages, found.reason) == ("compared", [4, 9], "")
    assert found.compared == 14


def test_a_page_that_is_wanted_is_confirmed_where_it_is_as_the_map_says(tmp_path: Path) -> None:
    def confirmed(of_map: Mapping[int, int], header: bytes | None = None) -> list[int]:
        compared(tmp_path, of_map, header=header)
        edb, jfm = str(tmp_path / "a.edb"), str(tmp_path / "a.jfm")
        return lost_writes(edb, jfm, wanted=(4, 5, 9, 17, 99)).confirmed

    assert confirmed(TYPES) == [4, 5, 9]
    assert confirmed({**TYPES, 4: TYPES[4] % 3 + 1, 9: 0}) == [5]
    assert confirmed(TYPES, map_header(clean=False)) == []


def test_a_blank_page_that_was_written_was_lost(tmp_path: Path) -> None:
    assert compared(tmp_path, {**TYPES, 17: 2}).pages == [17]


def test_a_page_that_does_not_verify_is_left_to_the_scan(tmp_path: Path) -> None:
    compared(tmp_path, TYPES)
    with (tmp_path / "a.edb").open("r+b") as file:
        file.seek(5 * 4096 + 100)
        file.write(b"\1")
    (tmp_path / "a.jfm").write_bytes(map_header() + map_page({**TYPES, 4: TYPES[4] % 3 + 1}))

    assert lost_writes(str(tmp_path / "a.edb"), str(tmp_path / "a.jfm")).pages == []


@pytest.mark.parametrize("number", [5, 18])
def test_a_page_that_cannot_be_read_is_left_to_the_scan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    disk = disk_below(monkeypatch, lost_writes_module)
    disk.bad = {(number + 1) * 4096}

    found = compared(tmp_path, {**TYPES, 9: TYPES[9] % 3 + 1})

    assert (found.state, found.pages) == ("compared", [9])


def test_a_device_that_is_gone_proves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = disk_below(monkeypatch, lost_writes_module)
    disk.bad, disk.errno = {19 * 4096}, errno.ESTALE

    with pytest.raises(OSError, match="Input/output"):
        compared(tmp_path, TYPES)


def test_what_the_map_or_the_page_does_not_say_is_not_compared(tmp_path: Path) -> None:
    few = compared(tmp_path, {3: TYPES[3]})
    assert (few.pages, few.compared) == ([], 1)
    nothing = compared(tmp_path, {})
    assert (nothing.state, nothing.reason) == ("unknown", "the flush map knows of no page")


@pytest.mark.parametrize(
    ("header", "of_database", "sentence"),
    [
        (map_header(database_flush=OTHER), {}, "their signatures differ"),
        (map_header(database_flush=UNSET), {"database_flush": UNSET}, "their signatures differ"),
        (map_header(clean=False), {}, "no log brings it up to date"),
        (map_header(clean=False, log_required=4), {"required": 5}, "no log brings it up to date"),
        (map_header(clean=False, log_required=4), {"required": 0}, "no log brings it up to date"),
        (map_header(version=(2, 0, 0)), {}, "version 2.0, which is not known"),
        (map_header(version=(3, 1, 0)), {}, "version 3.1, which is not known"),
        (map_header(file_type=4), {}, "is not a flush map"),
        (map_header()[:-1] + b"\1", {}, "is damaged"),
        (map_header()[:500], {}, "ends within its header"),
    ],
)
def test_a_map_that_the_engine_would_drop_says_nothing(
    tmp_path: Path, header: bytes, of_database: dict[str, Any], sentence: str
) -> None:
    pages = b"" if len(header) < 8192 else None
    found = compared(tmp_path, {4: TYPES[4] % 3 + 1}, header=header, pages=pages, **of_database)

    assert (found.state, found.pages) == ("unknown", [])
    assert sentence in found.reason


@pytest.mark.parametrize(
    ("of_map", "of_database"),
    [
        ({"database_flush": OTHER, "map_flush": SIGNATURE}, {"map_flush": SIGNATURE}),
        ({"map_flush": OTHER}, {"map_flush": SIGNATURE}),
        ({"version": (3, 0, 7)}, {}),
    ],
)
def test_one_signature_that_agrees_is_enough(
    tmp_path: Path, of_map: dict[str, Any], of_database: dict[str, Any]
) -> None:
    header = map_header(**of_map)
    found = compared(tmp_path, {4: TYPES[4] % 3 + 1}, header=header, **of_database)
    assert found.pages == [4]


def test_pages_may_be_ahead_of_the_map_of_a_database_in_use(tmp_path: Path) -> None:
    header = map_header(clean=False, log_required=7)
    found = compared(tmp_path, {4: TYPES[4] % 3 + 1}, header=header, required=6, state=2)

    assert (found.state, found.pages, found.undecided) == ("compared", [], 1)
    assert "a lost write is not proven" in found.reason


def test_a_page_of_the_map_older_than_the_pages_says_nothing(tmp_path: Path) -> None:
    pages = map_page({**TYPES, 4: TYPES[4] % 3 + 1}, dbtime=4)
    found = compared(tmp_path, TYPES, pages=pages)
    assert (found.pages, found.undecided) == ([], 1)
    assert "older than the pages" in found.reason

    pages = map_page({**TYPES, 4: TYPES[4] % 3 + 1}, dbtime=5)
    assert compared(tmp_path, TYPES, pages=pages).pages == [4]


@pytest.mark.parametrize("pages", [b"", bytes(8192), map_page(TYPES)[:-1] + b"\1", b"\7" * 9])
def test_a_damaged_or_missing_page_of_the_map_says_nothing(tmp_path: Path, pages: bytes) -> None:
    found = compared(tmp_path, TYPES, pages=pages)
    assert (found.state, found.pages) == ("unknown", [])


def test_the_second_page_of_the_map_has_the_pages_behind_the_first(tmp_path: Path) -> None:
    edb = database(tmp_path / "a.edb", TYPES)
    number = PAGES + 3
    with edb.open("r+b") as file:
        file.seek((number + 1) * 4096)
        file.write(typed_page(4096, number, 1))
    pages = map_page(TYPES) + map_page({number: 2}, 1)
    (tmp_path / "a.jfm").write_bytes(map_header() + pages)

    found = lost_writes(str(edb), str(tmp_path / "a.jfm"))
    assert (found.pages, found.compared) == ([number], 15)


def test_a_file_that_is_no_database_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 9000)
    found = lost_writes(str(tmp_path / "a"), str(tmp_path / "a"))
    assert (found.state, found.reason) == ("unknown", "not an ESE database")


def test_the_map_of_a_real_instance_is_read(tmp_path: Path) -> None:
    """Its database is not there, so that another one is beside it."""
    real = sample("recovery/a-secedit.jfm")
    edb = database(tmp_path / "a.edb", TYPES)

    found = lost_writes(str(edb), str(real))
    assert "their signatures differ" in found.reason
    header = parse_map_header(real.read_bytes()[:MAP_PAGE])
    assert isinstance(header, MapHeader)
    assert (header.version, header.log_required) == ("3.0.0", 1)
    assert header.attached == header.created
    assert not header.clean
