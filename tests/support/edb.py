"""Database files made for tests: every page size and form, and the ways in which pages go bad.

The offsets of the header stand here once more, apart from those of the code under test.
The same arguments give the same bytes.
"""

import random
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal

from esefiles.pages.checksum import page_checksums, xor_checksum

Form = Literal["new", "old", "blank", "empty"]
"""`new`: XOR+ECC; `old`: the 32-bit XOR, up to 8 KiB; `empty`: freed, but not blank."""

Value = int | bytes | str | datetime | None

HEADER_FIELDS: Mapping[str, tuple[int, str]] = {
    "magic": (4, "<I"),
    "version": (8, "<I"),
    "dbtime": (16, "<Q"),
    "signature_random": (24, "<I"),
    "signature_created": (28, "time"),
    "signature_computer": (36, "16s"),
    "state": (52, "<I"),
    "consistent_position": (56, "position"),
    "consistent_time": (64, "time"),
    "attach_time": (72, "time"),
    "attach_position": (80, "position"),
    "detach_time": (88, "time"),
    "detach_position": (96, "position"),
    "database_id": (104, "<I"),
    "log_signature_random": (108, "<I"),
    "log_signature_created": (112, "time"),
    "log_signature_computer": (120, "16s"),
    "full_backup_position": (136, "position"),
    "full_backup_time": (144, "time"),
    "full_backup_first": (152, "<I"),
    "full_backup_last": (156, "<I"),
    "incremental_backup_position": (160, "position"),
    "incremental_backup_time": (168, "time"),
    "incremental_backup_first": (176, "<I"),
    "incremental_backup_last": (180, "<I"),
    "unfinished_backup_position": (184, "position"),
    "unfinished_backup_first": (200, "<I"),
    "unfinished_backup_last": (204, "<I"),
    "shadowing_disabled": (208, "<B"),
    "last_object_id": (212, "<I"),
    "os_major": (216, "<I"),
    "os_minor": (220, "<I"),
    "os_build": (224, "<I"),
    "os_service_pack": (228, "<I"),
    "update": (232, "<I"),
    "page_size_field": (236, "<I"),
    "repair_count": (240, "<I"),
    "repair_time": (244, "time"),
    "scrub_dbtime": (280, "<Q"),
    "scrub_time": (288, "time"),
    "required_first": (296, "<I"),
    "required_last": (300, "<I"),
    "max_committed_created": (348, "time"),
    "old_repair_count": (364, "<I"),
    "corrected": (368, "<I"),
    "corrected_time": (372, "time"),
    "corrected_old": (380, "<I"),
    "correction_failed": (384, "<I"),
    "correction_failed_time": (388, "time"),
    "correction_failed_old": (396, "<I"),
    "bad_checksums": (400, "<I"),
    "bad_checksums_time": (404, "time"),
    "bad_checksums_old": (412, "<I"),
    "committed_last": (416, "<I"),
    "copy_backup_position": (420, "position"),
    "copy_backup_time": (428, "time"),
    "differential_backup_time": (452, "time"),
    "scan_finished": (516, "time"),
    "scan_started": (524, "time"),
    "scan_contiguous_page": (532, "<I"),
    "recovering_log": (536, "<I"),
    "reattach_time": (564, "time"),
    "reattach_position": (572, "position"),
    "minor_update": (644, "<I"),
    "scan_highest_page": (652, "<I"),
    "file_type": (667, "<I"),
    "max_required_created": (672, "time"),
}
"""Field -> offset and form (`time` and `position` are those of the engine, 8 bytes each)."""

CREATED = datetime(2018, 1, 18, 11, 40, 8, 886000)

_DEFAULTS: Mapping[str, Value] = {
    "magic": 0x89ABCDEF,
    "version": 0x620,
    "update": 20,
    "dbtime": 13_607_731,
    "signature_random": 443_294_687,
    "signature_created": CREATED,
    "state": 3,
    "database_id": 1,
    "log_signature_random": 77,
    "log_signature_created": CREATED,
    "last_object_id": 9128,
    "os_major": 6,
    "os_minor": 3,
    "os_build": 9600,
    "file_type": 1,
}

