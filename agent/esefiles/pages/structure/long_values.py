"""Long values, and the check that the pieces of each are as many bytes as its root says.

The root of a long value has its references and its size in bytes (LVROOT in rec.hxx); its pieces
stand behind it under their offsets. All but the last are equally long, none has a gap before it,
and together they are the size (ErrREPAIRCheckLV in lv.cxx). A piece that is shorter is compressed:
the upper five bits of its first byte are the form (compression.cxx).
"""

import struct
from typing import Final

import msgspec

_ROOT: Final = struct.Struct("<II")
_ROOT_BYTES: Final = (8, 9)
"""The ninth byte has flags."""
_ENCRYPTED: Final = 0x1
_BITS_ASCII, _BITS_UNICODE, _XPRESS, _SCRUBBED, _LAST_FORM = 1, 2, 3, 4, 6


class Piece(msgspec.Struct, array_like=True, frozen=True, gc=False):
    offset: int
    stored: int
    """Bytes on the page."""
    inflated: int
    """Bytes that a compressed one stands for, as its first bytes say; 0: they do not say so."""
    form: int
    """Number of its compression, if it is compressed; 0: that is none."""


def piece(offset: int, data: bytes) -> Piece:
    form = data[0] >> 3 if data else 0
    inflated = 0
    if form in (_BITS_ASCII, _BITS_UNICODE):
        # Seven bits for each letter, which has one byte or two.
        bits = 8 * (len(data) - 2) + (data[0] & 7) + 1
        inflated = bits // 7 * form
    elif form == _XPRESS and len(data) > 2:
        inflated = data[1] | data[2] << 8
    return Piece(offset, len(data), inflated, form if form <= _LAST_FORM else 0)


class LongValue(msgspec.Struct, array_like=True, gc=False):
    """A long value while its pieces are met, in the order of their offsets."""

    id: bytes
    size: int
    """Bytes, as its root says."""
    is_judged: bool = True
    """False where it is being deleted, or was scrubbed or encrypted."""
    step: int = 0
    """Offset of the second piece; 0: none was met."""
    last: Piece | None = None
    why: str = ""
    """A sentence on the first thing that is wrong with it."""

    def add(self, piece: Piece) -> None:
        """The next piece."""
        last, expected = self.last, 0
        if last is not None:
            self.step = self.step or piece.offset
            expected = last.offset + self.step
            self._judge(last, self.step)
        if piece.offset != expected:
            self._wrong(f"has a piece at {piece.offset:,} where byte {expected:,} should follow")
        self.is_judged &= piece.form != _SCRUBBED
        self.last = piece

    def end(self, page_size: int) -> str:
        """After the last piece: a sentence on what is wrong; empty: nothing is."""
        last = self.last
        held = last.offset if last is not None else 0
        rest, most = self.size - held, self.step or page_size
        if last is None and self.size:
            self._wrong(f"has {self.size:,} bytes by its root, and none is there")
        elif last is not None and not 0 < rest <= most:
            self._wrong(f"has {self.size:,} bytes by its root, and its last piece is at {held:,}")
        elif last is not None:
            self._judge(last, rest)
        return self.why if self.is_judged else ""

    def _judge(self, piece: Piece, expected: int) -> None:
        """Check that a piece stands for so many bytes, as it is or compressed."""
        if expected in (piece.stored, piece.inflated):
            return
        unknown = piece.form > _XPRESS and not piece.inflated
        if piece.stored > expected or not unknown:
            what = f"{piece.stored:,} bytes of {expected:,}"
            self._wrong(f"has {what} in its piece at {piece.offset:,}")

    def _wrong(self, why: str) -> None:
        self.why = self.why or f"long value {self.id.hex()} {why}"


def long_value(id: bytes, data: bytes, *, deleted: bool) -> LongValue:
    """That of a root with `data`."""
    if len(data) not in _ROOT_BYTES:
        found = LongValue(id, 0, why=f"long value {id.hex()} has a root of {len(data)} bytes")
        found.is_judged = not deleted
        return found
    _, size = _ROOT.unpack_from(data)
    encrypted = len(data) > _ROOT.size and bool(data[_ROOT.size] & _ENCRYPTED)
    return LongValue(id, size, is_judged=not (deleted or encrypted))
