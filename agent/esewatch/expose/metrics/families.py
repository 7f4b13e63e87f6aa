"""The state as Prometheus metrics, databases by tier (semantics.md 1).

`families` is a pure function of (state, settings, now). An absent series was not measured; a value
is never guessed to be 0. Watched databases start with what is read as an increase of what all of
them have: passes that start, complete and are interrupted, and slow requests begin at 0; 0
uncorrectable pages are a good sign. What most databases never have (zeroing, failed passes, page
errors, other bad pages, damage, hung requests) begins with its first event: absent means none.
Observed databases expose only their state and their events, ignored ones only damage, with the tier
that keeps an alert about it from waking anybody. Of a database of SQL Server of which any check was
seen there are the errors of both kinds: of the kind of the first check they begin with what it
found, of the other one at 0.
"""

from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

from prometheus_client.core import Metric

from esefiles.base.names import printable
from esewatch.advice.base.time_at_work import stale_seconds
from esewatch.advice.findings.silence import last_records
from esewatch.advice.history.derived import AllDerived, Derived, LeftOut, derived, leaving_out
from esewatch.config import Settings, Window, rule_for, window_for
from esewatch.config.calendar import CALENDAR, opening_at
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.expose.metrics.samples import Labels, Samples
from esewatch.fold.identity.entities import OTHER_EVENT
from esewatch.fold.identity.identity import device_of, tier
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.instances.backups import at_work, latest_jobs, slow_jobs, streamed
from esewatch.fold.instances.counters import counters_present, log_disks
from esewatch.fold.instances.engine_errors import OF_COMPUTER, acknowledgements, open_errors
from esewatch.fold.passes.passes import TASKS, TaskSummary
from esewatch.fold.readings import current
from esewatch.fold.state.acknowledgements import failure, up_to
from esewatch.fold.state.checkdb_results import errors_left
from esewatch.fold.state.damage import NOT_FATAL, known_damage
from esewatch.fold.state.state import (
    SEPARATOR,
    UNLOCATED,
    BackupSet,
    BackupTotals,
    BadPage,
    Damage,
    DamageKind,
    Database,
    Instance,
    Metered,
    SourceState,
    State,
)

SCANS = ("checksum", "zeroing")
OPERATIONS = ("read", "write")

UNDIVIDED = SEPARATOR + "all"
"""Ends the key of a counter that counts all phases together."""


def add_metered(out: Samples, owner: Labels, metered: Metered, now: float) -> None:
    """Add the totals and the fresh levels of one owner; `owner` are its labels."""
    shown: dict[str, float | None] = {
        **metered.totals,
        **{key: current(level, now) for key, level in metered.levels.items()},
    }
    phases = (key for key in shown if SEPARATOR in key and not key.endswith(UNDIVIDED))
    divided = {key.rpartition(SEPARATOR)[0] + UNDIVIDED for key in phases}
    for key, value in sorted(shown.items()):
        if key in divided:
            # The same requests again, not separated by phase.
            continue
        metric, *labels = key.split(SEPARATOR)
        row = CATALOGUE.get(metric)
        if row is None:
            continue
        further = dict(zip(row.labels[len(owner) :], map(printable, labels), strict=True))
        out.add(metric, {**owner, **further}, value)


def add_engine_errors(out: Samples, state: State, settings: Settings) -> None:
    """Instances with a watched or observed database expose the kinds that they logged; others only
    damaged memory: that concerns all databases of the computer."""
    databases = state.databases.values()
    shown = {instance_key(each) for each in databases if tier(each, settings) != "ignored"}
    computers = {computer for computer, _ in shown}
    acknowledged = acknowledgements(databases)
    for key, instance in sorted(state.instances.items()):
        for kind, (count, last) in sorted(instance.errors.items()):
            if key not in shown and (kind != OF_COMPUTER or key[0] not in computers):
                continue
            still = open_errors(instance, acknowledged(key))
            labels = {
                "computer": printable(instance.computer),
                "ese_instance": printable(instance.ese_instance),
                "kind": kind,
            }
            out.add("ese_engine_errors_total", labels, count)
            out.add("ese_engine_error_last_timestamp_seconds", labels, last)
            out.add("ese_engine_errors_open", labels, still[kind])


GAP_SECONDS = "ese_unsampled_seconds_total"