_BODIES = 13
_NEW_FORMAT = 0x2000
_LEAF = 0x2
_EMPTY = 0x8
_CHUNK = 1 << 20


def log_time(when: datetime | None) -> bytes:
    """A time as headers have it: local when `when` has no time zone. None: not set."""
    if when is None:
        return bytes(8)
    ms = when.microsecond // 1000
    utc = when.tzinfo is not None
    date = (when.second, when.minute, when.hour, when.day, when.month, when.year - 1900)
    return bytes([*date, utc | (ms & 0x7F) << 1, (ms >> 7) << 1])


def log_position(generation: int, sector: int, byte: int) -> int:
    """A place in the transaction log, as the headers' 8 bytes read little-endian."""
    return byte | sector << 16 | generation << 32


def header_page(page_size: int, **fields: Value) -> bytes:
    """A header page with a valid checksum. `fields` are of HEADER_FIELDS; text is padded."""
    page = bytearray(page_size)
    values = {"page_size_field": page_size, **_DEFAULTS, **fields}
    for name, value in values.items():
        at, form = HEADER_FIELDS[name]
        if form == "time":
            assert value is None or isinstance(value, datetime | bytes)
            raw = value if isinstance(value, bytes) else log_time(value)
        elif form == "position":
            raw = struct.pack("<Q", value)
        else:
            raw = struct.pack(form, value.encode() if isinstance(value, str) else value)
        page[at : at + len(raw)] = raw
    return sealed_header(bytes(page))


def sealed_header(page: bytes) -> bytes:
    """A header (or trailer) page with its checksum made to fit."""
    return struct.pack("<I", xor_checksum(page)) + page[4:]


def page(page_size: int, number: int, form: Form = "new", seed: int = 0) -> bytes:
    """Page `number` of the database `seed`: valid, its content of chance."""
    if form == "blank":
        return bytes(page_size)
    if form == "old":
        return _old(page_size, number, seed)
    return _new(page_size, number, form, seed)


def trailer_page(page_size: int) -> bytes:
    """The page that a streaming backup puts behind the last one."""
    content = bytearray(random.Random("trailer").randbytes(page_size))
    for word in (1, 2, 3, 6):
        content[4 * word : 4 * word + 4] = bytes(4)
    return sealed_header(bytes(content))


def backup_trailer(header: bytes, first: int, last: int) -> bytes:
    """That page as it fits to a header page: a restore needs the logs from `first` to `last`."""
    page = bytearray(len(header))
    page[40:56] = header[184:200]
    struct.pack_into("<2I", page, 56, first, last)
    page[64:92], page[92:120] = header[24:52], header[108:136]
    return sealed_header(bytes(page))


def seal(content: bytes, number: int) -> bytes:
    """Any page content with its number and checksums of the new form."""
    sealed = bytearray(content)
    flags = struct.unpack_from("<I", sealed, 36)[0] | _NEW_FORMAT
    struct.pack_into("<I", sealed, 36, flags)
    if len(sealed) > 8192:
        struct.pack_into("<I12x", sealed, 64, number)
        struct.pack_into("<3Q", sealed, 40, *page_checksums(bytes(sealed), number)[1:])
    struct.pack_into("<Q", sealed, 0, page_checksums(bytes(sealed), number)[0])
    return bytes(sealed)


@lru_cache(maxsize=256)
def _body(page_size: int, which: int, form: Form, seed: int) -> bytes:
    """Content of a page, sealed as page 0: other numbers change it in few words only."""
    rng = random.Random(f"{page_size} {which} {form} {seed}")
    content = bytearray(page_size)
    start = 80 if page_size > 8192 else 40
    if form != "empty":
        content[start:] = rng.randbytes(page_size - start)
    content[8:36] = rng.randbytes(28)
    struct.pack_into("<I", content, 36, _EMPTY if form == "empty" else _LEAF)
    if form == "old":
        return struct.pack("<I", xor_checksum(bytes(content))) + content[4:]
    return seal(bytes(content), 0)


