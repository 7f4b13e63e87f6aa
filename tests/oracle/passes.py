"""The passes of one copy: what opens, ends and proves them (semantics, section 2).

The table of section 2 is quoted row by row where it is read.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.oracle.chronicle import Event
from tests.oracle.facts import day, number, run_statistics
from tests.oracle.history import DAY, Totals

Order = tuple[float, int, int]

TASK: Final = {
    **dict.fromkeys(range(700, 706), "defrag"),
    **dict.fromkeys([718, 720, 722, 724, 726], "zeroing"),
    **dict.fromkeys([717, 719, 721, 723, 725, *range(732, 739), *range(744, 748)], "checksum"),
}
OPENS: Final = frozenset({700, 717, 718, 736})
RESUMES: Final = frozenset({702, 719, 720, 738})
COMPLETES: Final = frozenset({701, 703, 721, 732, 735, 737, 722})
INTERRUPTS: Final = frozenset({704, 725, 726, 745})
STOPS: Final = frozenset({103, 104, 327})
PAGES_SEEN: Final = {721: 9, 722: 9, 732: 8, 735: 9, 737: 7}
"""Where a completion counts the pages that its scan saw."""
RUNNING: Final = frozenset({733, 744})
FAILS: Final = frozenset({705, 723, 724, 734})
ACTIVE: Final = frozenset({735, 736, 737, 738, 744})
PASSIVE: Final = frozenset({717, 719, 732, 733, 745, 746, 747})


class Completion(NamedTuple):
    """A pass that reached its end."""

    task: str
    event: Event
    begin: Order | None
    """The earliest that its pages were read; None where nothing bounds it."""
    start_seen: bool
    ran_alone: bool
    """Its last run read all pages by itself."""
    changed: bool
    """A role change of this copy lies in it."""
    partial: bool
    bad: int | None
    """Bad pages that its summary counts; None where it does not say."""

    @property
    def is_read(self) -> bool:
        """Whether its words can be read.

        "A completion in words that cannot be read (foreign text: its numbers are not found)".
        """
        return any(number(text) is not None for text in self.event.strings[4:])

    @property
    def is_hopeless(self) -> bool:
        """ "A count that is negative, cannot be read, or 0 pages seen is no proof." """
        seen = number(self.event.at(PAGES_SEEN.get(self.event.id, 0)))
        return seen is None or seen <= 0 or (self.bad is not None and self.bad < 0)


@dataclass
class Open:
    """A pass that has begun and not ended."""

    start: Event | None
    running: bool = True
    resumed: bool = False
    """A 719 or 745 came after its start."""
    counted: bool = True
    """It was counted as started; one that is only reported as running is not."""
    last: Event | None = None
    """The last event of it."""


@dataclass
class Copy:
    """What the maintenance events of one copy say."""

    completions: list[Completion] = field(default_factory=list)
    totals: dict[str, Totals] = field(default_factory=dict)
    roles: list[tuple[Event, str]] = field(default_factory=list)
    """Each event that tells the role."""
    changes: list[Event] = field(default_factory=list)
    """Each event that changes it."""
    open: dict[str, Open] = field(default_factory=dict)
    created: list[Event] = field(default_factory=list)
    """Each event by which its file is a new one."""

    @property
    def born(self) -> float:
        """When its file was created, as far as is known."""
        return self.created[-1].when if self.created else 0.0

    def count(self, task: str, what: str) -> None:
        """One more start, completion, interruption or failure."""
        totals = self.totals.get(task, Totals())
        self.totals[task] = totals._replace(**{what: getattr(totals, what) + 1})

    def tell(self, event: Event, role: str) -> bool:
        """Note the role that an event tells; whether it is another one than before.

        A failover changes it too, and does not tell which it is now.

        "A role change (the family changes, or a failover is logged) ends the open pass of that
        copy".
        """
        changed = not role or (bool(self.roles) and self.roles[-1][1] != role)
        if role:
            self.roles.append((event, role))
        if changed:
            self.open.clear()
            self.changes.append(event)
        return changed

    def complete(self, task: str, event: Event, previous: Event | None, partial: bool) -> None:
        """A completion; `previous` is the 732 before it."""
        begin, seen = begin_of(event, self.open.get(task), previous)
        changed = begin is not None and any(
            begin < change.order <= event.order for change in self.changes
        )
        self.completions.append(
            Completion(task, event, begin, seen, ran_alone(event), changed, partial, bad_of(event))
        )
        for each in ("zeroing", "checksum") if event.id == 722 else (task,):
            # "722 (completes zeroing *and* checksum: one scan does both)"
            self.open.pop(each, None)
            self.count(each, "completed")

    def resume(self, task: str, event: Event) -> None:
        """A start too, "with its start unknown, 702, 719, 720, 738 when no pass is open"."""
        found = self.open.get(task)
        if not found:
            self.open[task] = Open(None)
            self.count(task, "started")
            return
        found.running = True
        found.resumed = found.resumed or event.id == 719
        if not found.counted:
            found.counted = True
            self.count(task, "started")

    def stop(self, event: Event) -> None:
        """An "instance stop or detach (103/104, 327) while open"."""
        for task, opened in self.open.items():
            if opened.running:
                opened.running, opened.last = False, event
                self.count(task, "interrupted")

    def role_at(self, order: Order) -> str:
        """The family of the last maintenance event up to then."""
        known = [role for event, role in self.roles if event.order <= order]
        return known[-1] if known else ""


def family(event: Event) -> str:
    """The role that a maintenance event tells.

    "735-738/744 active; 717/719/732/733/745-747 of a current engine passive". A 747 goes with a
    resume (section 2, partial), which tells the role.
    """
    if event.id in ACTIVE:
        return "active"
    if event.id == 747:
        return ""
    return "passive" if event.id in PASSIVE and event.current else ""


def begin_of(
    event: Event, opened: Open | None, previous: Event | None
) -> tuple[Order | None, bool]:
    """When the pass that this event completes began at the earliest, and whether that was seen.

    "a resume is no start. The earliest start that the completion allows counts: 735/737 `time -
    wall seconds`; 721/722 the date of `%5`, else `time - days x 24 h` less one day; 732 of which a
    719 or 745 came after its 717, or whose 717 was not seen: the previous 732. Nothing bounds it ->
    it verifies and clears nothing".
    """
    start = opened.start if opened else None
    if event.id == 732:
        if start and opened and not opened.resumed:
            return start.order, True
        return (previous.order if previous else None), start is not None
    if start:
        return start.order, True
    if event.id in (735, 737):
        wall = number(event.at(6))
        if wall is None or wall < 0:
            return None, False
        return (min(event.time, event.when) - wall, -1, -1), False
    if event.id in (721, 722):
        date = day(event.at(5))
        if date is not None:
            return (date, -1, -1), False
        days = number(event.at(8))
        if days is not None:
            return (min(event.time, event.when) - (days + 1) * DAY, -1, -1), False
    return None, False


def ran_alone(event: Event) -> bool:
    """Whether "the last run alone read all pages (`run_pages + 1 >= pages_seen`)"."""
    positions = {732: (8, 9), 735: (9, 10), 737: (7, 8)}
    if event.id not in positions:
        return False
    pages, run = positions[event.id]
    seen = number(event.at(pages))
    statistics = run_statistics(event.at(run))
    return seen is not None and statistics is not None and statistics[0] + 1 >= seen


def bad_of(event: Event) -> int | None:
    """The bad pages that a completion counts.

    "721/722: of the whole pass. 732/745: always 0 ...; 735/737: since the scan object was made".
    """
    if event.id in (721, 722):
        return number(event.at(10))
    if event.id in (735, 737):
        statistics = run_statistics(event.at(10 if event.id == 735 else 8))
        return statistics[1] if statistics else None
    return 0


def derive(events: list[Event]) -> Copy:
    """The passes of one copy, from its own maintenance events, the stops of its instances and its
    failovers (ids below zero).

    The events are in order; those of tools, and what is no detachment, are left out by the caller.
    """
    copy = Copy()
    partial: Event | None = None
    previous: Event | None = None
    for event in events:
        role = family(event)
        if (role or event.id < 0) and copy.tell(event, role):
            just = partial is not None and partial.id == 747 and event.when - partial.when <= 1
            partial = partial if just else None
        if event.id in STOPS:
            copy.stop(event)
            continue
        task = TASK.get(event.id, "")
        found = copy.open.get(task)
        if event.id in OPENS:
            # "a 736 (or 717) while a pass is open ends that one without result and without failure"
            copy.open[task] = Open(event)
            copy.count(task, "started")
            partial = None if task == "checksum" else partial
        elif event.id in RESUMES:
            copy.resume(task, event)
        elif event.id in COMPLETES:
            copy.complete(task, event, previous, partial is not None and task == "checksum")
            partial = None if task == "checksum" else partial
            previous = event if event.id == 732 else previous
        elif event.id in INTERRUPTS:
            copy.count(task, "interrupted")
            if found:
                found.running = False
                found.resumed = found.resumed or event.id == 745
        elif event.id in FAILS:
            # The engine resumes it later (ese-facts 4.1): it is stopped, not ended.
            copy.count(task, "failed")
            if found:
                found.running = False
        elif event.id in RUNNING:
            # One that is reported as running is open, though nothing opened it here.
            copy.open.setdefault(task, Open(None, counted=False)).running = True
        elif event.id in (746, 747):
            # "746, or any pass with 747, also one logged in the second before its 719/738: not a
            # verification. A resume clears nothing"
            partial = event
            if event.id == 746:
                copy.open.pop(task, None)
            else:
                copy.open.setdefault(task, Open(None, counted=False)).running = True
        if task in copy.open:
            copy.open[task].last = event
    return copy


def proves(completion: Completion, elsewhere: list[Event]) -> bool:
    """Whether the pages of a completed scan were all read on this copy, in one known stretch.

    "own pages only: a pass verifies a copy only for pages read on that computer in that role: its
    start was seen there and no role change lies in it, or the last run alone read all pages". "For
    732 this and the rule above must both hold." `elsewhere` is what the other copies logged as the
    active one: an active copy that was active elsewhere meanwhile has changed its role.
    """
    begin = completion.begin
    if completion.task == "defrag" or begin is None or completion.partial:
        return False
    if completion.event.id in (721, 722):
        return True
    moved = completion.event.id != 732 and any(
        begin[0] <= event.when <= completion.event.when for event in elsewhere
    )
    return completion.ran_alone or (completion.start_seen and not completion.changed and not moved)
