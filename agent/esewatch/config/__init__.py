"""The settings as structs. This is the schema: keys, kinds, defaults.

A field is a key of the file; its annotation says what is allowed. Adding a setting is
adding a field here, `make docs`, and what it means in docs/configuration.md.
"""

import functools
import ntpath
import os
import re
import sys
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_type_hints
from urllib.parse import urlsplit

import msgspec

from esewatch.config.tree import masked
from esewatch.config.units import (
    Clock,
    CodePage,
    Count,
    CounterPath,
    Duration,
    Interval,
    Milliseconds,
    Patience,
    Positive,
    PositiveCount,
    PositiveDuration,
    ReadSize,
    Scalar,
    Size,
    Text,
    TrueFalse,
    WindowLength,
    Zone,
    parse_text,
    text_that,
)
from esewatch.ese.dates import DateOrder
from esewatch.ese.volumes import volume_label

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Tier = Literal["watched", "observed", "ignored"]
Model = Literal["window", "garbage_collection", "background", "application"]
Role = Literal["active", "passive"]
ComputerLabel = Literal["short", "fqdn"]

DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


_NAME = text_that(lambda text: 0 < len(text) <= 64 and text.isprintable() and text == text.strip())
SourceName = Annotated[str, Scalar("a name of at most 64 characters", _NAME, str)]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The thresholds of advice."""

    ratio_high: Positive = 100.0
    """Pages read per page freed above this: little is left to free, the window may shrink."""
    ratio_low: Positive = 50.0
    """Pages read per page freed below this: much is left to free, the window may grow."""
    min_pages_read: Count = 100_000
    """Pages that defragmentation must have read before its ratio is judged."""
    min_windows: Count = 7
    """Maintenance windows that defragmentation must have run in before their length is judged."""
    defrag_complete_within: PositiveDuration = 14 * 86400.0
    """A pass of online defragmentation that takes longer is late."""
    verify_within: PositiveDuration | None = None
    """A pass of the database scan that takes longer is late. None: see docs/configuration.md."""
    verify_within_most: PositiveDuration = 45 * 86400.0
    """The longest deadline of verification where `verify_within` is not set."""
    backup_within: Patience = 36 * 3600.0
    """A database whose last backup is older has none that counts."""
    restorable_within: Patience = 8 * 86400.0
    """A database whose last copy that would mount is older has none that counts. Judged where a
    `page_scan` source has `check: recovery` or `deep`."""
    checkdb_within: Patience = 8 * 86400.0
    """A database of SQL Server whose last full DBCC CHECKDB is older is overdue for one."""
    silent_after: Patience | None = None
    """A computer with a watched database of which nothing was read for longer is silent. For all
    computers. None: three times its longest pause of 28 days, 48 h to 14 d."""
    cache_per_mailbox: Size = 5 << 20
    """Bytes of database cache that a mailbox should have."""
    version_buckets: PositiveCount | None = None
    """The most version buckets that the engine is configured for."""


class _Source(msgspec.Struct, frozen=True, kw_only=True):
    """Keys that every input has."""

    name: SourceName = ""
    """Label of its metrics and key of its positions; default `evtx-1`, counted by type."""
    computer: Text | None = None
    """Computer of data that names none."""


class LogFiles(_Source, frozen=True, kw_only=True):
    """Event logs and counter logs in files, which may grow and rotate."""

    ALIASES: ClassVar[dict[str, str]] = {"path": "paths"}

    type: Literal["evtx", "event_stream", "perfmon_csv", "perfmon_blg"]
    paths: list[Text]
    """Files or globs; relative ones start at the folder of the configuration file."""
    timezone: Zone | None = None
    """Zone of local times without an offset. None: UTC."""
    date_order: DateOrder | None = None
    """Order of ambiguous numeric dates. None: such dates stay text."""


class EseutilLogs(_Source, frozen=True, kw_only=True):
    """Saved output of eseutil /k and /mh."""

    ALIASES: ClassVar[dict[str, str]] = {"path": "paths"}

    type: Literal["eseutil_log"]
    computer: Text
    """The computer whose databases were checked; eseutil does not write it."""
    paths: list[Text]
    """Files or globs; relative ones start at the folder of the configuration file."""
    database: Text | None = msgspec.field(default=None, name="as")
    """The database that a checked copy stands for; `{name}` is the copy's file name."""


