"""The expected state after each log line: the ground truth to compare with.

The rules are those of semantics.md 2 and 3. The facts of a line come from the code that counted
them; they are not read back from the log.
"""

import math
from typing import Final, Literal

import msgspec

from eselab.logs.truth_entries import Counted, Fault, Told

Task = Literal["defrag", "checksum", "zeroing"]

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
"""Events that report a scan as late, or as aborted."""
WALL_CLOCK: Final = frozenset({732, 735, 737})
"""Their seconds are from start to end, their bad pages those of the last run."""
TREE: Final = 728
"""Reports a tree that a current engine defragmented."""
ZEROED: Final = 722
"""Completes a pass of zeroing, which was one of the checksum scan too."""
DETACHED: Final = 327
STOPPED: Final = 103
ACTIVE: Final = frozenset({735, 736, 737, 738, 744})
PASSIVE: Final = frozenset({717, 719, 732, 733, 745, 746})
"""Events of a passive copy's scan; a copy with one of the other kind has changed its role."""
COPY_SCAN_END: Final = 732
BROKEN_OFF: Final = 745


ZEROING_KINDS: Final = (
    "unchanged",
    "unused_zeroed",
    "used",
    "deleted_records_zeroed",
    "unreferenced_chunks_zeroed",
    "uninitialized",
)
"""Counts of a pass of zeroing, in the order of `Told.zeroed`."""

GENERATIONS: Final = "ese_log_generations_total"
UNCORRECTABLE: Final = "uncorrectable"
COUNTED: Final = ("uncorrectable", "wrong_page")
"""Kinds of bad pages that a scan counts as bad checksums."""
UNSEEN: Final = frozenset({"no_data", "lost_flush"})
"""Kinds of bad pages that no scan sees, so none ends them."""

_DAY: Final = 86400.0
_DATE_SLACK: Final = 14 * 3600.0
"""The date of a start is local: where it is earliest, midnight comes so much before that of UTC."""


class Passes(msgspec.Struct):
    """One task of one database. The first line of the open pass may not be known."""

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
    begun: float | None = None
    """Of the open pass; None: its start was not seen."""
    resumed: bool = False
    """The open pass was resumed, or aborted, after its start."""
    incomplete: bool = False
    """The pass before was abandoned: the rest of it is no whole pass."""

    def end(self, *, incomplete: bool = False) -> None:
        """The open pass is over; a later event of it starts over."""
        self.open = self.running = self.resumed = False
        self.begun = None
        self.incomplete = incomplete


class ZeroingTruth(msgspec.Struct):
    """Zeroing of one database: its passes, and what they counted, by kind."""

    passes: Passes = msgspec.field(default_factory=Passes)
    pages: dict[str, int] = {}


class TreesTruth(msgspec.Struct):
    """Defragmentation of the trees of one database by a current engine."""

    pages_visited: int = 0
    pages_freed: int = 0


class DatabaseTruth(msgspec.Struct):
    instance: str
    defrag: Passes = msgspec.field(default_factory=Passes)
    checksum: Passes = msgspec.field(default_factory=Passes)
    pages_freed: int = 0
    errors: dict[str, int] = {}
    last_error: dict[str, float] = {}
    bad_pages: dict[str, dict[int, float]] = {}
    """By kind and page number: when it was last met."""
    named: dict[int, float] = {}
    """Pages that events named as a scan counts them: when last, healed ones too."""
    last_damage: float = 0.0
    """Last time at which a page was met whose content is lost."""
    unlocated: float = 0.0
    """End of the last scan that counted bad pages and named none, 0 when it is past."""
    verified: float | None = None
    role: str = ""
    """As its last scan event shows: active, passive, or empty without one."""
    role_changed: float = 0.0
    copy_scanned: float | None = None
    """Last completion of a scan of a passive copy (732)."""
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
    running: dict[str, int] = {}
    """Running totals of the process, its opening included."""
    openings: dict[str, int] = {}
    """Requests of openings before the first sample, which running totals show and rates do not; but
    the first opening, since there a log begins. Less the total before, where that was no higher:
    then nothing shows that it starts over.
    """
    depth: int = 0
    generation: int = 0


