"""Findings, reasons for a person to act: the closed list, each with its sentence.

A finding is a value (`ese_finding{finding}`, contract.md); its sentence holds the figures
that it was made of. Times are epoch seconds and are shown in UTC.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from statistics import median
from typing import Literal, NamedTuple, get_args

from esewatch.fold.databases.integrity import MAX_BAD_PAGES, count_pages
from esewatch.fold.state.state import (
    UNLOCATED,
    BadKind,
    BadPage,
    Damage,
    DamageKind,
    EngineError,
    EngineErrorKind,
    Notice,
)

FindingName = Literal[
    "backup_overlaps",
    "backup_slows",
    "cache_small",
    "copy_divergence",
    "copy_failed",
    "copy_suspect",
    "defrag_overdue",
    "directory_error",
    "engine_failure",
    "investigate",
    "logical_damage",
    "never_verified",
    "not_heard",
    "not_restorable",
    "only_active_verified",
    "only_passive_verified",
    "restored_unproven",
    "scan_off",
    "scan_stalled",
    "scans_collide",
    "scans_do_not_fit",
    "stops_early",
    "unexplained_error",
    "unknown_since",
    "verification_overdue",
    "verification_unreadable",
    "writes_at_risk",
]
FINDINGS: tuple[FindingName, ...] = get_args(FindingName)
STALLED: FindingName = "scan_stalled"
IN_THE_LOG: frozenset[str] = frozenset(
    {"backup_missing", "defrag_overdue", "no_restorable_copy", "scan_off", STALLED}
)
"""The gap in the log, if it is read to its end."""

UNVERIFIED: frozenset[FindingName] = frozenset({"never_verified", "verification_overdue"})
UNKNOWN: FindingName = "unknown_since"

INFORMATION: frozenset[FindingName] = frozenset(
    {"backup_slows", "cache_small", "scans_collide", "scans_do_not_fit", "unexplained_error"}
)
"""Below a warning (semantics.md 7): they change no verdict."""
PERSON: frozenset[FindingName] = frozenset(FINDINGS) - INFORMATION
"""Need a person: exit status 1 of commands."""

DAMAGE_WORDS: Mapping[DamageKind, tuple[str, str]] = {
    "divergence": (
        "report that this copy differs from the others",
        "reports that this copy differs from the others",
    ),
    "suspect": (
        "report that this copy or another is wrong, or a snapshot of this one",
        "reports that this copy or another is wrong, or a snapshot of this one",
    ),
    "logical": ("report of logical corruption", "reports of logical corruption"),
    "logical_nonfatal": (
        "report of a bad page link that is not fatal",
        "reports of bad page links that are not fatal",
    ),
    "index": ("report of an index out of date", "reports of indexes out of date"),
    "revert_snapshot": (
        "report of a damaged revert snapshot",
        "reports of a damaged revert snapshot",
    ),
}
BROKEN: frozenset[DamageKind] = frozenset({"divergence", "logical"})
"""Damage that is as urgent as a bad page."""
DAMAGE_FINDINGS: Mapping[FindingName, tuple[DamageKind, ...]] = {
    "copy_divergence": ("divergence",),
    "copy_suspect": ("suspect",),
    "logical_damage": ("logical", "logical_nonfatal"),
}

REPORT_WORDS: Mapping[EngineErrorKind, tuple[str, str]] = {
    "memory": (
        "report of damaged memory of the computer (907)",
        "reports of damaged memory of the computer (907)",
    ),
    "corruption_item": (
        "failure item of a corruption or a copy that must be reseeded (3005, 3006, 3010)",
        "failure items of a corruption or a copy that must be reseeded (3005, 3006, 3010)",
    ),
    "failure_item": ("other failure item (3001-3014)", "other failure items (3001-3014)"),
}
"""Kind of a failure that the engine reported -> text for one, and for many; the worst first."""

RISKS: Mapping[EngineErrorKind, str] = {
    "log_sequence": "the log sequence is halted",
    "recovery": "recovery failed or the instance stopped with an error",
    "disk_full": "it could not create a log file",
    "log_disk_low": "the log disk is nearly full",
    "version_store": "the version store is full",
    "database_full": "a database has its maximum size",
    "database_nearly_full": "a database is over its configured size",
}
"""Errors of the engine that stop writes or come before that, and what they say; worst first."""

DetailName = Literal[
    "backup_missing",
    "checkpoint_deep",
    "copy_behind",
    "corrected_page",
    "database_full",
    "defrag_incomplete",
    "defrag_ratio_drift",
    "disk_full",
    "engine_failure",
    "hung_io",
    "index_out_of_date",
    "io_error",
    "known_bad_page",
    "log_disk_low",
    "log_sequence_halted",
    "logical_damage",
    "maintenance_error",
    "no_restorable_copy",
    "recovery_failed",
    "revert_snapshot",
    "verification_at_risk",
    "version_buckets_high",
    "version_store_full",
    "window_advice_changed",
]
DETAILS: tuple[DetailName, ...] = get_args(DetailName)


RECENT = 7 * 86400.0
"""Seconds for which an I/O error needs attention: it leaves no page that is known bad."""

HUNG: Literal["hung_io"] = "hung_io"
"""Cause of `writes_at_risk`: requests to the disk that have not completed."""
HUNG_TOGETHER = 3
HUNG_WITHIN = 300.0
"""So many of them in so many seconds call somebody."""
Cause = DamageKind | EngineErrorKind | Literal["hung_io"]
Severity = Literal["critical", "warning", "info"]
STOPPED: frozenset[EngineErrorKind] = frozenset(
    {"log_sequence", "recovery", "disk_full", "version_store", "database_full"}
)
"""Of RISKS those that stopped writes; the others come before that."""


class Finding(NamedTuple):
    """One of FINDINGS and its reason: a sentence with its figures, without a full stop."""

    finding: FindingName
    sentence: str
    causes: tuple[Cause, ...] = ()
    """Causes that it sums up, where a runbook depends on it."""
    severity: Severity = "warning"
    """As semantics.md 7 has it: critical calls somebody, info asks for nothing."""
    since: float | None = None
    """Since when it stands; None where the records do not tell."""


def ranked(findings: Iterable[Finding], *, watched: bool) -> tuple[Finding, ...]:
    """The same with their severity: of what is only observed none calls anybody."""
    found = []
    for each in findings:
        low = each.finding in INFORMATION
        severity: Severity = "info" if low else each.severity
        capped = severity == "critical" and not watched
        found.append(each._replace(severity="warning" if capped else severity))
    return tuple(found)


class Detail(NamedTuple):
    finding: DetailName
    severity: Severity
    sentence: str = ""
    """Its figures, where no finding has them, without a full stop."""


class Proof(NamedTuple):
    """Time at which every page was read good, epoch seconds, and the verifier."""

    time: float
    by: str


VERIFIERS: Mapping[str, str] = {
    "online_scan": "online scan",
    "page_scan": "page scan",
    "streaming_backup": "streaming backup",
    "external": "eseutil /k",
}
BAD_KIND_WORDS: Mapping[BadKind, str] = {
    "uncorrectable": "checksum, not correctable",
    "corrected": "one-bit error",
    "wrong_page": "another page than the one requested",
    "lost_flush": "an old version, as a write was lost",
    "no_data": "no data",
}
MAX_RUNS = 5
"""Runs of page numbers that are named in a sentence."""


def latest_proof(verified: Mapping[str, float]) -> Proof | None:
    """The last verification of these, by verifier."""
    known = (Proof(time, by) for by, time in verified.items() if isfinite(time))
    return max(known, default=None)


def page_runs(pages: Iterable[int], most: int = MAX_RUNS) -> str:
    """`17, 40-45` of page numbers in any order."""
    runs: list[tuple[int, int]] = []
    for page in sorted(set(pages)):
        if runs and page == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], page)
        else:
            runs.append((page, page))
    said = [str(low) if low == high else f"{low}-{high}" for low, high in runs[:most]]
    return ", ".join(said) + (" and others" if len(runs) > most else "")


def pages_text(pages: Sequence[BadPage], file: str) -> str:
    """`page 299 of a.edb is bad (checksum, not correctable), first seen 29 November 2026 01:21
    UTC`; all of them are bad, or all were corrected. At least one."""
    number, located = count_pages(pages), {each.page for each in pages if each.page != UNLOCATED}
    if (unnamed := number - len(located)) > 0:
        unknown = "without a known number"
        which = f"({page_runs(located)} and {unnamed:,} {unknown})" if located else unknown
        subject = f"{counted_pages(pages, 'page', 'pages')} {which}"
    else:
        subject = f"{'page' if number == 1 else 'pages'} {page_runs(located)}"
    kinds = list(dict.fromkeys(each.kind for each in pages))
    words = "; ".join(BAD_KIND_WORDS[kind] for kind in kinds)
    verb = ("is", "are") if kinds != ["corrected"] else ("was", "were")
    state = "bad" if kinds != ["corrected"] else "corrected when read"
    return (
        f"{subject}{f' of {file}' if file else ''} {verb[number > 1]} {state} ({words}),"
        f" {_seen(pages)}"
    )


def _seen(pages: Sequence[BadPage]) -> str:
    """A page of a record without a possible time is known since it was read (semantics.md 3)."""
    timed = [each for each in pages if not each.untimed]
    if not timed:
        return f"time unknown, read {day_text(max(each.last for each in pages))}"
    first, last = min(each.first for each in timed), max(each.last for each in timed)
    again = f", last seen {day_and_time(last)}" if day_and_time(last) != day_and_time(first) else ""
    return f"first seen {day_and_time(first)}{again}"


def _clean(pages: Sequence[BadPage], proof: Proof | None) -> str:
    if proof is None:
        return "no clean scan is known"
    # A backup reads all pages and clears none.
    younger = proof.by == "streaming_backup" and proof.time > max(each.last for each in pages)
    clears = ", which clears none" if younger else ""
    return f"last clean {VERIFIERS.get(proof.by, proof.by)} {day_and_time(proof.time)}{clears}"


def investigate(
    standing: Iterable[BadPage],
    damage: Mapping[DamageKind, Damage],
    io_errors: Sequence[float],
    now: float,
    in_header: int = 0,
    *,
    database: str = "",
    proof: Proof | None = None,
) -> Finding | None:
    """Bad pages, damage or I/O errors of a database: to be resolved before any window is changed.

    `standing` are the known bad pages (corrected ones count), `damage` is the unresolved damage by
    kind, `io_errors` are the times of failed reads and writes (481, 482, 551). `in_header`: bad
    checksums that the header counts, of a database of which nothing else shows a page good or bad.
    `proof`: its last verification.
    """
    pages = list(standing)
    corrected = [page for page in pages if page.kind == "corrected"]
    bad = [page for page in pages if page.kind != "corrected"]
    failed = sum(now - RECENT < time <= now for time in io_errors)
    standing_damage = {kind: each.count for kind, each in damage.items() if each.count > 0}
    file = database.replace("/", "\\").rpartition("\\")[2]
    parts = [pages_text(each, file) for each in (bad, corrected) if each]
    if pages:
        parts.append(_clean(pages, proof))
    parts += [
        counted(number, one, many)
        for number, one, many in (
            *((count, *DAMAGE_WORDS[kind]) for kind, count in standing_damage.items()),
            (failed, "I/O error in the last 7 days", "I/O errors in the last 7 days"),
            (in_header, "bad checksum in its header", "bad checksums in its header"),
        )
        if number > 0
    ]
    causes: tuple[Cause, ...] = (*standing_damage, *(("io",) if failed else ()))
    begun = [page.first for page in pages]
    begun += [damage[kind].times[0] for kind in standing_damage if damage[kind].times]
    begun += [time for time in io_errors if now - RECENT < time <= now]
    severe = bad or failed > 1 or not BROKEN.isdisjoint(standing_damage)
    severity: Severity = "critical" if severe else "warning"
    since = min(begun, default=None)
    return Finding("investigate", "; ".join(parts), causes, severity, since) if parts else None


def damage_findings(damage: Mapping[DamageKind, Damage]) -> list[Finding]:
    """One finding for each that damage has of its own, with its kinds; `damage` is unresolved."""
    made = []
    for finding, kinds in DAMAGE_FINDINGS.items():
        there = [kind for kind in kinds if kind in damage]
        if there:
            severity: Severity = "warning" if BROKEN.isdisjoint(there) else "critical"
            since = min(damage[kind].times[0] for kind in there)
            told = listed([_reported(kind, damage[kind]) for kind in there])
            made.append(Finding(finding, told, (), severity, since))
    return made


def _reported(kind: DamageKind, damage: Damage) -> str:
    events = listed([str(event) for event in damage.events])
    noun = "event" if len(damage.events) == 1 else "events"
    last = moment(damage.times[-1])
    return f"{counted(damage.count, *DAMAGE_WORDS[kind])} ({noun} {events}, last {last})"


def engine_failure(reported: Mapping[EngineErrorKind, tuple[int, float]]) -> Finding:
    """Failures that the engine reported: by kind the number of open ones, and the last; at least
    one."""
    parts = [
        f"{counted(reported[kind][0], *words)}, last {moment(reported[kind][1])}"
        for kind, words in REPORT_WORDS.items()
        if kind in reported
    ]
    return Finding("engine_failure", f"the engine logged {listed(parts)}")


def unexplained_error(errors: Mapping[int, EngineError]) -> Finding:
    """Errors that the engine logged and no rule of esewatch knows, by event id; at least one."""
    parts = [
        f"event {event_id} {counted(each.count, 'time', 'times')}, last {moment(each.last)}"
        + (f": {each.text}" if each.text else "")
        for event_id, each in sorted(errors.items())
    ]
    return Finding("unexplained_error", f"the engine logged {listed(parts)}")


def never_verified(known: float) -> Finding:
    return Finding(
        "never_verified",
        f"nothing has verified all of its pages in the {span(known)} since it was first seen",
    )


def not_heard(
    last: float, after: float, severity: Literal["warning", "info"], *, stopped: bool
) -> Finding:
    """Nothing was read of its computer since its last record, for longer than `after` seconds."""
    clean = " after a clean stop" if stopped else ""
    return Finding(
        "not_heard",
        f"nothing was read of its computer since {moment(last)}{clean}, for more than"
        f" {span(after)}: its state is unknown; check that it runs and that its log arrives, or set"
        " retired: true for it under computers",
        severity=severity,
        since=last,
    )


def not_restorable(time: float, reason: str) -> Finding:
    return Finding(
        "not_restorable",
        f"its copy of {moment(time)} would not mount: {reason.rstrip('.')}",
        since=time,
    )


def restored_unproven(pages: Iterable[BadPage], restored: float) -> Finding:
    """Bad pages of before a restore, which nothing has verified since; at least one."""
    known = counted_pages(list(pages), "known bad page", "known bad pages")
    return Finding(
        "restored_unproven",
        f"it was restored from a backup at {moment(restored)}, before which it had {known}; nothing"
        " that began after the restore has verified its pages yet",
    )


def counted_pages(pages: Sequence[BadPage], one: str, many: str) -> str:
    """The number of bad pages in words: beyond a thousand it is a least one."""
    number = count_pages(pages)
    at_least = "at least " if number > MAX_BAD_PAGES else ""
    return f"{at_least}{counted(number, one, many)}"


def verification_overdue(
    proof: Proof | None, silent: float, deadline: float, lost_until: float | None
) -> Finding:
    """Not verified for `silent` seconds, which is more than `deadline`. `lost_until`: events are
    missing up to then; `silent` counts from there."""
    since = f" since {moment(lost_until)}, before which events are missing" if lost_until else ""
    last = f"last verified {verified_text(proof)}" if proof else "no verification is known"
    return Finding(
        "verification_overdue",
        f"not verified for {span(silent)}{since}; the deadline is {span(deadline)} ({last})",
    )


def verification_unreadable(time: float, proof: Proof | None) -> Finding:
    """A scan completed at `time`, and its text is in no language that is known here."""
    before = f" (last verified {verified_text(proof)})" if proof else ""
    return Finding(
        "verification_unreadable",
        f"a scan completed on {moment(time)}, but the text of its event cannot be read; export the"
        f" log as XML or EVTX to know its result{before}",
    )


def unknown_since(begin: float, until: float, missing: int, proof: Proof | None) -> Finding:
    """`missing` events between `begin` and `until` were not read, and no proof is younger."""
    before = f" (last verified {verified_text(proof)})" if proof else ""
    return Finding(
        "unknown_since",
        f"{counted(missing, 'event was', 'events were')} not read between {moment(begin)} and"
        f" {moment(until)}, so the state of its pages is unknown{before}",
        since=begin,
    )


def only_other_copies_verified(role: str, verified: Sequence[tuple[str, Proof]]) -> Finding:
    """This copy, active or passive, is not verified in time; copies of the other role are.
    `verified`: computer and proof of each of those, at least one."""
    other = "passive" if role == "active" else "active"
    copies = listed([f"{computer} ({verified_text(proof)})" for computer, proof in verified[:3]])
    more = f" and {len(verified) - 3:,} more" if len(verified) > 3 else ""
    name: FindingName = "only_passive_verified" if role == "active" else "only_active_verified"
    noun = "copy" if len(verified) == 1 else "copies"
    return Finding(
        name,
        f"this {role} copy was not verified within its deadline; only the {other} {noun} on"
        f" {copies}{more} {'was' if len(verified) == 1 else 'were'}",
    )


def scan_stalled(since: float, still: float, seen: float | None, pages: float | None) -> Finding:
    """No progress of the scan since then, for `still` seconds in which progress was expected.
    `seen` pages of `pages` were read by then; None where that is not known."""
    so_far = f"{seen:,.0f}" if seen is not None else ""
    if seen is not None and pages is not None and seen <= pages:
        so_far += f" of {pages:,.0f}"
    at = f" (after {so_far} pages)" if so_far else ""
    return Finding(
        STALLED,
        f"its scan has stalled: no progress since {moment(since)}{at}, although its log"
        f" was read for {span(still)} of that time",
        since=since,
    )


def scan_off(silent: float, last: float | None) -> Finding:
    """No event of a scan in `silent` seconds at work; the last one, None where none is known."""
    before = f"the last one was at {moment(last)}" if last is not None else "none is known before"
    return Finding(
        "scan_off",
        f"its log shows no scan for {span(silent)} of uptime ({before}); to see whether scanning"
        " is switched off, run Get-MailboxDatabase | fl Name,BackgroundDatabaseMaintenance",
    )


def defrag_overdue(completed: float | None, silent: float, allowed: float) -> Finding:
    """Garbage collection did not complete in `silent` seconds at work, more than `allowed`."""
    last = f"last at {moment(completed)}" if completed is not None else "no completion is known"
    return Finding(
        "defrag_overdue",
        f"online defragmentation has not completed for {span(silent)} of uptime ({last}); the limit"
        f" is {span(allowed)}",
    )


def cycles_torn(cycles: int) -> Finding:
    return Finding(
        "defrag_overdue",
        f"online defragmentation was interrupted or resumed in each of the last {cycles} cycles of"
        " garbage collection",
    )


def scans_collide(names: Sequence[str], cost: str) -> Finding:
    return Finding(
        "scans_collide", f"scanned at the same time as {listed(names)} on the same disks; {cost}"
    )


def scans_do_not_fit(need: float, room: float, *, halved: bool) -> Finding:
    """A scan of `need` seconds has at most `room` seconds at a stretch in its allowed hours.
    `halved`: half of them is that of online defragmentation."""
    others = f"{'online defragmentation and ' if halved else ''}the other scans of the same disks"
    return Finding(
        "scans_do_not_fit",
        f"its scan needs {span(need)}, but {others} leave at most {span(room)} at a stretch in its"
        f" allowed hours of 7 days: {span(need - room)} too little",
    )


def backup_slows(slow: int, jobs: int, rates: Sequence[float], ended: float) -> Finding:
    """In `slow` of the last `jobs` backup jobs the last set ran at less than half the first's rate.
    `rates` are the bytes a second of the sets of the latest of them, which ended then."""
    first, last = (f"{rate / 1e6:,.1f}" for rate in (rates[0], rates[-1]))
    return Finding(
        "backup_slows",
        f"in {slow} of the last {jobs} backup jobs the last set ran at less than half the"
        f" throughput of the first; in the job that ended {moment(ended)} it fell from {first} to"
        f" {last} MB/s over {len(rates)} sets",
    )


class EarlyStops(NamedTuple):
    """Maintenance stopped before its time with work left: one value for each such window."""

    tasks: Sequence[str]
    early: Sequence[float]
    """Seconds before the end of the time that the window gives it; at least one."""
    with_backup: int
    openings: int
    last: float
    """The latest stop."""
    schedule: str = ""
    """`01:00-03:00`, the local hours that all of these windows kept to; empty where they differ."""


def stopped_early(found: EarlyStops) -> Finding:
    """The finding; it is `backup_overlaps` where a backup ran at half of the stops or more."""
    backups = 2 * found.with_backup >= len(found.early)
    said = (
        f"{listed(found.tasks)} stopped before the pass was complete in {len(found.early)} of the"
        f" last {found.openings} windows, {span(median(found.early))} too early (median), last at"
        f" {moment(found.last)}"
    )
    if not backups:
        seems = f"; the schedule seems to be {found.schedule}" if found.schedule else ""
        return Finding("stops_early", said + seems)
    of_these = f"in {found.with_backup} of these windows"
    return Finding("backup_overlaps", f"{said}; a backup was running {of_these}")


def writes_at_risk(
    errors: Mapping[EngineErrorKind, float],
    buckets: tuple[float, int] | None,
    hung: Sequence[float] = (),
    since: float | None = None,
) -> Finding:
    """The instance refuses writes or is about to: at least one of the three is given.

    `errors`: its open errors of RISKS, and when last; `since`: the first of them; `buckets`: the
    version buckets that it holds and the most that it may have; `hung`: the sorted times at which
    requests were reported that have not completed.
    """
    parts = []
    if errors:
        said = [f"{RISKS[kind]} (last {moment(at)})" for kind, at in errors.items()]
        parts.append(f"logged that {listed(said)}")
    if hung:
        requests = counted(len(hung), "read or write that has", "reads or writes that have")
        parts.append(f"reported {requests} not completed (last {moment(hung[-1])})")
    if buckets:
        held, most = buckets
        parts.append(f"uses {held:,.0f} of at most {most:,} version buckets")
    several = zip(hung, hung[HUNG_TOGETHER - 1 :], strict=False)
    severe = STOPPED & errors.keys() or any(last - first <= HUNG_WITHIN for first, last in several)
    causes: tuple[Cause, ...] = (*errors, *((HUNG,) if hung else ()))
    told = f"its instance {', and '.join(parts)}"
    return Finding("writes_at_risk", told, causes, "critical" if severe else "warning", since)


def cache_small(there: float, mailboxes: int, wanted: float) -> Finding:
    """The stores of a computer have so many bytes of cache, less than its mailboxes should have."""
    mib = 1 << 20
    return Finding(
        "cache_small",
        f"the store of its computer has a database cache of {there / mib:,.0f} MiB; its"
        f" {counted(mailboxes, 'configured mailbox', 'configured mailboxes')} should have"
        f" {wanted / mib:,.0f} MiB (cache_per_mailbox; published for Exchange 2007, with 2 GB of"
        " memory beside the cache)",
    )


def verified_text(proof: Proof) -> str:
    """`2007-06-21 03:14 UTC by the online scan`."""
    article = "" if proof.by == "external" else "the "
    return f"{moment(proof.time)} by {article}{VERIFIERS.get(proof.by, proof.by)}"


def moment(time: float) -> str:
    """`2007-06-21 03:14 UTC`; the bare number for what no calendar holds."""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"second {time:g}"


def day_text(time: float) -> str:
    """`19 June 2007`, UTC: always with its year, as logs may be read in a later one."""
    try:
        day = datetime.fromtimestamp(time, UTC)
    except (ValueError, OverflowError, OSError):
        return "an unknown day"
    return f"{day.day} {day:%B %Y}"


def day_and_time(time: float) -> str:
    """`19 June 2007 03:14 UTC`."""
    day = day_text(time)
    unknown = day == "an unknown day"
    return day if unknown else f"{day} {datetime.fromtimestamp(time, UTC):%H:%M} UTC"


def span(seconds: float) -> str:
    """A duration: `12.5 days`, `4 h 15 min`, `45 min`, `20 s`; never rounded to nothing."""
    if not abs(seconds) < 1e12:
        return f"{seconds:g} s"
    if seconds >= 2 * 86400:
        return f"{seconds / 86400:,.1f}".removesuffix(".0") + " days"
    if seconds < 60:
        return f"{seconds:.3g} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")
    return " ".join(part for part in parts if part)


def counted(number: int, one: str, many: str = "") -> str:
    """`1 page`, `2,000 pages`; `many` where an `s` does not make the plural."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


