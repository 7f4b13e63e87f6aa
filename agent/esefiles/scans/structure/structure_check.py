"""Structure of a database file: one pass over the file, then one over what was kept of it."""

import tempfile
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from esefiles.pages.checksum import corrected_page
from esefiles.pages.header import Header, NotDatabase
from esefiles.pages.kernels import classify
from esefiles.pages.layout import GOOD, HEADER_PAGES, SUSPECT, offset_of
from esefiles.pages.structure.database_walk import DatabaseWalk
from esefiles.pages.structure.nodes import has_nodes, page_header
from esefiles.pages.structure.page_digest import why_damaged
from esefiles.pages.structure.page_table import BAD, PageTable
from esefiles.pages.structure.report import StructureError, StructureReport, TreeFigures
from esefiles.scans.pace import Pace
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile, read_pages

Progress = Callable[[int, int], object]
"""Called with the bytes that were read, and those of the file."""

MOST_PAGES: Final = 1 << 26
"""A larger file is checked page by page only: memory is 40 bytes a page."""

_CHUNK: Final = 1 << 20
_IN_MEMORY: Final = 64 << 20
"""Bytes of digests that are kept in memory; more of them go to a temporary file."""


STOPPED: Final = "The check was stopped before its end."


class Structure(msgspec.Struct, frozen=True, kw_only=True):
    checked: bool
    """True if trees, space, catalogue and long values were checked, beyond single pages."""
    errors: list[StructureError] = []
    """At most `report.MOST_ERRORS`."""
    unlisted: int = 0
    """Number of those beyond the listed ones."""
    reason: str = ""
    """Reason why not all was checked, one sentence; empty: it was."""
    remarks: list[str] = []
    """Sentences about parts of a checked database that were not checked."""
    lost_pages: int | None = None
    """Pages that a tree owns, uses nowhere and does not have among its available ones: their
    space is lost until the database is compacted. None: not known."""
    pages: int = 0
    """Pages that verify and whose structure was checked, without blank ones."""
    trees: list[TreeFigures] = []


def check_structure(
    path: str, *, pace: Pace | None = None, progress: Progress | None = None
) -> Structure:
    """Check the structure of the database at `path`.

    Only of one that was shut down cleanly all pages are of one moment: of any other the inside of
    each page is checked, and nothing that two pages say of each other. A page that does not verify
    is not told here; what hangs on it is left out. Memory: 40 bytes a page, 64 MiB, and the ids of
    long values of one table after the other. `pace` is asked before each read, and may end it.
    Raises OSError where the file cannot be opened, its header not read, or the device is gone.
    """
    file = DatabaseFile(path)
    try:
        header = read_header(file)
        if isinstance(header, NotDatabase):
            return Structure(checked=False, reason=f"{path}: {header.reason}")
        return _Check(file, header, pace or Pace(), progress or (lambda *_: None)).result()
    finally:
        file.close()


class _Check:
    def __init__(self, file: DatabaseFile, header: Header, pace: Pace, progress: Progress) -> None:
        self._file = file
        self._header = header
        self._pace = pace
        self._progress = progress
        self._page_size = header.page_size
        self._count = max(0, file.size() // header.page_size - HEADER_PAGES)
        self._report = StructureReport()
        self._looked_at = 0
        self._stopped = ""

    def result(self) -> Structure:
        reason = self._why_only_pages()
        if reason:
            for number, page in self._good_pages(None):
                header = page_header(page)
                if has_nodes(header) and (damage := why_damaged(page, header)) is not None:
                    self._report.error(number, damage.kind, damage.sentence)
            return self._structure(None, self._stopped or reason)
        with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as digests:
            table = PageTable(self._count, digests)
            for number, page in self._good_pages(table):
                if (damage := table.add(number, page)) is not None:
                    self._report.error(number, damage.kind, damage.sentence)
            if self._stopped:
                return self._structure(None, self._stopped)
            lost = DatabaseWalk(table, self._report, self._page_size).run()
        return self._structure(lost, "")

    def _structure(self, lost: int | None, reason: str) -> Structure:
        report = self._report
        return Structure(
            checked=not reason, errors=report.errors, unlisted=report.unlisted, reason=reason,
            remarks=report.remarks, lost_pages=lost, pages=self._looked_at, trees=report.trees,
        )  # fmt: skip

    def _why_only_pages(self) -> str:
        header = self._header
        if not (header.header_ok or header.shadow_header_ok):
            return "Both headers are damaged, so only single pages were checked."
        if header.state != "clean":
            return (
                f"The database is {header.state}, so its pages are of different moments: "
                "only single pages were checked."
            )
        if self._count > MOST_PAGES:
            return f"The database has {self._count} pages: only single pages were checked."
        return ""

    def _good_pages(self, table: PageTable | None) -> Iterator[tuple[int, bytes]]:
        """Number and bytes of each page that verifies, in the order of the file. One that the
        engine would correct is as it is then; that it was not right is the scan's to tell."""
        size = self._page_size
        total = offset_of(self._count + 1, size)
        step = _CHUNK // size
        for first in range(1, self._count + 1, step):
            count = min(step, self._count + 1 - first)
            if not self._pace.wait(count * size):
                self._stopped = STOPPED
                return
            data = read_pages(self._file, first, count, size)
            for at, of_class in enumerate(classify(data, size, first)):
                if of_class == GOOD:
                    self._looked_at += 1
                    yield first + at, data[at * size : (at + 1) * size]
                elif of_class == SUSPECT:
                    corrected = corrected_page(data[at * size : (at + 1) * size], first + at)
                    if corrected:
                        yield first + at, corrected
                    elif table is not None:
                        table.states[first + at] = BAD
            self._progress(offset_of(first + count, size), total)
