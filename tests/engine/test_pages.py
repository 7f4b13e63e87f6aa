"""Pages leave with the checksums that the format demands, and come back only when they hold."""

import random
import struct

import pytest

from esewatch.engine.disk import SimDisk
from esewatch.engine.pages import PageError, PageFile, sealed, stamped, unsealed
from tests.support.obvious_checksum import verifies

SIZES = [4096, 8192, 16384, 32768]


def content(page_size: int, number: int, seed: int = 1) -> bytes:
    """A page of chance as the store hands it over."""
    page = bytearray(random.Random(seed).randbytes(page_size))
    struct.pack_into("<I", page, 36, 2)
    return stamped(page, number)


def new_file(page_size: int) -> PageFile:
    return PageFile(SimDisk(random.Random(1)).open("a.edb", create=True), page_size)


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("number", [1, 2, 70_000])
def test_a_sealed_page_verifies_as_the_format_has_it(page_size: int, number: int) -> None:
    page = sealed(content(page_size, number), number)
    assert verifies(page, number)
    assert not verifies(page, number + 1)
    assert unsealed(page) == content(page_size, number)


@pytest.mark.parametrize("page_size", SIZES)
def test_a_stamped_page_has_the_flag_its_number_and_no_checksums(page_size: int) -> None:
    page = content(page_size, 9)
    assert struct.unpack_from("<I", page, 36) == (0x2002,)
    assert page[:8] == bytes(8)
    if page_size > 8192:
        assert page[40:64] == bytes(24)
        assert struct.unpack_from("<I", page, 64) == (9,)


@pytest.mark.parametrize("page_size", SIZES)
def test_a_blank_page_stays_blank(page_size: int) -> None:
    file = new_file(page_size)
    file.write(3, bytes(page_size))
    assert sealed(bytes(page_size), 3) == bytes(page_size)
    assert [file.read(number) for number in (1, 3, 50)] == [bytes(page_size)] * 3
    assert (file.read_count, file.write_count) == (3, 1)


@pytest.mark.parametrize("page_size", SIZES)
def test_pages_come_back_as_they_were_written(page_size: int) -> None:
    file = new_file(page_size)
    pages = {number: content(page_size, number, seed=number) for number in (4, 1, 2)}
    for number, page in pages.items():
        file.write(number, page)
    assert file.pages() == 4
    assert {number: file.read(number) for number in pages} == pages


@pytest.mark.parametrize("page_size", SIZES)
def test_a_bad_page_is_an_error_that_says_what_is_wrong(page_size: int) -> None:
    disk = SimDisk(random.Random(1))
    raw = disk.open("a.edb", create=True)
    file = PageFile(raw, page_size)
    good = sealed(content(page_size, 2), 2)
    flipped = bytearray(good)
    flipped[300] ^= 4
    cases = {
        bytes(flipped): ("correctable", (300 * 8 + 2,), None),
        sealed(content(page_size, 5), 5): ("wrong_page", (), 5),
        good[:512] + bytes(page_size - 512): ("checksum", (), None),
    }
    for page, expected in cases.items():
        raw.write(3 * page_size, page)
        with pytest.raises(PageError, match=f"page 2: {expected[0]}") as caught:
            file.read(2)
        found = caught.value.diagnosis
        assert caught.value.number == 2
        assert (found.fault, found.bits, found.written_as) == expected


def test_a_page_behind_which_the_file_is_cut_is_an_error() -> None:
    disk = SimDisk(random.Random(1))
    raw = disk.open("a.edb", create=True)
    file = PageFile(raw, 4096)
    file.write(1, content(4096, 1))
    raw.truncate(3 * 4096 - 100)
    assert file.pages() == 0
    with pytest.raises(PageError):
        file.read(1)


def test_room_is_made_and_never_taken() -> None:
    file = new_file(4096)
    for pages, expected in [(5, 5), (3, 5), (6, 6)]:
        file.make_room(pages)
        assert file.pages() == expected
