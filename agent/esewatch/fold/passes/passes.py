"""Passes, derived from the kept transitions of a database.

The effect of each event is in semantics.md 2; the ids are those of the engine's message table.
Transitions are sorted by time, so the order in which records arrived makes no difference.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from esewatch.fold.identity.identity import SKIPPED, family
from esewatch.fold.passes.completions import LATE, WALL_CLOCK, completed, figures, unknown
from esewatch.fold.passes.stops import DETACH, life_of, stops_in
from esewatch.fold.passes.transitions import ROW_BYTES, count, insert, take, unpack
from esewatch.fold.state.state import Database, Lived, Pass, State, TaskTotals, Transition

OPENS = {700: "defrag", 717: "checksum", 718: "zeroing", 736: "checksum"}
RESUMES = {702: "defrag", 719: "checksum", 720: "zeroing", 738: "checksum"}
COMPLETES = {
    701: ("defrag",),
    703: ("defrag",),
    721: ("checksum",),
    722: ("zeroing", "checksum"),
    732: ("checksum",),
    735: ("checksum",),
    737: ("checksum",),
}
INTERRUPTS = {704: "defrag", 725: "checksum", 726: "zeroing", 745: "checksum"}
RUNNING = {733: "checksum", 744: "checksum"}
FAILS = {705: "defrag", 723: "checksum", 724: "zeroing", 734: "checksum"}
TOLD_LATE = {733: "checksum", 735: "checksum", 745: "checksum"}
"""Events by which the engine itself reports that a scan is late, or was aborted."""
PARTIAL = {746: "checksum", 747: "checksum"}
ATTACHES = frozenset({325, 326, 328})

BROKEN_OFF = 745
SKIPPED_WITHIN = 1.0
"""747 is logged at most this many seconds before the resume that it belongs to."""

TRANSITIONS = frozenset(
    {*OPENS, *RESUMES, *COMPLETES, *INTERRUPTS, *RUNNING, *FAILS, *PARTIAL, *ATTACHES, DETACH}
)
TASKS = ("defrag", "checksum", "zeroing")

MAX_TRANSITIONS = 512
SLACK = 128
"""This many more are admitted before the oldest are evicted: one walk for all of them."""
MOST_BYTES = (MAX_TRANSITIONS + SLACK) * ROW_BYTES
"""Of the rows of transitions: beyond it the oldest are evicted."""
MAX_PASSES = 64
DEFAULT_STALE_SECONDS = 7 * 86400.0


class TaskSummary(TaskTotals):
    """One task of one database: totals, the open pass (running or interrupted), the last times."""

    current: Pass | None = None
    last_completed: Pass | None = None
    last_started: float | None = None

    def running(self, now: float, stale_seconds: float = DEFAULT_STALE_SECONDS) -> bool:
        """True if a pass is running: open, not interrupted, with an event within
        `stale_seconds`."""
        current = self.current
        return (
            current is not None
            and not current.interrupted
            and now - current.last_event <= stale_seconds
        )


class TaskView(TaskSummary):
    """A task with its ended passes, oldest first: all of the kept transitions, and the last 64 of
    older ones."""

    passes: list[Pass] = msgspec.field(default_factory=list)

    def summary(self) -> TaskSummary:
        """The same without the ended passes, which take most of the memory."""
        return TaskSummary(**{name: getattr(self, name) for name in TaskSummary.__struct_fields__})


def derive(database: Database, life: Sequence[Lived] = ()) -> dict[str, TaskView]:
    """Passes and totals by task. `life` is that of its instance (`life_of`)."""
    return replay(database, list(unpack(database.transitions)), life)


def views_in(state: State, database: Database) -> dict[str, TaskView]:
    return derive(database, life_of(state, database))


def evict(database: Database, life: Sequence[Lived] = ()) -> list[Pass]:
    """Evict transitions beyond the kept 512 into the totals; returns the passes that are
    dropped."""
    leaving = take(database.transitions, count(database.transitions) - MAX_TRANSITIONS)
    horizon = leaving[-1].time
    # A stop comes behind what has its time, and some of that may be kept: it is left for later.
    for each in [row for row in leaving if row.event_id == DETACH and row.time == horizon][-1:]:
        insert(database.transitions, each)
    machine = _walk(database, leaving, stops_in(database, leaving, life), until=horizon)
    dropped: list[Pass] = []
    kept: list[Pass] = []
    for task, view in machine.views.items():
        totals = {name: getattr(view, name) for name in TaskTotals.__struct_fields__}
        database.evicted[task] = TaskTotals(**totals)
        if view.current is not None:
            database.evicted_open[task] = view.current
        else:
            database.evicted_open.pop(task, None)
        dropped += view.passes[:-MAX_PASSES]
        kept += view.passes[-MAX_PASSES:]
    database.old_passes = sorted(kept, key=lambda item: item.ended or 0.0)
    database.evicted_role, database.evicted_role_changed = machine.role, machine.changed
    database.evicted_until = horizon
    return dropped


def count_late(database: Database, transition: Transition) -> None:
    """Count a transition that arrived after younger ones were evicted. Its place among passes is
    lost; its own facts still count."""
    event = transition.event_id
    for task in COMPLETES.get(event, ()):
        database.evicted.setdefault(task, TaskTotals()).completed += 1
    if event in OPENS:
        database.evicted.setdefault(OPENS[event], TaskTotals()).started += 1
    if event in INTERRUPTS:
        database.evicted.setdefault(INTERRUPTS[event], TaskTotals()).interrupted += 1
    if event in FAILS:
        totals = database.evicted.setdefault(FAILS[event], TaskTotals())
        totals.failed += 1
        totals.last_failed = _later(totals.last_failed, transition.time)
    if event in TOLD_LATE:
        totals = database.evicted.setdefault(TOLD_LATE[event], TaskTotals())
        totals.last_late = _later(totals.last_late, transition.time)


def late_scan(database: Database, transition: Transition) -> Pass:
    """The scan whose completion arrived after younger transitions were evicted; its start is not
    seen.

    Scans of a current engine may skip pages, which other events say: such a one is no whole pass.
    """
    partial = transition.event_id in WALL_CLOCK
    scan = unknown("checksum", transition.time, partial=partial)
    return completed("checksum", scan, transition, (), database.evicted_role_changed)


def replay(
    database: Database, transitions: Sequence[Transition], life: Sequence[Lived]
) -> dict[str, TaskView]:
    """Passes and totals by task after `transitions`, all kept ones or the oldest of them. Continues
    from the evicted ones; the stops before `evicted_until` are part of that."""
    return _walk(database, transitions, stops_in(database, transitions, life)).views


def _walk(
    database: Database,
    transitions: Iterable[Transition],
    stops: Sequence[float],
    until: float = math.inf,
) -> "_Machine":
    machine = _Machine(database)
    ends = [(stop, False) for stop in stops] + [(time, True) for time in database.failovers]
    pending = deque(sorted(end for end in ends if database.evicted_until <= end[0] < until))
    for transition in transitions:
        while pending and pending[0][0] < transition.time:
            machine.end(*pending.popleft())
        machine.step(transition)
    for end in pending:
        machine.end(*end)
    return machine


class _Machine:
    def __init__(self, database: Database) -> None:
        self.role = database.evicted_role
        self.changed = database.evicted_role_changed
        self.skipped = -math.inf
        """Last report that pages are skipped (747)."""
        self.views: dict[str, TaskView] = {}
        for task in TASKS:
            totals = database.evicted.get(task, TaskTotals())
            current = database.evicted_open.get(task)
            self.views[task] = TaskView(
                **msgspec.structs.asdict(totals),
                current=current,
                last_started=current.started if current else None,
                passes=[item for item in database.old_passes if item.task == task],
            )
        for view in self.views.values():
            for item in view.passes:
                if item.outcome == "completed":
                    view.last_completed = item
                if item.started is not None:
                    view.last_started = max(view.last_started or 0.0, item.started)

    def step(self, transition: Transition) -> None:
        event, time = transition.event_id, transition.time
        if event in TOLD_LATE:
            view = self.views[TOLD_LATE[event]]
            view.last_late = _later(view.last_late, time)
        if (role := family(event)) and role != self.role:
            if self.role:
                self.change_role(time)
            self.role = role
        if event in COMPLETES:
            self._complete(transition)
        elif event in OPENS:
            self._open(OPENS[event], time)
        elif event in RESUMES:
            self._resume(RESUMES[event], time)
        elif event in INTERRUPTS:
            self._interrupt(INTERRUPTS[event], time, critical=event == BROKEN_OFF)
        elif event in FAILS:
            self._fail(FAILS[event], time)
        elif event in RUNNING:
            self._running(RUNNING[event], time, late=event in LATE)
        elif event in PARTIAL:
            self._partial(event, PARTIAL[event], time)

    def end(self, time: float, failover: bool) -> None:
        """Its copy changed its role, or it stopped (`stops_in`): running passes are interrupted."""
        if failover:
            self.change_role(time)
            return
        for task, view in self.views.items():
            if view.current is not None and not view.current.interrupted:
                self._interrupt(task, time)

    def change_role(self, time: float) -> None:
        """End open passes: their position travels with the database, and another copy reads on from
        it."""
        self.changed = time
        for task in self.views:
            self._abandon(task, time)

    def _change(self, task: str, **changes: object) -> None:
        view = self.views[task]
        if view.current is not None:
            view.current = msgspec.structs.replace(view.current, **changes)

    def _end(self, task: str, ended: Pass) -> None:
        view = self.views[task]
        view.current = None
        view.passes.append(ended)
        if ended.outcome == "completed":
            view.last_completed = ended

    def _abandon(self, task: str, time: float) -> None:
        current = self.views[task].current
        if current is not None:
            self._end(task, msgspec.structs.replace(current, ended=time, outcome="abandoned"))

    def _open(self, task: str, time: float) -> None:
        self._abandon(task, time)
        view = self.views[task]
        view.started += 1
        view.last_started = time
        view.current = Pass(
            task=task, started=time, ended=None, outcome="open", start_seen=True, last_event=time
        )

    def _resume(self, task: str, time: float) -> None:
        """A resume is no start: where nothing is open, the pass began at some time before."""
        view = self.views[task]
        current = view.current
        if current is None:
            view.started += 1
            current = self._heard_of(task, time)
        elif current.started is None and not current.resumed:
            view.started += 1
        skipped = task == "checksum" and time - self.skipped <= SKIPPED_WITHIN
        view.current = msgspec.structs.replace(
            current,
            interrupted=False,
            resumed=True,
            partial=current.partial or skipped,
            last_event=time,
        )

    def _heard_of(self, task: str, time: float) -> Pass:
        """A pass whose start was not seen: the rest of an incomplete scan is no whole pass. A scan
        of the other role is another scan."""
        passes = self.views[task].passes
        incomplete = (
            bool(passes)
            and passes[-1].outcome == "partial"
            and (passes[-1].ended or 0.0) >= self.changed
        )
        return unknown(task, time, partial=incomplete)

    def _interrupt(self, task: str, time: float, *, critical: bool = False) -> None:
        view = self.views[task]
        view.interrupted += 1
        if view.current is not None:
            count = view.current.interruptions + 1
            resumed = view.current.resumed or critical
            self._change(
                task, interrupted=True, interruptions=count, resumed=resumed, last_event=time
            )

    def _fail(self, task: str, time: float) -> None:
        view = self.views[task]
        view.failed += 1
        view.last_failed = _later(view.last_failed, time)
        if view.current is not None:
            count = view.current.failures + 1
            self._change(task, interrupted=True, failures=count, last_event=time)

    def _running(self, task: str, time: float, *, late: bool) -> None:
        view = self.views[task]
        view.current = view.current or self._heard_of(task, time)
        self._change(task, interrupted=False, last_event=time, late=late or view.current.late)

    def _partial(self, event: int, task: str, time: float) -> None:
        current = self.views[task].current or self._heard_of(task, time)
        marked = msgspec.structs.replace(current, partial=True, last_event=time)
        if event == SKIPPED:
            self.skipped = time
            self.views[task].current = msgspec.structs.replace(marked, interrupted=False)
        else:
            self._end(task, msgspec.structs.replace(marked, ended=time, outcome="partial"))

    def _complete(self, transition: Transition) -> None:
        tasks = COMPLETES[transition.event_id]
        # 722 ends a zeroing pass, which was the checksum pass too: one scan, one start.
        shared_start = self.views[tasks[0]].current
        for task in tasks:
            view = self.views[task]
            view.completed += 1
            current = view.current or shared_start or self._heard_of(task, transition.time)
            done = completed(task, current, transition, view.passes, self.changed)
            if done.started is not None:
                view.last_started = max(view.last_started or 0.0, done.started)
            self._end(task, done)


def _later(known: float | None, time: float) -> float:
    return time if known is None else max(known, time)


def untimed_passes(database: Database) -> list[Pass]:
    """The last read is the first."""
    return [
        Pass(
            task=task,
            started=None,
            ended=None,
            outcome="completed",
            **figures(ended.event_id, ended.figures),
        )
        for ended in reversed(database.untimed.ends)
        for task in COMPLETES.get(ended.event_id, ())
    ]
