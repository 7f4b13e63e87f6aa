"""Whether the pieces of a long value are as many bytes as its root says."""

import struct

import pytest

from esefiles.pages.structure.long_values import long_value, piece

ID = b"\0\0\0\1"
PAGE = 4096
STEP = 1000
PLAIN = b"\x41" * STEP
ASCII = bytes([1 << 3 | 7]) + bytes(875)
"""7,000 bits of 1,000 letters."""
UNICODE = bytes([2 << 3 | 3]) + bytes(438)
"""3,500 bits of 500 letters of two bytes."""
XPRESS = b"\x18" + struct.pack("<H", STEP) + b"\x99" * 40
XPRESS9, XPRESS10 = b"\x28" + b"\x99" * 50, b"\x30" + b"\x99" * 50
SCRUBBED = b"\x20" + b"L" * 40


def ended(size: int, *pieces: tuple[int, bytes], root: bytes | None = None) -> str:
    found = long_value(ID, root or struct.pack("<II", 1, size), deleted=False)
    for offset, data in pieces:
        found.add(piece(offset, data))
    return found.end(PAGE)


@pytest.mark.parametrize(
    ("size", "pieces"),
    [
        (0, []),
        (20, [(0, b"x" * 20)]),
        (STEP, [(0, PLAIN)]),
        (STEP, [(0, ASCII)]),
        (STEP, [(0, UNICODE)]),
        (STEP, [(0, XPRESS)]),
        (STEP, [(0, XPRESS9)]),
        (STEP, [(0, XPRESS10)]),
        (2500, [(0, PLAIN), (1000, XPRESS), (2000, PLAIN[:500])]),
        (3000, [(0, XPRESS), (1000, XPRESS9), (2000, ASCII)]),
    ],
)
def test_what_is_complete_is_right(size: int, pieces: list[tuple[int, bytes]]) -> None:
    assert ended(size, *pieces) == ""


@pytest.mark.parametrize(
    ("size", "pieces", "why"),
    [
        (1_000_000, [(0, b"x" * 20)], "1,000,000 bytes by its root, and its last piece is at 0"),
        (1000, [(0, b"x" * 20)], "20 bytes of 1,000 in its piece at 0"),
        (1000, [(0, XPRESS[:1] + b"\x10\0" + XPRESS)], "46 bytes of 1,000"),
        (19, [(0, b"x" * 20)], "20 bytes of 19"),
        (20, [], "20 bytes by its root, and none is there"),
        (2500, [(0, PLAIN), (2000, PLAIN[:500])], "1,000 bytes of 2,000 in its piece at 0"),
        (2500, [(1000, PLAIN), (2000, PLAIN[:500])], "a piece at 1,000 where byte 0 should"),
        (
            4500,
            [(0, PLAIN), (1000, PLAIN), (3000, PLAIN), (4000, PLAIN[:500])],
            "a piece at 3,000 where byte 2,000 should follow",
        ),
        (2500, [(0, PLAIN), (1000, PLAIN)], "2,500 bytes by its root, and its last piece is at"),
        (2500, [(0, PLAIN), (1000, PLAIN), (2000, PLAIN)], "1,000 bytes of 500"),
        (500, [(0, PLAIN), (1000, PLAIN)], "500 bytes by its root, and its last piece is at 1,000"),
        (2500, [(0, PLAIN), (1000, b"x" * 20), (2000, PLAIN[:500])], "20 bytes of 1,000"),
    ],
)
def test_what_is_incomplete_is_said(size: int, pieces: list[tuple[int, bytes]], why: str) -> None:
    found = ended(size, *pieces)
    assert found.startswith("long value 00000001 has ")
    assert why in found


def test_what_is_deleted_scrubbed_or_encrypted_is_not_judged() -> None:
    deleted = long_value(ID, struct.pack("<II", 0, 5000), deleted=True)
    assert deleted.end(PAGE) == ""
    assert ended(5000, (0, SCRUBBED)) == ""
    assert ended(5000, (0, PLAIN), root=struct.pack("<IIB", 1, 5000, 1)) == ""
    assert ended(5000, (0, PLAIN), root=struct.pack("<IIB", 1, 5000, 0)) != ""


def test_a_root_of_another_length_is_none() -> None:
    assert "a root of 5 bytes" in ended(20, (0, b"x" * 20), root=b"12345")
