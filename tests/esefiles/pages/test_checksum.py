"""Checksums of single pages: known answers, what is corrected, and what never is.

Pages are sealed by the slow definition of `obvious_checksum`, not by the code under test.
"""

import gzip
import random
import struct
from functools import lru_cache
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esefiles.pages.checksum import (
    Diagnosis,
    diagnose,
    is_trailer,
    page_checksums,
    xor_checksum,
)
from esefiles.pages.layout import BLANK, GOOD, LARGEST_NUMBER, PAGE_SIZES, SUSPECT, block_size
from tests.support import obvious_checksum as obvious
from tests.support.edb import header_page
from tests.support.obvious_checksum import flipped
from tests.support.samples import sample

SMALL = [size for size in PAGE_SIZES if size <= 8192]
LARGE = [size for size in PAGE_SIZES if size > 8192]
NUMBER = 0x1234
FLAG = 301


@lru_cache(maxsize=64)
def good_page(size: int, number: int = NUMBER, *, old: bool = False) -> bytes:
    return obvious.seal(random.Random(f"{size} {number}").randbytes(size), number, old=old)


def block_bits(size: int) -> int:
    return block_size(size) * 8


def blocks(size: int) -> int:
    return size // block_size(size)


def correctable(size: int, *bits: int) -> Diagnosis:
    return Diagnosis(fault="correctable", bits=bits, block=bits[0] // block_bits(size))


# Known answers: those that the unit tests of the published engine (checksum_test.cxx) hold.


def engine_buffer() -> bytearray:
    """The 8 KiB page of the engine's test: 0, 1, … 255, 0, … in the first 4 KiB, then zeros."""
    buffer = bytearray(bytes(range(256)) * 16 + bytes(4096))
    buffer[37] |= 0x20
    return buffer


def engine_large_buffer() -> bytearray:
    """The 32 KiB page of the engine's test; byte i is i + i / 13."""
    return bytearray((index + index // 13) & 0xFF for index in range(32768))


def store_large(buffer: bytearray, size: int, number: int) -> tuple[int, ...]:
    """Seal the first `size` bytes as the engine does, the number at 64 left as it is."""
    buffer[37] |= 0x20
    later = page_checksums(bytes(buffer[:size]), number)[1:]
    struct.pack_into("<3Q", buffer, 40, *later)
    first = page_checksums(bytes(buffer[:size]), number)[0]
    struct.pack_into("<Q", buffer, 0, first)
    return (first, *later)


def test_the_engines_known_8_kib_page_has_its_checksum() -> None:
    assert page_checksums(bytes(engine_buffer()), 9876) == (0x0000000004042290,)


def test_the_engines_known_header_has_its_xor() -> None:
    buffer = engine_buffer()
    struct.pack_into("<2I", buffer, 0, 0x89123456, 0x12345678)
    assert xor_checksum(bytes(buffer)) == 0x9F9B9F93


def test_the_engines_known_32_kib_page_and_the_16_kib_one_in_its_place_have_theirs() -> None:
    # The engine knows a 28 KiB one, too: a form of pages in memory, which no file has.
    buffer = engine_large_buffer()
    assert store_large(buffer, 32768, 0x98765431) == (
        0xF9CE063147B6B865, 0x69AF69AFCDD590E4, 0x770988F62EA1A9E2, 0x7CB77CB77B839A0E,
    )  # fmt: skip
    assert store_large(buffer, 16384, 0x98765431) == (
        0x7B807B80651E03FC, 0x7C347C34BC66A14B, 0x6C7E6C7ECB3A6C94, 0x05D105D19E99A841,
    )  # fmt: skip


def test_the_four_flips_of_the_engines_own_test_are_located() -> None:
    for size in LARGE:
        quarter = block_bits(size)
        bits = (40 * 8 + 1, quarter + 2, 2 * quarter + 3, 3 * quarter + 4)
        page = good_page(size, 0x18765431)
        assert diagnose(flipped(page, *bits), 0x18765431) == correctable(size, *bits)


# The definition.


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_the_checksums_are_those_of_the_definition(size: int) -> None:
    rng = random.Random(size)
    for content in (
        rng.randbytes(size),
        bytes(size),
        b"\xff" * size,
        rng.randbytes(8) * (size // 8),
    ):
        number = rng.getrandbits(32)
        page = obvious.seal(content, number)
        places = [
            int.from_bytes(page[at : at + 8], "little") for at in obvious.checksum_places(size)
        ]
        assert page_checksums(page, number) == tuple(places)
        assert xor_checksum(page) == obvious.old_checksum(page)


@given(
    st.sampled_from(PAGE_SIZES), st.integers(1, LARGEST_NUMBER), st.randoms(use_true_random=False)
)
@settings(max_examples=25)
def test_what_the_definition_seals_is_good_in_its_place_only(
    size: int, number: int, rng: random.Random
) -> None:
    page = obvious.seal(rng.randbytes(size), number)
    assert diagnose(page, number) == Diagnosis()
    assert diagnose(page, number % LARGEST_NUMBER + 1).fault == "wrong_page"


@pytest.mark.parametrize("size", SMALL)
def test_an_old_page_is_good_by_its_xor_and_its_number(size: int) -> None:
    assert diagnose(good_page(size, old=True), NUMBER) == Diagnosis()


@pytest.mark.parametrize("size", SMALL)
def test_a_flip_anywhere_in_an_old_page_is_found_and_never_corrected(size: int) -> None:
    page = good_page(size, old=True)
    for bit in [*range(512), *random.Random(1).sample(range(512, size * 8), 200)]:
        assert diagnose(flipped(page, bit), NUMBER).fault == "checksum", bit


@pytest.mark.parametrize("size", LARGE)
def test_no_large_page_has_the_old_format(size: int) -> None:
    content = bytearray(random.Random(size).randbytes(size))
    content[40:80] = struct.pack("<24xI12x", NUMBER)
    page = obvious.seal(bytes(content), NUMBER, old=True)
    assert diagnose(page, NUMBER) == Diagnosis(fault="checksum")


# One flipped bit.


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_any_single_flip_is_located_but_in_the_first_checksum_and_the_flag(size: int) -> None:
    page = good_page(size)
    edges = [
        block * block_bits(size) + at
        for block in range(blocks(size))
        for at in (0, 1, 31, 32, 63, 64, FLAG, block_bits(size) - 1)
    ]
    for bit in {*edges, *random.Random(size).sample(range(size * 8), 300)}:
        found = diagnose(flipped(page, bit), NUMBER)
        if bit < 64 or bit == FLAG:
            assert found.fault in {"checksum", "wrong_page"}, bit
        else:
            assert found == correctable(size, bit), bit


@pytest.mark.parametrize("size", LARGE)
def test_each_bit_of_the_later_blocks_stored_checksums_is_corrected(size: int) -> None:
    page = good_page(size)
    for bit in range(320, 512):
        assert diagnose(flipped(page, bit), NUMBER) == correctable(size, bit)


@pytest.mark.parametrize("size", LARGE)
def test_each_bit_of_a_large_pages_own_number_flags_and_owner_is_corrected(size: int) -> None:
    page = good_page(size)
    for bit in [*range(192, 224), *range(288, 320), *range(512, 544)]:
        expected = Diagnosis(fault="checksum") if bit == FLAG else correctable(size, bit)
        assert diagnose(flipped(page, bit), NUMBER) == expected


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_flip_in_the_first_stored_checksum_is_never_corrected(size: int) -> None:
    page = good_page(size)
    for bit in range(64):
        found = diagnose(flipped(page, bit), NUMBER)
        other = NUMBER ^ 1 << bit
        if size in SMALL and 1 <= other <= LARGEST_NUMBER:
            # Nothing tells it from a page that was really written under that number.
            assert found == Diagnosis(fault="wrong_page", written_as=other, maybe_flipped=True)
        else:
            assert found == Diagnosis(fault="checksum", block=0)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_the_flipped_format_flag_is_bad_and_not_read_the_other_way(size: int) -> None:
    assert diagnose(flipped(good_page(size), FLAG), NUMBER) == Diagnosis(fault="checksum")
    if size in SMALL:
        old = flipped(good_page(size, old=True), FLAG)
        assert diagnose(old, NUMBER) == Diagnosis(fault="checksum", block=0)


@pytest.mark.parametrize("size", [2048, 4096])
def test_ecc_bits_beyond_those_of_the_page_size_are_never_made_good(size: int) -> None:
    page = good_page(size)
    used = {2048: 14, 4096: 15}[size]
    for unused in [32 + at for half in (0, 16) for at in range(half + used, half + 16)]:
        assert diagnose(flipped(page, unused), NUMBER) == Diagnosis(fault="checksum", block=0)
        for bit in (64, 1000, size * 8 - 1):
            assert diagnose(flipped(page, unused, bit), NUMBER).fault == "checksum"


def ecc_difference(page: bytes, low: int, column: int) -> bytes:
    """The page with a stored checksum that differs as if bit `low` were flipped."""
    mask = len(page) * 8 - 1
    stored = int.from_bytes(page[:8], "little")
    stored ^= 1 << column | low << 32 | (low ^ mask) << 48
    return stored.to_bytes(8, "little") + page[8:]


@pytest.mark.parametrize("size", SMALL)
def test_a_checksum_that_points_at_itself_or_at_the_flag_is_not_followed(size: int) -> None:
    page = good_page(size)
    for bit in [*range(64), FLAG]:
        found = diagnose(ecc_difference(page, bit, bit % 32), NUMBER)
        assert found == Diagnosis(fault="checksum", block=0)


@pytest.mark.parametrize("size", SMALL)
def test_ecc_and_xor_that_point_at_different_columns_correct_nothing(size: int) -> None:
    page = good_page(size)
    for bit in (64, 777, size * 8 - 1):
        for column in set(range(32)) - {bit % 32}:
            found = diagnose(ecc_difference(page, bit, column), NUMBER)
            assert found == Diagnosis(fault="checksum", block=0)


def test_a_page_that_is_blank_but_for_one_bit_is_bad() -> None:
    for size in PAGE_SIZES:
        for bit in (0, 31, 63, 64, FLAG, 400, size * 8 - 1):
            assert diagnose(flipped(bytes(size), bit), NUMBER).fault == "checksum"


# Several flipped bits.


@pytest.mark.parametrize("size", LARGE)
def test_one_flip_in_each_of_several_blocks_is_located_in_all_of_them(size: int) -> None:
    page, rng = good_page(size), random.Random(size)
    bits_a_block = block_bits(size)
    for count in (2, 3, 4):
        for chosen in combinations(range(4), count):
            for _ in range(5):
                bits = tuple(
                    block * bits_a_block + rng.randrange(0 if block else 512, bits_a_block)
                    for block in chosen
                )
                assert diagnose(flipped(page, *bits), NUMBER) == correctable(size, *bits)


@pytest.mark.parametrize("size", LARGE)
def test_a_flip_in_a_stored_checksum_and_one_in_its_block_are_both_located(size: int) -> None:
    page = good_page(size)
    for block in (1, 2, 3):
        for stored in range(320 + 64 * (block - 1), 320 + 64 * block, 7):
            bits = (stored, block * block_bits(size) + stored)
            assert diagnose(flipped(page, *bits), NUMBER) == correctable(size, *bits)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_two_flips_in_one_block_are_never_corrected(size: int) -> None:
    page, rng = good_page(size), random.Random(size)
    for turn in range(600):
        start = rng.randrange(blocks(size)) * block_bits(size)
        if turn % 3:
            pair = rng.sample(range(block_bits(size)), 2)
        else:  # In one column: the XOR does not see it.
            rows = rng.sample(range(block_bits(size) // 32), 2)
            column = rng.randrange(32)
            pair = [row * 32 + column for row in rows]
        found = diagnose(flipped(page, *(start + bit for bit in pair)), NUMBER)
        assert found.fault in {"checksum", "wrong_page"}, pair
        assert found.fault == "checksum" or max(pair) < 32, pair


@pytest.mark.parametrize("size", LARGE)
def test_a_later_block_whose_checksum_points_at_a_wrong_bit_is_named(size: int) -> None:
    page = good_page(size)
    quarter = block_size(size)
    third = ecc_difference(page[48:56] + bytes(quarter - 8), 777, 778 % 32)[:8]
    first = bytearray(page[:48] + third + page[56:])
    first[:8] = obvious.block_checksum(bytes(first[:quarter]), NUMBER, first=True)
    expected = Diagnosis(fault="checksum", block=2)
    assert diagnose(bytes(first), NUMBER) == expected
    assert diagnose(flipped(bytes(first), 900), NUMBER) == expected


@pytest.mark.parametrize("size", LARGE)
def test_a_bad_block_beside_a_correctable_one_makes_the_page_uncorrectable(size: int) -> None:
    quarter = block_bits(size)
    page = flipped(good_page(size), 900, 2 * quarter + 5, 2 * quarter + 6)
    assert diagnose(page, NUMBER) == Diagnosis(fault="checksum", block=2)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_three_flips_are_bad_or_look_like_a_single_one(size: int) -> None:
    # Three may have the checksum of one: no code of this size can tell. Good they never are.
    page, rng = good_page(size), random.Random(size)
    for _ in range(150):
        bits = [rng.randrange(64, block_bits(size)) for _ in range(3)]
        found = diagnose(flipped(page, *bits), NUMBER)
        if found.fault == "correctable" and len(set(bits)) == 3:
            assert found.bits == (bits[0] ^ bits[1] ^ bits[2],)
            assert found.bits[0] % 32 in {bit % 32 for bit in bits}
        else:
            assert found.fault is not None


# Pages in the wrong place.


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_page_in_another_place_says_where_it_belongs(size: int) -> None:
    for place in (NUMBER + 1, NUMBER + 2, 1, 5_850_768, LARGEST_NUMBER):
        found = diagnose(good_page(size), place)
        maybe = size in SMALL
        expected = Diagnosis(fault="wrong_page", written_as=NUMBER, maybe_flipped=maybe)
        assert found == expected


@pytest.mark.parametrize("size", SMALL)
def test_an_old_page_in_another_place_says_where_it_belongs(size: int) -> None:
    page = good_page(size, old=True)
    for place in (NUMBER ^ 8, NUMBER + 5):
        assert diagnose(page, place) == Diagnosis(fault="wrong_page", written_as=NUMBER)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_two_swapped_pages_are_both_told(size: int) -> None:
    one, other = good_page(size, 20), good_page(size, 41)
    assert diagnose(other, 20).written_as == 41
    assert diagnose(one, 41).written_as == 20


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_flip_in_a_page_in_the_wrong_place_is_never_corrected(size: int) -> None:
    page, rng = good_page(size), random.Random(size)
    for place in (NUMBER ^ 1, NUMBER ^ 3, NUMBER ^ 0x8001, NUMBER + 5):
        for bit in (rng.randrange(64, size * 8) for _ in range(60)):
            assert diagnose(flipped(page, bit), place).fault == "checksum", (place, bit)


@pytest.mark.parametrize("size", LARGE)
def test_a_large_page_whose_checksums_hold_but_not_its_own_number_is_a_wrong_page(
    size: int,
) -> None:
    buffer = bytearray(good_page(size))
    struct.pack_into("<I", buffer, 64, NUMBER + 1)
    store_large(buffer, size, NUMBER)
    found = diagnose(bytes(buffer), NUMBER)
    assert found == Diagnosis(fault="wrong_page", written_as=NUMBER + 1)


@pytest.mark.parametrize("size", LARGE)
def test_a_flip_in_such_a_page_is_not_called_corrected(size: int) -> None:
    buffer = bytearray(good_page(size))
    struct.pack_into("<I", buffer, 64, NUMBER + 1)
    store_large(buffer, size, NUMBER)
    for bit in (320, 513, 900, size * 8 - 1):
        found = diagnose(flipped(bytes(buffer), bit), NUMBER)
        assert found == Diagnosis(fault="wrong_page", written_as=NUMBER + 1)


@pytest.mark.parametrize("size", LARGE)
def test_a_large_page_must_belong_elsewhere_by_its_checksums_and_by_its_number(size: int) -> None:
    buffer = bytearray(good_page(size))
    struct.pack_into("<I", buffer, 64, NUMBER)
    store_large(buffer, size, NUMBER + 1)
    assert diagnose(bytes(buffer), NUMBER) == Diagnosis(fault="checksum", block=0)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_no_page_was_written_under_a_number_that_no_database_has(size: int) -> None:
    for number in (0, LARGEST_NUMBER + 1, 0xFFFFFFFF):
        assert diagnose(good_page(size, number), NUMBER) == Diagnosis(fault="checksum", block=0)
        if size in SMALL:
            old = good_page(size, number, old=True)
            assert diagnose(old, NUMBER) == Diagnosis(fault="checksum")


def test_a_header_in_the_place_of_a_page_is_bad() -> None:
    for size in PAGE_SIZES:
        assert diagnose(header_page(size), NUMBER) == Diagnosis(fault="checksum")


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_numbers_beyond_32_bits_are_compared_as_they_are_stored(size: int) -> None:
    assert diagnose(good_page(size), 2**32 + NUMBER) == Diagnosis()
    found = diagnose(good_page(size), 2**32 + NUMBER + 5)
    assert (found.fault, found.written_as) == ("wrong_page", NUMBER)


# The trailer.


def trailer(size: int, fill: bytes = b"\x01\x02\x03\x04") -> bytes:
    page = bytearray(fill * (size // 4))
    for word in (0, 1, 2, 3, 6):
        page[4 * word : 4 * word + 4] = bytes(4)
    page[:4] = obvious.old_checksum(bytes(page)).to_bytes(4, "little")
    return bytes(page)


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_trailer_is_one_as_the_last_page_only(size: int) -> None:
    for fill in (b"\x01\x02\x03\x04", b"\xff\xff\xff\xff", bytes(4)):
        page = trailer(size, fill)
        assert is_trailer(page)
        assert diagnose(page, NUMBER, last=True) == Diagnosis(trailer=True)
        assert diagnose(page, NUMBER).fault == "checksum"


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_page_with_a_number_a_time_or_an_owner_is_no_trailer(size: int) -> None:
    for word in (1, 2, 3, 6):
        page = bytearray(trailer(size))
        page[4 * word] = 1
        page[:4] = obvious.old_checksum(bytes(page)).to_bytes(4, "little")
        assert not is_trailer(bytes(page)), word


@pytest.mark.parametrize("size", SMALL)
def test_a_last_page_of_the_old_format_is_no_trailer(size: int) -> None:
    page = good_page(size, old=True)
    assert diagnose(page, NUMBER, last=True) == Diagnosis()
    assert diagnose(page, NUMBER + 5, last=True).written_as == NUMBER


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_a_damaged_trailer_is_bad(size: int) -> None:
    page = trailer(size)
    for bit in [*range(256), FLAG, size * 8 - 1]:
        assert diagnose(flipped(page, bit), NUMBER, last=True).fault == "checksum", bit


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_the_last_page_is_judged_like_every_other_when_it_is_no_trailer(size: int) -> None:
    page = good_page(size)
    assert diagnose(page, NUMBER, last=True) == Diagnosis()
    assert diagnose(flipped(page, 900), NUMBER, last=True) == correctable(size, 900)
    assert diagnose(page, NUMBER + 5, last=True).written_as == NUMBER
    assert diagnose(flipped(page, 900, 901), NUMBER, last=True).fault == "checksum"
    zeroed = bytes(512) + page[512:]
    assert diagnose(zeroed, NUMBER, last=True).fault == "checksum"


# Hostile pages.


@pytest.mark.parametrize("size", PAGE_SIZES)
def test_garbage_is_bad(size: int) -> None:
    rng = random.Random(size)
    fills = [bytes([value]) * size for value in range(1, 256)]
    for page in [*fills, *(rng.randbytes(size) for _ in range(100))]:
        for last in (False, True):
            assert diagnose(page, NUMBER, last=last).fault == "checksum"


@given(st.sampled_from(PAGE_SIZES), st.data())
@settings(max_examples=60)
def test_what_is_called_correctable_is_good_once_its_bits_are_flipped_back(
    size: int, data: st.DataObject
) -> None:
    bits = data.draw(st.sets(st.integers(0, size * 8 - 1), max_size=5))
    page = flipped(good_page(size), *bits)
    found = diagnose(page, NUMBER)
    classes = {None: GOOD, "correctable": GOOD}
    mended = flipped(page, *found.bits)
    assert obvious.page_class(mended, NUMBER) == classes.get(found.fault, SUSPECT)
    assert len({bit // block_bits(size) for bit in found.bits}) == len(found.bits)
    assert obvious.page_class(page, NUMBER) != BLANK


# Real databases.


def bad_pages(name: str, size: int) -> dict[int, Diagnosis]:
    """Number -> diagnosis of each page of a sample that is neither good nor blank."""
    data = gzip.decompress(sample(f"db/{name}.gz").read_bytes())
    for start in (0, size):
        header = data[start : start + size]
        assert int.from_bytes(header[:4], "little") == xor_checksum(header)
    bad = {}
    for start in range(2 * size, len(data), size):
        page, number = data[start : start + size], start // size - 1
        if any(page) and (found := diagnose(page, number, last=start + size == len(data))).fault:
            bad[number] = found
    return bad


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("chainsaw-SRUDB.dat", 4096),
        ("goese-ual-hyperv-Current-dirty.mdb", 4096),
        ("strozfriedberg-decompress_test-8k.edb", 8192),
        ("dissect-large-32k.edb", 32768),
    ],
)
def test_a_sound_database_has_no_bad_page(name: str, size: int) -> None:
    assert bad_pages(name, size) == {}


def test_the_foreign_bytes_at_the_end_of_a_database_are_its_only_bad_pages() -> None:
    bad = bad_pages("dissect-SRUDB-16-bad-pages.dat", 4096)
    assert list(bad) == list(range(143, 159))
    assert {found.fault for found in bad.values()} == {"checksum"}
