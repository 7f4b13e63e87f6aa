"""The state of one database: everything the fold keeps of it, one row of the journal.

As in `fold.state`, everything here is plain data, and bounds are in the comments.
"""

from typing import Literal

import msgspec

from esewatch.model import PageFault

DatabaseKey = tuple[str, str]
"""(computer, database label)."""

BadKind = PageFault
PageRange = tuple[int, int, float]
"""First page, last page, time."""
DamageKind = Literal[
    "divergence", "suspect", "logical", "logical_nonfatal", "index", "revert_snapshot"
]


class Transition(msgspec.Struct, frozen=True, gc=False):
    """One maintenance event, as far as passes need it. `history` says that the first reading found
    it already older than 7 days."""

    time: float
    record_id: int
    event_id: int
    fields: dict[str, int | float] = {}
    history: bool = False


class Pass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
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
    """Was resumed, or aborted as critical (719, 738, 745), after its start."""
    earliest: float | None = None
    """A time before which a completed scan had not begun. None: nothing bounds it."""
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
    started: int = 0
    completed: int = 0
    interrupted: int = 0
    failed: int = 0
    last_failed: float | None = None
    last_late: float | None = None
    """Last report of the engine that the scan is late, or aborted it (733, 735, 745)."""


Age = Literal["", "history", "untimed"]


class BadPage(msgspec.Struct, array_like=True):
    """One latched bad page: stays until proven good, patched or acknowledged.

    `age` is `history` where the first reading found it already older than 7 days, and `untimed`
    where no record of it has a possible time: the times are when it was read. `pages` is above 1
    for those beyond the limit, of which only the number is known. `times` are those at which it was
    reported, where there are more than `first` and `last`: the last 4, sorted.
    """

    page: int
    kind: BadKind
    first: float
    last: float
    age: Age = ""
    pages: int = 1
    times: list[float] = []

    @property
    def history(self) -> bool:
        return self.age == "history"

    @property
    def untimed(self) -> bool:
        return self.age == "untimed"


class Request(msgspec.Struct, array_like=True, frozen=True, order=True):
    time: float
    began: float
    file: str
    """Path of a log file in lower case, empty for the database itself."""
    offset: int
    """-1: not known."""


class Damage(msgspec.Struct, array_like=True):
    """Reports of one kind of damage: how many, when (the last 64, sorted), by which events."""

    count: int = 0
    times: list[float] = []
    events: list[int] = []


FailureKind = BadKind | Literal["io", "logical"]


class Failure(msgspec.Struct, array_like=True, frozen=True, order=True):
    """An event whose error is a page error, a failed read or write, or corruption."""

    time: float
    kind: FailureKind
    event_id: int
    history: bool = False


class EngineError(msgspec.Struct, array_like=True):
    """Errors of one event id that nothing in esewatch uses: count, the last one and its strings."""

    count: int
    last: float
    text: str
    database: str = ""
    """The label of the database that the last one named, where it was not known yet."""
    ese_instance: str = ""
    """The instance that logged the last one, as the state's key has it."""


class CopyVerdict(msgspec.Struct, array_like=True):
    """Verdict on a mount of a copy of a database; `time` is that of its content."""

    time: float
    outcome: str
    """As `check` says it: restorable, replay_needed, loss, …"""
    reason: str = ""

    def is_restorable(self) -> bool | None:
        """None: it could not be said."""
        if self.outcome == "unknown":
            return None
        return self.outcome in ("restorable", "replay_needed")


class Ended(msgspec.Struct, array_like=True, frozen=True):
    """A pass whose end has no time, and the numbers in its event."""

    event_id: int
    figures: dict[str, int | float]


class Untimed(msgspec.Struct, array_like=True):
    """Events without a time: their own facts count, but they have no place among passes."""

    events: dict[int, int] = {}
    ends: list[Ended] = []
    """In the order in which they were read, the last 64."""