def families(state: State, settings: Settings, now: float) -> list[Metric]:
    """All families of the state at `now` (epoch seconds), fresh; equal states in equal order."""
    out = Samples()
    add_sources(out, state)
    add_computers(out, state, settings, now, derived(state, settings))
    return out.families()


def add_computers(
    out: Samples,
    state: State,
    settings: Settings,
    now: float,
    known: AllDerived,
    *,
    left_out: LeftOut | None = None,
) -> None:
    """Add all that is of a computer: of a group of them (`advice.history.groups`), or of all."""
    add_hosts(out, state, now)
    _add_readings(out, state)
    for computer, last in sorted(last_records(state).items()):
        labels = {"computer": printable(computer)}
        out.add("ese_computer_last_record_timestamp_seconds", labels, last)
    add_instances(out, state, settings, now)
    add_devices(out, state, now)
    add_databases(out, state, settings, now, known, left_out=left_out)
    add_backup_jobs(out, state)
    add_sql_databases(out, state, settings)


def add_hosts(out: Samples, state: State, now: float) -> None:
    present = counters_present(state)
    for key, host in sorted(state.hosts.items()):
        computer = printable(host.computer)
        add_metered(out, {"computer": computer}, host, now)
        for provider, events in sorted(host.events.items()):
            for event_id, count in sorted(events.items()):
                labels = {
                    "computer": computer,
                    "provider": printable(provider),
                    "event_id": "other" if event_id == OTHER_EVENT else str(event_id),
                }
                out.add("ese_events_total", labels, count)
        for name, there in sorted(present[key].items()):
            labels = {"computer": computer, "name": printable(name)}
            out.add("esewatch_perf_object_present", labels, int(there))


def add_sources(out: Samples, state: State) -> None:
    """Add what is of no computer."""
    for _, source in sorted(state.sources.items()):
        _add_source(out, source)
    out.add("esewatch_databases_dropped_total", {}, state.databases_dropped)


def _add_readings(out: Samples, state: State) -> None:
    up: dict[str, bool] = {}
    caught_up: dict[str, bool] = {}
    for source in state.sources.values():
        for computer in source.computers:
            up[computer] = up.get(computer, True) and source.up
            caught_up[computer] = caught_up.get(computer, True) and source.caught_up
    for computer in sorted(up):
        labels = {"computer": printable(computer)}
        out.add("esewatch_host_up", labels, int(up[computer]))
        out.add("esewatch_host_caught_up", labels, int(caught_up[computer]))


def _add_source(out: Samples, source: SourceState) -> None:
    labels = {"source": printable(source.name)}
    out.add("esewatch_source_up", labels, int(source.up))
    out.add("esewatch_source_caught_up", labels, int(source.caught_up))
    out.add("esewatch_source_computers", labels, len(source.computers))
    out.add("esewatch_source_records_total", labels, source.records)
    out.add("esewatch_source_unreadable_total", labels, source.unreadable)
    out.add("esewatch_source_missed_records_total", labels, source.missed)
    last = source.last_record or None
    out.add("esewatch_source_last_record_timestamp_seconds", labels, last)
    out.add("esewatch_source_backlog_bytes", labels, source.backlog_bytes)
    if source.partitions is not None:
        out.add("esewatch_source_partitions", labels, source.partitions[0])
        out.add("esewatch_source_partitions_owned", labels, source.partitions[1])
    out.add("esewatch_source_duplicates_total", labels, source.duplicates)
    out.add("esewatch_source_implausible_times_total", labels, source.implausible)
    out.add("esewatch_source_set_aside_total", labels, source.set_aside)
    if (lost := source.unrebuilt()) is not None:
        out.add("esewatch_source_unrebuilt_from_timestamp_seconds", labels, lost.since)
        out.add("esewatch_source_unrebuilt_until_timestamp_seconds", labels, lost.until)


def add_instances(out: Samples, state: State, settings: Settings, now: float) -> None:
    """Add the totals and levels of ESE instances, and the errors of those with a database. Of the
    hosts the free space of volumes is read."""
    for _, instance in sorted(state.instances.items()):
        labels = {
            "computer": printable(instance.computer),
            "ese_instance": printable(instance.ese_instance),
        }
        add_metered(out, labels, instance, now)
        add_sets(out, labels, instance)
        if instance.counters:
            out.add(GAP_SECONDS, labels, instance.gap_seconds or None)
    for (computer, name), free in sorted(log_disks(state, settings, now).items()):
        labels = {"computer": printable(computer), "ese_instance": printable(name)}
        out.add("ese_log_disk_free_bytes", labels, free)
    add_engine_errors(out, state, settings)


