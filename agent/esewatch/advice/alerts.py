"""Alerts that carry a finding: what each of them carries (semantics.md 7).

The rules in `alerts/` are held to this table: each says what an agent stated, and judges nothing.
What is held ends by a stated 0 alone (`rules/findings.rules.yml`).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from esewatch.advice.base.finding import FindingName
from esewatch.advice.findings.details import DetailName

Level = Literal["database", "ese_instance"]
"""The label, beside its computer, by which a finding is stated."""
SEVERITIES = ("critical", "warning")
LEVELS: tuple[Level, ...] = ("database", "ese_instance")
Carried = Sequence[FindingName | DetailName]

HELD: Mapping[str, Mapping[Level, Carried]] = {
    "EseKnownBadPage": {"database": ["known_bad_page"]},
    "EseCorrectedPage": {"database": ["corrected_page"]},
    "EseLogicalCorruption": {"database": ["logical_damage"]},
    "EseCopyDivergence": {"database": ["copy_divergence"]},
    "EseCopySuspect": {"database": ["copy_suspect", "revert_snapshot"]},
    "EseIndexOutOfDate": {"database": ["index_out_of_date"]},
    "EseHungIo": {"database": ["hung_io"]},
    "EseIoError": {"ese_instance": ["io_error", "known_bad_page"]},
    "EseLogSequenceHalted": {"ese_instance": ["log_sequence_halted"]},
    "EseDiskFull": {"ese_instance": ["disk_full"]},
    "EseRecoveryFailed": {"ese_instance": ["recovery_failed"]},
    "EseVersionStoreFull": {"ese_instance": ["version_store_full"]},
    "EseDatabaseFull": {"ese_instance": ["database_full"]},
    "EseEngineFailure": {"ese_instance": ["engine_failure"]},
    "EseLogDiskLow": {"ese_instance": ["log_disk_low"]},
}
"""Alert -> what it carries, of databases or of instances."""
MORE = frozenset({"EseLogDiskLow"})
"""Those that fire for something else, too: free space that a straight line brings to nothing."""


def expression(alert: str, severity: str) -> str:
    """The expression of one of HELD at a severity."""
    parts = [
        f'{level}:ese_finding:held{{finding{_matched(names)},severity="{severity}"}} == 1'
        for level, names in HELD[alert].items()
    ]
    return "\nor\n".join(parts)


def held(level: Level) -> Carried:
    """All that is held of one level."""
    return sorted({name for each in HELD.values() for name in each.get(level, ())})


ENDS: Mapping[str, Sequence[str]] = {
    level: tuple(f"{name} {severity}" for name in held(level) for severity in SEVERITIES)
    for level in LEVELS
}
"""All that may be held, as it is stated: `ack` and `forget` state that none of it stands."""


def _matched(names: Carried) -> str:
    """The matcher of a label."""
    return f'="{names[0]}"' if len(names) == 1 else f'=~"{"|".join(names)}"'
