"""The state: what the fold keeps, and the only thing the journal stores.

Everything here is plain data (msgspec structs), so that a whole entity is one
journal row. Bounds are in the comments; a database stays under 100 KB.
Times are epoch seconds, UTC.
"""

from typing import Literal, get_args

import msgspec

from esewatch.fold.backup_jobs import BackupSet
from esewatch.fold.checkdb import SqlDatabase
from esewatch.fold.record_ranges import Range
from esewatch.fold.summaries import Told
from esewatch.fold.untimed import Untimed
from esewatch.model import PageFault

BadKind = PageFault
PageErrorKind = Literal["checksum", "corrected", "wrong_page", "no_data", "lost_flush", "logical"]
EngineErrorKind = Literal[
    "io",
    "log_sequence",
    "disk_full",
    "log_disk_low",
    "recovery",
    "version_store",
    "database_full",
    "database_nearly_full",
]
DamageKind = Literal[
    "divergence", "suspect", "logical", "logical_nonfatal", "index", "revert_snapshot"
]
Verifier = Literal["online_scan", "page_scan", "streaming_backup", "external"]

BAD_KINDS: tuple[BadKind, ...] = get_args(BadKind)
PAGE_ERROR_KINDS: tuple[PageErrorKind, ...] = get_args(PageErrorKind)
ENGINE_ERROR_KINDS: tuple[EngineErrorKind, ...] = get_args(EngineErrorKind)

UNLOCATED = -1
"""Page number of a bad page that a summary counted without saying which."""


class Transition(msgspec.Struct, frozen=True):
    """One maintenance event, as far as passes need it.

    `history` says that the first reading found it already older than 7 days.
    """

    time: float
    record_id: int
    event_id: int
    fields: dict[str, int | float] = {}
    history: bool = False


