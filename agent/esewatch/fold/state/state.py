"""The state: everything the fold keeps, and the only thing the journal stores.

Everything here is plain data (msgspec structs), so that a whole entity is one journal row. Bounds
are in the comments; a database stays under 100 KB. Times are epoch seconds, UTC.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import msgspec

from esewatch.fold.state.checkdb_results import SqlDatabase
from esewatch.fold.state.database_state import (
    Age,
    BadKind,
    BadPage,
    CopyVerdict,
    Damage,
    DamageKind,
    Database,
    EngineError,
    Failure,
    FailureKind,
    PageRange,
    Pass,
    TaskTotals,
    Transition,
)
from esewatch.fold.state.record_ranges import Range

__all__ = [
    "Age",
    "BadKind",
    "BadPage",
    "CopyVerdict",
    "Damage",
    "DamageKind",
    "Database",
    "EngineError",
    "Failure",
    "FailureKind",
    "PageRange",
    "Pass",
    "TaskTotals",
    "Transition",
]
"""Of a database, beside what is defined here."""

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
    "memory",
    "failure_item",
    "corruption_item",
]

BAD_KINDS: tuple[BadKind, ...] = get_args(BadKind)
PAGE_ERROR_KINDS: tuple[PageErrorKind, ...] = get_args(PageErrorKind)
ENGINE_ERROR_KINDS: tuple[EngineErrorKind, ...] = get_args(EngineErrorKind)

UNLOCATED = -1
"""Page number of a bad page that a summary counted without saying which."""


class BackupEvent(msgspec.Struct, array_like=True, frozen=True):
    """One backup event of an instance (210-226, 2001-2010)."""

    time: float
    record_id: int
    event_id: int
    file: str = ""
    """Label of the database file, empty for logs and events without a file."""
    bytes: int = 0
    copied: bool = False
    """The copy of the file that begins with the event also ended."""


class BackupSet(NamedTuple):
    """One instance (storage group) as one job copied it. Times are epoch seconds."""

    ended: float
    started: float
    ese_instance: str
    kind: str
    bytes: float
    seconds: float
    job: str = ""
    """An id that sets of one job have in common, empty where only their times show it."""


class BackupTotals(msgspec.Struct):
    """Completed backups of one kind of one database, older than the kept events."""

    bytes_total: float = 0.0
    seconds_total: float = 0.0
    last_completion: float = 0.0


class CounterState(msgspec.Struct, array_like=True):
    """One column of a rate or running total, in the counter's own unit."""

    last_time: float
    last_value: float
    intervals: list[float] = []
    """Of a rate: the last 15 sample intervals, for their median."""
    jump: tuple[float, float] | None = None
    """(from, to) of its last gap: a sample between them shows that the clock was ahead at `to`.
    Both are then the time of the last sample before the clock was set back."""
    is_count: bool | None = None
    """The last sample was of a running total; the column may have its rate as well. None: of an
    earlier version, which kept intervals of rates alone."""


class Level(msgspec.Struct, array_like=True):
    """The latest sample of a gauge, in base units, and its distance from the one before."""

    value: float
    time: float
    interval: float = 0.0
    jump: tuple[float, float] | None = None
    """As of `CounterState`."""


class Metered(msgspec.Struct, kw_only=True):
    """Anything that has counters. A series is the metric and its further label values
    (`series`)."""

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
    """(from, to) of such times; of two that touch, one. Of more than 128, close ones are one."""
    total_times: dict[str, float] = {}
    """By series that has a running total: the time of its last sample."""


STOP_EVENTS = frozenset({103, 104})
START = 102
"""Events of the life of an instance."""
Lived = tuple[float, int, int]
"""Time, record id (0: without one) and event id."""

SEPARATOR = "\x1f"


@lru_cache(8192)  # of each sample
def series(metric: str, labels: tuple[str, ...] = ()) -> str:
    """Key of a series: the metric, then the values of its further labels in their order."""
    return SEPARATOR.join((metric, *(label.replace(SEPARATOR, " ") for label in labels)))


class Device(Metered, kw_only=True):
    computer: str
    device: str
    """The label: wwid or serial, else the kernel's or the exporter's name."""


class Sampled(msgspec.Struct, array_like=True):
    """The time in which a counter was sampled: from, to, and the gaps between, at most 128."""

    since: float
    until: float
    gaps: list[tuple[float, float]] = []


