"""Backups of large files through the page cache and past it, on real files; on modelled drives."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import psutil

from eselab.lab import real_files
from eselab.lab.bench import Bench
from eselab.lab.experiments.checksum_parallel import DRIVES
from eselab.lab.frame import (
    Comparison,
    Experiment,
    Findings,
    Kind,
    ResultRow,
    compared,
    repeated,
)
from eselab.lab.real_files import UnableError

MIB: Final = 1 << 20
TOTAL: Final = 512 * MIB
"""Bytes of a job. As much lies on the disk twice at most."""

_SETS: Final = ("First", "Second", "Third", "Fourth")
_BEFORE: Final = (
    (88_464_866_402, 8711.0),
    (65_702_308_386, 9193.0),
    (72_598_333_186, 14600.0),
    (56_771_193_418, 14970.0),
)
_AFTER: Final = (
    (93_574_712_642, 6323.0),
    (69_180_499_674, 4327.0),
    (79_813_847_146, 5072.0),
    (58_777_312_674, 3175.0),
)
"""Published bytes and seconds of each storage group, buffered and unbuffered."""
_VICTIM: Final = 16
"""The file that others use has this part of the bytes copied."""
_PAIRS: Final = 5
"""Jobs of each manner."""
SECONDS: Final = 60.0
"""Of virtual time, of each modelled job."""
_REQUESTS: Final = {"requests of 64 KB": 65_536, "requests of 1 MB": MIB}
"""Of the published backup: 64 KB as it was, 1 MB by its largest buffer in the registry."""
_KIND: Final = "real files"
_MODEL: Final[Kind] = "modelled disk"
_ROOM: Final = "all copied data fitted into free memory: the cache had to evict nothing for it"
_OTHER: Final = "memory and disks here are far faster, and their share in the time is another"
_UNKNOWN: Final = "whether the cache had to give up anything is not known on this system"


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A backup of all sets, one behind the other."""

    sizes: Sequence[int]
    seconds: Sequence[float]
    left: float | None
    """Share of the copies that is in the page cache afterwards, None: not known."""
    victim: float | None
    """Share of the victim that is still there, None: not known."""

    @property
    def rates(self) -> list[float]:
        """MB/s of each set."""
        return [size / took / 1e6 for size, took in zip(self.sizes, self.seconds, strict=True)]

    @property
    def rate(self) -> float:
        """MB/s of the whole job."""
        return sum(self.sizes) / sum(self.seconds) / 1e6

    @property
    def fall(self) -> float:
        """Throughput of the first set by that of the last."""
        return self.rates[0] / self.rates[-1]


