"""The scan of a database file: its speed beside `dd`, cached and from the disk, and its CPU time.

A scan is everything that `esewatch scan` does but printing: reading, checking each page, counting
and keeping the place. `dd` reads the same file in blocks of the same size and throws it away.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

from bench.figure import Figure, paired
from esefiles.pages import kernels
from esefiles.scans.pace import Pace
from esefiles.scans.reading import os_page_cache
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.verify.file_scan import ScanOptions, scan_file
from esefiles.scans.verify.stream import READ_SIZE
from tests.support.edb import Edb, write_edb

SIZE = 1 << 30
CACHED_PASSES = 4
"""Scans (and runs of dd) of the cached file in one measurement: one is over too soon."""
ROUNDS = 7
RATE = 250 * 10**6


def run() -> list[Figure]:
    """A file of small and one of large pages from the cache; the large ones from the disk too."""
    with tempfile.TemporaryDirectory() as folder:
        figures = []
        for page_size in (8192, 32768):
            edb = write_edb(
                Path(folder) / f"{page_size}.edb",
                page_size=page_size,
                pages=SIZE // page_size - 2,
            )
            figures.append(_cached(edb))
        _leave_the_cache(edb.path)
        return [*figures, _from_the_disk(edb), _cpu(edb)]


def _scan(edb: Edb, *, buffered: bool = False, rate: float | None = None) -> None:
    """One whole scan. RuntimeError unless it sees every page and finds each one good."""
    options = ScanOptions(buffered=buffered, rate=rate)
    for step in scan_file(str(edb.path), options, Pace(rate=rate)):
        result = step.result
    if result is None or result.place is None or result.ended != "complete":
        raise RuntimeError(f"the scan did not end: {result}")
    if (result.place.counts.pages_seen, result.place.counts.bad()) != (edb.pages, 0):
        raise RuntimeError(f"{edb.pages} good pages were written, found: {result.place.counts}")


def _dd(edb: Edb, *flags: str) -> None:
    command = ["dd", f"if={edb.path}", "of=/dev/null", f"bs={READ_SIZE}", "status=none", *flags]
    subprocess.run(command, check=True)


def _cached(edb: Edb) -> Figure:
    def ours() -> None:
        for _ in range(CACHED_PASSES):
            _scan(edb, buffered=True)

    def peer() -> None:
        for _ in range(CACHED_PASSES):
            _dd(edb)

    case = f"cached, pages of {edb.page_size // 1024} KiB"
    return _beside_dd(case, 0.8, SIZE * CACHED_PASSES, paired(ours, peer, ROUNDS))


def _from_the_disk(edb: Edb) -> Figure:
    measured = paired(lambda: _scan(edb), lambda: _dd(edb, "iflag=direct"), ROUNDS)
    return _beside_dd("from the disk, `dd iflag=direct`", 0.95, SIZE, measured)


def _beside_dd(case: str, limit: float, size: int, measured: tuple[float, float, float]) -> Figure:
    """`measured`: of `paired`, for `size` bytes."""
    ours, peer, ratio = measured
    details = (
        f"{SIZE / 1e9:.1f} GB, blocks of {READ_SIZE >> 20} MiB, kernel {kernels.NAME}; "
        f"ours {size / ours / 1e9:.2f} GB/s, dd {size / peer / 1e9:.2f} GB/s"
    )
    return Figure(f"whole scan beside dd, {case}", ratio, "x", "at least", limit, details)


def _cpu(edb: Edb) -> Figure:
    begin, used = time.perf_counter(), time.process_time()
    _scan(edb, rate=RATE)
    used, passed = time.process_time() - used, time.perf_counter() - begin
    details = f"{SIZE / 1e9:.1f} GB from the disk at {SIZE / passed / 1e6:.0f} MB/s"
    what = f"CPU of a scan at {RATE // 10**6} MB/s"
    return Figure(what, 100 * used / passed, "% of a core", "under", 3, details)


def _leave_the_cache(path: Path) -> None:
    """RuntimeError where the file cannot be read from a disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os_page_cache.give_up(descriptor, 0, SIZE)
        held = os_page_cache.held(descriptor, 0, SIZE)
    finally:
        os.close(descriptor)
    file = DatabaseFile(str(path))
    file.close()
    if not file.direct or os_page_cache.all_held(held):
        raise RuntimeError(f"{path.parent} is not on a disk with direct reads: set TMPDIR")