class State(msgspec.Struct, tag="state"):
    """All of it. `ends`: so far the lines of each log are counted in."""

    computer: str
    provider: str = "ESE"
    ends: dict[str, int] = {}
    events: dict[int, int] = {}
    databases: dict[str, DatabaseTruth] = {}
    instances: dict[str, InstanceTruth] = {}
    cache_bytes: dict[str, int] = {}
    """By process."""
    faults: list[Fault] = []

    def take(self, entry: Told | Counted | Fault) -> None:
        """Count one entry."""
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
            known = bool(instance.totals)
            for series, amount in measured.grew.items():
                instance.totals[series] = instance.totals.get(series, 0) + amount
                before = instance.running.get(series, 0)
                instance.running[series] = before + amount
                if not amount:  # the first sample of a process
                    opened = instance.running[series] = measured.opened.get(series, 0)
                    more = opened - before if opened >= before else opened
                    if known and more:
                        instance.openings[series] = instance.openings.get(series, 0) + more
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
    """The generations between two rows were made, also while a process was starting again.

    0 is none, and after a fall another log took the place of the old one.
    """
    if generation:
        made = max(0, generation - instance.generation) if GENERATIONS in instance.totals else 0
        instance.totals[GENERATIONS] = instance.totals.get(GENERATIONS, 0) + made
        instance.generation = generation


def _passes(entry: DatabaseTruth, told: Told) -> None:
    event_id, time = told.event_id, told.time
    _role(entry, told)
    if event_id == DETACHED:
        _stopped(entry)
    elif task := STARTED.get(event_id) or RESUMED.get(event_id):
        passes = _of(entry, task)
        if event_id in STARTED:
            passes.end()
            passes.last_start = passes.begun = time
        else:
            # A resume is no start: when it was is not known.
            passes.resumed = True
        passes.started += not passes.open
        passes.open = passes.running = True
    elif task := INTERRUPTED.get(event_id):
        passes = _of(entry, task)
        passes.interrupted += 1
        passes.running = False
        passes.resumed = passes.resumed or event_id == BROKEN_OFF
    elif task := FAILED.get(event_id):
        passes = _of(entry, task)
        passes.failed += 1
        passes.running = False
    elif task := COMPLETED.get(event_id):
        _completed(entry, _of(entry, task), told)
    elif event_id == ZEROED:
        _zeroed(entry, told)
    elif task := GIVEN_UP.get(event_id):
        _of(entry, task).end(incomplete=True)
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
    """Running tasks are interrupted when the database stops."""
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


def _role(entry: DatabaseTruth, told: Told) -> None:
    """With its role a copy changes the scans: open passes end."""
    role = "active" if told.event_id in ACTIVE else "passive" if told.event_id in PASSIVE else ""
    if role and entry.role and role != entry.role:
        entry.role_changed = told.time
        for passes in entry.passes().values():
            if passes.open or passes.running:
                passes.end()
    entry.role = role or entry.role


def _zeroed(entry: DatabaseTruth, told: Told) -> None:
    """One scan was both; a checksum pass that was open ends with it."""
    zeroing, checksum = _of(entry, "zeroing"), entry.checksum
    if not checksum.open:
        checksum.begun, checksum.resumed = zeroing.begun, zeroing.resumed
    _completed(entry, zeroing, told)
    _completed(entry, checksum, told)
    assert entry.zeroing is not msgspec.UNSET
    for kind, count in zip(ZEROING_KINDS, told.zeroed, strict=True):
        entry.zeroing.pages[kind] = entry.zeroing.pages.get(kind, 0) + count