def _old(page_size: int, number: int, seed: int) -> bytes:
    if page_size > 8192:
        raise ValueError("large pages have no old form")
    body = _body(page_size, number % _BODIES, "old", seed)
    return struct.pack("<2I", struct.unpack_from("<I", body)[0] ^ number, number) + body[8:]


@lru_cache(maxsize=8)
def _carried(page_size: int) -> tuple[int, ...]:
    """Change of a large page's first checksum by each bit of the number that it carries."""
    nothing = seal(bytes(page_size), 0)
    changed = (seal(bytes(page_size), 1 << bit) for bit in range(32))
    first = struct.unpack_from("<Q", nothing)[0]
    return tuple(struct.unpack_from("<Q", page)[0] ^ first for page in changed)


def _new(page_size: int, number: int, form: Form, seed: int) -> bytes:
    body = _body(page_size, number % _BODIES, form, seed)
    first: int = struct.unpack_from("<Q", body)[0]
    if page_size <= 8192:
        return struct.pack("<Q", first ^ number) + body[8:]
    # XOR+ECC is linear: the checksum of a changed page is the XOR of the changes.
    for bit, change in enumerate(_carried(page_size)):
        if number >> bit & 1:
            first ^= change
    blocks = (checksum ^ number for checksum in struct.unpack_from("<3Q", body, 40))
    head = struct.pack("<Q", first) + body[8:40] + struct.pack("<3QI", *blocks, number)
    return head + body[68:]


@dataclass(frozen=True)
class Edb:
    """A database file on disk. Pages have the engine's numbers: page 1 is the first."""

    path: Path
    page_size: int
    pages: int

    def read(self, number: int) -> bytes:
        """The page as it stands in the file (-1: the header, 0: its shadow)."""
        with self.path.open("rb") as file:
            file.seek((number + 1) * self.page_size)
            return file.read(self.page_size)

    def write(self, number: int, content: bytes) -> None:
        """Put `content` where page `number` begins."""
        with self.path.open("r+b") as file:
            file.seek((number + 1) * self.page_size)
            file.write(content)

    def flip(self, number: int, *bits: int) -> None:
        """Flip bits, counted within the page, LSB first."""
        content = bytearray(self.read(number))
        for bit in bits:
            content[bit // 8] ^= 1 << bit % 8
        self.write(number, bytes(content))

    def misplace(self, number: int, written_as: int) -> None:
        """A whole, valid page of the number `written_as` in the place of page `number`."""
        self.write(number, page(self.page_size, written_as, seed=1))

    def tear(self, number: int, kept: int = 512) -> None:
        """Only the first `kept` bytes of the last write of the page came to the disk."""
        older = page(self.page_size, number, seed=2)
        self.write(number, self.read(number)[:kept] + older[kept:])

    def zero(self, number: int) -> None:
        """Every byte zero, as a page that was never written."""
        self.write(number, bytes(self.page_size))

    def cut(self, size: int) -> None:
        """Make the file `size` bytes long."""
        with self.path.open("r+b") as file:
            file.truncate(size)


def write_edb(
    path: Path,
    *,
    page_size: int = 4096,
    pages: int = 30,
    seed: int = 0,
    forms: Mapping[int, Form] | None = None,
    default: Form = "new",
    trailer: bool = False,
    header: Mapping[str, Value] | None = None,
) -> Edb:
    """Write a database of `pages` valid pages behind the header and its shadow.

    `forms`: those of single pages, all others have the form `default`. `header`: fields
    of HEADER_FIELDS. A trailer comes behind the last page and is not counted.
    """
    head = header_page(page_size, **(header or {}))
    with path.open("wb") as file:
        file.write(head + head)
        for chunk in _chunks(page_size, pages, seed, forms or {}, default):
            file.write(chunk)
        if trailer:
            file.write(trailer_page(page_size))
    return Edb(path, page_size, pages)


def _chunks(
    page_size: int, pages: int, seed: int, forms: Mapping[int, Form], default: Form
) -> Iterator[bytes]:
    step = _CHUNK // page_size
    for first in range(1, pages + 1, step):
        numbers = range(first, min(first + step, pages + 1))
        yield b"".join(
            page(page_size, number, forms.get(number, default), seed) for number in numbers
        )