class Pass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of a task over one database, from start through interruptions to its end.

    `started` is None when the start is not known; `start_seen` says that its event was. `ended`
    is None while it is open. `work_seconds` is time spent (701/703/721/722), `wall_seconds` the
    time from start to end (732/735/737); never both.
    """

    task: str
    started: float | None
    ended: float | None
    start_seen: bool = False
    resumed: bool = False
    """Was resumed, or broken off as critical (719, 738, 745), after its start."""
    earliest: float | None = None
    """Of a completed scan: it had not begun before. None: nothing bounds it."""
    outcome: Literal["open", "completed", "partial", "abandoned"]
    interrupted: bool = False
    """Open and stopped for now (704, 725, 726, 745, a failure, a stopped instance)."""
    last_event: float = 0.0
    interruptions: int = 0
    failures: int = 0
    late: bool = False
    partial: bool = False
    work_seconds: float | None = None
    wall_seconds: float | None = None
    invocations: int | None = None
    pages_seen: int | None = None
    pages_freed: int | None = None
    bad_checksums: int | None = None
    """Of the whole pass (721, 722)."""
    run_pages: int | None = None
    """Pages that the last run advanced: last page minus first (732, 735, 737)."""
    run_bad_checksums: int | None = None
    days: int | None = None
    """Whole days from start to end as the engine counts them, at least 1."""
    completion_event: int = 0
    history: bool = False


class TaskTotals(msgspec.Struct):
    """Counts of one task, of transitions that left the kept window."""

    started: int = 0
    completed: int = 0
    interrupted: int = 0
    failed: int = 0
    last_failed: float | None = None
    last_late: float | None = None


class BadPage(msgspec.Struct, array_like=True):
    """One latched bad page: stays until proven good, patched or acknowledged.

    `history` marks one that the first reading found already older than 7 days.
    `pages` is above 1 for those beyond the limit, of which only the number is known.
    `times` are those at which it was reported, where there are more than `first` and `last`: the
    last 4, sorted.
    """

    page: int
    kind: BadKind
    first: float
    last: float
    history: bool = False
    pages: int = 1
    times: list[float] = []


class Damage(msgspec.Struct, array_like=True):
    """Reports of one kind of damage: how many, when (the last 64, sorted), by which events."""

    count: int = 0
    times: list[float] = []
    events: list[int] = []


class EngineError(msgspec.Struct, array_like=True):
    """Errors of one event id that no rule of ours uses: how many, the last one and its strings."""

    count: int
    last: float
    text: str


class BackupEvent(msgspec.Struct, array_like=True, frozen=True):
    """One backup event of an instance (210-226, 2001-2010)."""

    time: float
    record_id: int
    event_id: int
    file: str = ""
    """Label of the database file, empty for logs and events without a file."""
    bytes: int = 0


class BackupTotals(msgspec.Struct):
    """Completed backups of one kind of one database, older than the kept events."""

    bytes_total: float = 0.0
    seconds_total: float = 0.0
    last_completion: float = 0.0


class Database(msgspec.Struct, kw_only=True):
    """One database file on one computer."""

    computer: str
    database: str
    """The label: normalised path."""
    path: str = ""
    """The path as it was logged."""
    ese_instance: str = ""
    process: str = ""
    provider: str = ""
    role: str = ""
    """As its last scan event tells: active, passive, or empty without one."""
    role_time: float = 0.0
    role_event: int = 0
    """The scan event that told the role; 717 and 719 tell it of a current engine only."""
    letter: str = ""
    """The last state letter of its instance (`%2`): D is no state of a start."""
    letter_time: float = 0.0
    generation: str = ""
    """2007 or current: which family of maintenance events it logs."""
    generation_time: float = 0.0
    first_seen: float = 0.0
    last_seen: float = 0.0
    named: float = 0.0
    """Time of the event that path, instance and process were taken from."""
    claim: int = 1  # how surely its process serves the database (`fold.owners`)
    maintenance_seen: bool = False
    """Has logged one of 700-757."""
    size_bytes: float | None = None
    sizes: bytearray = msgspec.field(default_factory=bytearray)
    """Its size by day, as rows of `fold.rollups`, the last 400."""
    page_size: int | None = None
    header_time: float = 0.0
    """When the header's counters below were true."""
    header_bad_checksums: int | None = None
    header_corrected: int | None = None
    header_correction_failed: int | None = None
    free_bytes: float | None = None
    free_time: float = 0.0
    transitions: bytearray = msgspec.field(default_factory=bytearray)
    """The last 512, sorted by (time, record id), as rows of `fold.transitions`."""
    evicted: dict[str, TaskTotals] = {}
    """By task: counts of transitions older than the kept ones."""
    evicted_open: dict[str, Pass] = {}
    """By task: the pass that was open where the kept transitions begin."""
    evicted_until: float = 0.0
    """Time of the youngest transition that was evicted."""
    evicted_role: str = ""
    """Role of the copy where the kept transitions begin: active, passive, or empty."""
    evicted_role_changed: float = 0.0
    """When the copy had last changed its role there, 0 for never."""
    failovers: list[float] = []
    """Sorted times at which another program said that the copy changed its role, the last 64."""
    old_passes: list[Pass] = []
    """Ended passes older than the kept transitions, the last 64 a task."""
    pages_seen: dict[str, int] = {}
    """By task, sum of pass summaries."""
    bad_checksums: dict[str, int] = {}
    """By task, sum of pass summaries."""
    reported_pages_freed: int = 0
    index_pages_visited: int = 0
    index_pages_freed: int = 0
    zeroing_pages: dict[str, int] = {}
    """By kind (unused, unchanged, used, deleted_records, unreferenced_chunks, uninitialized)."""
    page_errors: dict[str, int] = {}
    page_error_last: dict[str, float] = {}
    bad_pages: list[BadPage] = []
    """At most 1,000; more are counted in bad_pages_overflow."""
    bad_pages_overflow: dict[BadKind, tuple[int, float]] = {}
    """By kind: pages that did not fit, and the time of the last one."""
    good_ranges: list[tuple[int, int, float]] = []
    """(first page, last page, time) repaired, read good or acknowledged; the last 1,000."""
    patched_last: float = 0.0
    """When the engine last repaired a page of it, 0 for never."""
    all_good: float = 0.0
    """Errors up to this time are dealt with (acknowledged, or a clean scan that was evicted)."""
    damage: dict[DamageKind, Damage] = {}
    """By kind, what its own events say of it (fold/damage.py)."""
    damage_of_active: dict[DamageKind, Damage] = {}
    """By kind, what its events say of the active copy."""
    damage_mended: float = 0.0
    """Damage up to this time is dealt with: acknowledged, restored or seeded anew."""
    index_rebuilt: float = 0.0
    """When an index of it was last rebuilt."""
    unexplained: dict[int, EngineError] = {}
    """By event id: errors of the engine that nothing of ours uses; at most 16 ids."""
    page_scan: dict[str, int] = {}
    """What page scans read of it: pages, bytes, bad_pages; empty when none has."""
    page_error_spans: list[tuple[float, float]] = []
    """(first, last) of uncorrected page errors, sorted, apart; at most 128.

    Each end is the time of an error, the first 0 where older ones are not known. Between them
    are others, and no scan that had none.
    """
    io_error_times: list[float] = []
    """Sorted times of the last 64 failed reads, writes and flushes (481, 482, 551)."""
    verified: dict[str, float] = {}
    """By verifier: time of the last full verification that is not derived from kept passes."""
    slow_io: dict[str, int] = {}
    """By operation, 1 + suppressed for each report."""
    slow_io_last_seconds: dict[str, float] = {}
    slow_io_last: dict[str, float] = {}
    hung_io: dict[str, int] = {}
    summaries: dict[str, Told] = {}
    """By figure: the newest that a pass summary told (`fold.summaries`)."""
    untimed: Untimed = msgspec.field(default_factory=Untimed)
    """What its events without a time tell."""