def _completed(entry: DatabaseTruth, passes: Passes, told: Told) -> None:
    is_wall = told.event_id in WALL_CLOCK
    begun = passes.begun
    if begun is None and (is_wall or told.invocations == 1):
        begun = told.time - told.seconds
    if begun is not None:
        passes.last_start = max(passes.last_start or 0.0, begun)
    passes.completed += 1
    passes.last_completion = told.time
    passes.last_work, passes.last_invocations = told.seconds, told.invocations
    passes.last_wall = told.seconds if is_wall else msgspec.UNSET
    if passes is entry.defrag:
        entry.pages_freed += told.pages_freed
    else:
        passes.pages_seen += told.pages_seen
        passes.bad += told.bad_checksums
        passes.last_bad = told.bad_checksums
        if told.free_bytes is not None:
            entry.free_bytes = told.free_bytes
        _judged(entry, passes, told, _earliest(entry, passes, told))
        if told.event_id == COPY_SCAN_END:
            entry.copy_scanned = told.time
    passes.end()


def _earliest(entry: DatabaseTruth, passes: Passes, told: Told) -> float | None:
    """A time before which the completed scan had not begun, None where it is unknown."""
    if told.event_id == COPY_SCAN_END and (passes.resumed or passes.begun is None):
        # Some of its pages may be of the pass before.
        return entry.copy_scanned
    if passes.begun is not None:
        return passes.begun
    if told.event_id in WALL_CLOCK:
        return told.time - told.seconds
    return told.begun // _DAY * _DAY - _DATE_SLACK


def _judged(entry: DatabaseTruth, passes: Passes, told: Told, earliest: float | None) -> None:
    """Judge the pages by a scan: all that were met before it began are past, if it is clean.

    Of those that it met itself as many stand as it counts, the last ones.
    """
    if told.bad_checksums:
        met = _met_since(entry, earliest)
        if told.event_id not in WALL_CLOCK and not passes.incomplete:
            # A scan counts a page once, of however many kinds its errors are.
            left = [*dict.fromkeys(page for _, page, _ in reversed(met))][: told.bad_checksums]
            for _, page, kind in met:
                if page not in left:
                    del entry.bad_pages[kind][page]
        since = math.inf if earliest is None else earliest
        if told.bad_checksums > sum(at >= since for at in entry.named.values()):
            entry.unlocated = told.time
        return
    if earliest is None or passes.incomplete or entry.last_damage >= earliest:
        return
    if not told.pages_seen:
        return
    here = passes.begun is not None and entry.role_changed <= earliest
    alone = told.run_pages + 1 >= told.pages_seen > 0
    if told.event_id in WALL_CLOCK and not (here or alone):
        # Others of its pages may have been read on another computer.
        return
    entry.verified = told.time
    if entry.unlocated < earliest:
        entry.unlocated = 0.0
    for kind in entry.bad_pages.keys() - UNSEEN:
        pages = entry.bad_pages[kind]
        entry.bad_pages[kind] = {page: at for page, at in pages.items() if at >= earliest}


def _met_since(entry: DatabaseTruth, earliest: float | None) -> list[tuple[float, int, str]]:
    """Bad pages that stand and that a scan counts, in the order in which they were met."""
    if earliest is None:
        return []
    known = ((kind, entry.bad_pages.get(kind, {})) for kind in COUNTED)
    return sorted(
        (at, page, kind) for kind, pages in known for page, at in pages.items() if at >= earliest
    )


def _damage(entry: DatabaseTruth, told: Told) -> None:
    kind = told.kind or ""
    entry.errors[kind] = entry.errors.get(kind, 0) + 1
    entry.last_error[kind] = told.time
    held_as = UNCORRECTABLE if kind == "checksum" else kind
    entry.bad_pages.setdefault(held_as, {})[told.page] = told.time
    if held_as in COUNTED:
        entry.named[told.page] = told.time
    if kind != "corrected":
        entry.last_damage = told.time
