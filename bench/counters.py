"""Reading binary counter logs: beside a plain read of the file, and beside the same samples as CSV.

The log has what a server logs beside ESE: 300 counters of 20 instances, and three counters of
ESE among them. "Few" reads those three, as the daemon does. CPU time of both sides in one run.
"""

import contextlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.figure import Figure
from eselab.logs.binary.binary_log import (
    COUNTER,
    RAWCOUNT,
    BinaryLog,
    Entry,
    filetime,
    single,
    wildcard,
)
from esewatch.cli import main
from esewatch.model import Source
from esewatch.sources.counters.blg.catalogue import read_catalogue, read_names
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source

_SAMPLES: Final = 150
_COUNTERS: Final = 300
_INSTANCES: Final = 20
_ROUNDS: Final = 5
_BEGIN: Final = 1_182_427_200.0
_ESE: Final = (
    "Online Defrag Pages Read/sec",
    "Online Defrag Pages Freed/sec",
    "I/O Log Writes/sec",
)


def run() -> list[Figure]:
    """The ratios."""
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if Path("/dev/shm").is_dir() else None
    ) as folder:
        binary, text = Path(folder) / "a.blg", Path(folder) / "a.csv"
        _write(binary)
        with text.open("w", newline="") as file, contextlib.redirect_stdout(file):
            main(["counters", "--format", "csv", str(binary)])
        path = str(binary)
        few, plain, beside_plain = _paired(
            lambda: _read(perfmon_blg_source("a", [path], ese_only=True)), binary.read_bytes
        )
        every, as_text, beside_text = _paired(
            lambda: _read(perfmon_blg_source("a", [path])),
            lambda: _read(perfmon_csv_source("a", [str(text)])),
        )
        size = binary.stat().st_size / 1e6
    what = f"{_SAMPLES} samples of {_COUNTERS * _INSTANCES + len(_ESE):,} values, {size:.0f} MB"
    return [
        Figure(
            "BLG, counters of ESE only: beside a plain read of the file in memory",
            beside_plain,
            "x",
            "at least",
            0.05,
            f"{what}; ours {size / few:,.0f} MB/s, plain {size / plain:,.0f} MB/s",
        ),
        Figure(
            "BLG, all counters: beside our reading of the same samples as CSV",
            beside_text,
            "x",
            details=f"{what}; CPU seconds: {every:.2f}, as CSV {as_text:.2f}",
        ),
    ]


def _write(path: Path) -> None:
    entries = [
        Entry("EX01", f"Object {number // 10}", "*", f"Counter {number}/sec", COUNTER)
        if number % 3
        else Entry("EX01", f"Object {number // 10}", "*", f"Counter {number}", RAWCOUNT)
        for number in range(_COUNTERS)
    ]
    ese = [
        Entry("EX01", "Database ==> Instances", "lsass/NTDSA", name, COUNTER, 0) for name in _ESE
    ]
    names = [f"instance name {number}" for number in range(_INSTANCES)]
    log = BinaryLog(path, _BEGIN)
    log.catalogue([*entries, *ese], filetime(_BEGIN))
    for sample in range(_SAMPLES):
        now = filetime(_BEGIN + 15 * sample)
        records = [
            wildcard(
                now, [(name, sample * (7919 * n % 5000 + 100), now) for n, name in enumerate(names)]
            )
            for _ in entries
        ]
        log.sample(now, [*records, *[single(now, sample * 12_345, now) for _ in ese]])
    log.close()


def _read(source: Source) -> int:
    # Another log than the one before has another catalogue.
    read_catalogue.cache_clear()
    read_names.cache_clear()
    try:
        return sum(len(batch.records) for batch in source.poll(final=True))
    finally:
        source.close()


def _paired(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float, float]:
    """Median CPU seconds of both, and the median of peer/ours pair by pair."""
    pairs = [(_cpu(ours), _cpu(peer)) for _ in range(_ROUNDS)]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] / pair[0] for pair in pairs),
    )


def _cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin
