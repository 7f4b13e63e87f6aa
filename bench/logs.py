"""Transaction logs verified by `check`, beside a plain read of the same files.

Verified is every segment's checksum and each log against the one before. The plain read takes
each file in one piece of 1 MiB and throws it away.
"""

import mmap
import os
import tempfile
import time
from pathlib import Path

from bench.figure import Figure, paired
from esefiles.pages.header_fields import Signature
from esefiles.scans.reading.reading import DatabaseFile
from esefiles.scans.recovery.log_folder import LogFolders
from esefiles.scans.recovery.log_reader import READ_BYTES
from esefiles.scans.recovery.log_verification import verify_logs
from tests.support.edb import CREATED
from tests.support.logs import RANDOM, Log

LOGS = 96
SEGMENTS = 256
"""Of 4 KiB: a log of Exchange 2010 and later has 1 MiB."""
ROUNDS = 9


def run() -> list[Figure]:
    """From the disk, and the CPU time where the logs are cached."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = _write(folder)
        file = DatabaseFile(str(paths[0]))
        file.close()
        if not file.direct:
            raise RuntimeError(f"{folder.parent} is not on a disk with direct reads: set TMPDIR")
        return [_from_the_disk(folder, paths), _cached(folder, paths)]


def _write(folder: Path) -> list[Path]:
    """A series of logs, each full but for the shadow of its last segment."""
    paths, checksum = [], 0
    for generation in range(1, LOGS + 1):
        log = Log(
            generation,
            used=SEGMENTS - 2,
            segments=SEGMENTS,
            previous_checksum=checksum,
            first=generation == 1,
        )
        checksum = log.checksum()
        paths.append(folder / f"edb{generation:05X}.log")
        paths[-1].write_bytes(log.data())
        with paths[-1].open("rb") as file:
            os.fsync(file.fileno())
    return paths


def _verify(folder: Path, *, buffered: bool) -> None:
    """RuntimeError unless all logs are there and sound."""
    signature = Signature(random=f"{RANDOM:08x}", created=CREATED)
    series = LogFolders([str(folder)]).series_of(signature, str(folder / "a.edb"))
    checks = {} if series is None else verify_logs(series, range(1, LOGS + 1), buffered=buffered)
    if len(checks) != LOGS or any(check.fault or check.doubt for check in checks.values()):
        raise RuntimeError(f"{LOGS} sound logs were written, found: {checks}")


def _read(paths: list[Path], flags: int) -> None:
    with mmap.mmap(-1, READ_BYTES) as memory:
        for path in paths:
            descriptor = os.open(path, os.O_RDONLY | flags)
            try:
                os.preadv(descriptor, [memory], 0)
            finally:
                os.close(descriptor)


def _from_the_disk(folder: Path, paths: list[Path]) -> Figure:
    ours, peer, ratio = paired(
        lambda: _verify(folder, buffered=False), lambda: _read(paths, os.O_DIRECT), ROUNDS
    )
    return Figure(
        "logs verified beside a plain read, from the disk", ratio, "x", "at least", 0.8,
        _details(ours, peer),
    )  # fmt: skip


def _cached(folder: Path, paths: list[Path]) -> Figure:
    ours, peer, ratio = paired(
        lambda: _verify(folder, buffered=True), lambda: _read(paths, 0), ROUNDS, time.process_time
    )
    return Figure(
        "logs verified beside a plain read, cached, CPU time", ratio, "x",
        details=_details(ours, peer),
    )  # fmt: skip


def _details(ours: float, peer: float) -> str:
    size = LOGS * SEGMENTS * 4096
    return (
        f"{LOGS} logs of 1 MiB; ours {size / ours / 1e9:.2f} GB/s,"
        f" plain {size / peer / 1e9:.2f} GB/s"
    )