class SqlserverLogs(_Source, frozen=True, kw_only=True):
    """ERRORLOG files of SQL Server."""

    ALIASES: ClassVar[dict[str, str]] = {"path": "paths"}

    type: Literal["sqlserver_errorlog"]
    computer: Text
    """The computer whose log it is."""
    paths: list[Text]
    """Files or globs; relative ones start at the folder of the configuration file."""
    instance: Text | None = None
    """Name of a named instance. None: as the log says."""
    timezone: Zone | None = None
    """Zone of its local times. None: the offset in the log, else UTC."""
    date_order: DateOrder | None = None
    """Order of ambiguous numeric dates of an export."""


class NtbackupLogs(_Source, frozen=True, kw_only=True):
    """Logs of NTBACKUP."""

    ALIASES: ClassVar[dict[str, str]] = {"path": "paths"}

    type: Literal["ntbackup_log"]
    paths: list[Text]
    """Files or globs; relative ones start at the folder of the configuration file."""
    timezone: Zone | None = None
    """Zone of its local times. None: UTC."""
    date_order: DateOrder | None = None
    """Order of ambiguous numeric dates. None: month first where the clock has twelve hours."""
    encoding: CodePage | None = None
    """Encoding of logs that are not Unicode. None: cp1252."""


def _address(text: str) -> str:
    parts = urlsplit(parse_text(text))
    login = parts.username is not None or parts.password is not None
    if parts.scheme not in {"http", "https"} or not parts.hostname or login or parts.port == 0:
        raise ValueError(text)
    if not text.isascii() or " " in text or parts.fragment:
        raise ValueError(text)
    return text


Address = Annotated[str, Scalar("an address such as http://ex01:9182/metrics", _address, masked)]


class BasicAuth(msgspec.Struct, frozen=True, kw_only=True):
    """Login at a server, as Prometheus writes it."""

    username: Text
    password_file: Text
    """The password is its first line; it is read for each scrape."""


class Exporter(_Source, frozen=True, kw_only=True):
    """A windows_exporter, or another endpoint in the Prometheus format."""

    type: Literal["prometheus"]
    url: Address
    """http or https, without a login in it."""
    interval: Interval = 15.0
    basic_auth: BasicAuth | None = None
    ca_file: Text | None = None
    """Certificates (PEM) to trust in the place of the system's."""
    map: dict[str, CounterPath] = {}
    """Metric of the endpoint -> `object\\counter` it shows, beside and over the shipped map."""


class Disks(_Source, frozen=True, kw_only=True):
    """The whole disks of the machine that runs esewatch."""

    type: Literal["disks"]
    interval: Interval = 15.0


class WindowsLog(_Source, frozen=True, kw_only=True):
    """Event log channels of this Windows machine, through wevtutil."""

    type: Literal["windows_log"]
    channels: list[Text] = msgspec.field(
        default_factory=lambda: ["Application", "Directory Service"]
    )
    interval: Interval = 15.0


class WindowsCounters(_Source, frozen=True, kw_only=True):
    """Performance counters of this Windows machine, through typeperf."""

    type: Literal["windows_counters"]
    counters: list[Text] = []
    """Counter paths; none: those that feed a metric."""
    interval: Interval = 15.0


class PageScan(_Source, frozen=True, kw_only=True):
    """Database files, or snapshots of them, whose pages are verified."""

    ALIASES: ClassVar[dict[str, str]] = {"path": "paths"}

    type: Literal["page_scan"]
    paths: list[Text]
    """Files or globs; relative ones start at the folder of the configuration file."""
    window: Text | None = None
    """Name of the window in which it reads. None: at any time."""
    throttle_ms: Milliseconds = 20
    """Pause after each read."""
    rate: Size | None = None
    """Bytes a second and device that it reads at most."""
    read_size: ReadSize | None = None
    """Bytes of one read. None: a size that suits the throttle."""
    database: Text | None = msgspec.field(default=None, name="as")
    """The database that a copy stands for; `{name}` is the copy's file name."""
    snapshot_taken: Literal["mtime", "scan"] | None = None
    """Time at which the content of a file was true: that of its last write, or of the reading.
    None: `mtime` where `as` says that the files are copies, else `scan`."""
    check: Literal["pages", "recovery", "deep"] = "pages"
    """`recovery`: says of each copy that was read to its end also whether it would mount, by the
    transaction logs and the flush map beside it. `deep`: its structure, too."""
    logs: list[Text] = []
    """Further folders, or globs of folders, in which the transaction logs of the copies may lie."""


