"""Instances of which something is known, but no event names a database of theirs."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from esewatch.advice.base.finding import (
    Finding,
    damage_findings,
    engine_failure,
    investigate,
    ranked,
    unexplained_error,
)
from esewatch.advice.base.staleness import DAY
from esewatch.advice.findings.risk import at_risk
from esewatch.advice.findings.slowing_backups import slow_jobs_of
from esewatch.advice.history.instance_failures import instance_failures, logical, together
from esewatch.advice.history.surroundings import gaps_of
from esewatch.fold.databases.integrity import (
    NOT_SEEN_BY_SCANS,
    ScanCircumstances,
    clean_scan_start,
)
from esewatch.fold.databases.page_errors import Span, unnamed
from esewatch.fold.identity.owners import instance_key, is_server
from esewatch.fold.instances.backups import streamed
from esewatch.fold.instances.engine_errors import REPORTED, open_of
from esewatch.fold.instances.instances import restored
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.acknowledgements import of_any, up_to
from esewatch.fold.state.damage import known_damage
from esewatch.fold.state.state import (
    BAD_KINDS,
    UNLOCATED,
    BackupSet,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    Database,
    Failure,
    Instance,
    State,
)


class LoneInstance(msgspec.Struct, frozen=True, kw_only=True):
    """One instance (storage group) with backups in logs of backup programs, or open errors."""

    computer: str
    ese_instance: str
    sets: Sequence[BackupSet]
    findings: tuple[Finding, ...]


def lone_instances(
    state: State, now: float, computers: Collection[str] | None = None
) -> list[LoneInstance]:
    """The lone instances of the given computers, all without any, by computer and name, as of `now`
    (epoch seconds)."""
    by_events: dict[str, set[BackupSet]] = {}
    for instance in state.instances.values():
        if instance.backup_events:
            by_events.setdefault(instance.computer, set()).update(streamed(instance))
    slow = slow_jobs_of(state, by_events, now)
    known = set(map(instance_key, state.databases.values()))
    watched = {computer for computer, _ in known}
    failing = instance_failures(state).instances
    found = []
    for (computer, name), instance in sorted(state.instances.items()):
        if computers is not None and computer not in computers:
            continue
        failed = standing_failures(state, (computer, name), failing.get((computer, name), ()))
        if (computer, name) in known:
            if bad := tuple(_of_pages(failed, logical(failed), (), now)):
                found.append(
                    LoneInstance(
                        computer=computer,
                        ese_instance=instance.ese_instance,
                        sets=(),
                        findings=bad,
                    )
                )
            continue
        host = state.hosts.get(computer)
        on_computer = host.backup_sets if host is not None else ()
        sets = [each for each in on_computer if each.ese_instance == name]
        told = slow.get(computer) if sets else None
        slowing = (told.finding,) if told is not None and name in told.instances else ()
        errors = tuple(_errors(state, instance, failed, now, beside_databases=computer in watched))
        if sets or errors:
            found.append(
                LoneInstance(
                    computer=computer,
                    ese_instance=instance.ese_instance,
                    sets=sets,
                    findings=ranked((*errors, *slowing), watched=True),
                )
            )
    return found


def standing_failures(
    state: State, key: tuple[str, str], failures: Sequence[Failure]
) -> list[Failure]:
    """Of failures that may be of any of its databases, those that are unresolved: a scan ends them
    that began later and found all pages good, of each of the databases."""
    if not failures:
        return []
    members = [each for each in state.databases.values() if instance_key(each) == key]
    failures = [
        failure
        for failure in failures
        if not any(failure.time <= up_to(each, of_any(failure.kind)) for each in members)
    ]
    named: dict[BadKind, list[Span]] = {
        kind: sorted(span for each in members for span in each.named_pages.get(kind, ()))
        for kind in BAD_KINDS
    }
    clean = min((_clean_since(state, each) for each in members), default=0.0)
    left = chain.from_iterable(unnamed(failures, named).values())
    pages = [each for each in left if each.kind in NOT_SEEN_BY_SCANS or each.time >= clean]
    return [*pages, *(each for each in failures if each.kind == "logical")]


def _clean_since(state: State, entry: Database) -> float:
    channels = (each for each in state.channels.values() if each.computer == entry.computer)
    gaps = [(begin, end) for begin, end, _ in gaps_of(entry, channels) if end - begin > DAY]
    views = views_in(state, entry)
    scans = (*entry.old_proofs, *views["checksum"].passes, *views["zeroing"].passes)
    return clean_scan_start(scans, entry, ScanCircumstances(gaps))


def has_errors(instance: Instance) -> bool:
    """True if it logged an error or damage of its own, whether still open or not. Those that no
    rule knows count where its databases would be watched."""
    unexplained = instance.unexplained and is_server(instance)
    failed = instance.io_error_times or instance.failures
    return bool(instance.errors or instance.damage or failed or unexplained)


def _of_pages(
    failed: Sequence[Failure],
    damage: Mapping[DamageKind, Damage],
    io_errors: Sequence[float],
    now: float,
) -> Iterator[Finding]:
    """The findings of failed reads, of damage and of page errors that no database has."""
    kinds = Counter(each.kind for each in failed if each.kind in BAD_KINDS)
    pages = [BadPage(UNLOCATED, kind, now, now) for kind in BAD_KINDS if kinds[kind]]
    if bad := investigate(pages, damage, io_errors, now):
        yield bad
    yield from damage_findings(damage)


def _errors(
    state: State,
    instance: Instance,
    failed: Sequence[Failure],
    now: float,
    *,
    beside_databases: bool,
) -> Iterator[Finding]:
    """The findings of its open errors, as a database of it would have them. `beside_databases`:
    what is of the whole computer is told for the databases that are known."""
    nobody = Database(computer=instance.computer, database="", ese_instance=instance.ese_instance)
    mended = restored(state, nobody).ended
    told = together(instance.damage, logical(failed))
    yield from _of_pages(failed, known_damage(nobody, told, mended), instance.io_error_times, now)
    computer = () if beside_databases else (instance,)
    reported = {
        kind: still for kind, still in open_of(instance, computer, {}).items() if kind in REPORTED
    }
    if reported:
        yield engine_failure(reported)
    if not is_server(instance):
        return
    if risk := at_risk(instance, {}, None, now):
        yield risk
    if instance.unexplained and not beside_databases:
        yield unexplained_error(instance.unexplained)
