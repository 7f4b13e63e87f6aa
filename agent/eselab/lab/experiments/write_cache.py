"""Effect of a write-back cache on small writes: on real files, and on modelled drives."""

from collections.abc import Sequence
from statistics import median
from typing import Any, Final

import msgspec

from eselab.lab import readings, real_files
from eselab.lab.bench import Bench
from eselab.lab.experiments.checksum_parallel import DRIVES
from eselab.lab.frame import (
    Comparison,
    Experiment,
    Findings,
    Kind,
    ResultRow,
    Signal,
    compared,
    repeated,
    told,
)
from eselab.lab.real_files import UnableError

PAGES: Final = 1000
SECONDS: Final = 60.0
"""Of virtual time, of each modelled run."""
REQUEST: Final = 32768
"""Bytes of a modelled request: a page of a current Exchange."""
DATABASE: Final = 40_000_000_000
"""Bytes of the published database."""
THREADS: Final = (6, 1)
"""Published, with the cache and without: as many as its latency allowed."""
STRIPE: Final = 262144
"""The article wants 256 or 512 KB."""
CREATED: Final = 64 << 20
"""Bytes of the real file that is created."""

_CACHE: Final = DRIVES["write_cache"]
_PERIOD: Final = 2.0
"""Seconds of a day of the workload: far more than any disk keeps up with."""
_LOG_WRITE, _CHUNK = 4096, 65536
_LIMIT: Final = 10.0
"""Milliseconds of a log write beyond which the published test fails."""
_REAL_SECONDS: Final = 5.0
_RUNS: Final = 5
"""Of either manner, in turns."""
_CREATE, _IOPS = (480.0, 14_400.0), (300.0, 50.0)
"""Published seconds and requests a second, with the cache and without."""
_ABSENT: Final = (
    "the memory of the computer stands for the cache of a controller, and the device behind O_DSYNC"
    " may have a cache of its own"
)
_LOAD: Final = "load"
_MODEL: Final[Kind] = "modelled disk"
_REAL: Final[Kind] = "real files"
_CASES: Final = ("write cache on", "write cache off")
_MEMORY: Final = "write-back (memory)", "write-through (O_DSYNC)"


class Modelled(msgspec.Struct, frozen=True, kw_only=True):
    """The results on modelled drives; no latency where nothing was counted."""

    iops: float
    seconds: float
    """To create a file of DATABASE bytes, at the rate that was measured."""
    latency: float | None
    """Milliseconds of a log write."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The results of real writes."""

    iops: float
    seconds: float
    """To create a file of CREATED bytes, at the rate that was measured."""


def run(bench: Bench, seconds: float = SECONDS, created: int = CREATED) -> Findings:
    """See EXPERIMENT. `seconds`: of each modelled run; `created`: bytes of the real file."""
    bench.need(2 * created)
    modelled = [
        _modelled(bench, cache, threads, seconds)
        for cache, threads in zip((_CACHE, 0), THREADS, strict=True)
    ]
    back: list[Written] = []
    through: list[Written] = []
    why = ""
    for _ in range(_RUNS):
        back.append(_written(bench, created, through=False))
        try:
            through.append(_written(bench, created, through=True))
        except UnableError as error:
            why = f"not run: {error}"
        bench.tell()
    return Findings(
        rows=[*_modelled_rows(modelled), *_written_rows([back, through])],
        comparisons=[*_of_model(modelled), *_of_files(back, through, why)],
        remarks=[f"File system of the real files: {real_files.file_system(bench.folder)}."],
    )


def plan(cache: int) -> dict[str, Any]:
    """A store with more mail than its drives keep up with; `cache`: bytes, 0 none."""
    return {
        "databases": [
            {
                "name": "priv1",
                "pages": PAGES,
                "cache_pages": PAGES // 8,
                "device": "lun7",
                "scan": False,
                "window": {"period": _PERIOD, "offset": 0.0, "length": 0.01},
                "mail": {"kept": 1.0},
            }
        ],
        "devices": [{"name": "lun7", "disks": {**DRIVES, "write_cache": cache}}],
        "sample": 1.0,
    }


def load(cache: int, seconds: float, **workload: Any) -> dict[str, Any]:
    """One workload on the drives, for `engine disks`."""
    return {
        "lun": {**DRIVES, "write_cache": cache, "stripe": STRIPE},
        "workloads": [{"name": _LOAD, "bytes": REQUEST, "seconds": seconds, **workload}],
    }


def _modelled(bench: Bench, cache: int, threads: int, seconds: float) -> Modelled:
    case = "cache" if cache else "none"
    made = bench.engine(case, plan(cache), seconds)
    samples = readings.samples(made.readings())
    updates = load(
        cache, seconds, operation="update", pattern="random", span=DATABASE, outstanding=threads
    )
    requests = bench.disks(f"threads-{case}", updates)[_LOAD]
    created = bench.disks(f"created-{case}", load(cache, seconds, operation="write"))[_LOAD]
    return Modelled(
        iops=requests.requests / requests.seconds,
        seconds=DATABASE / created.bytes_per_second,
        latency=readings.latency(samples, readings.LOG_WRITE_LATENCY, readings.LOG_WRITES),
    )


