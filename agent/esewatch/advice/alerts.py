"""Alerts that carry a finding: what each of them carries (semantics.md 7).

The rules in `alerts/` are held to this table: each says what an agent stated, and judges nothing.
What is held ends by a stated 0 alone, what is fresh with its agent, too (rules/findings.rules.yml).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from esewatch.advice.base.detail import DetailName
from esewatch.advice.base.finding import FindingName
from esewatch.advice.checkdb import CHECK_FINDINGS, CheckFinding

Level = Literal["database", "ese_instance"]
"""The label, beside its computer, by which a finding is stated."""
SEVERITIES = ("critical", "warning")
LEVELS: tuple[Level, ...] = ("database", "ese_instance")


Name = FindingName | DetailName | CheckFinding


class Carried(NamedTuple):
    """The findings of an alert."""

    level: Level
    findings: Sequence[Name]
    absent: bool = False
    """Something did not happen: it is known only of a computer whose logs all agents have read to
    their end."""
    one: bool = False
    """One alert, however many of them stand."""
    elsewhere: str = ""
    """The series of copies of which another one may not have it, or has the alert instead."""


HELD: Mapping[str, Carried] = {
    "EseKnownBadPage": Carried("database", ["known_bad_page"]),
    "EseCorrectedPage": Carried("database", ["corrected_page"]),
    "EseLogicalCorruption": Carried("database", ["logical_damage"]),
    "EseCopyDivergence": Carried("database", ["copy_divergence"]),
    "EseCopySuspect": Carried("database", ["copy_suspect", "revert_snapshot"]),
    "EseIndexOutOfDate": Carried("database", ["index_out_of_date"]),
    "EseHungIo": Carried("database", ["hung_io"]),
    "EseIoError": Carried("ese_instance", ["io_error", "known_bad_page"]),
    "EseLogSequenceHalted": Carried("ese_instance", ["log_sequence_halted"]),
    "EseDiskFull": Carried("ese_instance", ["disk_full"]),
    "EseRecoveryFailed": Carried("ese_instance", ["recovery_failed"]),
    "EseVersionStoreFull": Carried("ese_instance", ["version_store_full"]),
    "EseDatabaseFull": Carried("ese_instance", ["database_full"]),
    "EseEngineFailure": Carried("ese_instance", ["engine_failure"]),
    "EseLogDiskLow": Carried("ese_instance", ["log_disk_low"]),
    "SqlserverCheckdbFailed": Carried("database", ["checkdb_failed", "checkdb_aborted"]),
}
"""Alert -> what it carries until it is stated to be over."""
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
CARRIED: Mapping[Level, str] = {"database": "last15m", "ese_instance": "last12m"}
"""For so long what is fresh is carried: through a restart of its agent."""
MORE = frozenset({"EseLogDiskLow", "EseVerificationOverdue"})
"""Those that say something else, too: free space that a straight line brings to nothing; a
verification that another agent knows."""


def expression(alert: str, severity: str) -> str:
    """The expression of one of HELD or FRESH at a severity."""
    of = HELD[alert] if alert in HELD else FRESH[alert]
    names = of.findings
    match = f'="{names[0]}"' if len(names) == 1 else f'=~"{"|".join(names)}"'
    matchers = f'{{finding{match},severity="{severity}"}}'
    if alert in HELD:
        return f"{of.level}:ese_finding:held{matchers} == 1"
    found = f"{of.level}:ese_finding:{CARRIED[of.level]}{matchers}"
    found = f"max without (finding) ({found})" if of.one else found
    if of.elsewhere:
        found += f"\nunless ignoring (copies_of, severity)\n{of.elsewhere}"
    return found + (_caught_up(of) if of.absent else "")


def _caught_up(of: Carried) -> str:
    labels = [of.level, *(() if of.one else ("finding",)), "severity"]
    return (
        f"\nand ignoring ({', '.join(labels)})"
        "\nmin without (instance) (last_over_time(esewatch_host_caught_up[15m])) == 1"
    )


def held(level: Level) -> Sequence[Name]:
    """All that is held of one level."""
    return sorted({name for of in HELD.values() if of.level == level for name in of.findings})


ENDS: Mapping[str, Sequence[str]] = {
    **{
        level: tuple(
            f"{name} {severity}"
            for name in held(level)
            if name not in CHECK_FINDINGS
            for severity in SEVERITIES
        )
        for level in LEVELS
    },
    "sql_database": tuple(
        f"{name} {CHECK_FINDINGS[name]}" for name in CHECK_FINDINGS if name in held("database")
    ),
}
"""All that may be held, as it is stated: `ack` and `forget` state that none of it stands."""
