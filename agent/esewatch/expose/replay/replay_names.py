"""Metrics that are replayed."""

import re
from collections.abc import Sequence

from esewatch.expose.metrics.rows.metric_catalogue import ADVICE, CATALOGUE
from esewatch.expose.metrics.rows.metric_row import S
from esewatch.model import EsewatchError

PREFIXES = ("ese_", "exchange_", "sqlserver_")
"""Metrics with a past in the records. Those of the agent and its sources have none."""

OF_NOW = frozenset({"ese_computer_last_record_timestamp_seconds"})
"""In a replay it would be the time of each record that is read."""

JUDGED = frozenset(row.name for row in ADVICE)
"""Metrics of advice, which are judged of all databases together."""


def replayed_metrics(patterns: Sequence[str]) -> frozenset[str]:
    """Names of the metrics that match one of the anchored regular expressions; all without any.

    Raises EsewatchError for an expression that is invalid or matches nothing.
    """
    known = [
        name
        for name, row in CATALOGUE.items()
        if name.startswith(PREFIXES) and row.labels != S and name not in OF_NOW
    ]
    if not patterns:
        return frozenset(known)
    found: set[str] = set()
    for pattern in patterns:
        try:
            matches = {name for name in known if re.fullmatch(pattern, name)}
        except re.error as error:
            raise EsewatchError(f"--match {pattern}: not a regular expression: {error}") from error
        if not matches:
            raise EsewatchError(
                f"--match {pattern}: no metric that can be replayed"
                " has a name that this matches as a whole"
                " (docs/reference/metrics.md has the names)"
            )
        found |= matches
    return frozenset(found)
