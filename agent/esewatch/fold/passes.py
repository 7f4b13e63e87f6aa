"""Passes, derived from the kept transitions of a database.

Which event does what is semantics.md 2; the ids are those of the engine's
message table. Transitions are sorted by time, so the order in which records
arrived makes no difference.
"""

from collections.abc import Iterable, Sequence

import msgspec

from esewatch.fold.owners import instance_key
from esewatch.fold.state import Database, Pass, State, TaskTotals, Transition
from esewatch.fold.transitions import count, take, unpack

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
"""Events by which the engine says itself that a scan is late, or that it broke one off."""
PARTIAL = {746: "checksum", 747: "checksum"}
DETACH = 327
STOP = 103

LATE = frozenset({733, 735})
WALL_CLOCK = frozenset({732, 735, 737})
"""Completions whose seconds run from start to end and whose bad count is of the last run only."""

TRANSITIONS = frozenset(
    {*OPENS, *RESUMES, *COMPLETES, *INTERRUPTS, *RUNNING, *FAILS, *PARTIAL, DETACH}
)
TASKS = ("defrag", "checksum", "zeroing")

MAX_TRANSITIONS = 512
SLACK = 128
"""So many more are let in before the oldest leave: one walk for all of them."""
MAX_PASSES = 64
DEFAULT_STALE_SECONDS = 7 * 86400.0


class TaskView(msgspec.Struct):
    """One task of one database: totals and passes.

    `current` is the pass that is open (running or interrupted), `passes` those that
    ended, oldest first: of the kept transitions all, of older ones the last 64.
    """

    started: int = 0
    completed: int = 0
    interrupted: int = 0
    failed: int = 0
    current: Pass | None = None
    last_completed: Pass | None = None
    last_started: float | None = None
    last_failed: float | None = None
    last_late: float | None = None
    """When the engine said last that it is late, or broke it off (733, 735, 745)."""
    passes: list[Pass] = []

    def running(self, now: float, stale_seconds: float = DEFAULT_STALE_SECONDS) -> bool:
        """Whether a pass is at work: open, not interrupted, heard of within `stale_seconds`."""
        current = self.current
        return (
            current is not None
            and not current.interrupted
            and now - current.last_event <= stale_seconds
        )


def derive(database: Database, stops: Sequence[float] = ()) -> dict[str, TaskView]:
    """Passes and totals by task. `stops` are the times at which its instance stopped."""
    return replay(database, unpack(database.transitions), stops)


def views_in(state: State, database: Database) -> dict[str, TaskView]:
    """Passes and totals by task of a database of the state, its instance's stops included."""
    instance = state.instances.get(instance_key(database))
    return derive(database, instance.stops if instance is not None else ())


def evict(database: Database, stops: Sequence[float] = ()) -> list[Pass]:
    """Fold transitions beyond the kept 512 into the totals; returns the passes that ended there."""
    surplus = count(database.transitions) - MAX_TRANSITIONS
    if surplus <= SLACK:
        return []
    leaving = take(database.transitions, surplus)
    horizon = leaving[-1].time
    before = {id(item) for item in database.old_passes}
    # A stop comes behind what has its time, and some of that may be kept: it is left for later.
    views = replay(database, leaving, [stop for stop in stops if stop < horizon])
    ended: list[Pass] = []
    kept: list[Pass] = []
    for task, view in views.items():
        database.evicted[task] = TaskTotals(
            started=view.started,
            completed=view.completed,
            interrupted=view.interrupted,
            failed=view.failed,
            last_failed=view.last_failed,
            last_late=view.last_late,
        )
        if view.current is not None:
            database.evicted_open[task] = view.current
        else:
            database.evicted_open.pop(task, None)
        ended += [item for item in view.passes if id(item) not in before]
        kept += view.passes[-MAX_PASSES:]
    database.old_passes = sorted(kept, key=lambda item: item.ended or 0.0)
    database.evicted_until = horizon
    return ended


def count_late(database: Database, transition: Transition) -> None:
    """Count a transition that arrived after younger ones were evicted.

    Its place among passes is gone; what it says by itself still counts.
    """
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


def replay(
    database: Database, transitions: Iterable[Transition], stops: Sequence[float]
) -> dict[str, TaskView]:
    """Passes and totals by task after `transitions`, its kept ones or the oldest of them.

    Goes on from what was evicted; the stops before `evicted_until` are part of that.
    """
    machine = _Machine(database)
    pending = iter(sorted(stop for stop in stops if stop >= database.evicted_until))
    stop = next(pending, None)
    for transition in transitions:
        while stop is not None and stop < transition.time:
            machine.stop(stop)
            stop = next(pending, None)
        machine.step(transition)
    while stop is not None:
        machine.stop(stop)
        stop = next(pending, None)
    return machine.views