class CounterState(msgspec.Struct, array_like=True):
    """One column of a rate or running total, in the counter's own unit."""

    last_time: float
    last_value: float
    intervals: list[float] = []
    """Of a rate: the last 15 sample intervals, for their median."""


class Level(msgspec.Struct, array_like=True):
    """The latest sample of a gauge, in base units, and its distance from the one before."""

    value: float
    time: float
    interval: float = 0.0


class Metered(msgspec.Struct, kw_only=True):
    """Whatever has counters. A series is the metric and its further label values (`series`)."""

    counters: dict[str, CounterState] = {}
    """By `object|counter|instance` in lower case."""
    totals: dict[str, float] = {}
    """By series: the integral exported as a counter, in base units."""
    levels: dict[str, Level] = {}
    """By series: the latest value exported as a gauge."""
    running_totals: set[str] = set()
    """Series that have a running total, which then outranks the formatted rate."""
    gap_seconds: float = 0.0
    """Time between samples that was too long to integrate, counted once for all columns."""
    gap_until: float = 0.0
    """End of the latest such time."""
    gaps: list[tuple[float, float]] = []
    """(from, to) of such times, the last 64; of two that touch, one."""


SEPARATOR = "\x1f"


def series(metric: str, labels: tuple[str, ...] = ()) -> str:
    """Key of a series: the metric, then the values of its further labels in their order."""
    return SEPARATOR.join((metric, *(label.replace(SEPARATOR, " ") for label in labels)))


class Device(Metered, kw_only=True):
    """One whole disk of one computer."""

    computer: str
    device: str
    """The label: wwid or serial, else the kernel's or the exporter's name."""


class Instance(Metered, kw_only=True):
    """One ESE instance on one computer: where its counters live."""

    computer: str
    ese_instance: str
    process: str = ""
    named_by_event: bool = False
    stops: list[float] = []
    """Sorted times of the last 640 stops (103, 104), as `starts` are of 102."""
    starts: list[float] = []
    engines: dict[str, float] = {}
    """Engine version without its revision -> when it was first told; the last 8 (102, `%2`)."""
    damage: dict[DamageKind, Damage] = {}
    """By kind, what events without a database say of all of its databases."""
    io_error_times: list[float] = []
    """Sorted times of the last 64 failed reads, writes and flushes of its logs (481, 482, 551)."""
    restored: float = 0.0
    """When its databases were last restored from a backup (205)."""
    unexplained: dict[int, EngineError] = {}
    """By event id: errors without a database that nothing of ours uses; at most 16 ids."""
    errors: dict[EngineErrorKind, tuple[int, float]] = {}
    """By kind: how many errors it logged, and the time of the last one."""
    backup_events: list[BackupEvent] = []
    """Sorted, the last 512."""
    backup_totals: dict[str, dict[str, BackupTotals]] = {}
    """database -> kind -> totals of backups whose events were evicted."""
    backup_sets: dict[str, BackupTotals] = {}
    """By kind: totals of the sets that logs of backup programs tell of."""
    days: bytearray = msgspec.field(default_factory=bytearray)
    """How much its totals grew by day, as rows of `fold.rollups`, the last 400."""
    sampled_since: float | None = None
    """Since when pages read and pages freed by online defragmentation are both sampled.

    None: one of them never was.
    """


