"""Backups of instances from logs of NTBACKUP, and slowing jobs, as metrics."""

from esefiles.base.names import printable
from esewatch.expose.metrics.collectors.samples import Labels, Samples
from esewatch.fold.instances.backups import latest_jobs, slow_jobs, streamed
from esewatch.fold.state.state import BackupSet, Instance, State


def add_sets(out: Samples, labels: Labels, instance: Instance) -> None:
    for kind, totals in sorted(instance.backup_sets.items()):
        of_kind = {**labels, "kind": kind}
        out.add("ese_backup_set_bytes_total", of_kind, totals.bytes_total)
        out.add("ese_backup_set_seconds_total", of_kind, totals.seconds_total)
        out.add("ese_backup_set_last_completion_timestamp_seconds", of_kind, totals.last_completion)


def add_backup_jobs(out: Samples, state: State) -> None:
    by_events: dict[str, list[BackupSet]] = {}
    for instance in state.instances.values():
        if instance.backup_events:
            by_events.setdefault(instance.computer, []).extend(streamed(instance))
    for computer, host in sorted(state.hosts.items()):
        jobs = latest_jobs(host.backup_sets, by_events.get(computer, ()))
        if jobs:
            labels = {"computer": printable(computer)}
            out.add("ese_backup_job_slowdown_ratio", labels, jobs[-1].ratio)
            out.add("ese_backup_job_last_completion_timestamp_seconds", labels, jobs[-1].ended)
            out.add("ese_backup_slow_jobs", labels, slow_jobs(jobs))
