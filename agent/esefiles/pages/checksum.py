"""The checksums of single pages, and the reason why a page does not verify.

Three forms: the 32-bit XOR of headers, the same of the pages of engines before Exchange
2003 SP1, and XOR+ECC of all later ones, for large pages in four blocks. Sources:
checksumu.cxx, checksum_amd64.cxx and cpage.cxx of the published engine. Many pages at once
are the business of `kernels`.
"""

import struct
from functools import cache
from itertools import count, takewhile
from typing import Final, Literal

import msgspec

from esefiles.pages.layout import (
    BLOCK_CHECKSUMS,
    FLAGS_OFFSET,
    LARGEST_NUMBER,
    LARGEST_SMALL,
    NEW_FORMAT,
    NEW_FORMAT_BIT,
    NUMBER_OFFSET,
    block_size,
)

XOR_SEED: Final = 0x89ABCDEF

Fault = Literal["checksum", "correctable", "wrong_page"]

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_LOW = 0xFFFFFFFF
_MASKS = (0xAAAAAAAA, 0xCCCCCCCC, 0xF0F0F0F0, 0xFF00FF00, 0xFFFF0000)
_TRAILER_ZEROS = (1, 2, 3, 6)
_CHECKSUM_BITS = 64


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The fault of a page. `fault` None: none, it verifies."""

    fault: Fault | None = None
    bits: tuple[int, ...] = ()
    """Of a correctable page: the flipped bits, counted within the page, LSB first."""
    block: int | None = None
    """The first block (from 0) that is beyond correction; of a correctable page, the first one
    that was corrected. None where the page, or its fault, has no block."""
    written_as: int | None = None
    """Of a wrong page: the number under which it was actually written."""
    maybe_flipped: bool = False
    """Of a wrong page: damage of nothing but its stored checksum would look the same."""
    trailer: bool = False
    """The page that a streaming backup puts behind the last one; it has no number."""


def xor_checksum(data: bytes) -> int:
    """32-bit XOR of a header page, or of a page of the old format: all dwords but the first."""
    stored: int = _U32.unpack_from(data)[0]
    return _fold_dwords(data) ^ stored ^ XOR_SEED


def page_checksums(page: bytes, number: int) -> tuple[int, ...]:
    """XOR+ECC of each block (one, or four of a large page): XOR low dword, ECC high dword. The
    first is of the page as it is, so those of blocks 2 to 4 must be stored before."""
    size = block_size(len(page))
    first = _checksum(bytes(8) + page[8:size], number)
    if size == len(page):
        return (first,)
    rest = [page[start : start + size] for start in range(size, len(page), size)]
    return (first, *[_checksum(block, number) for block in rest])


def is_trailer(page: bytes) -> bool:
    """True if this page, the last of a file, is the trailer of a streaming backup, undamaged."""
    words = struct.unpack_from("<7I", page)
    return all(words[at] == 0 for at in _TRAILER_ZEROS) and words[0] == xor_checksum(page)


def diagnose(page: bytes, number: int, *, last: bool = False) -> Diagnosis:
    """Diagnose the page read in the place of page `number`, which is not blank.

    `last` says that no page follows it. Nothing is corrected but in memory, and only
    one bit a block, where ECC, XOR and a new calculation agree.
    """
    if last and is_trailer(page):
        return Diagnosis(trailer=True)
    if not _U32.unpack_from(page, FLAGS_OFFSET)[0] & NEW_FORMAT:
        return _diagnose_old(page, number)
    stored, computed = _stored(page), page_checksums(page, number)
    if stored == computed:
        return _numbered(page, number)
    return _misplaced(page, number, stored, computed) or _mended(page, number, computed)


def corrected_page(page: bytes, number: int) -> bytes:
    """The page with its flipped bits set right; empty where it is beyond correction."""
    diagnosis = diagnose(page, number)
    if diagnosis.fault != "correctable":
        return b""
    whole = bytearray(page)
    for bit in diagnosis.bits:
        whole[bit // 8] ^= 1 << bit % 8
    return bytes(whole)


def _diagnose_old(page: bytes, number: int) -> Diagnosis:
    # No large page has the old format: here its flag is damaged, or all of it.
    stored, written_as = struct.unpack_from("<2I", page)
    if len(page) > LARGEST_SMALL or stored != xor_checksum(page):
        return Diagnosis(fault="checksum")
    if written_as == number & _LOW:
        return Diagnosis()
    # A header, say, has the same checksum, and in place of the number something else.
    if not _is_possible(written_as):
        return Diagnosis(fault="checksum")
    return Diagnosis(fault="wrong_page", written_as=written_as)


def _stored(page: bytes | bytearray) -> tuple[int, ...]:
    first = _U64.unpack_from(page)[0]
    if len(page) <= LARGEST_SMALL:
        return (first,)
    return (first, *struct.unpack_from("<3Q", page, BLOCK_CHECKSUMS))


def _numbered(page: bytes, number: int) -> Diagnosis:
    """A page whose checksums hold: a large one has its number written in it, too."""
    if len(page) <= LARGEST_SMALL:
        return Diagnosis()
    written_as = _U32.unpack_from(page, NUMBER_OFFSET)[0]
    if written_as == number & _LOW:
        return Diagnosis()
    return Diagnosis(fault="wrong_page", written_as=written_as)


def _is_possible(number: int) -> bool:
    return 1 <= number <= LARGEST_NUMBER


def _misplaced(
    page: bytes, number: int, stored: tuple[int, ...], computed: tuple[int, ...]
) -> Diagnosis | None:
    """The page is whole, but of another number: all checksums differ by the same salt."""
    differences = {was ^ now for was, now in zip(stored, computed, strict=True)}
    salt = differences.pop()
    written_as = salt ^ (number & _LOW)
    if differences or not _is_possible(written_as):
        return None
    if _numbered(page, written_as).fault is not None:
        return None
    # A large page has its number written in it, too.
    return Diagnosis(fault="wrong_page", written_as=written_as, maybe_flipped=len(stored) == 1)


def _mended(page: bytes, number: int, computed: tuple[int, ...]) -> Diagnosis:
    """A page that does not verify, with one bit flipped in each block that asks for it."""
    whole, bits = bytearray(page), list[int]()
    block_bits = block_size(len(page)) * 8
    for block, now in enumerate(computed):
        # Computed again: the bit of block 1 may have been in the checksum of another block.
        difference = _stored(whole)[block] ^ now
        if difference == 0:
            continue
        bit = _located(difference, block_bits - 1, first=block == 0)
        if bit is None:
            return Diagnosis(fault="checksum", block=block)
        bits.append(block * block_bits + bit)
        whole[bits[-1] // 8] ^= 1 << bit % 8
    mended = bytes(whole)
    again = zip(_stored(mended), page_checksums(mended, number), strict=True)
    for block, (was, now) in enumerate(again):
        if was != now:
            return Diagnosis(fault="checksum", block=block)
    numbered = _numbered(mended, number)
    if numbered.fault is not None:
        return numbered
    return Diagnosis(fault="correctable", bits=tuple(bits), block=bits[0] // block_bits)


def _located(difference: int, mask: int, *, first: bool) -> int | None:
    """The bit of a block by which stored and computed checksum differ so, None: no single one.
    `mask` is the index of the block's last bit."""
    ecc, columns = difference >> 32, difference & _LOW
    bit = ecc & 0xFFFF
    if ((ecc >> 16) ^ ecc) & mask != mask or columns.bit_count() != 1 or bit > mask:
        return None
    if first and (bit < _CHECKSUM_BITS or bit == NEW_FORMAT_BIT):
        return None
    return bit