WORDS: Mapping[str, str] = {
    "failed": "this copy has failed",
    "suspended": "this copy was suspended",
    "seeding_failed": "this copy could not be seeded",
    "database_error": "its database reported an error",
    "usn_rollback": "its database is older than its replication partners expect (USN rollback)",
    "replication_stopped": "replication from a partner has stopped",
}
_OF: Mapping[FindingName, tuple[str, str, Sequence[str]]] = {
    "copy_failed": (
        "Exchange",
        "for its current state, run Get-MailboxDatabaseCopyStatus",
        ("failed", "suspended", "seeding_failed"),
    ),
    "directory_error": (
        "the directory service",
        "for its current state, run repadmin /showrepl and dcdiag",
        ("database_error", "usn_rollback", "replication_stopped"),
    ),
}


def server_notices(notices: Sequence[Notice]) -> list[Finding]:
    """The latest comes first. No event reports that the problem is over (docs/inputs.md): an
    acknowledgement ends it, or a restore."""
    made = []
    for finding, (who, command, states) in _OF.items():
        parts = [_part(each) for each in reversed(notices) if each.state in states]
        if parts:
            made.append(Finding(finding, f"{who} logged that {listed(parts)}; {command}"))
    return made


def _part(notice: Notice) -> str:
    times = f"{counted(notice.count, 'time', 'times')}, last " if notice.count > 1 else ""
    why = f": {notice.text}" if notice.text else ""
    return f"{WORDS[notice.state]} (event {notice.event_id}, {times}{moment(notice.last)}{why})"
