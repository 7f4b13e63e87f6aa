"""What happened so far, from what each line of the logs tells: the answer to compare with.

The rules are those of semantics.md 2 and 3. A line is told here by whoever counted what it
says, not read back from the log.
"""

from typing import Final, Literal

import msgspec

DamageKind = Literal["checksum", "corrected", "wrong_page", "no_data", "lost_flush"]
Task = Literal["defrag", "checksum", "zeroing"]

PROVIDER: Final = "ESE"

STARTED: Final[dict[int, Task]] = {700: "defrag", 717: "checksum", 718: "zeroing", 736: "checksum"}
RESUMED: Final[dict[int, Task]] = {702: "defrag", 719: "checksum", 720: "zeroing", 738: "checksum"}
COMPLETED: Final[dict[int, Task]] = {
    701: "defrag",
    703: "defrag",
    721: "checksum",
    732: "checksum",
    735: "checksum",
    737: "checksum",
}
INTERRUPTED: Final[dict[int, Task]] = {
    704: "defrag",
    725: "checksum",
    726: "zeroing",
    745: "checksum",
}
FAILED: Final[dict[int, Task]] = {705: "defrag", 723: "checksum", 724: "zeroing", 734: "checksum"}
GIVEN_UP: Final[dict[int, Task]] = {746: "checksum"}
"""A pass is over that was not whole."""
RUNNING: Final[dict[int, Task]] = {733: "checksum", 744: "checksum"}
LATE: Final = frozenset({733, 735, 745})
"""Say that a scan is late, or was broken off."""
WALL_CLOCK: Final = frozenset({732, 735, 737})
"""Their seconds are from start to end, their bad pages those of the last run."""
TREE: Final = 728
"""Tells of a tree that a current engine defragmented."""
ZEROED: Final = 722
"""Completes a pass of zeroing, which was one of the checksum scan too."""
DETACHED: Final = 327
STOPPED: Final = 103

ZEROING_KINDS: Final = (
    "unchanged",
    "unused_zeroed",
    "used",
    "deleted_records_zeroed",
    "unreferenced_chunks_zeroed",
    "uninitialized",
)
"""What a pass of zeroing counts, in the order of `Told.zeroed`."""

GENERATIONS: Final = "ese_log_generations_total"
UNCORRECTABLE: Final = "uncorrectable"


