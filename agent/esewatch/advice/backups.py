"""Backup jobs that slow from storage group to storage group (published-facts P2)."""

from collections.abc import Mapping

from esewatch.advice.findings import Finding, backup_slows
from esewatch.advice.history import History
from esewatch.fold.backup_jobs import SLOW, BackupSet, latest_jobs, slow_jobs
from esewatch.fold.state import State

MANY = 3
"""In so many of the last 5 jobs."""
RECENT = 14 * 86400.0
"""Jobs say nothing any more when the latest ended so long ago, in seconds."""


def slowing_backups(
    state: State, known: Mapping[tuple[str, str], History], now: float
) -> dict[tuple[str, str], Finding]:
    """The finding of each database whose instance was in the latest job that slowed."""
    by_events: dict[str, set[BackupSet]] = {}
    for each in known.values():
        by_events.setdefault(each.computer, set()).update(each.streamed)
    found = {}
    for computer, host in state.hosts.items():
        jobs = latest_jobs(host.backup_sets, by_events.get(computer, ()))
        slow = slow_jobs(jobs)
        if slow < MANY or now - jobs[-1].ended > RECENT:
            continue
        latest = [job for job in jobs if job.ratio < SLOW][-1]
        finding = backup_slows(slow, len(jobs), latest.rates, latest.ended)
        for key, each in known.items():
            if each.computer == computer and each.ese_instance.lower() in latest.instances:
                found[key] = finding
    return found
