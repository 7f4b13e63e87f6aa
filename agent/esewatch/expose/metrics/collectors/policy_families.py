"""The thresholds of the configuration as metrics, which the alert rules compare with."""

from esewatch.config import Policy, Settings, policy_for, rule_for
from esewatch.expose.metrics.collectors.samples import Samples
from esewatch.fold.state.state import Database


def _shared(policy: Policy) -> dict[str, float]:
    """The thresholds that every database has, infinite where it has none of these."""
    return {
        "ratio_high": policy.ratio_high,
        "ratio_low": policy.ratio_low,
        "min_pages_read": policy.min_pages_read,
    }


def add_default_policy(out: Samples, settings: Settings) -> None:
    for name, threshold in _shared(settings.policy).items():
        out.add(f"esewatch_policy_default_{name}", {}, threshold)


def database_policy(database: Database, settings: Settings) -> dict[str, float]:
    """The thresholds of one database by metric, where they differ from the common ones. A threshold
    that only the others have is infinite."""
    policy = policy_for(settings, database.database, database.computer)
    rule = rule_for(settings, database.computer, database.database)
    default = _shared(settings.policy)
    found = {
        f"esewatch_policy_{name}": own
        for name, own in _shared(policy).items()
        if own != default[name]
    }
    if rule is not None and rule.mailboxes:
        found["esewatch_policy_cache_bytes"] = rule.mailboxes * policy.cache_per_mailbox
    if rule is not None and rule.storage == "das":
        found["esewatch_policy_direct_attached"] = 1
    return found