class _Machine:
    """Walks transitions in order and keeps one open pass a task."""

    def __init__(self, database: Database) -> None:
        self.views: dict[str, TaskView] = {}
        for task in TASKS:
            totals = database.evicted.get(task, TaskTotals())
            current = database.evicted_open.get(task)
            self.views[task] = TaskView(
                started=totals.started,
                completed=totals.completed,
                interrupted=totals.interrupted,
                failed=totals.failed,
                current=current,
                last_started=current.started if current else None,
                last_failed=totals.last_failed,
                last_late=totals.last_late,
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
        if event in COMPLETES:
            self._complete(transition)
        elif event in OPENS:
            self._open(OPENS[event], time)
        elif event in RESUMES:
            self._resume(RESUMES[event], time)
        elif event in INTERRUPTS:
            self._interrupt(INTERRUPTS[event], time)
        elif event in FAILS:
            self._fail(FAILS[event], time)
        elif event in RUNNING:
            self._running(RUNNING[event], time, late=event in LATE)
        elif event in PARTIAL:
            self._partial(event, PARTIAL[event], time)
        elif event == DETACH:
            self.stop(time)

    def stop(self, time: float) -> None:
        """The instance stopped or the database was detached: what runs is interrupted."""
        for task, view in self.views.items():
            if view.current is not None and not view.current.interrupted:
                self._interrupt(task, time)

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

    def _open(self, task: str, time: float) -> None:
        view = self.views[task]
        if view.current is not None:
            abandoned = msgspec.structs.replace(view.current, ended=time, outcome="abandoned")
            self._end(task, abandoned)
        view.started += 1
        view.last_started = time
        view.current = Pass(task=task, started=time, ended=None, outcome="open", last_event=time)

    def _resume(self, task: str, time: float) -> None:
        view = self.views[task]
        if view.current is None or view.current.started is None:
            # Heard of at work before, but never started: this is its start.
            view.current = None
            self._open(task, time)
        else:
            self._change(task, interrupted=False, last_event=time)

    def _interrupt(self, task: str, time: float) -> None:
        view = self.views[task]
        view.interrupted += 1
        if view.current is not None:
            count = view.current.interruptions + 1
            self._change(task, interrupted=True, interruptions=count, last_event=time)

    def _fail(self, task: str, time: float) -> None:
        view = self.views[task]
        view.failed += 1
        view.last_failed = _later(view.last_failed, time)
        if view.current is not None:
            count = view.current.failures + 1
            self._change(task, interrupted=True, failures=count, last_event=time)

    def _running(self, task: str, time: float, *, late: bool) -> None:
        current = self.views[task].current
        if current is None:
            # Seen at work without its start: open, but not counted as started.
            self.views[task].current = Pass(
                task=task, started=None, ended=None, outcome="open", last_event=time, late=late
            )
        else:
            self._change(task, interrupted=False, last_event=time, late=late or current.late)

    def _partial(self, event: int, task: str, time: float) -> None:
        current = self.views[task].current or Pass(
            task=task, started=None, ended=None, outcome="open", last_event=time
        )
        marked = msgspec.structs.replace(current, partial=True, last_event=time)
        if event == 746:
            self._end(task, msgspec.structs.replace(marked, ended=time, outcome="partial"))
        else:
            self.views[task].current = msgspec.structs.replace(marked, interrupted=False)

    def _complete(self, transition: Transition) -> None:
        tasks = COMPLETES[transition.event_id]
        # 722 ends a zeroing pass, which was the checksum pass too: one scan, one start.
        shared_start = self.views[tasks[0]].current
        for task in tasks:
            view = self.views[task]
            view.completed += 1
            done = _completed(task, view.current or shared_start, transition)
            if done.started is not None:
                view.last_started = max(view.last_started or 0.0, done.started)
            self._end(task, done)


def _completed(task: str, current: Pass | None, transition: Transition) -> Pass:
    fields, time = transition.fields, transition.time
    seconds = fields.get("seconds")
    wall = transition.event_id in WALL_CLOCK
    started = current.started if current else None
    if started is None and seconds is not None and (wall or fields.get("invocations") == 1):
        started = time - seconds
    base = current or Pass(task=task, started=None, ended=None, outcome="open")
    return msgspec.structs.replace(
        base,
        task=task,
        started=started,
        ended=time,
        outcome="completed",
        interrupted=False,
        last_event=time,
        late=base.late or transition.event_id in LATE,
        work_seconds=None if wall or seconds is None else float(seconds),
        wall_seconds=float(seconds) if wall and seconds is not None else None,
        invocations=_integer(fields.get("invocations")),
        pages_seen=_integer(fields.get("pages_seen")),
        pages_freed=_integer(fields.get("pages_freed")),
        bad_checksums=_integer(fields.get("bad_checksums")),
        days=_integer(fields.get("days")),
        completion_event=transition.event_id,
        history=transition.history,
    )


def _later(known: float | None, time: float) -> float:
    return time if known is None else max(known, time)


def _integer(value: int | float | None) -> int | None:
    return None if value is None else int(value)
