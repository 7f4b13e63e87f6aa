"""The databases that a log header or a checkpoint names as attached.

Source: ATTACHINFO in log.hxx of the published engine: entries one behind the other, up to an
entry whose database number is 0.
"""

import struct

import msgspec

from esewatch.ese.pages import header_fields
from esewatch.ese.pages.header_fields import LogPosition, Signature

_FIXED = 64
_START = struct.Struct("<BBH")
_UNICODE = 0x20


class Attachment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A database that was attached. `path` is as its server knew it."""

    path: str
    database_id: int
    signature: Signature
    attached: LogPosition | None
    consistent: LogPosition | None


def attachments(area: bytes) -> list[Attachment]:
    """The entries of `area`; what does not fit ends them."""
    found: list[Attachment] = []
    at = 0
    while at + _FIXED <= len(area):
        number, flags, size = _START.unpack_from(area, at)
        names = area[at + _FIXED : at + _FIXED + size]
        if not number or not size or len(names) < size:
            break
        found.append(
            Attachment(
                path=_first_name(names, unicode=bool(flags & _UNICODE)),
                database_id=number,
                signature=header_fields.signature(area, at + 36),
                attached=header_fields.position(area, at + 20),
                consistent=header_fields.position(area, at + 28),
            )
        )
        at += _FIXED + size
    return found


def _first_name(names: bytes, *, unicode: bool) -> str:
    text = names.decode("utf-16-le" if unicode else "latin-1", "replace")
    return text.split("\0")[0]