_ONE_LINE = text_that(lambda text: "\0" not in text and "\n" not in text)
ClientValue = Annotated[str, Scalar("a text, a number or a switch", _ONE_LINE, str, secret=True)]


FILE_SUFFIX = "_file"
"""`sasl.password_file` is the file that has `sasl.password`."""


class Kafka(_Source, frozen=True, kw_only=True):
    """Topics of events that others fill, read as a member of a consumer group."""

    type: Literal["kafka"]
    brokers: list[Text]
    """`host:port` of brokers to begin with."""
    topics: list[Text]
    """Topics of as many partitions each, whose messages have the computer as their key."""
    group: Text = "esewatch"
    """Consumer group: its members divide the partitions."""
    changelog: Text | None = None
    """Compacted topic of as many partitions, for an owner that has not the journal."""
    timezone: Zone | None = None
    """Zone of local times without an offset. None: UTC."""
    date_order: DateOrder | None = None
    """Order of ambiguous numeric dates. None: such dates stay text."""
    client: dict[str, ClientValue] = {}
    """librdkafka's own keys, such as `security.protocol`; `KEY_file` is a file with the value, and
    a relative one starts at the folder of the configuration file."""


SourceSettings = (
    LogFiles
    | EseutilLogs
    | SqlserverLogs
    | NtbackupLogs
    | Exporter
    | Disks
    | WindowsLog
    | WindowsCounters
    | PageScan
    | Kafka
)
"""One input. `type` says how it is read."""
SETTINGS_OF: dict[str, Any] = {
    kind: struct
    for struct in get_args(SourceSettings)
    for kind in get_args(get_type_hints(struct)["type"])
}
"""By `type`."""
FileSource = LogFiles | EseutilLogs | SqlserverLogs | NtbackupLogs | PageScan
"""One of `paths`."""


_PATH = text_that(lambda text: volume_label(parse_text(text)) is not None)
Folder = Annotated[
    str, Scalar("a whole path such as L:\\SG06, \\\\server\\logs or /srv/logs", _PATH, str)
]


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """A maintenance window: `duration` seconds from `start` on each of `days`, local time."""

    start: Clock
    duration: WindowLength
    days: list[Day] = msgspec.field(default_factory=lambda: list(DAYS))
    timezone: Zone = "UTC"


class CopyOf(msgspec.Struct, frozen=True, kw_only=True):
    """Another copy of the same database."""

    computer: Text
    database: Text


