from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from esefiles.pages.header import Header, NotDatabase
from esefiles.pages.layout import PAGE_SIZES
from esefiles.scans.reading.header_reading import PAUSES, read_header
from esefiles.scans.reading.reading import DatabaseFile
from tests.support.edb import header_page, page, write_edb
from tests.support.flush_maps import map_header, map_page


@contextmanager
def opened(path: Path) -> Iterator[DatabaseFile]:
    file = DatabaseFile(str(path))
    try:
        yield file
    finally:
        file.close()


def torn(page_size: int, dbtime: int) -> bytes:
    """The first sector of a header whose other sectors are those of an older one."""
    return header_page(page_size, dbtime=dbtime, scan_highest_page=5)[:512]


def test_a_good_header_is_read_once(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=16384, pages=2)
    slept: list[float] = []
    with opened(edb.path) as file:
        found = read_header(file, sleep=slept.append)
    assert isinstance(found, Header)
    assert (found.page_size, found.remark) == (16384, "")
    assert slept == []


def test_a_torn_header_is_read_again_until_it_is_whole(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=8192)
    edb.write(-1, torn(8192, 0))
    slept: list[float] = []

    def engine_goes_on(pause: float) -> None:
        slept.append(pause)
        if len(slept) < 6:
            edb.write(-1, torn(8192, len(slept)))
        if len(slept) == 6:
            edb.write(-1, header_page(8192, dbtime=1 << 40))
        if len(slept) == 7:
            edb.write(0, header_page(8192, dbtime=1 << 40))

    with opened(edb.path) as file:
        found = read_header(file, sleep=engine_goes_on)
    assert isinstance(found, Header)
    assert (found.header_ok, found.remark, found.dbtime) == (True, "", 1 << 40)
    assert tuple(slept) == PAUSES[:7]


def test_a_header_that_stays_bad_is_bad(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb")
    edb.flip(-1, 900)
    slept: list[float] = []
    with opened(edb.path) as file:
        found = read_header(file, sleep=slept.append)
    assert isinstance(found, Header)
    assert (found.header_ok, found.shadow_header_ok) == (False, True)
    assert tuple(slept) == PAUSES[:3]


def test_a_header_that_is_written_without_end_is_read_a_few_times_only(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=8192)
    edb.write(-1, torn(8192, 0))
    slept: list[float] = []

    def engine_goes_on(pause: float) -> None:
        slept.append(pause)
        edb.write(-1, torn(8192, len(slept)))

    with opened(edb.path) as file:
        found = read_header(file, sleep=engine_goes_on)
    assert isinstance(found, Header)
    assert found.header_ok is False
    assert tuple(slept) == PAUSES


def test_what_is_no_database_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"SQLite format 3\0" + bytes(5000))
    slept: list[float] = []
    with opened(path) as file:
        found = read_header(file, sleep=slept.append)
    assert found == NotDatabase("not an ESE database but a SQLite database")
    assert slept == []


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("content", [bytes(1 << 16), b"not a header " * 5000], ids=["0", "text"])
def test_pages_without_a_header_are_those_of_a_database_that_lost_it(
    tmp_path: Path, page_size: int, content: bytes
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=60)
    edb.write(-1, content)
    with opened(edb.path) as file:
        found = read_header(file)
    assert isinstance(found, Header)
    assert (found.page_size, found.header_ok, found.shadow_header_ok) == (page_size, False, False)
    assert found.remark == (
        f"the header and its shadow were overwritten; pages of {page_size} bytes stand behind them"
    )


@pytest.mark.parametrize(
    "content",
    [
        map_header()[:100] + bytes(8092) + map_page({1: 1}),
        header_page(4096, file_type=5) * 2 + b"".join(page(4096, at) for at in range(1, 20)),
        bytes(1 << 20),
    ],
    ids=["flush map", "temporary database", "zeros"],
)
def test_pages_of_other_files_of_the_engine_are_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with opened(path) as file:
        assert isinstance(read_header(file), NotDatabase)


def fails_at(monkeypatch: pytest.MonkeyPatch, first: int, end: int) -> None:
    whole = DatabaseFile.read

    def read(self: DatabaseFile, offset: int, length: int) -> bytes:
        if offset < end and offset + length > first:
            raise OSError(5, "Input/output error")
        return whole(self, offset, length)

    monkeypatch.setattr(DatabaseFile, "read", read)


@pytest.mark.parametrize("pages", [1, 30])
def test_a_header_that_the_disk_does_not_give_is_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=8192, pages=pages)
    fails_at(monkeypatch, 4096, 4097)
    with opened(edb.path) as file:
        found = read_header(file, sleep=lambda _: None)
    assert isinstance(found, Header)
    # What lies at 4096 of this header is zeros, as an unread piece counts.
    assert (found.header_ok, found.shadow_header_ok) == (True, True)
    monkeypatch.undo()
    fails_at(monkeypatch, 0, 4096)
    with opened(edb.path) as file:
        found = read_header(file, sleep=lambda _: None)
    assert isinstance(found, Header)
    assert (found.header_ok, found.shadow_header_ok) == (False, True)


def test_a_file_of_which_nothing_can_be_read_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edb = write_edb(tmp_path / "a.edb")
    fails_at(monkeypatch, 0, 1 << 30)
    with opened(edb.path) as file, pytest.raises(OSError, match="Input/output"):
        read_header(file, sleep=lambda _: None)


def test_a_file_whose_headers_the_disk_does_not_give_is_not_called_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=4096, pages=300)
    fails_at(monkeypatch, 0, 8192)
    with opened(edb.path) as file, pytest.raises(OSError, match="Input/output"):
        read_header(file, sleep=lambda _: None)
