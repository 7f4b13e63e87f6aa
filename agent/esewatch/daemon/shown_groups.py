"""The views of each group of computers, kept until something changes them.

A group (`advice.history.groups`) is shown anew when one of its entities or the settings changed, or
when something falls due: its views are computed from a present that notes until when they hold
(`advice.base.validity`). To judge a database takes milliseconds: a judgement is kept for as long as
it is made of the same, and where many are to be made each snapshot makes some. To show everything
anew is the same with nothing kept.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from esefiles.base import crash
from esewatch.advice.advise import Judged, judge, together
from esewatch.advice.base.validity import held, holds
from esewatch.advice.checkdb import CheckdbJudgement, judged_checks
from esewatch.advice.findings.details import OfInstances, of_instances
from esewatch.advice.findings.silence import hearings, silences
from esewatch.advice.history.copies import Copies
from esewatch.advice.history.derived import (
    AllDerived,
    Backups,
    Derived,
    InstanceKey,
    LeftOut,
    derived,
    leaving_out,
    row_of,
    without,
)
from esewatch.advice.history.groups import (
    Group,
    Link,
    groups_of,
    links_of,
    readings_of,
    states_of,
)
from esewatch.advice.history.history import Gathering, unread_since
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings, policy_for
from esewatch.daemon.agent_health import Part
from esewatch.expose.metrics.advice_families import add_advice, add_checks
from esewatch.expose.metrics.families import add_computers
from esewatch.expose.metrics.samples import Lines, Samples
from esewatch.expose.pages.overview import DatabaseFigures, figures_of
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.owners import instance_key, process_key
from esewatch.fold.passes.passes import TaskView
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Instance, Metered, State

OLD_SECONDS = 300.0
"""A judgement is made again after this time where counters have grown, and where it has something
that moves with time itself, as a forecast does."""
MOVING_SECONDS = 60.0
"""The same of what is shown beside it."""
MOST = 50
"""Databases judged for one snapshot, at some 10 ms each."""

_TABLES = ("hosts", "channels", "instances", "devices", "databases", "sql_databases")
_COUNTED = frozenset(
    {*Metered.__struct_fields__, "days", "ratio", "unpaired", "paired_until", "sampled_since"}
)
"""The fields of an instance that counters change."""
_LOGGED = tuple(name for name in Instance.__struct_fields__ if name not in _COUNTED)

VIEWS: tuple[Part, ...] = ("metrics", "advice", "other")
"""The parts of the agent that this is; the last one is the pages."""

T = TypeVar("T")


class Shown(NamedTuple):
    """Of one group, from `since` up to `until` (epoch seconds)."""

    lines: Lines
    advice: tuple[Judgement, ...]
    instances: OfInstances
    checks: tuple[CheckdbJudgement, ...]
    figures: Mapping[DatabaseKey, DatabaseFigures]
    known: Mapping[DatabaseKey, Derived]
    left_out: Mapping[Part, LeftOut]
    """By part, the databases that it is made without."""
    failed: Mapping[Part, Exception]
    """By part, why it is not made at all."""
    since: float
    until: float
    waits: bool
    """Some judgements are still to be made."""


class ShownGroups:
    def __init__(self) -> None:
        self.groups: dict[Group, Shown] = {}
        self._settings: Settings | None = None
        self.forget()

    def forget(self) -> None:
        """Keep nothing."""
        self.groups = {}
        self._entities: dict[str, dict[object, object]] = {table: {} for table in _TABLES}
        self._readings: Mapping[str, object] = {}
        self._unread: Set[str] = frozenset()
        self._computers: Set[str] = frozenset()
        self._links: dict[str, frozenset[Link]] = {}
        self._facts: dict[DatabaseKey, Derived] = {}
        self._backups: dict[InstanceKey, Backups] = {}
        self._judged: dict[DatabaseKey, _Kept] = {}

    @property
    def waits(self) -> bool:
        return any(each.waits for each in self.groups.values())

    def show(
        self,
        state: State,
        settings: Settings,
        now: float,
        news: Iterable[Entity] = (),
        unread: Set[str] = frozenset(),
    ) -> None:
        """Show `state` as of `now` (epoch seconds). `news`: entities that were changed in place
        since the last call; what is new, gone or another is found. `unread`: computers of which a
        first reading is not done; they have figures alone."""
        if settings is not self._settings:
            self.forget()
            self._settings = settings
        others = self._others(state)
        changed = others | {first for table, first, _ in news if f"{table}s" in _TABLES}
        changed |= unread ^ self._unread
        self._unread = unread
        if others:
            self._computers = _computers(state)
        groups = self._grouped(state, settings, changed)
        due = {group: self._is_due(group, changed, now) for group in groups}
        waiting = [group for group, is_due in due.items() if is_due or self.groups[group].waits]
        waiting.sort(key=lambda group: group in self.groups and not self.groups[group].waits)
        left = _Left(MOST)
        for group, part in zip(waiting, states_of(state, waiting), strict=True):
            if not (due[group] or left.number):
                continue
            room = left if unread.isdisjoint(group) else None
            self.groups[group] = self._show(self.groups.get(group), part, settings, now, room)
        if groups != list(self.groups):
            self.groups = {group: self.groups[group] for group in groups}
        for kept in (self._facts, self._judged):
            for key in kept.keys() - state.databases.keys():
                del kept[key]
        for gone in self._backups.keys() - state.instances.keys():
            del self._backups[gone]

    def _others(self, state: State) -> set[str]:
        """Computers with entities that are new, gone or others than at the last call, or whose
        sources are now read as they were not."""
        changed = set[str]()
        for table, before in self._entities.items():
            found = getattr(state, table)
            keys = [key for key, each in found.items() if before.get(key) is not each]
            keys += before.keys() - found.keys()
            changed.update(keys if table == "hosts" else (key[0] for key in keys))
            if keys:
                self._entities[table] = dict(found)
        now, known = readings_of(state.sources.values()), self._readings
        self._readings = now
        return changed | {
            each for each in now.keys() | known.keys() if now.get(each) != known.get(each)
        }

    def _grouped(self, state: State, settings: Settings, changed: set[str]) -> list[Group]:
        there = self._computers
        links = {name: known for name, known in self._links.items() if name in there}
        links |= links_of(state, settings, (changed & there) | (there - links.keys()))
        if links == self._links:
            return list(self.groups)
        self._links = links
        return groups_of(links)

    def _is_due(self, group: Group, changed: set[str], now: float) -> bool:
        shown = self.groups.get(group)
        return shown is None or not (
            holds(shown.since, shown.until, now) and changed.isdisjoint(group)
        )

    def _show(
        self,
        before: Shown | None,
        state: State,
        settings: Settings,
        now: float,
        left: "_Left | None",
    ) -> Shown:
        """`left`: None where it is not read yet."""
        shown = _Showing(state, settings, now)
        judging = _Judging(state, settings, now, self._judged, left or _Left(0))
        known, out = AllDerived(settings, Copies({}, {}), self._facts, self._backups), Samples()
        with shown.made("metrics") as odd:
            take = None if left is None else judging.take
            known = derived(state, settings, known, left_out=odd, take=take)
            self._facts.update(known.databases)
            self._backups.update(known.backups)
            shown.leave_out(odd)
            if left is not None:
                out = shown.held_without(partial(_samples, known=known), odd)
        shown.leave_out(odd)
        advised = _Advised(*before[1:4]) if before is not None else _Advised((), {}, ())
        with shown.made("advice") as unjudged:
            if left is not None and not shown.failed:
                advised = shown.advised(advised, judging, out)
            unjudged |= judging.left_out
        figures: Mapping[DatabaseKey, DatabaseFigures] = {}
        with shown.made("other") as odd:
            view = partial(figures_of, advice=advised.advice, known=known.databases)
            figures = shown.held_without(view, odd)
        retried = shown.failed or any(shown.left_out.values())
        return Shown(
            out.lines(),
            *advised,
            figures,
            known.databases,
            shown.left_out,
            shown.failed,
            now,
            now if retried else shown.until,
            judging.waits,
        )


def _computers(state: State) -> set[str]:
    found = {*state.hosts}
    for table in _TABLES[1:]:
        found.update(key[0] for key in getattr(state, table))
    return found.union(*(source.computers for source in state.sources.values()))


class _Advised(NamedTuple):
    advice: tuple[Judgement, ...]
    instances: OfInstances
    checks: tuple[CheckdbJudgement, ...]


class _Showing:
    """The showing of one group: until when it holds, and what could not be made."""

    def __init__(self, state: State, settings: Settings, now: float) -> None:
        self._state, self._settings, self._now = state, settings, now
        self.until = math.inf
        self.left_out: dict[Part, LeftOut] = {}
        self.failed: dict[Part, Exception] = {}

    @contextmanager
    def made(self, part: Part) -> Iterator[LeftOut]:
        """Keep an error of the block, and give it room for those of single databases."""
        odd = self.left_out[part] = {}
        try:
            yield odd
        except Exception as error:
            crash.if_short(error)
            self.failed[part] = error

    def leave_out(self, odd: LeftOut) -> None:
        self._state = without(self._state, odd)

    def advised(self, before: _Advised, judging: "_Judging", out: Samples) -> _Advised:
        """The advice, which stays as it was `before` while some have no judgement; `out` takes its
        samples."""

        def advice(state: State, settings: Settings, now: float) -> tuple[Judgement, ...]:
            return together(state, settings, judging.judged, now, as_of=self._now)

        made = _Advised(
            self.held(advice) if judging.complete else before.advice,
            self.held(of_instances),
            self.held(judged_checks),
        )
        self.until = min(self.until, judging.until)
        add_advice(out, made.advice, made.instances, self._state)
        add_checks(out, made.checks)
        return made

    def held_without(self, view: Callable[..., T], odd: LeftOut) -> T:
        """Make a view without the databases of which it cannot be made, which go into `odd`."""

        def of_the_others(state: State, settings: Settings, now: float) -> T:
            found: LeftOut = {}
            made = view(state, settings, now, left_out=found)
            if found and not isinstance(now, float):
                raise TypeError("perhaps the present was taken for a float")
            odd.update(found)
            return made

        return self.held(of_the_others)

    def held(self, view: Callable[[State, Settings, float], T]) -> T:
        """Make a view."""
        made, until = held(
            lambda present: view(self._state, self._settings, present), self._now, MOVING_SECONDS
        )
        self.until = min(self.until, until)
        return made


def _samples(
    state: State, settings: Settings, now: float, *, known: AllDerived, left_out: LeftOut
) -> Samples:
    out = Samples()
    add_computers(out, state, settings, now, known, left_out=left_out)
    return out


class _Left:
    """The number of databases that may still be judged for a snapshot."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Kept(NamedTuple):
    """The judgement of one database, what it was made of, and when it holds."""

    judged: Judged
    made_of: tuple[object, ...]
    counted: int | None
    since: float
    until: float