def _written(bench: Bench, created: int, *, through: bool) -> Written:
    """Small writes one behind the other, then a file that is created from its begin to its end."""
    path = bench.folder / "written.bin"
    try:
        figures = []
        for request in (_LOG_WRITE, _CHUNK):
            done, seconds = real_files.write(
                path, created, request, through=through, limit=_REAL_SECONDS
            )
            figures.append((done / request / seconds, created / done * seconds))
        return Written(iops=figures[0][0], seconds=figures[1][1])
    finally:
        path.unlink(missing_ok=True)


def _modelled_rows(found: Sequence[Modelled]) -> list[ResultRow]:
    rows = []
    for case, each, iops, seconds in zip(_CASES, found, _IOPS, _CREATE, strict=True):
        rows += [
            ResultRow(
                quantity="requests", case=case, unit="1/s", kind=_MODEL,
                published=iops, ours=each.iops,
            ),
            ResultRow(
                quantity="file created", case=case, unit="s", kind=_MODEL,
                published=seconds, ours=each.seconds,
            ),
            ResultRow(
                quantity="log write", case=case, unit="ms", kind=_MODEL, ours=each.latency
            ),
        ]  # fmt: skip
    return rows


def _written_rows(found: Sequence[Sequence[Written]]) -> list[ResultRow]:
    rows = []
    for case, each, iops, seconds in zip(_MEMORY, found, _IOPS, _CREATE, strict=True):
        rows += [
            ResultRow(
                quantity="writes of 4 KB", case=case, unit="1/s", kind=_REAL,
                published=iops, ours=median(one.iops for one in each) if each else None,
            ),
            ResultRow(
                quantity="file created", case=case, unit="s", kind=_REAL,
                published=seconds, ours=median(one.seconds for one in each) if each else None,
            ),
        ]  # fmt: skip
    return rows


def _of_model(found: Sequence[Modelled]) -> list[Comparison]:
    on, off = found
    latency = [
        told(
            f"log writes within {_LIMIT:g} ms: {case}", _MODEL, published,
            None if each.latency is None else "pass" if each.latency <= _LIMIT else "fail",
            why="the modelled drives take another time for a log write",
        )
        for case, each, published in zip(_CASES, found, ("pass", "fail"), strict=True)
    ]  # fmt: skip
    return [
        compared(
            "requests a second: on, by off", _MODEL, _IOPS[0] / _IOPS[1], on.iops / off.iops,
            why="the modelled drives take another time for a request",
        ),
        compared(
            "time to create a file: off, by on",
            _MODEL, _CREATE[1] / _CREATE[0], off.seconds / on.seconds,
            why="the modelled drives take another time for a request",
        ),
        *latency,
    ]  # fmt: skip


def _of_files(back: Sequence[Written], through: Sequence[Written], why: str) -> list[Comparison]:
    pairs = list(zip(back, through, strict=False))
    return [
        repeated(
            "writes of 4 KB a second: write-back, by write-through",
            _REAL, _IOPS[0] / _IOPS[1], [one.iops / other.iops for one, other in pairs],
            why=why, absent=_ABSENT,
        ),
        repeated(
            "time to create a file: write-through, by write-back",
            _REAL, _CREATE[1] / _CREATE[0], [other.seconds / one.seconds for one, other in pairs],
            why=why, absent=_ABSENT,
        ),
    ]  # fmt: skip


EXPERIMENT: Final = Experiment(
    name="write-cache",
    article="P4",
    question="What is lost when a storage controller has no write-back cache?",
    setup=[
        f"Modelled: 8 drives of 10,000 rpm with stripes of {STRIPE >> 10} KB, behind a controller"
        f" with {_CACHE >> 20} MiB of cache or none. Threads read a page of {REQUEST >> 10} KB of"
        f" {DATABASE // 10**9} GB and write it: {THREADS[0]} with the cache, {THREADS[1]} without,"
        " as published. A file is created one page at a time; its time is that of 40 GB at the rate"
        f" of {SECONDS:g} s. Log writes are those of a store of {PAGES:,} pages with more mail than"
        f" the drives can handle; over {_LIMIT:g} ms on average they fail.",
        f"Real: 4 KB at a time for the requests, 64 KB at a time for a file of {CREATED >> 20}"
        " MiB; each write on the disk before the next (O_DSYNC), or only in memory. The"
        f" published figure is for the creation of 40 GB. After {_REAL_SECONDS:g} s the rest is"
        f" extrapolated. {_RUNS} runs of each kind, alternating: figures are medians, statements"
        " are of pairs of runs.",
    ],
    steps=2 * 3 + _RUNS,
    run=run,
    signals=[
        Signal(side="good", case="write cache on"),
        Signal(side="bad", case="write cache off", alerts=("EseWriteCacheSuspected",)),
    ],
)
