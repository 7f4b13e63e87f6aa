"""The kernel in numpy: XOR+ECC of all blocks of a piece at once.

A block is a matrix of 64-bit words. A bit of an ECC is the parity of all bits in whose index
one bit is set: the upper bits of the index choose rows, the next ones columns, the last six
bits within a word. So the XOR of each row and of each column is all that is read of the data.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from esewatch.ese.pages.checksum import XOR_SEED
from esewatch.ese.pages.layout import (
    BLANK,
    BLOCK_CHECKSUMS,
    FLAGS_OFFSET,
    GOOD,
    LARGEST_SMALL,
    NEW_FORMAT,
    NUMBER_OFFSET,
    SUSPECT,
    block_size,
)

Words = NDArray[np.uint64]
Flags = NDArray[np.bool_]

_COLUMNS: Final = 32
_WORD: Final = 8
_WITHIN_A_WORD: Final = (
    0xAAAAAAAAAAAAAAAA,
    0xCCCCCCCCCCCCCCCC,
    0xF0F0F0F0F0F0F0F0,
    0xFF00FF00FF00FF00,
    0xFFFF0000FFFF0000,
    0xFFFFFFFF00000000,
)
"""The bits of a word that have bit 0, 1, … of their index set."""
_LOW: Final = np.uint64(0xFFFFFFFF)


def classify(pages: memoryview, page_size: int, first: int, /) -> bytes:
    """See `kernels.classify`; `pages` are bytes, `page_size` is one of PAGE_SIZES."""
    count = len(pages) // page_size
    width = page_size // _WORD
    words = np.frombuffer(pages, "<u8", count * width).reshape(count, width)
    numbers = np.arange(count, dtype=np.uint64) + np.uint64(first & 0xFFFFFFFF) & _LOW
    blocks = page_size // block_size(page_size)
    whole, ecc = _sums(words, blocks)
    stored = words[:, 0]
    new = _half(words, FLAGS_OFFSET) & np.uint64(NEW_FORMAT) != 0
    if page_size <= LARGEST_SMALL:
        good = np.where(new, False, _old_is_good(whole[:, 0], stored, numbers))
        expected = stored[:, None]
    else:
        good = np.zeros(count, np.bool_)
        new &= _half(words, NUMBER_OFFSET) == numbers
        others = words[:, BLOCK_CHECKSUMS // _WORD :][:, : blocks - 1]
        expected = np.concatenate((stored[:, None], others), axis=1)
    computed = (_folded(whole) ^ numbers[:, None]) | ecc << np.uint64(32)
    good |= new & (computed == expected).all(axis=1)
    classes = np.where(good, np.uint8(GOOD), np.uint8(SUSPECT))
    zero = np.flatnonzero((stored == 0) & (whole == 0).all(axis=1))
    classes[zero[~words[zero].any(axis=1)]] = BLANK
    return classes.tobytes()


def _old_is_good(whole: Words, stored: Words, numbers: Words) -> Flags:
    """Pages of the old format: their XOR is that of all dwords but the first, with the number."""
    number = stored >> np.uint64(32)
    xor = _folded(whole) ^ number ^ np.uint64(XOR_SEED)
    found: Flags = (xor == stored & _LOW) & (number == numbers)
    return found


def _sums(words: Words, blocks: int) -> tuple[Words, Words]:
    """(page, block) -> XOR of all its words, and ECC dword. The first word of a page is 0."""
    count, width = words.shape
    matrix = words.reshape(count, blocks, width // blocks // _COLUMNS, _COLUMNS)
    rows = np.bitwise_xor.reduce(matrix, axis=3)
    columns = np.bitwise_xor.reduce(matrix, axis=2)
    rows[:, 0, 0] ^= words[:, 0]
    columns[:, 0, 0] ^= words[:, 0]
    parities = _upper_halves(rows) + _upper_halves(columns)
    whole = np.bitwise_xor.reduce(columns, axis=2)
    parities += [whole & np.uint64(bits) for bits in reversed(_WITHIN_A_WORD)]
    places = np.arange(len(parities) - 1, -1, -1, dtype=np.uint64)
    found = _parity(np.stack(parities)) << places[:, None, None]
    low = np.bitwise_or.reduce(found, axis=0)
    high = low ^ _parity(whole) * np.uint64((1 << len(parities)) - 1)
    return whole, low | high << np.uint64(16)


def _upper_halves(words: Words) -> list[Words]:
    """XOR of the words with the top bit of their index set, then with the next one set, …"""
    found = []
    while (half := words.shape[-1] // 2) > 0:
        upper = words[..., half:]
        found.append(np.bitwise_xor.reduce(upper, axis=-1))
        words = words[..., :half] ^ upper
    return found


def _half(words: Words, offset: int) -> Words:
    """The dword at `offset` of each page."""
    shift = np.uint64(offset % _WORD * 8)
    found: Words = words[:, offset // _WORD] >> shift & _LOW
    return found


def _folded(words: Words) -> Words:
    found: Words = (words ^ words >> np.uint64(32)) & _LOW
    return found


def _parity(words: Words) -> Words:
    for shift in (32, 16, 8, 4, 2, 1):
        words = words ^ words >> np.uint64(shift)
    return words & np.uint64(1)
