"""Metric families of one database, by tier (semantics.md 1).

Watched databases start with what is read as an increase of what all of them have: passes that
start, complete and are interrupted, and slow requests begin at 0; 0 uncorrectable pages are a good
sign. What most databases never have (zeroing, failed passes, page errors, other bad pages, damage,
hung requests) begins with its first event: absent means none. Observed databases expose only their
state and their events, ignored ones only damage, with the tier that keeps an alert about
it from waking anybody.
"""

from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

from esefiles.base.names import printable
from esewatch.advice.history.derived import Derived
from esewatch.config import Window
from esewatch.config.calendar import CALENDAR, opening_at
from esewatch.expose.metrics.collectors.samples import Labels, Samples
from esewatch.fold.passes.passes import TASKS, TaskSummary
from esewatch.fold.state.acknowledgements import failure, up_to
from esewatch.fold.state.damage import NOT_FATAL, known_damage
from esewatch.fold.state.state import (
    UNLOCATED,
    BackupTotals,
    BadPage,
    Damage,
    DamageKind,
    Database,
)

SCANS = ("checksum", "zeroing")
OPERATIONS = ("read", "write")


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
            _add_scan(out, of_task, database, task)
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


def _add_scan(out: Samples, labels: Labels, database: Database, task: str) -> None:
    out.add("ese_pass_pages_seen_total", labels, database.pages_seen.get(task, 0))
    out.add("ese_pass_bad_checksums_total", labels, database.bad_checksums.get(task, 0))


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