class DatabaseRule(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of the databases whose label `match` fits. The first match wins."""

    match: Text
    """Glob on the database label, without case; `*` and `?` are wildcards, a backslash is not."""
    computer: Text | None = None
    """Glob on the computer label; None fits all."""
    window: Text | None = None
    tier: Tier | None = None
    model: Model | None = None
    role: Role | None = None
    """Role of a copy whose events do not show it."""
    name: Text | None = None
    mailboxes: Count | None = None
    device: Text | None = None
    devices: list[Text] = []
    """Devices of a database of SQL Server: those that its files lie on."""
    log_path: Folder | None = None
    """Folder of the transaction logs."""
    storage: Literal["das", "san"] | None = None
    copies: list[CopyOf] = []
    policy: Annotated[dict[str, float], Policy] = {}
    """Thresholds that differ from the general policy."""


def default_journal() -> str:
    """Path of the journal unless configured."""
    if sys.platform == "win32":
        root = os.environ.get("PROGRAMDATA", "C:\\ProgramData")
        return ntpath.join(root, "esewatch", "state", "journal.db")
    return "/var/lib/esewatch/journal.db"


class Retired(msgspec.Struct, frozen=True, kw_only=True):
    """A computer that is gone for good: its silence is no finding."""

    retired: TrueFalse = True


class Settings(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """All settings, checked: window names resolve, source names are unique, paths absolute."""

    sources: list[SourceSettings] = []
    windows: dict[str, Window] = {}
    databases: list[DatabaseRule] = []
    pools: dict[str, list[Text]] = {}
    """Pool -> devices that share spindles."""
    computers: dict[str, Text | Retired] = {}
    """Alias -> name, or name -> whether it is retired."""
    providers: list[Text] = []
    """Further event sources of ESE."""
    policy: Policy = Policy()
    journal: Text = msgspec.field(default_factory=default_journal)
    retention: Duration = 90 * 86400.0
    """An observed database silent for longer is dropped; watched ones never are."""
    max_databases: PositiveCount = 1000
    computer_label: ComputerLabel = "short"

    @property
    def aliases(self) -> dict[str, str]:
        return {name: each for name, each in self.computers.items() if isinstance(each, str)}

    @property
    def retired(self) -> list[str]:
        """Names of computers that are gone for good."""
        told = self.computers.items()
        return [name for name, each in told if isinstance(each, Retired) and each.retired]

    @property
    def watches(self) -> bool:
        """A source of events or counters is configured: disks alone name no database."""
        return any(entry.type != "disks" for entry in self.sources)

    @functools.cached_property
    def matched(self) -> "Callable[[str, str], Match]":
        """The match of a database, by computer and label: rules are many, and each view asks."""
        remembered = functools.lru_cache(maxsize=self.max_databases + MATCHED)
        return remembered(functools.partial(_match, self))


def default_settings(platform: str = sys.platform) -> Settings:
    """The settings without a file: the sources of this machine, default policy."""
    sources: list[SourceSettings] = [Disks(type="disks", name="disks-1")]
    if platform == "win32":
        sources += [
            WindowsLog(type="windows_log", name="windows_log-1"),
            WindowsCounters(type="windows_counters", name="windows_counters-1"),
        ]
    return Settings(sources=sources)


MATCHED = 1024
"""Databases beyond `max_databases` whose match is remembered, such as those of SQL Server."""


class Match(NamedTuple):
    """The part of the configuration that holds for one database."""

    rule: DatabaseRule | None
    policy: Policy
    window: Window | None


def rule_for(settings: Settings, computer: str, database_label: str) -> DatabaseRule | None:
    """The first rule that fits the computer label and the database label, None without one."""
    return settings.matched(computer, database_label).rule


def policy_for(settings: Settings, database_label: str, computer: str = "") -> Policy:
    """The thresholds of a database: the general ones with its rule's changes."""
    return settings.matched(computer, database_label).policy


def window_for(settings: Settings, database_label: str, computer: str = "") -> Window | None:
    return settings.matched(computer, database_label).window


def _match(settings: Settings, computer: str, database_label: str) -> Match:
    for rule in settings.databases:
        if rule.computer is not None and not glob_matches(rule.computer, computer):
            continue
        if glob_matches(rule.match, database_label):
            policy = msgspec.structs.replace(settings.policy, **rule.policy)
            window = settings.windows.get(rule.window) if rule.window else None
            return Match(rule, policy if rule.policy else settings.policy, window)
    return Match(None, settings.policy, None)


def glob_matches(pattern: str, text: str) -> bool:
    """True if all of `text` fits `pattern`, without case. `*` is any run of characters, path
    separators included, `?` is one character, everything else is itself."""
    return _compiled(pattern.lower()).fullmatch(text.lower()) is not None


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The first place that fits each piece is final (atomic groups): time stays linear."""
    first, *rest = (
        "".join("." if c == "?" else re.escape(c) for c in piece) for piece in pattern.split("*")
    )
    if not rest:
        return re.compile(first, re.DOTALL)
    *middle, last = rest
    groups = "".join(f"(?>.*?{piece})" for piece in middle if piece)
    return re.compile(f"{first}{groups}.*{last}", re.DOTALL)
