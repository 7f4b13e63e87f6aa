import struct

import pytest

from esefiles.pages.file_types import FILE_TYPES, name_of
from tests.support.edb import sealed_header


def of_the_engine(file_type: int, size: int = 4096) -> bytes:
    """A header page of another file of the engine, its checksum as a database's header."""
    content = bytearray(size)
    content[4:600] = bytes(range(1, 150)) * 4
    struct.pack_into("<I", content, 667, file_type)
    return sealed_header(bytes(content))


@pytest.mark.parametrize("file_type", [2, 3, 4, 5, 7, 10, 11])
def test_a_file_of_the_engine_is_named_for_what_it_is(file_type: int) -> None:
    log = of_the_engine(file_type) + b"\xff" * 60_000
    assert name_of(log) == f"not an ESE database but a {FILE_TYPES[file_type]}"


def test_the_type_alone_is_not_enough() -> None:
    damaged = bytearray(of_the_engine(3))
    damaged[100] ^= 1
    assert name_of(bytes(damaged)) == "not an ESE database"
    assert name_of(of_the_engine(3)[:2000]) == "not an ESE database"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x1f\x8b\x08\0", "gzip data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"vhdxfile", "a virtual disk (VHDX)"),
        (b"conectix", "a virtual disk (VHD)"),
        (b"\xeb\x52\x90NTFS    ", "a volume with NTFS"),
        (b"SQLite format 3\0", "a SQLite database"),
        (b"\0\x01\0\0Standard Jet DB\0", "an Access database"),
        (b"ElfFile\0", "an event log"),
    ],
)
def test_other_files_are_named_by_their_first_bytes(data: bytes, what: str) -> None:
    assert name_of(data + bytes(9000)).startswith(f"not an ESE database but {what}")


def test_a_sql_server_file_is_named_by_its_first_page() -> None:
    head = bytearray(8192)
    head[0:2] = b"\x01\x0f"
    assert name_of(bytes(head)) == "not an ESE database"
    struct.pack_into("<IH", head, 32, 0, 1)
    assert name_of(bytes(head)) == "not an ESE database but a file of a SQL Server database"


def test_nothing_and_zeros_are_said_to_be_that() -> None:
    assert name_of(b"") == "the file is empty"
    assert name_of(bytes(65536)) == "not an ESE database: its first 65536 bytes are zero"
    assert name_of(b"abc") == "not an ESE database"
