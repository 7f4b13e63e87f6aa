"""The target `page`: anything in the place of a page, and good pages with bits flipped."""

from esefiles.pages.checksum import Diagnosis, diagnose
from esefiles.pages.kernels import classify
from esefiles.pages.layout import (
    BLANK,
    GOOD,
    LARGEST_SMALL,
    NEW_FORMAT_BIT,
    PAGE_SIZES,
    block_size,
)
from tests.support import obvious_checksum as obvious
from tests.support.edb import seal, sealed_header

HEAD = 8
FORMS = 5
"""As the content is; of the new format; of the old one; a trailer; content repeated."""
LAST = 0x80


def page(data: bytes) -> None:
    """One page: 8 bytes say what (see `made`), 3 more a flipped bit, the rest is its content."""
    content, place, last = made(data)
    found = diagnose(content, place, last=last)
    assert found == diagnose(content, place, last=last), "not the same twice"
    if found.trailer:
        assert last
        assert obvious.words(content[:4]) == [obvious.old_checksum(content)]
        return
    kind = classify(content, len(content), place)[0]
    if kind != BLANK:
        assert (kind == GOOD) == (found.fault is None), "the kernel says otherwise"
        _judged(content, place, found)


def made(data: bytes) -> tuple[bytes, int, bool]:
    """Page, the number of its place, whether it is the last one.

    Byte 0: page size; 1: form, LAST; 2-5: the number it is sealed with; 6: how far from there
    it stands; 7: how many bits are flipped.
    """
    data = data.ljust(HEAD, b"\0")
    size, form = PAGE_SIZES[data[0] % len(PAGE_SIZES)], (data[1] & ~LAST) % FORMS
    number = int.from_bytes(data[2:6], "little")
    end = HEAD + 3 * (data[7] % 6)
    flips = [int.from_bytes(data[at : at + 3], "little") for at in range(HEAD, end, 3)]
    content = data[end : end + size].ljust(size, b"\0")
    if form == FORMS - 1 and data[end:]:
        content = (data[end:] * size)[:size]
    elif form == 1:
        content = seal(content, number)
    elif form == 2:
        content = obvious.seal(content, number, old=True)
    elif form == 3:
        content = sealed_header(content[:4] + bytes(12) + content[16:24] + bytes(4) + content[28:])
    changed = bytearray(content)
    for flip in flips:
        changed[flip // 8 % size] ^= 1 << flip % 8
    return bytes(changed), (number + data[6]) & 0xFFFFFFFF, bool(data[1] & LAST)


def _judged(content: bytes, place: int, found: Diagnosis) -> None:
    if found.fault is None:
        assert obvious.verifies(content, place)
    elif found.fault == "wrong_page":
        assert found.written_as not in {None, place}
        if not obvious.verifies(content, found.written_as or 0):
            assert len(content) > LARGEST_SMALL
            # Its checksums hold, perhaps with a bit of this number corrected.
            (carried,) = obvious.words(content[64:68])
            assert (carried ^ (found.written_as or 0)).bit_count() <= 1
    elif found.fault == "correctable":
        mended = bytearray(content)
        for bit in found.bits:
            mended[bit // 8] ^= 1 << bit % 8
        assert obvious.verifies(bytes(mended), place)
        blocks = [bit // 8 // block_size(len(content)) for bit in found.bits]
        assert blocks == sorted(set(blocks)), "more than one bit a block"
        assert found.block == blocks[0]
        assert min(found.bits) >= 64
        assert NEW_FORMAT_BIT not in found.bits
