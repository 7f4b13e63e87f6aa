"""Pages leave with the checksums that the format demands, and come back only when they hold."""

import random
import struct

import pytest

from eselab.base.trouble import Trouble
from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.pages import Checked, PageError, PageFile, sealed, stamped, unsealed
from tests.eselab.page_sizes import SIZES
from tests.support.obvious_checksum import verifies


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
    page = sealed(content(page_size, number), number, number % 4)
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
    assert file.read_count == 3


@pytest.mark.parametrize("page_size", SIZES)
def test_pages_come_back_as_they_were_written(page_size: int) -> None:
    file = new_file(page_size)
    pages = {number: content(page_size, number, seed=number) for number in (4, 1, 2)}
    for number, page in pages.items():
        file.write(number, page)
    assert file.pages() == 4
    assert {number: file.read(number) for number in pages} == pages


def sound(page_size: int, number: int, nodes: int = 6) -> bytes:
    """A page with nodes as the store hands it over."""
    page = bytearray(page_size)
    node.init(page, 7, node.LEAF)
    for index in range(nodes):
        node.insert(page, index, b"key %d" % index, random.Random(number).randbytes(200))
    struct.pack_into("<Q", page, 8, 99)
    return stamped(page, number)


class Bench:
    """A file with pages 1 to 4, on a disk that a test damages."""

    def __init__(self, page_size: int) -> None:
        self.raw = SimDisk(random.Random(1)).open("a.edb", create=True)
        self.file = PageFile(self.raw, page_size)
        self.size = page_size
        self.told: list[Trouble] = []
        self.file.tell = self.told.append
        for number in range(1, 5):
            self.file.write(number, sound(page_size, number))

    def page(self, number: int) -> bytes:
        return self.raw.read((number + 1) * self.size, self.size)

    def put(self, number: int, page: bytes) -> None:
        self.raw.write((number + 1) * self.size, page)

    def flip(self, number: int, *bits: int) -> None:
        page = bytearray(self.page(number))
        for bit in bits:
            page[bit // 8] ^= 1 << bit % 8
        self.put(number, bytes(page))

    def check_bad(self, number: int, kind: str) -> Trouble:
        """Reading fails, a check says the same, the other pages are good; the trouble."""
        with pytest.raises(PageError, match=f"page {number}: {kind}") as caught:
            self.file.read(number)
        trouble = caught.value.trouble
        place = (number + 1) * self.size
        assert (trouble.number, trouble.offset, trouble.bytes) == (number, place, self.size)
        assert caught.value.number == number
        assert self.told == [trouble]
        assert self.file.check(1, 4) == Checked(pages=4, uninitialized=0, troubles=[trouble])
        return trouble


@pytest.mark.parametrize("page_size", SIZES)
def test_one_flipped_bit_is_corrected_in_memory_and_stays_on_disk_until_the_next_write(
    page_size: int,
) -> None:
    chance, bench = random.Random(page_size), Bench(page_size)
    good = bench.page(2)
    for bit in [64, 299, 303, 304, 400, *chance.sample(range(512, page_size * 8), 60)]:
        bench.told.clear()
        bench.flip(2, bit)
        assert bench.file.read(2) == sound(page_size, 2)
        expected = Trouble(
            number=2, kind="corrected", offset=3 * page_size, bytes=page_size, bit=bit
        )
        assert bench.told == [expected]
        assert bench.file.check(1, 4).troubles == [expected]
        assert bench.page(2) != good
        bench.flip(2, bit)
    bench.flip(2, 4000)
    bench.file.write(2, bench.file.read(2))
    assert bench.file.check(1, 4).troubles == []


@pytest.mark.parametrize("page_size", SIZES)
def test_a_corrected_page_of_a_broken_structure_is_bad_and_one_that_verifies_is_not(
    page_size: int,
) -> None:
    bench = Bench(page_size)
    broken = bytearray(sound(page_size, 2))
    struct.pack_into("<H", broken, 28, 3)
    bench.file.write(2, bytes(broken))
    assert bench.file.read(2) == broken
    bench.flip(2, 5000)
    assert bench.check_bad(2, "correction_failed").bit == 5000


@pytest.mark.parametrize("page_size", SIZES)
def test_two_flipped_bits_of_a_block_are_beyond_correction(page_size: int) -> None:
    chance = random.Random(page_size)
    for _ in range(20):
        bench = Bench(page_size)
        good = bench.page(3)
        bits = chance.sample(range(512, 4096 * 8), 2)
        bench.flip(3, *bits)
        trouble = bench.check_bad(3, "checksum")
        blocks = 1 if page_size <= 8192 else 4
        assert (len(trouble.stored), len(trouble.computed)) == (blocks, blocks)
        assert trouble.stored[0] == struct.unpack_from("<Q", good)[0]
        assert trouble.stored[0] != trouble.computed[0]
        assert trouble.stored[1:] == trouble.computed[1:]


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("bit", [0, 63, 301])
def test_a_flip_of_the_checksum_itself_or_of_the_format_flag_is_not_corrected(
    page_size: int, bit: int
) -> None:
    bench = Bench(page_size)
    bench.flip(1, bit)
    assert bench.check_bad(1, "checksum").bit is None


@pytest.mark.parametrize("page_size", SIZES)
def test_a_page_of_another_place_has_a_wrong_number_when_it_is_large(page_size: int) -> None:
    bench = Bench(page_size)
    bench.put(2, bench.page(4))
    if page_size > 8192:
        assert bench.check_bad(2, "wrong_page").written_as == 4
    else:
        trouble = bench.check_bad(2, "checksum")
        assert trouble.stored[0] ^ trouble.computed[0] == 2 ^ 4


@pytest.mark.parametrize("page_size", SIZES)
def test_a_torn_write_a_blank_page_and_a_lost_write_are_told_apart(page_size: int) -> None:
    bench = Bench(page_size)
    bench.put(2, bench.page(2)[:512] + bytes(page_size - 512))
    bench.check_bad(2, "checksum")

    bench = Bench(page_size)
    bench.put(4, bytes(page_size))
    bench.check_bad(4, "no_data")

    bench = Bench(page_size)
    old = bench.page(1)
    bench.file.write(1, sound(page_size, 1, nodes=3))
    bench.put(1, old)
    trouble = bench.check_bad(1, "lost_flush")
    assert (trouble.flush_type, trouble.expected_type) == (1, 2)


@pytest.mark.parametrize("page_size", SIZES)
def test_flush_types_go_round_on_disk_and_are_not_in_contents(page_size: int) -> None:
    bench = Bench(page_size)
    types = []
    for _ in range(4):
        bench.file.write(1, sound(page_size, 1))
        types.append(struct.unpack_from("<I", bench.page(1), 36)[0] >> 15 & 3)
        assert bench.file.read(1) == sound(page_size, 1)
    assert types == [2, 3, 1, 2]
    assert bench.told == []


@pytest.mark.parametrize("page_size", SIZES)
def test_pages_that_were_never_written_are_counted_by_a_check(page_size: int) -> None:
    bench = Bench(page_size)
    bench.file.make_room(9)
    assert bench.file.check(3, 7) == Checked(pages=7, uninitialized=5, troubles=[])
    assert bench.file.check(9, 0) == Checked(pages=0, uninitialized=0, troubles=[])


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
