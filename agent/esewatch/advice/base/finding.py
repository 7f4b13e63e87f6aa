"""Findings, reasons for a person to act: the closed list, each with its sentence.

A finding is a value (`ese_finding{finding}`, contract.md); its sentence holds the figures
that it was made of. Times are epoch seconds and are shown in UTC.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Literal, NamedTuple, get_args

from esewatch.fold.databases.integrity import count_pages
from esewatch.fold.state.state import BadPage, Damage, DamageKind, EngineError, EngineErrorKind

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
    "not_restorable",
    "only_active_verified",
    "only_passive_verified",
    "scan_off",
    "scan_stalled",
    "scans_collide",
    "scans_do_not_fit",
    "stops_early",
    "unexplained_error",
    "unknown_since",
    "verification_overdue",
    "writes_at_risk",
]
FINDINGS: tuple[FindingName, ...] = get_args(FindingName)
STALLED: FindingName = "scan_stalled"
IN_THE_LOG: frozenset[FindingName] = frozenset({"defrag_overdue", "scan_off", STALLED})
"""The gap in the log, if it is read to its end."""
ADVICE: frozenset[FindingName] = frozenset(
    {
        "backup_overlaps",
        "backup_slows",
        "cache_small",
        STALLED,
        "scans_collide",
        "scans_do_not_fit",
        "stops_early",
        "unexplained_error",
        "unknown_since",
    }
)
PERSON: frozenset[FindingName] = frozenset(FINDINGS) - ADVICE
"""Need a person: exit status 1 of commands. The others are advice, or wait for events."""

DAMAGE_WORDS: Mapping[DamageKind, tuple[str, str]] = {
    "divergence": (
        "report that this copy differs from the others",
        "reports that this copy differs from the others",
    ),
    "suspect": (
        "report that this copy and the active one differ",
        "reports that this copy and the active one differ",
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
"""Kind of damage -> text for one report of it, and for many."""
DAMAGE_FINDINGS: Mapping[FindingName, tuple[DamageKind, ...]] = {
    "copy_divergence": ("divergence",),
    "copy_suspect": ("suspect",),
    "logical_damage": ("logical", "logical_nonfatal"),
}
"""Finding -> the kinds of damage that it reports."""

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

RECENT = 7 * 86400.0
"""Seconds for which an I/O error needs attention: it leaves no page that is known bad."""


Cause = DamageKind | EngineErrorKind


class Finding(NamedTuple):
    """One of FINDINGS and its reason: a sentence with its figures, without a full stop."""

    finding: FindingName
    sentence: str
    causes: tuple[Cause, ...] = ()
    """Causes that it sums up, where a runbook depends on it."""


class Proof(NamedTuple):
    """Time at which every page was read good, epoch seconds, and the verifier."""

    time: float
    by: str


def investigate(
    standing: Iterable[BadPage],
    damage: Mapping[DamageKind, Damage],
    io_errors: Sequence[float],
    now: float,
) -> Finding | None:
    """Bad pages, damage or I/O errors: to be resolved before any window is changed.

    `standing` are the known bad pages (corrected ones count), `damage` is the unresolved damage by
    kind, `io_errors` are the times of failed reads and writes (481, 482, 551).
    """
    pages = list(standing)
    corrected = count_pages(page for page in pages if page.kind == "corrected")
    bad = count_pages(pages) - corrected
    failed = sum(now - RECENT < time <= now for time in io_errors)
    standing_damage = {kind: each.count for kind, each in damage.items() if each.count > 0}
    parts = [
        counted(number, one, many)
        for number, one, many in (
            (bad, "known bad page", "known bad pages"),
            (corrected, "corrected page", "corrected pages"),
            *((count, *DAMAGE_WORDS[kind]) for kind, count in standing_damage.items()),
            (failed, "I/O error in the last 7 days", "I/O errors in the last 7 days"),
        )
        if number > 0
    ]
    causes: tuple[Cause, ...] = (*standing_damage, *(("io",) if failed else ()))
    return Finding("investigate", listed(parts), causes) if parts else None


def damage_findings(damage: Mapping[DamageKind, Damage]) -> list[Finding]:
    """One finding for each that damage has of its own, with its kinds; `damage` is unresolved."""
    made = []
    for finding, kinds in DAMAGE_FINDINGS.items():
        parts = [_reported(kind, damage[kind]) for kind in kinds if kind in damage]
        if parts:
            made.append(Finding(finding, listed(parts)))
    return made


def _reported(kind: DamageKind, damage: Damage) -> str:
    events = listed([str(event) for event in damage.events])
    noun = "event" if len(damage.events) == 1 else "events"
    last = moment(damage.times[-1])
    return f"{counted(damage.count, *DAMAGE_WORDS[kind])} ({noun} {events}, last {last})"


def engine_failure(reported: Mapping[EngineErrorKind, tuple[int, float]]) -> Finding:
    """Failures that the engine reported: by kind the number of open ones, and the last; at least
    one.
    """
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
    """No verifier ever read every page good in the `known` seconds since it was first seen."""
    return Finding(
        "never_verified",
        f"nothing has verified all of its pages in the {span(known)} since it was first seen",
    )


def not_restorable(time: float, reason: str) -> Finding:
    """The newest copy that was judged, of `time`, would not mount, for that reason."""
    return Finding(
        "not_restorable", f"its copy of {moment(time)} would not mount: {reason.rstrip('.')}"
    )


def verification_overdue(
    proof: Proof | None, silent: float, deadline: float, lost_until: float | None
) -> Finding:
    """Not verified for `silent` seconds, which is more than `deadline`.

    `lost_until`: events are missing up to then; `silent` counts from there.
    """
    since = f" since {moment(lost_until)}, before which events are missing" if lost_until else ""
    last = f"last verified {verified_text(proof)}" if proof else "no verification is known"
    return Finding(
        "verification_overdue",
        f"not verified for {span(silent)}{since}; the deadline is {span(deadline)} ({last})",
    )


def unknown_since(begin: float, until: float, missing: int, proof: Proof | None) -> Finding:
    """`missing` events between `begin` and `until` were not read, and no proof is younger."""
    before = f" (last verified {verified_text(proof)})" if proof else ""
    return Finding(
        "unknown_since",
        f"{counted(missing, 'event was', 'events were')} not read between {moment(begin)} and"
        f" {moment(until)}, so the state of its pages is unknown{before}",
    )


def only_other_copies_verified(role: str, verified: Sequence[tuple[str, Proof]]) -> Finding:
    """This copy, active or passive, is not verified in time; copies of the other role are.

    `verified`: computer and proof of each of those, at least one.
    """
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

    `seen` pages of `pages` were read by then; None where that is not known.
    """
    so_far = f"{seen:,.0f}" if seen is not None else ""
    if seen is not None and pages is not None and seen <= pages:
        so_far += f" of {pages:,.0f}"
    at = f" (after {so_far} pages)" if so_far else ""
    return Finding(
        STALLED,
        f"its scan has stalled: no progress since {moment(since)}{at}, although its log"
        f" was read for {span(still)} of that time",
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
    """The last `cycles` of garbage collection in a row did not complete at once."""
    return Finding(
        "defrag_overdue",
        f"online defragmentation was interrupted or resumed in each of the last {cycles} cycles of"
        " garbage collection",
    )


def scans_collide(names: Sequence[str], cost: str) -> Finding:
    """Scanned at the same time as the databases `names`; `cost` gives the cost in figures."""
    return Finding(
        "scans_collide",
        f"scanned at the same time as {listed(names)} on the same disks; {cost}",
    )


def scans_do_not_fit(need: float, room: float, *, halved: bool) -> Finding:
    """A scan of `need` seconds has at most `room` seconds at a stretch in its allowed hours.

    `halved`: half of them is that of online defragmentation.
    """
    others = f"{'online defragmentation and ' if halved else ''}the other scans of the same disks"
    return Finding(
        "scans_do_not_fit",
        f"its scan needs {span(need)}, but {others} leave at most {span(room)} at a stretch in its"
        f" allowed hours of 7 days: {span(need - room)} too little",
    )


def backup_slows(slow: int, jobs: int, rates: Sequence[float], ended: float) -> Finding:
    """In `slow` of the last `jobs` backup jobs the last set ran at less than half the first's rate.

    `rates` are the bytes a second of the sets of the latest of them, which ended then.
    """
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
    """The tasks that were stopped, in words."""
    early: Sequence[float]
    """Seconds before the end of the time that the window gives it; at least one."""
    with_backup: int
    """The number of stops during which a backup ran."""
    openings: int
    """The number of openings."""
    last: float
    """The latest stop."""


def stopped_early(found: EarlyStops) -> Finding:
    """The finding; it is `backup_overlaps` where a backup ran at half of the stops or more."""
    backups = 2 * found.with_backup >= len(found.early)
    said = (
        f"{listed(found.tasks)} stopped before the pass was complete in {len(found.early)} of the"
        f" last {found.openings} windows, {span(median(found.early))} too early (median), last at"
        f" {moment(found.last)}"
    )
    if not backups:
        return Finding("stops_early", said)
    of_these = f"in {found.with_backup} of these windows"
    return Finding("backup_overlaps", f"{said}; a backup was running {of_these}")


def writes_at_risk(
    errors: Mapping[EngineErrorKind, float], buckets: tuple[float, int] | None
) -> Finding:
    """The instance refuses writes or is about to: at least one of the two is given.

    `errors`: its open errors of RISKS, and when last; `buckets`: the version buckets that it holds
    and the most that it may have.
    """
    parts = []
    if errors:
        said = [f"{RISKS[kind]} (last {moment(at)})" for kind, at in errors.items()]
        parts.append(f"logged that {listed(said)}")
    if buckets:
        held, most = buckets
        parts.append(f"uses {held:,.0f} of at most {most:,} version buckets")
    return Finding("writes_at_risk", f"its instance {', and '.join(parts)}", tuple(errors))


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
    """`2007-06-21 03:14 UTC by online_scan`."""
    return f"{moment(proof.time)} by {proof.by}"


def moment(time: float) -> str:
    """`2007-06-21 03:14 UTC`; the bare number for what no calendar holds."""
    try:
        return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return f"second {time:g}"


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