def add_devices(out: Samples, state: State, now: float) -> None:
    for _, device in sorted(state.devices.items()):
        labels = {"computer": printable(device.computer), "device": printable(device.device)}
        add_metered(out, labels, device, now)


def add_databases(
    out: Samples,
    state: State,
    settings: Settings,
    now: float,
    known: AllDerived,
    *,
    left_out: LeftOut | None = None,
) -> None:
    for key, facts in sorted(known.databases.items()):
        with leaving_out(key, left_out):
            database = state.databases[key]
            instance = state.instances.get(instance_key(database))
            host = state.hosts.get(database.computer)
            takes_part = bool(facts.member.role) and facts.tier == "watched"
            rule = rule_for(settings, *key)
            traits = Traits(
                copies_of=known.copies.keys[key] if takes_part else None,
                # The spelling of the counters, so that both sides join.
                ese_instance=instance.ese_instance if instance else instance_label(database),
                stale_seconds=stale_seconds(database, settings),
                window=window_for(settings, database.database, database.computer),
                backups=facts.backed_up.kinds,
                backup_running=at_work(instance, now) if instance else None,
                device=device_of(database, host.volumes if host else {}, settings),
                direct_attached=rule is not None and rule.storage == "das",
            )
            add_database(out, database, facts, traits, now)
    for computer, file in left_out or ():
        out.drop({"computer": printable(computer), "database": printable(file)})


class Traits(NamedTuple):
    """Facts about a database from outside its own state.

    `backup_running` tells whether its instance is being backed up (None: it never was). `device` is
    None when it is not known, `window` when none is configured, `copies_of` for a database that is
    judged by itself: it has no copies, or its role is unknown. `direct_attached`: on disks of the
    server itself.
    """

    ese_instance: str
    stale_seconds: float
    backups: Mapping[str, BackupTotals]
    backup_running: bool | None = None
    copies_of: str | None = None
    device: str | None = None
    window: Window | None = None
    direct_attached: bool = False


def add_database(
    out: Samples, database: Database, facts: Derived, traits: Traits, now: float
) -> None:
    labels = {"computer": printable(database.computer), "database": printable(database.database)}
    watched = facts.tier == "watched"
    _add_page_errors(out, labels, database)
    damage = known_damage(database, facts.told.damage, facts.told.around.mended)
    had = {"uncorrectable", *(bad.kind for bad in database.bad_pages)} if watched else set()
    _add_bad_pages(out, labels, facts.bad_pages, had)
    _add_damage(out, labels, damage, {*database.damage, *facts.told.damage} if watched else set())
    if facts.tier == "ignored":
        if database.page_errors or damage:
            _add_info(out, labels, database, facts, traits)
        return
    _add_info(out, labels, database, facts, traits)
    out.add("ese_database_size_bytes", labels, database.size_bytes)
    out.add("ese_database_free_bytes", labels, database.free_bytes)
    out.add("ese_database_first_seen_timestamp_seconds", labels, database.first_seen or None)
    out.add("ese_header_bad_checksums", labels, database.header_bad_checksums)
    out.add("ese_header_corrected", labels, database.header_corrected)
    out.add("ese_header_correction_failed", labels, database.header_correction_failed)
    for by, time in sorted(facts.verified.items()):
        out.add("ese_last_full_verification_timestamp_seconds", {**labels, "by": by}, time)
    _add_restorable(out, labels, database)
    for what, count in database.page_scan.items():
        out.add(f"ese_page_scan_{what}_total", labels, count)
    _add_slow_io(out, labels, database, zero_born=watched)
    if not watched:
        return
    for task in sorted(TASKS):
        view = facts.views[task]
        if task == "zeroing" and view == TaskSummary() and task not in database.pages_seen:
            # A choice that few make.
            continue
        of_task = {**labels, "task": task}
        running = view.running(now, traits.stale_seconds)
        _add_task(out, of_task, view, running, up_to(database, failure(task)))
        if task in SCANS:
            seen, bad = database.pages_seen.get(task, 0), database.bad_checksums.get(task, 0)
            out.add("ese_pass_pages_seen_total", of_task, seen)
            out.add("ese_pass_bad_checksums_total", of_task, bad)
    _add_work(out, labels, database)
    out.add("ese_backup_running", labels, traits.backup_running)
    out.add("ese_database_direct_attached", labels, 1 if traits.direct_attached else None)
    _add_backups(out, labels, traits.backups)
    if traits.window is not None and CALENDAR[0] <= now <= CALENDAR[1]:
        open_now = opening_at(traits.window, now) is not None
        out.add("ese_window_open", labels, int(open_now))


