"""Databases of the bundled engine: no wrong error, and each lost write is found."""

import random
from pathlib import Path

import pytest

from esefiles.scans.lost_writes import lost_writes
from esefiles.scans.structure.structure_check import check_structure
from eselab.disk.disk import Disk
from eselab.storage.pages import unsealed
from tests.eselab.databases import NAME, NOW, created, key_of, plain, work
from tests.support.edb import sealed_header
from tests.support.flush_maps import SIGNATURE, map_header, map_page


@pytest.mark.parametrize("page_size", [4096, 8192, 16384, 32768])
def test_tables_of_the_bundled_engine_have_no_error(tmp_path: Path, page_size: int) -> None:
    """What stands in records is the engine's tests' own: these tables have none."""
    disk, database = created(page_size)
    for number in range(30):
        with database.store.begin() as transaction:
            database.create_table(transaction, plain(f"table {number}"))
    database.close(NOW)
    path = tmp_path / "a.edb"
    path.write_bytes(_file(disk))
    result = check_structure(str(path))

    assert (result.checked, result.errors, result.lost_pages) == (True, [], 0)
    assert sum(tree.kind == "table" for tree in result.trees) > 30


@pytest.mark.parametrize("page_size", [4096, 16384])
def test_each_lost_write_of_the_bundled_engine_is_found(tmp_path: Path, page_size: int) -> None:
    disk, database = created(page_size, seed=3)
    work(database, {}, random.Random(3), 40)
    database.store.checkpoint()
    older = _file(disk)
    with database.store.begin() as transaction:
        table = database.create_table(transaction, plain("more"))
        for number in range(40):
            table.insert(transaction, key_of(number), bytes(300))
    database.store.checkpoint()
    newer = bytearray(_file(disk))
    pages = len(newer) // page_size - 2
    types = {number: _flush_type(newer, number, page_size) for number in range(1, pages + 1)}
    for begin in (0, page_size):
        head = newer[begin : begin + page_size]
        head[584:612] = SIGNATURE
        newer[begin : begin + page_size] = sealed_header(bytes(head))
    edb, jfm = tmp_path / "a.edb", tmp_path / "a.jfm"
    jfm.write_bytes(map_header() + map_page(types))
    written = [
        number
        for number in types
        if _content(older, number, page_size) != _content(newer, number, page_size)
    ]
    assert len(written) >= 4
    for number in written:
        lost = bytearray(newer)
        begin = (number + 1) * page_size
        lost[begin : begin + page_size] = older[begin : begin + page_size].ljust(page_size, b"\0")
        edb.write_bytes(lost)
        assert lost_writes(str(edb), str(jfm)).pages == [number]
    edb.write_bytes(newer)
    assert lost_writes(str(edb), str(jfm)).pages == []


def _file(disk: Disk) -> bytes:
    file = disk.open(NAME)
    return file.read(0, file.size())


def _flush_type(data: bytes | bytearray, number: int, page_size: int) -> int:
    begin = (number + 1) * page_size
    return data[begin + 37] >> 7 | (data[begin + 38] & 1) << 1


def _content(data: bytes | bytearray, number: int, page_size: int) -> bytes:
    begin = (number + 1) * page_size
    return unsealed(bytes(data[begin : begin + page_size]).ljust(page_size, b"\0"))
