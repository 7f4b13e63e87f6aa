"""Backup jobs that slow from storage group to storage group (published-facts P2)."""

from collections.abc import Mapping, Set
from typing import NamedTuple

from esewatch.advice.base.finding import Finding, backup_slows
from esewatch.advice.history.history import History
from esewatch.fold.instances.backups import SLOW, latest_jobs, slow_jobs
from esewatch.fold.state.state import BackupSet, State

MANY = 3
"""Slow jobs among the last 5 that make a finding; all of them where fewer are known."""
RECENT = 14 * 86400.0
"""Jobs are ignored when the latest ended longer ago, in seconds."""


class SlowJobs(NamedTuple):
    finding: Finding
    instances: frozenset[str]
    """In lower case."""


def slow_jobs_of(
    state: State, streamed: Mapping[str, Set[BackupSet]], now: float
) -> dict[str, SlowJobs]:
    """The slow jobs by computer, as of `now`. `streamed`: by computer, backup sets from events."""
    found = {}
    for computer, host in state.hosts.items():
        jobs = latest_jobs(host.backup_sets, streamed.get(computer, ()))
        slow = slow_jobs(jobs)
        if not jobs or slow < min(MANY, len(jobs)) or now - jobs[-1].ended > RECENT:
            continue
        latest = [job for job in jobs if job.ratio < SLOW][-1]
        finding = backup_slows(slow, len(jobs), latest.rates, latest.ended)
        found[computer] = SlowJobs(finding, latest.instances)
    return found


def slowing_backups(
    state: State, known: Mapping[tuple[str, str], History], now: float
) -> dict[tuple[str, str], Finding]:
    by_events: dict[str, set[BackupSet]] = {}
    for each in known.values():
        by_events.setdefault(each.computer, set()).update(each.streamed)
    jobs = slow_jobs_of(state, by_events, now)
    return {
        key: told.finding
        for key, each in known.items()
        if (told := jobs.get(each.computer)) is not None
        and each.ese_instance.lower() in told.instances
    }