def run(bench: Bench, total: int = TOTAL) -> Findings:
    """See EXPERIMENT. `total`: bytes of a job, at least 64 MiB. Raises LabError, OSError."""
    # The originals, one copy of them, and the victim.
    bench.need(2 * total + total // _VICTIM)
    memory = psutil.virtual_memory()
    remark = (
        f"File system: {real_files.file_system(bench.folder)}. Memory:"
        f" {memory.total / 2**30:.0f} GiB, of which {memory.available / 2**30:.0f} GiB were"
        " available."
    )
    sources = _make(bench.folder, total)
    buffered: list[Job] = []
    direct: list[Job] = []
    unable = ""
    for pair in range(_PAIRS):
        # Now one manner is first, now the other: a disk that tires or wakes up favours none.
        for past_cache in (False, True) if pair % 2 == 0 else (True, False):
            try:
                job = _job(bench.folder, sources, total, direct=past_cache)
                (direct if past_cache else buffered).append(job)
            except UnableError as error:
                unable = f"not run: {error}"
            bench.tell()
    for path in sources:
        path.unlink()
    rates = [_modelled(bench, case, size) for case, size in _REQUESTS.items()]
    return Findings(
        rows=[
            *_rows("buffered", buffered, _BEFORE),
            *_rows("direct", direct, _AFTER),
            *_modelled_rows(rates),
        ],
        comparisons=[*_comparisons(buffered, direct, unable), _of_model(rates)],
        remarks=[remark],
    )


def _make(folder: Path, total: int) -> list[Path]:
    """The originals, large and small as the published storage groups."""
    whole = sum(size for size, _ in _BEFORE)
    sources = []
    for name, (size, _) in zip(_SETS, _BEFORE, strict=True):
        sources.append(folder / f"{name}.bin")
        real_files.make(sources[-1], total * size // whole // MIB * MIB)
    return sources


def _job(folder: Path, sources: Sequence[Path], total: int, *, direct: bool) -> Job:
    victim, copies = folder / "victim.bin", []
    real_files.make(victim, total // _VICTIM)
    real_files.read_in(victim)
    seconds = []
    try:
        for source in sources:
            real_files.drop(source)
        for source in sources:
            copies.append(folder / f"{source.stem}.copy")
            seconds.append(real_files.copy(source, copies[-1], direct=direct))
        left = [share for path in copies if (share := real_files.cached(path)) is not None]
        return Job(
            sizes=[path.stat().st_size for path in sources],
            seconds=seconds,
            left=sum(left) / len(left) if left else None,
            victim=real_files.cached(victim),
        )
    finally:
        for path in (victim, *copies):
            path.unlink(missing_ok=True)


def _together(jobs: Sequence[Job]) -> Job | None:
    """All jobs of one manner as one, with the least that was left of the victim."""
    if not jobs:
        return None
    left = [job.left for job in jobs if job.left is not None]
    victims = [job.victim for job in jobs if job.victim is not None]
    return Job(
        sizes=[sum(sizes) for sizes in zip(*(job.sizes for job in jobs), strict=True)],
        seconds=[sum(each) for each in zip(*(job.seconds for job in jobs), strict=True)],
        left=sum(left) / len(left) if left else None,
        victim=min(victims, default=None),
    )


def _published(sets: Sequence[tuple[int, float]]) -> Job:
    return Job(
        sizes=[size for size, _ in sets],
        seconds=[seconds for _, seconds in sets],
        left=None,
        victim=None,
    )


def _rows(case: str, jobs: Sequence[Job], sets: Sequence[tuple[int, float]]) -> list[ResultRow]:
    job, published = _together(jobs), _published(sets)
    figures: list[tuple[str, str, float | None, float | None]] = [
        (f"{name} set", "MB/s", rate, ours)
        for name, rate, ours in zip(
            _SETS, published.rates, job.rates if job else [None] * len(sets), strict=True
        )
    ]
    figures.append(("whole job", "MB/s", published.rate, job.rate if job else None))
    left, victim = (job.left, job.victim) if job else (None, None)
    figures += [
        ("copies left in the page cache", "%", None, None if left is None else 100 * left),
        ("another file still in it", "%", None, None if victim is None else 100 * victim),
    ]
    return [
        ResultRow(quantity=what, case=case, unit=unit, kind=_KIND, published=rate, ours=ours)
        for what, unit, rate, ours in figures
    ]


def _comparisons(buffered: Sequence[Job], direct: Sequence[Job], unable: str) -> list[Comparison]:
    before, after = _published(_BEFORE), _published(_AFTER)
    pairs = list(zip(buffered, direct, strict=False))
    absent = _absent(buffered)
    return [
        repeated(
            "throughput of the first set by that of the last: buffered, by direct",
            _KIND, before.fall / after.fall, [one.fall / other.fall for one, other in pairs],
            why=unable or _OTHER, absent=absent,
        ),
        repeated(
            "throughput of the whole job: direct, by buffered",
            _KIND, after.rate / before.rate, [other.rate / one.rate for one, other in pairs],
            why=unable or _OTHER, absent=absent,
        ),
    ]  # fmt: skip


def _modelled(bench: Bench, case: str, size: int) -> float:
    """MB/s of a copy within one LUN without a cache: of the slower one of both streams."""
    half = 1 << 37
    common = {"bytes": size, "seconds": SECONDS, "span": half}
    plan = {
        "lun": {**DRIVES, "write_cache": 0},
        "workloads": [
            {"name": "database", **common},
            {"name": "copy", "operation": "write", "offset": half, **common},
        ],
    }
    found = bench.disks(case.replace(" ", "-"), plan)
    return min(each.bytes_per_second for each in found.values()) / 1e6


def _modelled_rows(rates: Sequence[float]) -> list[ResultRow]:
    published = (_published(_BEFORE).rate, _published(_AFTER).rate)
    return [
        ResultRow(
            quantity="whole job", case=case, unit="MB/s", kind=_MODEL, published=rate, ours=ours
        )
        for case, rate, ours in zip(_REQUESTS, published, rates, strict=True)
    ]


def _of_model(rates: Sequence[float]) -> Comparison:
    small, large = rates
    return compared(
        "throughput of the whole job: 1 MB, by 64 KB",
        _MODEL, _published(_AFTER).rate / _published(_BEFORE).rate, large / small,
        why="the modelled drives take another time for a request",
    )  # fmt: skip


def _absent(buffered: Sequence[Job]) -> str:
    """Reason why the jobs did not fill the cache, as the published ones did. Empty: they did."""
    if any(job.victim == 1.0 for job in buffered):
        return _ROOM
    return _UNKNOWN if any(job.victim is None for job in buffered) else ""


EXPERIMENT: Final = Experiment(
    name="backup-buffered",
    article="P2",
    question="Does a backup of large files slow down when it goes through the page cache?",
    setup=[
        f"Four files of {TOTAL // MIB} MiB together, in the proportions of the published storage"
        f" groups, copied one after the other: {_PAIRS} jobs buffered and {_PAIRS} past the cache"
        " (O_DIRECT), alternating. Figures are of these jobs together; statements are of pairs"
        " of jobs: their median and their range.",
        "The originals are not in the cache at the start, and a set is complete when its copy is"
        " on the disk. MB are millions of bytes.",
        "Modelled: a copy within one LUN of 8 drives of 10,000 rpm without write cache, one request"
        " of 64 KB or of 1 MB outstanding for either stream, as the size of buffers was part of the"
        " published change.",
        f"Another file, of {TOTAL // _VICTIM // MIB} MiB, was read before each job: how much of it"
        " is still in the cache is counted with mincore.",
    ],
    steps=2 * _PAIRS + len(_REQUESTS),
    run=run,
)
