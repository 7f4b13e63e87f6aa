"""Backups from logs of NTBACKUP, of instances and databases, and slowing jobs, as metrics."""

from collections.abc import Mapping

from esewatch.advice.history.derived import Backups
from esewatch.config import Settings
from esewatch.expose.metrics.collectors.samples import Labels, Samples
from esewatch.fold.identity.identity import tier
from esewatch.fold.identity.owners import instance_key, process_key
from esewatch.fold.instances.backups import UNNAMED, streamed, together
from esewatch.fold.state.backup_jobs import BackupSet, latest_jobs, slow_jobs
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import BackupTotals, Instance, State
from esewatch.names import printable


def add_sets(out: Samples, labels: Labels, instance: Instance) -> None:
    for kind, totals in sorted(instance.backup_sets.items()):
        of_kind = {**labels, "kind": kind}
        out.add("ese_backup_set_bytes_total", of_kind, totals.bytes_total)
        out.add("ese_backup_set_seconds_total", of_kind, totals.seconds_total)
        out.add("ese_backup_set_last_completion_timestamp_seconds", of_kind, totals.last_completion)


def sets_by_database(
    state: State, settings: Settings
) -> Mapping[tuple[str, str], Mapping[str, BackupTotals]]:
    """(computer, database) -> kind -> totals of the sets of its instance.

    Only where it is the one database of its instance: a set does not say how its bytes are
    shared among several, nor that it has all of them.
    """
    owned: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for key, database in state.databases.items():
        name = instance_key(database)
        instance = state.instances.get(name) if name[1] else None
        if instance is not None and instance.backup_sets and tier(database, settings) != "ignored":
            owned.setdefault(name, []).append(key)
    single = {keys[0]: name for name, keys in owned.items() if len(keys) == 1}
    return {key: state.instances[name].backup_sets for key, name in single.items()}


def snapshots_by_database(
    state: State, settings: Settings, backups: Mapping[tuple[str, str], Backups]
) -> Mapping[DatabaseKey, Mapping[str, BackupTotals]]:
    """Totals, by kind, of the shadow copies of the instance or the process of each database. Only
    where that has no other database: a shadow copy names none. `backups` are by instance."""
    owned: dict[tuple[str, str], list[DatabaseKey]] = {}
    for key, database in state.databases.items():
        for name in {instance_key(database), process_key(database)}:
            known = backups.get(name)
            if known and UNNAMED in known.totals and tier(database, settings) != "ignored":
                owned.setdefault(name, []).append(key)
    found: dict[DatabaseKey, Mapping[str, BackupTotals]] = {}
    for name, keys in sorted(owned.items()):
        if len(keys) == 1:
            found[keys[0]] = together(found.get(keys[0], {}), backups[name].totals[UNNAMED])
    return found


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