class Told(msgspec.Struct, kw_only=True, omit_defaults=True, tag="event"):
    """One line of the event log: where it ends in its file, and what it says."""

    event_id: int
    instance: str
    end: int = 0
    time: float = 0.0
    database: str = ""
    """Path, empty where the event names none."""
    seconds: int = 0
    invocations: int = 0
    pages_visited: int = 0
    pages_freed: int = 0
    pages_seen: int = 0
    bad_checksums: int = 0
    free_bytes: int | None = None
    """On the pages that a scan of a current engine saw."""
    zeroed: tuple[int, ...] = ()
    page: int = 0
    kind: DamageKind | None = None
    """Of a page error."""
    operation: str = ""
    """Of a slow request: read or write."""
    others: int = 0


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one instance did since its sample before, and how its log stands.

    `grew` is by series: `metric` or `metric{labels}`.
    """

    grew: dict[str, int] = {}
    depth: int = 0
    """Log generations that a recovery would read."""
    generation: int = 0
    """The one that is being written."""


class Counted(msgspec.Struct, kw_only=True, omit_defaults=True, tag="row"):
    """One row of the counter log: where it ends in its file, and what it says."""

    end: int
    process: str
    cache_bytes: int
    instances: dict[str, Measured] = {}
    """Those of which anything changed."""


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """A fault that was made on request. `time` in epoch seconds."""

    time: float
    database: str
    page_number: int | None
    kind: str


class Passes(msgspec.Struct):
    """One task of one database."""

    started: int = 0
    completed: int = 0
    interrupted: int = 0
    failed: int = 0
    open: bool = False
    running: bool = False
    last_start: float | None = None
    last_completion: float | None = None
    last_work: int = 0
    last_invocations: int = 0
    last_bad: int = 0
    pages_seen: int = 0
    bad: int = 0
    last_wall: int | msgspec.UnsetType = msgspec.UNSET
    """Seconds from start to end; `last_work` and `last_invocations` are not known then."""
    last_late: float | msgspec.UnsetType = msgspec.UNSET


class ZeroingTruth(msgspec.Struct):
    """Zeroing of one database: its passes, and what they counted, by kind."""

    passes: Passes = msgspec.field(default_factory=Passes)
    pages: dict[str, int] = {}


class TreesTruth(msgspec.Struct):
    """Defragmentation of the trees of one database by a current engine."""

    pages_visited: int = 0
    pages_freed: int = 0


class DatabaseTruth(msgspec.Struct):
    """One database."""

    instance: str
    defrag: Passes = msgspec.field(default_factory=Passes)
    checksum: Passes = msgspec.field(default_factory=Passes)
    pages_freed: int = 0
    errors: dict[str, int] = {}
    last_error: dict[str, float] = {}
    bad_pages: dict[str, dict[int, float]] = {}
    """By kind and page number: when it was last met."""
    last_damage: float = 0.0
    """When a page was last met whose content is lost."""
    unlocated: float = 0.0
    """End of the last scan that counted bad pages and named none, 0 when it is past."""
    verified: float | None = None
    slow: dict[str, int] = {}
    slow_seconds: dict[str, int] = {}
    zeroing: ZeroingTruth | msgspec.UnsetType = msgspec.UNSET
    """From its first event on."""
    trees: TreesTruth | msgspec.UnsetType = msgspec.UNSET
    """From its first event on."""
    free_bytes: int | msgspec.UnsetType = msgspec.UNSET

    def passes(self) -> dict[Task, Passes]:
        """Those of each task that was heard of; the first two always are."""
        found: dict[Task, Passes] = {"defrag": self.defrag, "checksum": self.checksum}
        if self.zeroing is not msgspec.UNSET:
            found["zeroing"] = self.zeroing.passes
        return found


class InstanceTruth(msgspec.Struct):
    """One instance; totals by series."""

    totals: dict[str, int] = {}
    depth: int = 0
    generation: int = 0


class State(msgspec.Struct, tag="state"):
    """All of it. `ends`: so far the lines of each log are counted in."""

    computer: str
    ends: dict[str, int] = {}
    events: dict[int, int] = {}
    databases: dict[str, DatabaseTruth] = {}
    instances: dict[str, InstanceTruth] = {}
    cache_bytes: dict[str, int] = {}
    """By process."""
    faults: list[Fault] = []

    def take(self, entry: Told | Counted | Fault) -> None:
        """Count what one entry tells."""
        if isinstance(entry, Told):
            self.ends["events"] = entry.end
            self._event(entry)
        elif isinstance(entry, Counted):
            self.ends["counters"] = entry.end
            self._row(entry)
        else:
            self.faults.append(entry)

    def _row(self, row: Counted) -> None:
        # Of another process there is nothing in the log any more.
        self.cache_bytes = {row.process: row.cache_bytes}
        for name, measured in row.instances.items():
            instance = self.instances.setdefault(name, InstanceTruth())
            for series, amount in measured.grew.items():
                instance.totals[series] = instance.totals.get(series, 0) + amount
            instance.depth = measured.depth
            _generations(instance, measured.generation)

    def _event(self, told: Told) -> None:
        self.events[told.event_id] = self.events.get(told.event_id, 0) + 1
        if told.database:
            entry = self.databases.get(told.database)
            if entry is None:
                entry = self.databases[told.database] = DatabaseTruth(told.instance)
            _passes(entry, told)
            if told.kind is not None:
                _damage(entry, told)
        if told.event_id == STOPPED:
            for entry in self.databases.values():
                if entry.instance == told.instance:
                    _stopped(entry)
        if told.operation:
            self._slow(told)

    def _slow(self, told: Told) -> None:
        """A slow request to a log counts for the database of the instance, once it has one."""
        for path, entry in self.databases.items():
            if path == told.database or (not told.database and entry.instance == told.instance):
                entry.slow[told.operation] = entry.slow.get(told.operation, 0) + 1 + told.others
                entry.slow_seconds[told.operation] = told.seconds


def _generations(instance: InstanceTruth, generation: int) -> None:
    """The generations between two rows were made, also while a process was starting again."""
    made = generation - instance.generation if GENERATIONS in instance.totals else 0
    if made < 0:
        # Another log took the place of the old one.
        made = generation
    instance.totals[GENERATIONS] = instance.totals.get(GENERATIONS, 0) + made
    instance.generation = generation


def _passes(entry: DatabaseTruth, told: Told) -> None:
    event_id, time = told.event_id, told.time
    if event_id == DETACHED:
        _stopped(entry)
    elif task := STARTED.get(event_id) or RESUMED.get(event_id):
        passes = _of(entry, task)
        if event_id in STARTED or not passes.open:
            passes.started += 1
            passes.last_start = time
        passes.open = passes.running = True
    elif task := INTERRUPTED.get(event_id):
        passes = _of(entry, task)
        passes.interrupted += 1
        passes.running = False
    elif task := FAILED.get(event_id):
        passes = _of(entry, task)
        passes.failed += 1
        passes.running = False
    elif task := COMPLETED.get(event_id):
        _completed(entry, _of(entry, task), told)
    elif event_id == ZEROED:
        _zeroed(entry, told)
    elif task := GIVEN_UP.get(event_id):
        passes = _of(entry, task)
        passes.open = passes.running = False
    elif task := RUNNING.get(event_id):
        _of(entry, task).running = True
    elif event_id == TREE:
        _tree(entry, told)
    if event_id in LATE:
        entry.checksum.last_late = time


def _tree(entry: DatabaseTruth, told: Told) -> None:
    if entry.trees is msgspec.UNSET:
        entry.trees = TreesTruth()
    entry.trees.pages_visited += told.pages_visited
    entry.trees.pages_freed += told.pages_freed


def _stopped(entry: DatabaseTruth) -> None:
    """What is at work when the database goes is interrupted."""
    for passes in entry.passes().values():
        if passes.running:
            passes.interrupted += 1
            passes.running = False


def _of(entry: DatabaseTruth, task: Task) -> Passes:
    if task == "zeroing":
        if entry.zeroing is msgspec.UNSET:
            entry.zeroing = ZeroingTruth()
        return entry.zeroing.passes
    return entry.defrag if task == "defrag" else entry.checksum


def _zeroed(entry: DatabaseTruth, told: Told) -> None:
    """One scan was both; a checksum pass that was open ends with it."""
    zeroing, checksum = _of(entry, "zeroing"), entry.checksum
    begun = checksum.last_start if checksum.open else zeroing.last_start
    checksum.last_start = max(checksum.last_start or 0.0, begun or told.time)
    _completed(entry, checksum, told)
    _completed(entry, zeroing, told)
    assert entry.zeroing is not msgspec.UNSET
    for kind, count in zip(ZEROING_KINDS, told.zeroed, strict=True):
        entry.zeroing.pages[kind] = entry.zeroing.pages.get(kind, 0) + count


def _completed(entry: DatabaseTruth, passes: Passes, told: Told) -> None:
    passes.completed += 1
    passes.open = passes.running = False
    passes.last_completion = told.time
    passes.last_work, passes.last_invocations = told.seconds, told.invocations
    is_wall = told.event_id in WALL_CLOCK
    passes.last_wall = told.seconds if is_wall else msgspec.UNSET
    if passes is entry.defrag:
        entry.pages_freed += told.pages_freed
        return
    passes.pages_seen += told.pages_seen
    passes.bad += told.bad_checksums
    passes.last_bad = told.bad_checksums
    if told.free_bytes is not None:
        entry.free_bytes = told.free_bytes
    begun = passes.last_start if passes.last_start is not None else told.time
    if told.bad_checksums:
        if entry.last_damage < begun:
            entry.unlocated = told.time
        return
    if is_wall and entry.last_damage >= begun:
        # An earlier run of the pass may have met it.
        return
    entry.verified = told.time
    entry.unlocated = 0.0
    # The scan read every page after it began: what was met earlier is past.
    for kind, pages in entry.bad_pages.items():
        entry.bad_pages[kind] = {page: met for page, met in pages.items() if met > begun}


def _damage(entry: DatabaseTruth, told: Told) -> None:
    kind = told.kind or ""
    entry.errors[kind] = entry.errors.get(kind, 0) + 1
    entry.last_error[kind] = told.time
    held_as = UNCORRECTABLE if kind == "checksum" else kind
    entry.bad_pages.setdefault(held_as, {})[told.page] = told.time
    if kind != "corrected":
        entry.last_damage = told.time