class _Judging:
    """The judgements of a group: those that are kept where they hold, else new ones, else old
    ones."""

    def __init__(
        self,
        state: State,
        settings: Settings,
        now: float,
        kept: dict[DatabaseKey, _Kept],
        left: _Left,
    ) -> None:
        self._state, self._settings, self._now, self._kept, self._left = (
            state, settings, now, kept, left,
        )  # fmt: skip
        self._gathering = Gathering.of(state, settings)
        self._hearings = hearings(state, settings, now)
        self._silent = silences(self._hearings)
        self._rows: dict[tuple[str, str] | str, int | None] = {}
        self.judged: dict[DatabaseKey, Judged] = {}
        self.left_out: LeftOut = {}
        self.until = math.inf
        self.complete = True
        """Each one has a judgement, if an old one."""
        self.waits = False

    def take(self, key: DatabaseKey, facts: Derived, views: Mapping[str, TaskView] | None) -> None:
        if facts.tier == "ignored":
            return
        with leaving_out(key, self.left_out):
            kept, made_of, counted = self._kept.get(key), *self._made_of(key, facts)
            if not self._holds(kept, made_of, counted):
                if self._left.number > 0:
                    self._left.number -= 1
                    self._kept.pop(key, None)
                    kept = self._kept[key] = self._judge(key, facts, views, made_of, counted)
                else:
                    self.waits = True
            if kept is None:
                self.complete = False
                return
            self.judged[key] = kept.judged
            old = math.inf if kept.counted == counted else kept.since + OLD_SECONDS
            self.until = min(self.until, kept.until, old)
        if key in self.left_out:
            self.until = self._now

    def _holds(self, kept: _Kept | None, made_of: tuple[object, ...], counted: int | None) -> bool:
        if kept is None or kept.made_of != made_of:
            return False
        if not holds(kept.since, kept.until, self._now):
            return False
        return kept.counted == counted or self._now < kept.since + OLD_SECONDS

    def _judge(
        self,
        key: DatabaseKey,
        facts: Derived,
        views: Mapping[str, TaskView] | None,
        made_of: tuple[object, ...],
        counted: int | None,
    ) -> _Kept:
        entry, history = self._state.databases[key], self._gathering.history(facts, views)
        policy = policy_for(self._settings, key[1], key[0])
        own = {log: each for log, each in self._hearings.items() if log[0] == key[0]}

        def judged(present: float) -> Judged:
            silent = silences({log: each._replace(clock=present) for log, each in own.items()})
            return judge(history, policy, present, silent.held(entry, present))

        made, until = held(judged, self._now, OLD_SECONDS)
        return _Kept(made, made_of, counted, self._now, until)

    def _made_of(self, key: DatabaseKey, facts: Derived) -> tuple[tuple[object, ...], int | None]:
        """All that a history of the database is made of, except for counters; and these."""
        state, entry = self._state, self._state.databases[key]
        own, process = instance_key(entry), process_key(entry)
        scans = facts.views["checksum"].current or facts.views["zeroing"].current
        heard = self._gathering.heard.get(key[0], ()) if scans is not None else ()
        silent = self._silent.of(entry)
        rows = (self._logged(own), self._logged(process), self._channels(key[0]), row_of(heard))
        if None in (facts.basis.row, *rows):
            return (object(),), None
        beside = self._gathering.members[own]
        behind = unread_since(state, key[0])
        told = silent._replace(clock=0.0) if silent is not None else None
        instance = state.instances.get(own)
        return (facts, beside, told, behind, *rows), row_of(instance)

    def _logged(self, key: tuple[str, str]) -> int | None:
        """The part of an instance that events change."""
        if key not in self._rows:
            known = self._state.instances.get(key)
            self._rows[key] = row_of([getattr(known, name, None) for name in _LOGGED])
        return self._rows[key]

    def _channels(self, computer: str) -> int | None:
        if computer not in self._rows:
            self._rows[computer] = row_of(
                [
                    (each.channel, each.gaps, each.hours, [epoch.start for epoch in each.epochs])
                    for each in self._gathering.channels.get(computer, ())
                ]
            )
        return self._rows[computer]
