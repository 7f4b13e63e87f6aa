"""Writes that never came to the disk: a database beside its flush map."""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final, Literal

import msgspec

from esefiles.pages.flush_map.flush_types import (
    PAGES_OF_MAP_PAGE,
    UNKNOWN,
    MapPage,
    differences,
    parse_map_page,
    types_of,
)
from esefiles.pages.flush_map.map_header import (
    MAP_PAGE,
    MapHeader,
    database_flush,
    parse_map_header,
    why_not_comparable,
)
from esefiles.pages.header import NotDatabase
from esefiles.pages.kernels import classify
from esefiles.pages.layout import GOOD, HEADER_PAGES
from esefiles.scans.open_errors import why_not_opened
from esefiles.scans.pace import Pace
from esefiles.scans.reading.header_reading import read_header
from esefiles.scans.reading.reading import DatabaseFile, read_pages

FLUSH_MAP: Final = ".jfm"
MOST_LISTED: Final = 1000
_CHUNK: Final = 1 << 20
_NOT_COMPLETED: Final = (
    "the flush map was not completed, so pages may be newer than it: "
    "a lost write is not proven by it"
)


class LostWrites(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the flush map for a database."""

    state: Literal["compared", "unknown"]
    """`compared`: `pages` are all that the map can show. `unknown`: it shows nothing."""
    pages: list[int] = []
    """Numbers of pages whose last write was lost, at most MOST_LISTED. Only a clean map proves
    one: behind the map of a database that is in use, a page may be newer than the map."""
    reason: str = ""
    """A sentence: why nothing is known, or what the comparison leaves open."""
    compared: int = 0
    """Pages that the map has a type of and that were compared."""
    confirmed: list[int] = []
    """Those of the wanted pages that are as the map says: their last write reached the disk."""
    undecided: int = 0
    """Pages that differ from the map, lawfully or not: it was not completed, or is outdated."""


def lost_writes_beside(
    database_path: str, *, pace: Pace, only_proofs: bool, wanted: Collection[int] = ()
) -> LostWrites | None:
    """`lost_writes` by the map that has the name of the database; None: there is none.
    ErrGetFmPathFromDbPath, flushmap.cxx. Raises OSError where a file cannot be read."""
    beside = _map_beside(database_path)
    if beside is None:
        return None
    return lost_writes(
        database_path, str(beside), pace=pace, only_proofs=only_proofs, wanted=wanted
    )


def _map_beside(database_path: str) -> Path | None:
    """The name is the same in any case: on the server of the database it was."""
    exact = Path(database_path).with_suffix(FLUSH_MAP)
    if exact.is_file():
        return exact
    wanted = exact.name.lower()
    # Where the folder cannot be listed the map proves nothing.
    with contextlib.suppress(OSError), os.scandir(exact.parent) as entries:
        names = sorted(entry.name for entry in entries if entry.name.lower() == wanted)
        return next((path for name in names if (path := exact.with_name(name)).is_file()), None)
    return None


def lost_writes(
    database_path: str,
    map_path: str,
    *,
    pace: Pace | None = None,
    only_proofs: bool = False,
    wanted: Collection[int] = (),
) -> LostWrites:
    """Compare the flush type of each good page with the map of the database.

    Nothing is compared where the map is not of this state of the database, damaged or given up
    (`map_header.why_not_comparable`): the engine deletes such a map and mounts without it, so
    it never speaks against a copy. `only_proofs`: the pages are not read where the map was not
    completed, as it proves nothing then. `wanted` are pages to be confirmed. `pace` is
    asked before each read, and may end it.
    Memory: one chunk of pages and one page of the map. Raises OSError where the database cannot
    be opened, its header or the map not read, or the device is gone.
    """
    database = DatabaseFile(database_path)
    try:
        try:
            flush_map = DatabaseFile(map_path)
        except OSError as error:
            return LostWrites(state="unknown", reason=why_not_opened(map_path, error))
        try:
            return _compared(database, flush_map, pace or Pace(), wanted, only_proofs=only_proofs)
        finally:
            flush_map.close()
    finally:
        database.close()


def _compared(
    database: DatabaseFile,
    flush_map: DatabaseFile,
    pace: Pace,
    wanted: Collection[int],
    *,
    only_proofs: bool,
) -> LostWrites:
    header = read_header(database)
    if isinstance(header, NotDatabase):
        return LostWrites(state="unknown", reason=header.reason)
    if not (header.header_ok or header.shadow_header_ok):
        return LostWrites(state="unknown", reason="both headers of the database are damaged")
    begin = 0 if header.header_ok else header.page_size
    of_database = database_flush(database.read(begin, header.page_size))
    of_map = parse_map_header(flush_map.read(0, MAP_PAGE))
    if isinstance(of_map, str):
        return LostWrites(state="unknown", reason=of_map)
    reason = why_not_comparable(of_map, of_database)
    if not reason and only_proofs and not of_map.clean:
        reason = _NOT_COMPLETED
    if reason:
        return LostWrites(state="unknown", reason=reason)
    return _Comparison(database, flush_map, header.page_size, of_map, pace, wanted=wanted).result()


class _Comparison:
    def __init__(
        self,
        database: DatabaseFile,
        flush_map: DatabaseFile,
        page_size: int,
        header: MapHeader,
        pace: Pace,
        *,
        wanted: Collection[int],
    ) -> None:
        self._database = database
        self._map = flush_map
        self._page_size = page_size
        self._header = header
        self._pace = pace
        self._stopped = False
        self._pages = max(0, database.size() // page_size - HEADER_PAGES)
        self._wanted = wanted
        self._lost: list[int] = []
        self._confirmed: list[int] = []
        self._compared = self._undecided = self._unknown = 0

    def result(self) -> LostWrites:
        for index in range(self._pages // PAGES_OF_MAP_PAGE + 1):
            page = parse_map_page(self._map.read((index + 1) * MAP_PAGE, MAP_PAGE), index)
            first = max(1, index * PAGES_OF_MAP_PAGE)
            behind = min(self._pages + 1, (index + 1) * PAGES_OF_MAP_PAGE)
            if page is None:
                self._unknown += behind - first
            else:
                self._compare(first, behind, page)
        return LostWrites(
            state="compared" if self._compared and not self._stopped else "unknown",
            pages=self._lost[:MOST_LISTED],
            reason=self._reason(),
            compared=self._compared,
            confirmed=[] if self._stopped else self._confirmed,
            undecided=self._undecided,
        )

    def _compare(self, first: int, behind: int, expected: MapPage) -> None:
        found: list[int] = []
        as_written: list[int] = []
        newer, step = False, max(1, _CHUNK // self._page_size)
        for begin in range(first, behind, step):
            count = min(step, behind - begin)
            if not self._pace.wait(count * self._page_size):
                self._stopped = True
                break
            data = read_pages(self._database, begin, count, self._page_size)
            classes = classify(data, self._page_size, begin)
            differ = differences(data, self._page_size, begin, classes, expected)
            found += differ.pages
            for page in self._wanted:
                if begin <= page < begin + count and page not in differ.pages:
                    at = (page - begin) * self._page_size
                    types = types_of(data[at : at + self._page_size], self._page_size)
                    of_map = expected.types[page % PAGES_OF_MAP_PAGE]
                    if classes[page - begin] == GOOD and UNKNOWN not in (of_map, types[0]):
                        as_written.append(page)
            newer |= differ.newer
        known = len(expected.types) - expected.types.count(0)
        self._compared += known
        if self._header.clean and not newer:
            self._lost += found[: MOST_LISTED - len(self._lost)]
            self._confirmed += as_written
        else:
            self._undecided += len(found)

    def _reason(self) -> str:
        if self._stopped:
            return "the comparison with the flush map was stopped before its end"
        if not self._compared:
            return "the flush map knows of no page"
        if not self._header.clean:
            return _NOT_COMPLETED
        parts = []
        if self._undecided:
            parts.append("a page of the map is older than the pages that it describes")
        if self._unknown:
            parts.append(f"of {self._unknown} pages the map says nothing")
        return "; ".join(parts)
