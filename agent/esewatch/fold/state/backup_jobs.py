"""Backup jobs: the sets that one job wrote one after another, and their slowdown.

Buffered writes of very large files fill the system cache of the computer that runs the backup:
throughput falls from storage group to storage group (published-facts P2).
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

MAX_SETS = 256
LATEST = 5
SLOW = 0.5
"""A job slowed when its last set ran at less than this share of the throughput of its first."""
COMPARED_SECONDS = 300.0
"""A shorter set says nothing of throughput."""
MOST_BETWEEN = 900.0
"""A set that begins later after the one before belongs to another job."""
MINUTE = 60.0
"""NTBACKUP writes times without seconds."""
_WHOLE = frozenset({"full", "ntbackup"})
"""Kinds that copy databases and not only log files."""


class BackupSet(NamedTuple):
    """One instance (storage group) as one job copied it. Times are epoch seconds."""

    ended: float
    started: float
    ese_instance: str
    kind: str
    bytes: float
    seconds: float
    job: str = ""
    """An id that sets of one job have in common, empty where only their times show it."""


class BackupJob(NamedTuple):
    started: float
    ended: float
    rates: tuple[float, ...]
    """Bytes a second of each set, in their order."""
    instances: frozenset[str]
    """In lower case."""

    @property
    def ratio(self) -> float:
        """Throughput of the last set as a share of the first's."""
        return self.rates[-1] / self.rates[0]


def follows(ended: float, started: float) -> bool:
    return -MINUTE <= started - ended <= MOST_BETWEEN


def insert(sets: list[BackupSet], new: BackupSet) -> bool:
    """Insert a set in the order of time, the last 256; False when it was seen before. A set older
    than all of 256 counts as seen before."""
    at = bisect_left(sets, new[:-1], key=_without_job)
    if at < len(sets) and _without_job(sets[at]) == new[:-1]:
        return False
    if at == 0 and len(sets) >= MAX_SETS:
        return False
    sets.insert(at, new)
    del sets[:-MAX_SETS]
    return True


def _without_job(each: BackupSet) -> tuple[float, float, str, str, float, float]:
    """A log that was cut knows less of its job than the whole one."""
    return each[:-1]


def latest_jobs(logged: Iterable[BackupSet], streamed: Iterable[BackupSet]) -> list[BackupJob]:
    """The last 5 comparable jobs of a computer, oldest first.

    `logged`: sets from logs of backup programs, which know their job. `streamed`: sets from the
    events of the engine, used where no log covers the time.
    """
    by_job = attrgetter("job", "started", "ended")
    chains = [list(each) for _, each in groupby(sorted(logged, key=by_job), attrgetter("job"))]
    found = [job for chain in chains if (job := _job(chain)) is not None]
    for chain in _chains(streamed):
        job = _job(chain)
        if job is not None and not any(_meet(job, other) for other in found):
            found.append(job)
    return sorted(found, key=lambda job: (job.ended, job.started, job.rates))[-LATEST:]


def slow_jobs(jobs: Sequence[BackupJob]) -> int:
    """The number of jobs in which the last set ran at less than half the throughput of the
    first."""
    return sum(job.ratio < SLOW for job in jobs)


def _chains(streamed: Iterable[BackupSet]) -> list[list[BackupSet]]:
    """Sets one after another; those that ran side by side are no job of one program."""
    chains: list[list[BackupSet]] = []
    for each in sorted(streamed, key=attrgetter("started", "ended", "ese_instance")):
        chain = chains[-1] if chains else []
        names = {other.ese_instance for other in chain}
        if chain and each.ese_instance not in names and follows(chain[-1].ended, each.started):
            chain.append(each)
        else:
            chains.append([each])
    return chains


def _job(sets: Sequence[BackupSet]) -> BackupJob | None:
    compared = [
        each
        for each in sets
        if each.kind in _WHOLE and each.seconds >= COMPARED_SECONDS and each.bytes > 0
    ]
    if len(compared) < 2:
        return None
    return BackupJob(
        started=compared[0].started,
        ended=compared[-1].ended,
        rates=tuple(each.bytes / each.seconds for each in compared),
        instances=frozenset(each.ese_instance.lower() for each in compared),
    )


def _meet(one: BackupJob, other: BackupJob) -> bool:
    return one.started < other.ended + MINUTE and other.started < one.ended + MINUTE
