"""Checks of databases of SQL Server as metrics.

Of a database of which any check was seen there are the errors of both kinds: of the kind of the
first check they begin with what it found, of the other one at 0.
"""

from esefiles.base.names import printable
from esewatch.config import Settings, rule_for
from esewatch.expose.metrics.collectors.samples import Samples
from esewatch.fold.state.checkdb_results import errors_left
from esewatch.fold.state.state import State


def add_sql_databases(out: Samples, state: State, settings: Settings) -> None:
    for _, entry in sorted(state.sql_databases.items()):
        labels = {"computer": printable(entry.computer), "database": printable(entry.database)}
        out.add("sqlserver_database_first_seen_timestamp_seconds", labels, entry.first_seen)
        for physical, checks in (("false", entry.full), ("true", entry.physical)):
            kind = {**labels, "physical_only": physical}
            out.add("sqlserver_checkdb_errors_total", kind, checks.errors)
            out.add("sqlserver_checkdb_last_completion_timestamp_seconds", kind, checks.completed)
            out.add("sqlserver_checkdb_last_duration_seconds", kind, checks.seconds)
            out.add("sqlserver_checkdb_last_errors", kind, errors_left(entry, checks))
            out.add("sqlserver_checkdb_last_abort_timestamp_seconds", kind, checks.aborted)
        rule = rule_for(settings, entry.computer, entry.database)
        for device in dict.fromkeys(rule.devices if rule is not None else ()):
            out.add("sqlserver_database_device_info", {**labels, "device": printable(device)}, 1)
