"""Instances of which something is known, but no event names a database of theirs."""

from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from esewatch.advice.base.finding import (
    Finding,
    damage_findings,
    engine_failure,
    investigate,
    unexplained_error,
)
from esewatch.advice.findings.risk import at_risk
from esewatch.advice.findings.slowing_backups import slow_jobs_of
from esewatch.fold.identity.owners import instance_key, is_server
from esewatch.fold.instances.backups import streamed
from esewatch.fold.instances.engine_errors import REPORTED, open_of
from esewatch.fold.state.backup_jobs import BackupSet
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import Database, Instance, State


class LoneInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance (storage group) with backups in logs of backup programs, or open errors."""

    computer: str
    ese_instance: str
    sets: Sequence[BackupSet]
    """Oldest first."""
    findings: tuple[Finding, ...]


def lone_instances(
    state: State, now: float, computers: Collection[str] | None = None
) -> list[LoneInstance]:
    """The lone instances of the given computers, all without any, by computer and name, as of
    `now` (epoch seconds).
    """
    by_events: dict[str, set[BackupSet]] = {}
    for instance in state.instances.values():
        if instance.backup_events:
            by_events.setdefault(instance.computer, set()).update(streamed(instance))
    slow = slow_jobs_of(state, by_events, now)
    known = set(map(instance_key, state.databases.values()))
    watched = {computer for computer, _ in known}
    found = []
    for (computer, name), instance in sorted(state.instances.items()):
        if (computer, name) in known or (computers is not None and computer not in computers):
            continue
        host = state.hosts.get(computer)
        sets = _of(host.backup_sets if host is not None else (), name)
        told = slow.get(computer) if sets else None
        slowing = (told.finding,) if told is not None and name in told.instances else ()
        errors = tuple(_errors(instance, now, beside_databases=computer in watched))
        if sets or errors:
            found.append(
                LoneInstance(
                    computer=computer,
                    ese_instance=instance.ese_instance,
                    sets=sets,
                    findings=(*errors, *slowing),
                )
            )
    return found


def has_errors(instance: Instance) -> bool:
    """True if it logged an error or damage of its own, whether still open or not.

    Those that no rule knows count where its databases would be watched.
    """
    unexplained = instance.unexplained and is_server(instance)
    return bool(instance.errors or instance.damage or instance.io_error_times or unexplained)


def _of(sets: Iterable[BackupSet], name: str) -> list[BackupSet]:
    return [each for each in sets if each.ese_instance == name]


def _errors(instance: Instance, now: float, *, beside_databases: bool) -> Iterator[Finding]:
    """The findings of its open errors, as a database of it would have them.

    `beside_databases`: what is of the whole computer is told for the databases that are known.
    """
    unnamed = Database(computer=instance.computer, database="", damage_mended=instance.restored)
    damage = known_damage(unnamed, instance.damage)
    if bad := investigate((), damage, instance.io_error_times, now):
        yield bad
    yield from damage_findings(damage)
    computer = () if beside_databases else (instance,)
    reported = {
        kind: still for kind, still in open_of(instance, computer, 0.0).items() if kind in REPORTED
    }
    if reported:
        yield engine_failure(reported)
    if not is_server(instance):
        return
    if risk := at_risk(instance, 0.0, None, now):
        yield risk
    if instance.unexplained and not beside_databases:
        yield unexplained_error(instance.unexplained)
