"""The checksums of ESE pages, bit by bit as they are defined: slow, short, and easy to judge.

What the tests compare the real ones with. It shares no code and no constant with the package.
"""

from itertools import pairwise


def words(data: bytes) -> list[int]:
    """The little-endian dwords of `data`."""
    return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]


def old_checksum(page: bytes) -> int:
    """The 32-bit XOR of headers and of pages of the old format: all dwords but the first."""
    result = 0x89ABCDEF
    for word in words(page)[1:]:
        result ^= word
    return result


def block_checksum(block: bytes, number: int, *, first: bool) -> bytes:
    """XOR+ECC of one block of page `number`, the 8 bytes as they are stored.

    The `first` block of a page has its own checksum in it, which counts as zeros.
    """
    if first:
        block = bytes(8) + block[8:]
    bits = len(block) * 8
    xor = number
    for word in words(block):
        xor ^= word
    indices = complements = 0
    for index in range(bits):
        if block[index // 8] >> index % 8 & 1:
            indices ^= index
            complements ^= bits - 1 - index
    return xor.to_bytes(4, "little") + (indices | complements << 16).to_bytes(4, "little")


def block_edges(page_size: int) -> list[tuple[int, int]]:
    """Where each block begins and ends: one block to 8 KiB, four of a larger page."""
    count = 1 if page_size <= 8192 else 4
    return list(pairwise(range(0, page_size + 1, page_size // count)))


def checksum_places(page_size: int) -> list[int]:
    """Where the checksum of each block is stored."""
    return [0] if page_size <= 8192 else [0, 40, 48, 56]


def verifies(page: bytes, number: int) -> bool:
    """Whether a page that is not blank is good as page `number`."""
    if not page[37] & 0x20:
        stored, written_as = words(page[:8])
        return len(page) <= 8192 and stored == old_checksum(page) and written_as == number
    for (begin, end), place in zip(block_edges(len(page)), checksum_places(len(page)), strict=True):
        expected = block_checksum(page[begin:end], number, first=begin == 0)
        if page[place : place + 8] != expected:
            return False
    return len(page) <= 8192 or words(page[64:68]) == [number]


def page_class(page: bytes, number: int) -> int:
    """0 good, 1 blank, 2 suspect."""
    if page == bytes(len(page)):
        return 1
    return 0 if verifies(page, number) else 2


def seal(page: bytes, number: int, *, old: bool = False) -> bytes:
    """`page` as the engine would write it as page `number`: flag, number and checksums set."""
    sealed = bytearray(page)
    if old:
        sealed[37] &= ~0x20
        sealed[4:8] = number.to_bytes(4, "little")
        sealed[0:4] = old_checksum(bytes(sealed)).to_bytes(4, "little")
        return bytes(sealed)
    sealed[37] |= 0x20
    if len(page) > 8192:
        sealed[64:68] = number.to_bytes(4, "little")
    places = zip(block_edges(len(page)), checksum_places(len(page)), strict=True)
    # The checksums of the later blocks lie in the first one, which is therefore last.
    for (begin, end), place in reversed(list(places)):
        block = bytes(sealed[begin:end])
        sealed[place : place + 8] = block_checksum(block, number, first=begin == 0)
    return bytes(sealed)


def flipped(page: bytes, *bits: int) -> bytes:
    """The page with these bits changed, counted from its first byte, LSB first."""
    changed = bytearray(page)
    for bit in bits:
        changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)
