"""The configuration: one YAML file to checked settings.

`settings` is the schema, `units` the kinds of values, `tree` reads YAML with line numbers,
`build` turns it into the structs, `check` looks at what concerns several keys, `rules`
answers what holds for one database. All errors are ConfigError.
"""

from esewatch.config.files import default_settings, dump, dump_keys, load
from esewatch.config.settings import (
    CopyOf,
    DatabaseRule,
    Disks,
    EseutilLogs,
    Exporter,
    FileSource,
    Kafka,
    LogFiles,
    NtbackupLogs,
    PageScan,
    Policy,
    Settings,
    SourceSettings,
    SqlserverLogs,
    Window,
    WindowsCounters,
    WindowsLog,
    glob_matches,
    policy_for,
    rule_for,
    window_for,
)

__all__ = [
    "CopyOf",
    "DatabaseRule",
    "Disks",
    "EseutilLogs",
    "Exporter",
    "FileSource",
    "Kafka",
    "LogFiles",
    "NtbackupLogs",
    "PageScan",
    "Policy",
    "Settings",
    "SourceSettings",
    "SqlserverLogs",
    "Window",
    "WindowsCounters",
    "WindowsLog",
    "default_settings",
    "dump",
    "dump_keys",
    "glob_matches",
    "load",
    "policy_for",
    "rule_for",
    "window_for",
]
