"""The targets `structure` and `flush_map`: whole databases and maps with bytes changed.

Pages are sealed again, so that only what they say is wrong.
"""

import functools
import struct
import tempfile
from pathlib import Path

from esefiles import CopyResult, FileResult
from esefiles.commands.check import beyond_lines, beyond_object
from esefiles.pages.structure.report import MOST_ERRORS
from esefiles.scans.lost_writes import lost_writes
from esefiles.scans.structure.structure_check import check_structure
from tests.support import flush_maps
from tests.support.edb import seal, sealed_header
from tests.support.ese_database import PAGES, database

CHANGE = struct.Struct("<BHH")
"""A page, a byte of it, the 16 bits that are put there."""
SIZES = (4096, 16384)
NO_FILE = FileResult(path="a.edb", ended="complete")


@functools.cache
def _whole(page_size: int) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return database(page_size).write(Path(folder) / "a.edb").read_bytes()


@functools.cache
def _typed() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        types = {3: 1, 4: 2}
        return flush_maps.database(Path(folder) / "a.edb", types, pages=8).read_bytes()


def structure(data: bytes) -> None:
    """Byte 0: the page size, and whether the database is clean; then changes."""
    head = data[:1] or b"\0"
    size = SIZES[head[0] & 1]
    content = bytearray(_whole(size))
    if head[0] & 2:
        for begin in (0, size):
            struct.pack_into("<I", content, begin + 52, 2)
            content[begin : begin + size] = sealed_header(bytes(content[begin : begin + size]))
    changed = set[int]()
    for at in range(1, min(len(data), 1 + 40 * CHANGE.size) - CHANGE.size + 1, CHANGE.size):
        page, place, value = CHANGE.unpack_from(data, at)
        changed.add(page % PAGES + 1)
        struct.pack_into("<H", content, (page % PAGES + 2) * size + place % (size - 1), value)
    for page in changed:
        begin = (page + 1) * size
        content[begin : begin + size] = seal(bytes(content[begin : begin + size]), page)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.edb"
        path.write_bytes(content)
        found = check_structure(str(path))
    assert len(found.errors) <= MOST_ERRORS
    assert found.checked == (not found.reason)
    for error in found.errors:
        assert error.kind
        assert len(error.sentence) < 300
        assert error.sentence.isprintable()
    beyond_object(CopyResult(file=NO_FILE, structure=found))
    beyond_lines(CopyResult(file=NO_FILE, structure=found))


def flush_map(data: bytes) -> None:
    """Anything as a map, and the content of a header and of a page that are sealed."""
    header = bytearray(flush_maps.map_header())
    header[4 : 4 + len(data[:200])] = data[:200]
    page = seal(data[:8192].ljust(8192, b"\0"), 0)
    with tempfile.TemporaryDirectory() as folder:
        edb, jfm = Path(folder) / "a.edb", Path(folder) / "a.jfm"
        edb.write_bytes(_typed())
        for content in (data, sealed_header(bytes(header)) + page, flush_maps.map_header() + page):
            jfm.write_bytes(content)
            found = lost_writes(str(edb), str(jfm))
            assert set(found.pages) <= set(range(1, 9))
            assert found.state == "compared" or not found.pages
            beyond_object(CopyResult(file=NO_FILE, lost=found))
            beyond_lines(CopyResult(file=NO_FILE, lost=found))