class Instance(Metered, kw_only=True):
    """One ESE instance on one computer: where its counters live."""

    computer: str
    ese_instance: str
    process: str = ""
    """The process that logged its errors."""
    named_by_event: bool = False
    life: list[Lived] = []
    """Its starts, stops, recoveries and attached databases (`instances.LIFE`), sorted; the last
    1,024."""
    hours: bytearray = msgspec.field(default_factory=bytearray)
    """The hours that have an event of it other than a stop, as rows of `fold.channels.hearing`."""
    engines: dict[str, float] = {}
    """Engine version without its revision -> when it was first reported; the last 8 (102, `%2`)."""
    damage: dict[DamageKind, Damage] = {}
    """By kind, what events without a database say of all of its databases."""
    io_error_times: list[float] = []
    """Sorted times of the last 64 failed reads, writes and flushes of its logs (481, 482, 551)."""
    failures: list[Failure] = []
    """Sorted, those that name no database: of each kind the last 64."""
    failed_reads: list[tuple[float, float]] = []
    """(first, last) of bad pages whose file is not known, sorted, apart; at most 64."""
    unexplained: dict[int, EngineError] = {}
    """By event id: errors without a database that nothing in esewatch uses; at most 16 ids."""
    errors: dict[EngineErrorKind, tuple[int, float]] = {}
    """By kind: how many errors it logged, and the time of the last one."""
    error_times: dict[EngineErrorKind, list[float]] = {}
    """By kind: sorted times of the last 64 of them."""
    log_folder: str = ""
    mounted: float = 0.0
    """Last time at which it came up or completed its recovery (105, 302, 304)."""
    attached: float = 0.0
    """Last time at which it attached a database outside of recovery (326)."""
    backup_events: list[BackupEvent] = []
    """Sorted, the last 512."""
    backup_totals: dict[str, dict[str, BackupTotals]] = {}
    """database -> kind -> totals of backups whose events were evicted."""
    backup_sets: dict[str, BackupTotals] = {}
    """By kind: totals of the sets in the logs of backup programs."""
    days: bytearray = msgspec.field(default_factory=bytearray)
    """Growth of its totals by day, as rows of `fold.rollups`, the last 400."""
    ratio: dict[str, Sampled] = {}
    """By series: when pages read and pages freed by online defragmentation were sampled."""
    unpaired: dict[int, list[float]] = {}
    """Hour since 1970 -> pages read and freed, not in the days yet (`fold.readings`)."""
    paired_until: int = -1
    """The last hour that is counted or dropped."""
    sampled_since: float | None = None
    """Since when pages read and pages freed by online defragmentation are both sampled. None: one
    of them never was."""

    def times_of(self, events: Collection[int]) -> list[float]:
        return [time for time, _, event in self.life if event in events]


class Epoch(msgspec.Struct):
    """Records of a channel whose ids and times rise together."""

    start: float
    max_time: float
    seen: list[Range] = []
    covered: list[Range] = []
    """Read whole, of complete channels; of both at most 1,024."""
    turns: list[tuple[int, float]] = []
    """Id and time of records after which the clock was set back, by time; the last 64."""


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
    forgotten: int = 0
    """Intervals of ids that there was no room for: their records are new when they come again."""
    gaps: list[tuple[float, float, int]] = []
    """(from, to, records missing), the last 64."""
    heard: list[float] = []
    """The last record of each of the last 128 hours that have one, sorted."""
    hours: bytearray = msgspec.field(default_factory=bytearray)
    """The hours that have a record, as rows of `fold.channels.hearing`, of the last 96 days."""
    stretches: list[tuple[float, float]] = []
    """(first, last) record of times without a pause of 16 hours, sorted, the last 64. Of an older
    journal empty until the next record."""
    others: float = 0.0
    """Its last record of another provider than ESE, 0 without one."""


class Power(msgspec.Struct, array_like=True):
    """Last times at which a computer said that it is shut down or comes up, 0 for none."""

    off: float = 0.0
    """It was to be shut down or powered off, and not only restarted (1074)."""
    stopped: float = 0.0
    """The event log service stopped (6006), as it does before a restart too."""
    up: float = 0.0
    """The event log service started (6005)."""


class Failover(msgspec.Struct, array_like=True, frozen=True):
    """A move of the active copy to another server, as another program logged it."""

    time: float
    done: bool
    """False: it only begins; the event of its end may not name what it is of."""
    operation: str
    """The same for all events of one move, empty where none is given."""
    names: tuple[str, ...]
    """Possible names of the database and the servers, in lower case."""
    whole_server: bool = False
    """It is of all databases of Exchange on the computer that logged it."""


class Notice(msgspec.Struct, array_like=True):
    """Notice of another program about a copy or a directory: its number and the last time."""

    state: str
    """The field `state` of its event."""
    event_id: int
    names: tuple[str, ...]
    """Possible names of the database and its server, or the instance of AD LDS; in lower case."""
    count: int
    last: float
    text: str
    """The reason or the error, as it was given the last time."""


class Restores(msgspec.Struct, array_like=True):
    """Events of restores that one process logged, each list sorted."""

    begun: list[tuple[float, str]] = []
    """Time of 204 and folder of the restored logs, the last 16; `ended` are those of 205."""
    ended: list[float] = []
    errors: list[float] = []
    """The last 64 errors of the process, whatever they are."""
    forgotten: float = 0.0
    """Time of the youngest error before those."""