def _add_restorable(out: Samples, labels: Labels, database: Database) -> None:
    verdict = database.copy_verdict
    if verdict is None:
        return
    restorable = verdict.is_restorable()
    if restorable is not None:
        out.add("ese_copy_restorable", labels, int(restorable))
    out.add("ese_copy_restorable_timestamp_seconds", labels, verdict.time)
    last = database.restorable_last or None
    out.add("ese_last_restorable_timestamp_seconds", labels, last)


def _add_page_errors(out: Samples, labels: Labels, database: Database) -> None:
    for kind, count in sorted(database.page_errors.items()):
        of_kind = {**labels, "kind": kind}
        out.add("ese_page_error_events_total", of_kind, count)
        last = database.page_error_last.get(kind)
        out.add("ese_page_error_last_timestamp_seconds", of_kind, last)


def _add_bad_pages(
    out: Samples, labels: Labels, standing: Collection[BadPage], had: Set[str]
) -> None:
    """Add the unresolved pages, and with 0 the kinds that it `had`."""
    counts = dict.fromkeys(had, 0)
    history: dict[str, int] = {}
    numbered = [bad for bad in standing if bad.page != UNLOCATED and bad.kind != "corrected"]
    newest = max(numbered, key=lambda bad: (bad.last, bad.page), default=None)
    if newest is not None:
        out.add("ese_known_bad_page_last_number", labels, newest.page)
    for bad in standing:
        counts[bad.kind] = counts.get(bad.kind, 0) + bad.pages
        history[bad.kind] = history.get(bad.kind, 0) + bad.pages * bad.history
    for kind, count in sorted(counts.items()):
        of_kind = {**labels, "kind": kind}
        out.add("ese_known_bad_pages", of_kind, count)
        if count:
            out.add("ese_known_bad_pages_found_in_history", of_kind, history[kind])


def _add_damage(
    out: Samples, labels: Labels, known: Mapping[DamageKind, Damage], had: Set[DamageKind]
) -> None:
    """Add the unresolved damage, and with 0 the kinds that it `had`, as a sign that they are
    gone."""
    counts: dict[str, int] = {kind: known[kind].count if kind in known else 0 for kind in had}
    counts.update((kind, damage.count) for kind, damage in known.items())
    if NOT_FATAL in counts:
        counts["logical"] = counts.get("logical", 0) + counts.pop(NOT_FATAL)
    for kind, count in sorted(counts.items()):
        out.add("ese_known_damage", {**labels, "kind": kind}, count)


def _add_info(
    out: Samples, labels: Labels, database: Database, facts: Derived, traits: Traits
) -> None:
    info = {
        **labels,
        "ese_instance": printable(traits.ese_instance),
        "database_name": printable(facts.member.name),
        "path": printable(database.path),
        "role": facts.member.role,
        "model": facts.member.model,
        "tier": facts.tier,
        "generation": database.generation,
        "page_size": str(database.page_size or ""),
    }
    out.add("ese_database_info", info, 1)
    if traits.copies_of is not None:
        out.add("ese_database_copies_info", {**labels, "copies_of": printable(traits.copies_of)}, 1)
    if traits.device:
        device = {**labels, "device": printable(traits.device)}
        out.add("ese_database_device_info", device, 1)


