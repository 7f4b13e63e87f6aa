"""Files that are mistaken for a database: their type, by their first bytes.

Every file of the engine has its type at offset 667 and the checksum of a database header.
Sources: log.hxx, flushmap.hxx, checksumu.hxx, revertsnapshot.h and jethdr.w of the published
engine; the formats' own descriptions for all others.
"""

import struct
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from esefiles.pages.checksum import xor_checksum
from esefiles.pages.layout import PAGE_SIZES

FILE_TYPES: Final[Mapping[int, str]] = MappingProxyType({
    0: "unknown", 1: "database", 2: "streaming file (.stm)", 3: "transaction log",
    4: "checkpoint file (.chk)", 5: "temporary database", 7: "flush map (.jfm)",
    10: "revert snapshot (.rbs)", 11: "checkpoint of a revert",
})  # fmt: skip
"""Number at offset 667 -> type of the file."""

_FILE_TYPE = struct.Struct("<667xI")
_SQL_SERVER = struct.Struct("<BB30xIH")
_SQL_SERVER_FILE_HEADER = 15

_MAGICS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b", "gzip data: unpack it first"),
    (0, b"PK\x03\x04", "a zip archive: unpack it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"),
    (0, b"\xfd7zXZ\0", "xz data: unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "zstd data: unpack it first"),
    (0, b"BZh", "bzip2 data: unpack it first"),
    (0, b"MSCF", "a cabinet archive: unpack it first"),
    (0, b"vhdxfile", "a virtual disk (VHDX): mount it and read the database in it"),
    (0, b"conectix", "a virtual disk (VHD): mount it and read the database in it"),
    (0, b"KDMV", "a virtual disk (VMDK): mount it and read the database in it"),
    (0, b"QFI\xfb", "a virtual disk (qcow2): mount it and read the database in it"),
    (3, b"NTFS    ", "a volume with NTFS: mount it and read the database in it"),
    (3, b"ReFS\0", "a volume with ReFS: mount it and read the database in it"),
    (3, b"-FVE-FS-", "a volume with BitLocker: unlock and mount it"),
    (0, b"SQLite format 3\0", "a SQLite database"),
    (0, b"regf", "a registry hive"),
    (4, b"Standard Jet DB\0", "an Access database (another engine of the name Jet)"),
    (4, b"Standard ACE DB\0", "an Access database (another engine of the name Jet)"),
    (0, b"ElfFile\0", "an event log: read it with `esewatch events`"),
    (0, b"MZ", "a Windows program"),
    (0, b"\x7fELF", "a Linux program"),
)


def name_of(data: bytes) -> str:
    """A sentence on the type of a file that begins with `data` and is no database."""
    if not data:
        return "the file is empty"
    if not any(data):
        return f"not an ESE database: its first {len(data)} bytes are zero"
    what = type_of(data)
    return f"not an ESE database but {what}" if what else "not an ESE database"


def type_of(data: bytes) -> str:
    """The type of a file that begins with `data`; empty where they do not show it."""
    return _of_the_engine(data) or foreign_type_of(data)


def _of_the_engine(data: bytes) -> str:
    if len(data) < PAGE_SIZES[0]:
        return ""
    file_type: int = _FILE_TYPE.unpack_from(data)[0]
    if file_type in (0, 1) or file_type not in FILE_TYPES:
        return ""
    what = f"a {FILE_TYPES[file_type]}"
    stored: int = struct.unpack_from("<I", data)[0]
    fits = (len(data) >= size and stored == xor_checksum(data[:size]) for size in PAGE_SIZES)
    return what if any(fits) else ""


def foreign_type_of(data: bytes) -> str:
    """The type of a file that no ESE engine writes; empty where its beginning does not show it."""
    for at, magic, what in _MAGICS:
        if data.startswith(magic, at):
            return what
    if len(data) >= PAGE_SIZES[0]:
        version, kind, page, file = _SQL_SERVER.unpack_from(data)
        if (version, kind, page) == (1, _SQL_SERVER_FILE_HEADER, 0) and file:
            return "a file of a SQL Server database"
    return ""
