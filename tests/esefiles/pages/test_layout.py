"""Where pages lie, and what one checksum covers."""

import pytest

from esefiles.pages.layout import (
    BLOCK_CHECKSUMS,
    BLOCKS_OF_A_LARGE_PAGE,
    NEW_FORMAT,
    NEW_FORMAT_BIT,
    NUMBER_OFFSET,
    PAGE_SIZES,
    block_size,
    number_at,
    offset_of,
)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_header_and_shadow_come_before_page_one(page_size: int) -> None:
    assert [offset_of(number, page_size) for number in (-1, 0, 1, 2)] == [
        0,
        page_size,
        2 * page_size,
        3 * page_size,
    ]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_every_byte_of_a_page_belongs_to_its_number(page_size: int) -> None:
    start = offset_of(17, page_size)
    assert number_at(start - 1, page_size) == 16
    assert number_at(start, page_size) == 17
    assert number_at(start + page_size - 1, page_size) == 17
    assert number_at(start + page_size, page_size) == 18


def test_the_offsets_of_a_file_beyond_four_gigabytes_are_exact() -> None:
    assert offset_of(5_850_768, 8192) == 5_850_769 * 8192
    assert number_at((2**32 + 1) * 32768, 32768) == 2**32


def test_a_page_to_8_kib_is_one_block_and_a_larger_one_is_four() -> None:
    assert [block_size(size) for size in PAGE_SIZES] == [2048, 4096, 8192, 4096, 8192]


def test_the_checksums_of_the_later_blocks_end_where_the_number_begins() -> None:
    assert BLOCK_CHECKSUMS + 8 * (BLOCKS_OF_A_LARGE_PAGE - 1) == NUMBER_OFFSET


def test_the_flag_of_the_new_format_is_bit_301_of_the_page() -> None:
    assert NEW_FORMAT_BIT == 301
    page = bytearray(64)
    page[NEW_FORMAT_BIT // 8] |= 1 << NEW_FORMAT_BIT % 8
    assert int.from_bytes(page[36:40], "little") == NEW_FORMAT