def _add_slow_io(out: Samples, labels: Labels, database: Database, *, zero_born: bool) -> None:
    for operation in sorted({*database.slow_io, *(OPERATIONS if zero_born else ())}):
        of_operation = {**labels, "operation": operation}
        out.add("ese_slow_io_reports_total", of_operation, database.slow_io.get(operation, 0))
        seconds = database.slow_io_last_seconds.get(operation)
        out.add("ese_slow_io_last_seconds", of_operation, seconds)
        last = database.slow_io_last.get(operation)
        out.add("ese_slow_io_last_timestamp_seconds", of_operation, last)
    for operation, count in sorted(database.hung_io.items()):
        of_operation = {**labels, "operation": operation}
        out.add("ese_hung_io_reports_total", of_operation, count)
        last = database.hung_io_last.get(operation)
        out.add("ese_hung_io_last_timestamp_seconds", of_operation, last)


def _add_task(
    out: Samples, labels: Labels, view: TaskSummary, running: bool, acknowledged: float
) -> None:
    failed = view.last_failed
    out.add("ese_passes_started_total", labels, view.started)
    out.add("ese_passes_completed_total", labels, view.completed)
    out.add("ese_passes_interrupted_total", labels, view.interrupted)
    out.add("ese_passes_failed_total", labels, view.failed or None)
    out.add("ese_pass_running", labels, int(running))
    out.add("ese_pass_last_start_timestamp_seconds", labels, view.last_started)
    out.add(
        "ese_pass_last_failure_timestamp_seconds",
        labels,
        failed if (failed or 0.0) > acknowledged else None,
    )
    out.add("ese_pass_last_late_timestamp_seconds", labels, view.last_late)
    last = view.last_completed
    if last is not None:
        out.add("ese_pass_last_completion_timestamp_seconds", labels, last.ended)
        out.add("ese_pass_last_work_seconds", labels, last.work_seconds)
        out.add("ese_pass_last_wall_seconds", labels, last.wall_seconds)
        out.add("ese_pass_last_invocations", labels, last.invocations)
        of_run = last.run_bad_checksums
        bad = of_run if last.bad_checksums is None else last.bad_checksums
        out.add("ese_pass_last_bad_checksums", labels, bad if (bad or 0) >= 0 else None)


def _add_work(out: Samples, labels: Labels, database: Database) -> None:
    out.add("ese_defrag_reported_pages_freed_total", labels, database.reported_pages_freed)
    if database.index_pages_visited or database.index_pages_freed:
        # Logged at the highest event level only: without any, the work is unknown, not 0.
        out.add("ese_index_defrag_pages_visited_total", labels, database.index_pages_visited)
        out.add("ese_index_defrag_pages_freed_total", labels, database.index_pages_freed)
    for kind, pages in sorted(database.zeroing_pages.items()):
        out.add("ese_zeroing_pages_total", {**labels, "kind": kind}, pages)


def _add_backups(out: Samples, labels: Labels, backups: Mapping[str, BackupTotals]) -> None:
    for kind, totals in sorted(backups.items()):
        of_kind = {**labels, "kind": kind}
        # A shadow copy names no sizes: its bytes are unknown, not 0.
        out.add("ese_backup_bytes_total", of_kind, totals.bytes_total or None)
        out.add("ese_backup_seconds_total", of_kind, totals.seconds_total)
        out.add(
            "ese_backup_last_completion_timestamp_seconds", of_kind, totals.last_completion or None
        )


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


def add_sql_databases(out: Samples, state: State, settings: Settings) -> None:
    for _, entry in sorted(state.sql_databases.items()):
        labels = {"computer": printable(entry.computer), "database": printable(entry.database)}
        out.add("sqlserver_database_first_seen_timestamp_seconds", labels, entry.first_seen)
        for physical, checks in (("false", entry.full), ("true", entry.physical)):
            kind = {**labels, "physical_only": physical}
            out.add("sqlserver_checkdb_errors_total", kind, checks.errors)
            out.add("sqlserver_checkdb_last_completion_timestamp_seconds", kind, checks.completed)
            out.add("sqlserver_checkdb_last_duration_seconds", kind, checks.seconds)
            out.add("sqlserver_checkdb_last_errors", kind, errors_left(entry, checks))
            out.add("sqlserver_checkdb_last_abort_timestamp_seconds", kind, checks.aborted)
        rule = rule_for(settings, entry.computer, entry.database)
        for device in dict.fromkeys(rule.devices if rule is not None else ()):
            out.add("sqlserver_database_device_info", {**labels, "device": printable(device)}, 1)
