"""Databases of the bundled engine: its own trees are left alone, its lost writes are found."""

import random
from pathlib import Path

import pytest

from eselab.disk.disk import Disk
from eselab.storage.pages import unsealed
from esewatch.scan.lost_writes import lost_writes
from esewatch.scan.structure.structure_check import check_structure
from tests.eselab.databases import NAME, created, filled, key_of, work
from tests.support.edb import sealed_header
from tests.support.flush_maps import SIGNATURE, map_header, map_page


@pytest.mark.parametrize("page_size", [4096, 32768])
def test_trees_of_the_bundled_engine_are_its_own(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "a.edb"
    path.write_bytes(_file(filled(page_size, count=100)))
    result = check_structure(str(path))

    assert (result.checked, result.errors) == (False, [])
    assert "bundled engine" in result.reason


@pytest.mark.parametrize("page_size", [4096, 16384])
def test_each_lost_write_of_the_bundled_engine_is_found(tmp_path: Path, page_size: int) -> None:
    disk, database = created(page_size, seed=3)
    work(database, {}, random.Random(3), 40)
    database.store.checkpoint()
    older = _file(disk)
    with database.store.begin() as transaction:
        table = database.create_table(transaction, "more")
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
