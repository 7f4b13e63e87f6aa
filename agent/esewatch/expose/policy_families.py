"""The thresholds of the configuration as metrics, which the alert rules compare with."""

from collections.abc import Mapping

from esewatch.config import (
    EseutilLogs,
    NtbackupLogs,
    PageScan,
    Settings,
    SqlserverLogs,
    policy_for,
    rule_for,
)
from esewatch.expose.samples import Samples
from esewatch.fold.state import Database
from esewatch.names import printable

NOW_AND_THEN = (EseutilLogs, NtbackupLogs, PageScan, SqlserverLogs)
"""Sources that tell something when a file was checked: their silence means nothing."""


def database_policy(database: Database, settings: Settings) -> Mapping[str, float | None]:
    """The thresholds of one database by metric; None or infinite: it has none of these."""
    policy = policy_for(settings, database.database, database.computer)
    rule = rule_for(settings, database.computer, database.database)
    mailboxes = rule.mailboxes if rule is not None else None
    direct = rule is not None and rule.storage == "das"
    return {
        "esewatch_policy_ratio_high": policy.ratio_high,
        "esewatch_policy_ratio_low": policy.ratio_low,
        "esewatch_policy_min_pages_read": policy.min_pages_read,
        "esewatch_policy_backup_within_seconds": policy.backup_within,
        "esewatch_policy_cache_bytes": mailboxes * policy.cache_per_mailbox if mailboxes else None,
        "esewatch_policy_version_buckets": policy.version_buckets,
        "esewatch_policy_direct_attached": 1 if direct else None,
    }


def add_source_policy(out: Samples, settings: Settings) -> None:
    """Add after how long each configured source of logs or counters is silent."""
    for source in settings.sources:
        if not isinstance(source, NOW_AND_THEN):
            labels = {"source": printable(source.name)}
            silent = settings.policy.source_silent
            out.add("esewatch_policy_source_silent_seconds", labels, silent)
