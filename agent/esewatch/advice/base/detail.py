"""Details: what findings sum up, or what is not about the pages, each with an alert of its own.

They change no verdict and no exit status (semantics.md 5a and 7).
"""

from typing import Literal, NamedTuple, get_args

from esewatch.advice.base.finding import Severity

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


class Detail(NamedTuple):
    finding: DetailName
    severity: Severity
    sentence: str = ""
    """Its figures, where no finding has them, without a full stop."""