class Epoch(msgspec.Struct):
    """Records of a channel whose ids and times rise together."""

    start: float
    max_time: float
    seen: list[Range] = []
    covered: list[Range] = []
    """Read whole, of complete channels; of both at most 1,024."""


class Channel(msgspec.Struct, kw_only=True):
    """Deduplication and gaps of one channel of one computer."""

    computer: str
    channel: str
    epochs: list[Epoch] = []
    """Oldest first, at most 16."""
    timeless: list[tuple[int, int]] = []
    """Sorted disjoint closed intervals of the ids of records without a time, at most 1,024."""
    claimed: list[Range] = []
    """Holes already counted as missed, at most 1,024."""
    merges: int = 0
    gaps: list[tuple[float, float, int]] = []
    """(from, to, records missing), the last 64."""
    heard: list[float] = []
    """The last record of each of the last 128 hours that have one, sorted."""
    hours: bytearray = msgspec.field(default_factory=bytearray)
    """The hours that have a record, as rows of `fold.hours_heard`, the last 96 days of them."""


class Host(Metered, kw_only=True):
    """What belongs to a computer and to no database."""

    computer: str
    events: dict[str, dict[int, int]] = {}
    """provider -> event id -> count."""
    unexplained: dict[int, EngineError] = {}
    """By event id: errors without an instance that nothing of ours uses; at most 16 ids."""
    counters_present: dict[str, bool] = {}
    aliases_seen: list[str] = []
    """Names as logged, at most 8."""
    full_name: str = ""
    """The first name with a domain, lower case; empty while none was met."""
    volumes: dict[str, str] = {}
    """Mount point or drive -> device, at most 1,000."""
    rpc_latency: bytearray = msgspec.field(default_factory=bytearray)
    """The latency of RPC requests by hour, as rows of `fold.rollups`, the last 14 x 24."""
    backup_sets: list[BackupSet] = []
    """Sorted, those that logs of backup programs tell of, the last 256."""


class SourceState(msgspec.Struct, kw_only=True):
    """One configured source."""

    name: str
    opened: float = 0.0
    """When the first reading began; decides what is history."""
    baseline: bool = True
    """True until the source has caught up once."""
    up: bool = False
    caught_up: bool = False
    records: int = 0
    unreadable: int = 0
    missed: int = 0
    duplicates: int = 0
    implausible: int = 0
    """Records whose time lies in the future."""
    untimed: int = 0
    """Events without a time."""
    oldest: float = 0.0
    """Time of the oldest record, 0 without one."""
    last_record: float = 0.0
    backlog_bytes: int = 0
    computers: list[str] = []
    channels: list[tuple[str, str]] = []
    settings: str = ""
    """Digest of what is configured but the name: a source that is renamed is known by it."""
    rebuilding: bool = False
    """Read from its beginning because the journal was damaged, and not done yet."""
    salvaged: tuple[float, float] | None = None
    """Oldest and last record that the damaged journal knew, 0 for none; None: not readable."""
    rebuilt: tuple[float, float] | None = None
    """The same once the rebuilding is done, 0 where nobody knows; None: never damaged."""


class State(msgspec.Struct, kw_only=True):
    """All of it. Keys: source name; computer; (computer, channel or instance or database)."""

    sources: dict[str, SourceState] = {}
    hosts: dict[str, Host] = {}
    channels: dict[tuple[str, str], Channel] = {}
    instances: dict[tuple[str, str], Instance] = {}
    """(computer, instance name in lower case)."""
    devices: dict[tuple[str, str], Device] = {}
    """(computer, device)."""
    databases: dict[tuple[str, str], Database] = {}
    sql_databases: dict[tuple[str, str], SqlDatabase] = {}
    """Of SQL Server; (computer, label). At most `max_databases`."""
    dropped: dict[str, int] = {}
    """`computer|database` of databases over the limit -> events not folded, at most 1,000."""
    databases_dropped: int = 0
