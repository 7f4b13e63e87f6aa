"""The header of a log of the engine: that of ESE (LGFILEHDR in log.hxx of the published engine).

What it says of the log before is not written here (see LogFile).
"""

import struct
from typing import Final

from eselab.disk.log_file import HEADER_BYTES, SEGMENT_BYTES, SEGMENTS
from eselab.storage.transaction_log.header_bytes import log_time, signature_bytes
from esewatch.ese.logs.log_header import LogHeader, parse_log_header
from esewatch.ese.pages.checksum import xor_checksum

_VERSION: Final = (8, 4000, 5)
_MINOR_UPDATE: Final = 16
_CIRCULAR: Final = 0x02
"""Logs that no recovery needs are deleted."""
_LOG: Final = 3


def header_page(generation: int, number: int, *, began: float, created: float) -> bytes:
    """The header, sealed. `number` and `began` are those of the signature of the series."""
    page = bytearray(HEADER_BYTES)
    struct.pack_into("<I3H", page, 4, generation, SEGMENT_BYTES, 1, SEGMENTS)
    page[16:24] = log_time(created)
    struct.pack_into("<3I", page, 32, *_VERSION)
    page[44:72] = signature_bytes(number, began)
    page[639] = _CIRCULAR
    struct.pack_into("<I", page, 648, _MINOR_UPDATE)
    struct.pack_into("<I", page, 667, _LOG)
    struct.pack_into("<I", page, 0, xor_checksum(bytes(page)))
    return bytes(page)


def read_log_header(page: bytes, generation: int, number: int) -> LogHeader | None:
    """The header of this generation of the series with this signature; None: it is not."""
    found = parse_log_header(page)
    if not isinstance(found, LogHeader) or found.generation != generation:
        return None
    return found if found.signature.random == f"{number:08x}" else None
