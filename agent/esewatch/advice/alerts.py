"""Alerts that carry a finding: what each of them carries (semantics.md 7).

The rules in `alerts/` are held to this table: each says what an agent stated, and judges nothing.
What is held ends by a stated 0 alone, what is fresh with its agent, too (rules/findings.rules.yml).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from esewatch.advice.base.finding import DetailName, FindingName, Severity
from esewatch.advice.checkdb import CHECK_FINDINGS, CheckFinding

Level = Literal["database", "ese_instance"]
"""The label, beside its computer, by which a finding is stated."""
SEVERITIES: Sequence[Severity] = ("critical", "warning")
LEVELS: tuple[Level, ...] = ("database", "ese_instance")

Name = FindingName | DetailName | CheckFinding


class Carried(NamedTuple):
    level: Level
    findings: Sequence[Name]
    absent: bool = False
    """Something did not happen: it is known only of a computer whose logs all agents have read to
    their end."""
    one: bool = False
    """One alert, however many of them stand."""
    elsewhere: str = ""
    """The series of copies of which another one may not have it, or has the alert instead."""


HELD: Mapping[str, Sequence[Carried]] = {
    "EseKnownBadPage": [Carried("database", ["known_bad_page"])],
    "EseCorrectedPage": [Carried("database", ["corrected_page"])],
    "EseLogicalCorruption": [
        Carried("database", ["logical_damage"]),
        Carried("ese_instance", ["logical_damage"]),
    ],
    "EseCopyDivergence": [
        Carried("database", ["copy_divergence", "copy_suspect", "revert_snapshot"])
    ],
    "EseHungIo": [Carried("database", ["hung_io"])],
    "EseIoError": [Carried("ese_instance", ["io_error", "known_bad_page"])],
    "EseLogSequenceHalted": [Carried("ese_instance", ["log_sequence_halted"])],
    "EseDiskFull": [Carried("ese_instance", ["disk_full"])],
    "EseRecoveryFailed": [Carried("ese_instance", ["recovery_failed"])],
    "EseVersionStoreFull": [Carried("ese_instance", ["version_store_full"])],
    "EseDatabaseFull": [Carried("ese_instance", ["database_full"])],
    "EseEngineFailure": [
        Carried("database", ["index_out_of_date"]),
        Carried("ese_instance", ["engine_failure"]),
    ],
    "EseLogDiskLow": [Carried("ese_instance", ["log_disk_low"])],
    "SqlserverCheckdbFailed": [Carried("database", ["checkdb_failed", "checkdb_aborted"])],
}
"""Alert -> what its rules carry until it is stated to be over. Their severity is that of the
finding."""
FRESH: Mapping[str, Carried] = {
    "EseVerificationOverdue": Carried(
        "database",
        [
            "never_verified",
            "only_active_verified",
            "only_passive_verified",
            "verification_overdue",
            "verification_unreadable",
        ],
        absent=True,
        one=True,
    ),
    "EseMaintenanceError": Carried("database", ["maintenance_error"], absent=True),
    "EseVerificationAtRisk": Carried("database", ["verification_at_risk"], absent=True),
    "EseDefragIncomplete": Carried("database", ["defrag_incomplete"], absent=True),
    "EseBackupMissing": Carried(
        "database",
        ["backup_missing"],
        absent=True,
        one=True,
        elsewhere="database:ese_finding:backup_missing_elsewhere",
    ),
    "EseNoRestorableCopy": Carried("database", ["no_restorable_copy"], absent=True, one=True),
    "EseMaintenanceStopsEarly": Carried("database", ["stops_early", "backup_overlaps"], one=True),
    "EseScansCollide": Carried("database", ["scans_collide", "scans_do_not_fit"], one=True),
    "EseDefragRatioDrift": Carried("database", ["defrag_ratio_drift"]),
    "EseWindowAdviceChanged": Carried("database", ["window_advice_changed"]),
    "EseVersionBucketsHigh": Carried("ese_instance", ["version_buckets_high"]),
    "EseCheckpointDeep": Carried("ese_instance", ["checkpoint_deep"]),
    "EseCopyBehind": Carried("ese_instance", ["copy_behind"]),
    "SqlserverCheckdbOverdue": Carried("database", ["checkdb_overdue"], absent=True),
}
"""Alert -> what it carries while an agent says it."""
ALWAYS: Mapping[Name, Severity] = {
    "checkdb_aborted": "warning",
    "checkdb_failed": "critical",
    "copy_suspect": "warning",
    "engine_failure": "warning",
    "index_out_of_date": "warning",
    "log_disk_low": "warning",
    "revert_snapshot": "warning",
}
"""Findings of HELD that have this severity alone; the others have either of SEVERITIES."""
MORE = frozenset({"EseLogDiskLow", "EseVerificationOverdue"})
"""Those that say something else, too: free space that a straight line brings to nothing; a
verification that another agent knows."""


def held_expression(of: Carried) -> str:
    """Of a rule of HELD."""
    return f"{of.level}:ese_finding:held{{{_findings(of)}}} == 1"


def fresh_expression(of: Carried, severity: str) -> str:
    """Of a rule of FRESH of that severity."""
    which = f'{{{_findings(of)},severity="{severity}"}}'
    if of.level == "ese_instance":
        # A level: 12 minutes are shorter than the hold, so that one sample alone never fires.
        return f"max without (instance) (last_over_time(ese_finding{which}[12m])) == 1"
    found = f"database:ese_finding:last15m{which}"
    found = f"max without (finding) ({found})" if of.one else found
    if of.elsewhere:
        found += f"\nunless ignoring (copies_of, severity)\nlast_over_time({of.elsewhere}[25m])"
    if of.absent:
        labels = [of.level, *(() if of.one else ("finding",)), "severity"]
        found += (
            f"\nand ignoring ({', '.join(labels)})"
            "\nmin without (instance) (last_over_time(esewatch_host_caught_up[15m])) == 1"
        )
    return found


def _findings(of: Carried) -> str:
    names = of.findings
    return f'finding="{names[0]}"' if len(names) == 1 else f'finding=~"{"|".join(names)}"'


def held(level: Level) -> Sequence[Name]:
    """All that is held of one level."""
    carried = (of for each in HELD.values() for of in each if of.level == level)
    return sorted({name for of in carried for name in of.findings})


def severities(name: Name) -> Sequence[Severity]:
    """Those that a finding of HELD may have."""
    return (ALWAYS[name],) if name in ALWAYS else SEVERITIES


def _ends(names: Iterable[Name]) -> Sequence[str]:
    return [f"{name} {severity}" for name in names for severity in severities(name)]


ENDS: Mapping[str, Sequence[str]] = {
    **{
        level: _ends(name for name in held(level) if name not in CHECK_FINDINGS) for level in LEVELS
    },
    "sql_database": _ends(name for name in held("database") if name in CHECK_FINDINGS),
}
"""All that may be held, as it is stated: `ack` and `forget` state that none of it stands."""
