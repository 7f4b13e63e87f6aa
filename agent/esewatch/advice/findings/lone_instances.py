"""Instances with known backups whose databases no event names."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from esewatch.advice.base.finding import Finding
from esewatch.advice.findings.slowing_backups import slow_jobs_of
from esewatch.fold.identity.owners import instance_key
from esewatch.fold.instances.backups import streamed
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.state import State


class LoneInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance (storage group), from logs of backup programs."""

    computer: str
    ese_instance: str
    sets: Sequence[BackupSet]
    """Oldest first."""
    findings: tuple[Finding, ...]


def lone_instances(
    state: State, now: float, computers: Collection[str] | None = None
) -> list[LoneInstance]:
    """The lone instances of the given computers, all without any, by computer and name, as of
    `now`.
    """
    by_events: dict[str, set[BackupSet]] = {}
    for instance in state.instances.values():
        if instance.backup_events:
            by_events.setdefault(instance.computer, set()).update(streamed(instance))
    slow = slow_jobs_of(state, by_events, now)
    known = set(map(instance_key, state.databases.values()))
    found = []
    for (computer, name), instance in sorted(state.instances.items()):
        if (computer, name) in known or (computers is not None and computer not in computers):
            continue
        host = state.hosts.get(computer)
        sets = _of(host.backup_sets if host is not None else (), name)
        if not sets:
            continue
        told = slow.get(computer)
        found.append(
            LoneInstance(
                computer=computer,
                ese_instance=instance.ese_instance,
                sets=sets,
                findings=(told.finding,) if told is not None and name in told.instances else (),
            )
        )
    return found


def _of(sets: Iterable[BackupSet], name: str) -> list[BackupSet]:
    return [each for each in sets if each.ese_instance == name]
