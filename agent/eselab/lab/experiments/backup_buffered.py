"""Backups of large files through the page cache and past it, on real files; on modelled drives."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
import psutil

from eselab.lab import real_files
from eselab.lab.bench import Bench
from eselab.lab.experiments.checksum_parallel import DRIVES
from eselab.lab.frame import Comparison, Experiment, Findings, Kind, ResultRow, compared, repeated
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
MEMORY: Final = 4 << 30
"""Bytes that the published server had for its cache at most: Exchange 2003 has 32-bit addresses."""
_REQUEST: Final = {"buffered": 65_536, "direct": MIB}
"""Bytes. Of the published backup: 64 KB as it was, 1 MB by its largest buffer in the registry."""
_UNDER_WAY: Final = 2
"""One buffer is read while another is written."""
_KIND: Final = "real files"
_MODEL: Final[Kind] = "modelled disk"
_ROOM: Final = "all copied data fitted into free memory: the cache had to evict nothing for it"
_FULL: Final = (
    "a cache of 4 GiB is full after a twentieth of the first published set, and each set is as slow"
    " from then on: what slowed one published set more than the one before lies elsewhere"
)
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
    slow, fast = (_modelled(bench, manner, total) for manner in _REQUEST)
    return Findings(
        rows=[
            *_rows("buffered", buffered, _BEFORE),
            *_rows("direct", direct, _AFTER),
            *_rates("buffered, modelled", _MODEL, slow, _BEFORE),
            *_rates("direct, modelled", _MODEL, fast, _AFTER),
        ],
        comparisons=[*_comparisons(buffered, direct, unable), *_of_model(slow, fast)],
        remarks=[remark],
    )


def _sizes(total: int) -> list[int]:
    """Of the sets, large and small as the published storage groups, in whole MiB."""
    whole = sum(size for size, _ in _BEFORE)
    return [total * size // whole // MIB * MIB for size, _ in _BEFORE]


def _make(folder: Path, total: int) -> list[Path]:
    sources = [folder / f"{name}.bin" for name in _SETS]
    for source, size in zip(sources, _sizes(total), strict=True):
        real_files.make(source, size)
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


def _rates(
    case: str, kind: Kind, job: Job | None, sets: Sequence[tuple[int, float]]
) -> list[ResultRow]:
    published = _published(sets)
    ours = [*job.rates, job.rate] if job else [None] * (len(sets) + 1)
    names = [*(f"{name} set" for name in _SETS), "whole job"]
    return [
        ResultRow(quantity=name, case=case, unit="MB/s", kind=kind, published=rate, ours=own)
        for name, rate, own in zip(names, [*published.rates, published.rate], ours, strict=True)
    ]


def _rows(case: str, jobs: Sequence[Job], sets: Sequence[tuple[int, float]]) -> list[ResultRow]:
    job = _together(jobs)
    shares = (
        ("copies left in the page cache", job.left if job else None),
        ("another file still in it", job.victim if job else None),
    )
    return [
        *_rates(case, _KIND, job, sets),
        *(
            ResultRow(
                quantity=what, case=case, unit="%", kind=_KIND,
                ours=None if share is None else 100 * share,
            )
            for what, share in shares
        ),
    ]  # fmt: skip


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


def _modelled(bench: Bench, manner: str, total: int) -> Job:
    """A copy within one LUN whose controller has no cache: what was read is written then.

    Buffered writes go into memory, which is to the sets as MEMORY to the published ones, and to the
    drives while nobody reads; they wait where it is full.
    """
    size, half = _REQUEST[manner], 1 << 37
    memory = total * MEMORY // sum(size for size, _ in _BEFORE) if manner == "buffered" else 0
    sizes, ends, count = _sizes(total), [0.0], 0
    for name, part in zip(_SETS, sizes, strict=True):
        count += part // size
        copy = {
            "name": "copy", "operation": "update", "bytes": size, "outstanding": _UNDER_WAY,
            "span": half, "to": half, "count": count,
        }  # fmt: skip
        plan = {"lun": {**DRIVES, "write_cache": memory}, "workloads": [copy]}
        # From the begin each time: the same until the set that is one more.
        ends.append(bench.disks(f"{manner}-{name}", plan)["copy"].seconds)
    seconds = [end - begin for begin, end in pairwise(ends)]
    return Job(sizes=sizes, seconds=seconds, left=None, victim=None)


def _of_model(buffered: Job, direct: Job) -> list[Comparison]:
    before, after = _published(_BEFORE), _published(_AFTER)
    return [
        compared(
            "throughput of the first set by that of the last: buffered, by direct; modelled",
            _MODEL, before.fall / after.fall, buffered.fall / direct.fall, why=_FULL,
        ),
        compared(
            "throughput of the whole job: direct, by buffered; modelled",
            _MODEL, after.rate / before.rate, direct.rate / buffered.rate,
            why="the modelled drives take another time for a request",
        ),
    ]  # fmt: skip


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
        "Modelled: a copy of these sets within one LUN of 8 drives of 10,000 rpm whose controller"
        f" has no cache. {_UNDER_WAY} requests are outstanding; each is a read, then the write of"
        " what was read. Buffered: 64 KB at a time into memory, which holds as much of the sets as"
        f" {MEMORY >> 30} GiB of the published ones. Direct: 1 MB at a time to the drives, as the"
        " size of buffers was part of the published change.",
        f"Another file, of {TOTAL // _VICTIM // MIB} MiB, was read before each job: how much of it"
        " is still in the cache is counted with mincore.",
    ],
    steps=2 * _PAIRS + len(_REQUEST) * len(_SETS),
    run=run,
)
