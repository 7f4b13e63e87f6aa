"""The structure check: its CPU time beside the page scan, and beside dissect.esedb.

All three go over the same pages of a table of many leaves. The check does all that `check --deep`
does but printing; dissect.esedb takes each page apart and gives the key of each node, in the
order of the file.
"""

import importlib
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figure import Figure, paired
from esefiles.scans.pace import Pace
from esefiles.scans.structure.structure_check import check_structure
from esefiles.scans.verify.file_scan import ScanOptions, scan_file
from tests.support import ese_database
from tests.support.ese_database import LEAF, NEW_RECORD, PARENT, ROOT, EseDatabase, Page, key_of

ROUNDS = 3
LEAVES = 400
NODE_BYTES = 90


def run() -> list[Figure]:
    """A table of small and one of large pages."""
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        for page_size in (8192, 32768):
            path = Path(folder) / f"{page_size}.edb"
            records = _write(path, page_size)
            figures += _measured(path, page_size, records)
    return figures


def _write(path: Path, page_size: int) -> int:
    """A database whose table has LEAVES leaves; the number of their records."""
    made = ese_database.database(page_size)
    first, last = made.count + 1, made.count + LEAVES
    made.count = last
    per_page = page_size * 9 // 10 // (NODE_BYTES + 20)
    for number in range(first, last + 1):
        base = (number - first) * per_page
        nodes = [(key_of(base + at), _record(), 0) for at in range(per_page)]
        made.pages[number] = Page(
            11, LEAF | NEW_RECORD, nodes,
            previous=number - 1 if number > first else 0, following=(number + 1) % (last + 1),
        )  # fmt: skip
    _lead_to(made, first, last, per_page)
    made.write(path)
    return LEAVES * per_page


def _record() -> bytes:
    return ese_database.record(bytes(NODE_BYTES - 5), 8)


def _lead_to(made: EseDatabase, first: int, last: int, per_page: int) -> None:
    """The small table becomes the root of these leaves, and owns them."""
    children = [
        ese_database.child(
            key_of((number - first + 1) * per_page) if number < last else b"", number
        )
        for number in range(first, last + 1)
    ]
    root = ese_database.SMALL
    external = ese_database.multiple(1, 49)
    made.pages[root] = Page(11, ROOT | PARENT | NEW_RECORD, children, external)
    space = ROOT | LEAF | NEW_RECORD | ese_database.SPACE
    extents = [ese_database.extent(root + 2, 3), ese_database.extent(last, LEAVES)]
    made.pages[49], made.pages[50] = Page(11, space, extents), Page(11, space, [])
    made.pages[2].nodes = [ese_database.extent(last, last)]
    made.pages[3].nodes[2] = ese_database.extent(59, 9)


def _measured(path: Path, page_size: int, records: int) -> list[Figure]:
    def check() -> None:
        found = check_structure(str(path))
        if not found.checked or found.errors:
            raise RuntimeError(f"the database is sound, found: {found.errors[:3]} {found.reason}")

    def scan() -> None:
        for _ in scan_file(str(path), ScanOptions(), Pace()):
            pass

    def peer() -> None:
        _dissect(path, records)

    size, case = path.stat().st_size, f"pages of {page_size // 1024} KiB"
    of_check, of_peer, times_peer = paired(check, peer, ROUNDS, time.process_time)
    _, of_scan, times_scan = paired(check, scan, ROUNDS, time.process_time)
    details = (
        f"{size / 1e6:.0f} MB, {records:,} records, CPU time; check {size / of_check / 1e6:.0f}"
        f" MB/s, scan {size / of_scan / 1e6:,.0f}, dissect.esedb {size / of_peer / 1e6:.1f}"
    )
    return [
        Figure(
            f"check --deep beside dissect.esedb, {case}", times_peer, "x", "at least", 10, details
        ),
        Figure(f"check --deep beside scan, {case}", times_scan, "x", details=details),
    ]


def _dissect(path: Path, records: int) -> None:
    """Every key of every leaf of the table. RuntimeError unless it sees them all."""
    esedb: Any = importlib.import_module("dissect.esedb")
    with path.open("rb") as file:
        database = esedb.EseDB(file)
        pages = path.stat().st_size // database.page_size - 2
        seen = 0
        for number in range(1, pages + 1):
            page = database.page(number)
            if not page.is_leaf or page.is_space_tree:
                continue
            for node in page.nodes():
                seen += len(bytes(node.key)) == 5
    if seen < records:
        raise RuntimeError(f"{records} records were written, dissect.esedb sees {seen}")