def _checksum(block: bytes, number: int) -> int:
    """XOR+ECC of a block of 2^n bytes.

    Fold: the parity of the upper half is the top bit of the index of all set bits; the
    halves together go on. What is left after the last fold is the XOR of all dwords.
    """
    bits = len(block) * 8
    mask = bits - 1
    # The first fold is half of the work: of bytes, not of one number that is shifted and masked.
    half = len(block) // 2
    upper = int.from_bytes(block[half:], "little")
    rest = int.from_bytes(block[:half], "little") ^ upper
    low = (upper.bit_count() & 1) * half * 8
    for bits, kept in _folds(half * 8):
        upper = rest >> bits
        rest = (rest & kept) ^ upper
        low |= (upper.bit_count() & 1) * bits
    for at, columns in enumerate(_MASKS):
        low |= ((rest & columns).bit_count() & 1) << at
    high = low ^ mask if rest.bit_count() & 1 else low
    return (rest ^ (number & _LOW)) | low << 32 | high << 48


@cache
def _folds(bits: int) -> tuple[tuple[int, int], ...]:
    """Bits that are left after each fold of so many to 32, and a mask of them."""
    left = takewhile(lambda size: size >= 32, (bits >> fold for fold in count(1)))
    return tuple((size, (1 << size) - 1) for size in left)


def _fold_dwords(data: bytes) -> int:
    bits = len(data) * 8
    rest = int.from_bytes(data, "little")
    while bits > 32:
        bits //= 2
        rest = (rest & ((1 << bits) - 1)) ^ (rest >> bits)
    return rest