class Database(msgspec.Struct, kw_only=True):
    computer: str
    database: str
    """The label: normalised path."""
    path: str = ""
    ese_instance: str = ""
    process: str = ""
    provider: str = ""
    role: str = ""
    """As its last scan event shows: active, passive, or empty without one."""
    role_time: float = 0.0
    role_event: int = 0
    """The scan event that showed the role; 717 and 719 show it for a current engine only."""
    letter: str = ""
    """The last state letter of its instance (`%2`): D is no state of a start."""
    letter_time: float = 0.0
    generation: str = ""
    """2007 or current: which family of maintenance events it logs."""
    generation_time: float = 0.0
    first_seen: float = 0.0
    last_seen: float = 0.0
    channel: str = ""
    """The log that its instance writes to, in lower case; empty where that is not known."""
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
    """Time at which the header's counters below were true."""
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
    """Last change of the copy's role there, 0 for never."""
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
    more_bad_pages: dict[BadKind, bytearray] = {}
    """By kind, further ones, as rows of `fold.databases.page_errors`: at most 4,000."""
    failures: list[Failure] = []
    """Sorted, those whose error is a page error: of each kind the last 64."""
    named_pages: dict[BadKind, list[tuple[float, float]]] = {}
    """By kind, (first, last) of events that name a bad page, joined where they lie within two
    hours; at most 64."""
    created: float = 0.0
    """Last time at which its file was made anew, 0 where nothing tells: of the two below."""
    made: float = 0.0
    """Last time at which its instance made it (325)."""
    signatures: dict[str, float] = {}
    """By identity in its header, when its file first had it; the last 8."""
    attached: list[float] = []
    """Sorted times of the last 16 events that its instance attached or made it (325, 326)."""
    detached: float = 0.0
    """Last time at which it was detached (327)."""
    good_ranges: list[PageRange] = []
    """Repaired or acknowledged pages, the last 1,000; UNLOCATED: errors that named no page."""
    patched_last: float = 0.0
    """Last time at which the engine repaired a page of it, 0 for never."""
    all_good: float = 0.0
    """Errors up to this time are cleared by a clean scan that older versions evicted."""
    checksums_good: list[PageRange] = []
    """Pages of which a reading of the file found the checksum right, the last 1,000."""
    damage: dict[DamageKind, Damage] = {}
    """By kind, what its own events say of it (fold/state/damage.py)."""
    damage_of_active: dict[DamageKind, Damage] = {}
    """By kind, what its events say of the active copy."""
    acknowledged_things: dict[str, float] = {}
    """By thing (`fold.acknowledgements`), the time up to which a person acknowledged it."""
    acknowledged: float = 0.0
    """The same for all of them but bad pages, of an earlier version."""
    damage_mended: float = 0.0
    """Damage up to this time was acknowledged or restored, of an earlier version."""
    index_rebuilt: float = 0.0
    unexplained: dict[int, EngineError] = {}
    """By event id: errors of the engine that nothing in esewatch uses; at most 16 ids."""
    page_scan: dict[str, int] = {}
    """Results of page scans of it: pages, bytes, bad_pages; empty when none has run."""
    page_error_spans: list[tuple[float, float]] = []
    """(first, last) of uncorrected page errors, sorted, apart; at most 128.

    Each end is the time of an error, the first 0 where older ones are not known. Between them
    are others, and no scan that had none.
    """
    io_error_times: list[float] = []
    """Sorted times of the last 64 failed reads, writes and flushes (481, 482, 551)."""
    verified: dict[str, float] = {}
    """By verifier: time of the last full verification that is not derived from kept passes."""
    copy_verdict: CopyVerdict | None = None
    """The one on the newest copy; None: none was judged."""
    restorable_last: float = 0.0
    """Time of the newest copy that would mount, 0 for never."""
    slow_io: dict[str, int] = {}
    """By operation, 1 + suppressed for each report."""
    slow_io_last_seconds: dict[str, float] = {}
    """By operation, how long the latest took; absent where its report does not tell."""
    slow_io_last: dict[str, float] = {}
    hung_io: dict[str, int] = {}
    hung_io_last: dict[str, float] = {}
    hung_requests: list[Request] = []
    """Sorted, the last 64 that hung and have not completed since (semantics.md 7)."""
    ended_requests: list[Request] = []
    """Sorted, the last 64 that failed or were slow."""
    untimed: Untimed = msgspec.field(default_factory=Untimed)
    """Facts of its events without a time."""
    old_proofs: list[Pass] = []
    """Clean scans older than the kept passes, the last 8."""
    instances: dict[str, tuple[float, float]] = {}
    """By name in lower case: the first time at which each instance named it (0 in a journal of an
    earlier version) and the last one, of the present instance `named`; the last 16
    (`owners.stays`)."""