class Host(Metered, kw_only=True):
    """Data that belongs to a computer and to no database."""

    computer: str
    events: dict[str, dict[int, int]] = {}
    """provider -> event id -> count; at most 32 providers with 500 ids each that we do not know,
    the id -1 and the provider `other` are all others."""
    first_heard: float = 0.0
    """Time of its oldest event, 0 without one, and of its last one."""
    last_heard: float = 0.0
    power: Power = msgspec.field(default_factory=Power)
    unexplained: dict[int, EngineError] = {}
    """By event id: errors without an instance that nothing in esewatch uses; at most 16 ids."""
    restores: dict[str, Restores] = {}
    """By process, at most 32."""
    failovers: list[Failover] = []
    """Sorted, the last 1,024 that it logged, of whatever copies."""
    notices: list[Notice] = []
    """Other notices of its other programs about copies and directories, the last 64."""
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
    """Sorted, those in the logs of backup programs, the last 256."""


class Unrebuilt(NamedTuple):
    """A range of time whose records are no longer there. `since` is None when nobody knows."""

    since: float | None
    until: float


class SourceState(msgspec.Struct, kw_only=True):
    name: str
    opened: float = 0.0
    """Start of the first reading; decides what is history."""
    baseline: bool = True
    """True until the source has caught up once."""
    hides_databases: bool = False
    """The first reading of a new journal is not done: what is known of databases is half read."""
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
    set_aside: int = 0
    """Records that could not be folded, because of an internal error."""
    oldest: float = 0.0
    """Time of the oldest record, 0 without one."""
    last_record: float = 0.0
    backlog_bytes: int = 0
    computers: list[str] = []
    channels: list[tuple[str, str]] = []
    settings: str = ""
    """Digest of what is configured but the name: a source that is renamed is known by it."""
    partitions: tuple[int, int] | None = None
    rebuilding: bool = False
    """Read from its beginning because the journal was damaged, and not done yet."""
    salvaged: tuple[float, float] | None = None
    """Oldest and last record that the damaged journal knew, 0 for none; None: not readable."""
    rebuilt: tuple[float, float] | None = None
    """The same once the rebuilding is done, 0 where nobody knows; None: never damaged."""

    def begin_rebuilding(self, salvaged: "SourceState | None") -> None:
        """It is read again; `salvaged` is its state from the damaged journal."""
        self.rebuilding = True
        self.salvaged = (salvaged.oldest, salvaged.last_record) if salvaged else None

    def settle_rebuilt(self) -> None:
        self.rebuilding = False
        # An old journal that knew of no record had nothing to lose.
        if self.salvaged != (0.0, 0.0):
            self.rebuilt = self.salvaged or (0.0, 0.0)

    def unrebuilt(self) -> Unrebuilt | None:
        """The part that the damaged journal knew and its inputs no longer hold: from the oldest
        record that it had seen to the oldest that is still there. Should older ones come back, it
        shrinks. None: all was rebuilt, or nothing was damaged."""
        if self.rebuilt is None:
            return None
        since, last = self.rebuilt
        until = self.oldest or last
        return Unrebuilt(since or None, until) if since < until else None


STATED_SECONDS = 86400.0
STEP_SECONDS = 600.0
"""The rest of the 24 hours is stored in such steps: no journal is written each minute."""


class Stated(msgspec.Struct):
    """The findings of one database that were stated, in the order of their names, which are
    `finding severity` (semantics.md 7).

    One that stands is stated with 1. One that stood and ended is stated with 0 for 24 hours in
    which the agent runs: an alert that outlives its reporter ends by that alone.
    """

    standing: list[str] = []
    over: dict[str, float] = {}
    """Name -> seconds of running for which it is still stated to be over."""


def restated(known: Stated | None, standing: Collection[str], passed: float) -> Stated:
    """The statements now that these stand, `passed` seconds of running after `known`."""
    ended = dict.fromkeys(known.standing, STATED_SECONDS) if known is not None else {}
    before = known.over.items() if known is not None else ()
    over = {name: left - passed for name, left in before if left > passed} | ended
    return Stated(
        standing=sorted(standing),
        over={name: left for name, left in sorted(over.items()) if name not in standing},
    )


def is_news(known: Stated | None, now: Stated) -> bool:
    """True if it is to be stored: the rest of the 24 hours is stored in steps."""
    if known is None:
        return bool(now.standing or now.over)
    steps = [[int(left // STEP_SECONDS) for left in each.over.values()] for each in (known, now)]
    return (
        known.standing != now.standing
        or known.over.keys() != now.over.keys()
        or steps[0] != steps[1]
    )


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
    clocks: dict[str, float] = {}
    """Of inputs that were read at once: computer -> the youngest time in all files connected with
    its by shared computers. Never stored; empty where time goes on."""
    recent: dict[str, dict[int, bytearray]] = {}
    """By computer: its latest records by day, as rows of `fold.channels.overlaps`."""
    stated: dict[tuple[str, str], Stated] = {}
    """Findings that were stated; (computer, database label)."""
    stated_instances: dict[tuple[str, str], Stated] = {}
    """The same of instances, by the key of `instances`."""
