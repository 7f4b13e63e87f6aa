"""Scans on the same disks at the same time, their measured cost, a schedule that separates them.

Only databases whose maintenance has a window, since only a window can be moved, and whose device is
known: an unknown one is never guessed. In the schedule the database verified longest ago goes
first. Each scan lies within an opening of the database's own configured window, in its second half
where online defragmentation has the first one; a scan that does not fit in the next seven days is a
finding.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from esewatch.advice.base.finding import Finding, counted, scans_collide, scans_do_not_fit
from esewatch.advice.base.time_at_work import stale_seconds
from esewatch.advice.history.copies import Model, maintenance_model
from esewatch.config import Settings, Window
from esewatch.config.calendar import next_opening
from esewatch.fold.identity.identity import database_name, device_of
from esewatch.fold.passes.runs import SCANS, Run, runs
from esewatch.fold.passes.stops import life_of, stops_in
from esewatch.fold.passes.transitions import unpack
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import Pass, State

SHARE = 0.25
"""Share of the shorter run: runs that only touch at their ends are no collision."""

ALONE = 0.01
"""Share of a pass: less time than this beside others does not change its rate."""

ACCOUNTED = 0.1
"""Share of the work seconds of a pass by which its runs may differ and still be all of them."""

LATEST = 8

PERIOD = 28 * 86400.0
"""Runs that ended longer ago are no evidence (semantics.md 6.1): the scan may be switched off."""

NAMED = 3

PUBLISHED_ALONE, PUBLISHED_TWO = 30_000, 8_200
"""Pages a second of one scan on a device, and of two at once (published facts P1). The table does
not say whether the second is of each database or the sum of both."""

MOST_PAGES = 2**32
"""Page numbers have 32 bits."""

Disks = tuple[str, str]
"""The shared disks: (computer, device), or ("", pool) for devices of one configured pool."""
Stretch = tuple[float, float]
"""From and to, epoch seconds."""


class Scans(msgspec.Struct, frozen=True, kw_only=True):
    key: DatabaseKey
    name: str
    disks: Disks
    runs: Sequence[Run]
    """Oldest first; the last may go on."""
    complete_since: float = 0.0
    """From then on all its runs are known; earlier ones are not."""
    stale_seconds: float = 7 * 86400.0
    """A run in progress that began longer ago is taken to be over."""


class Loss(NamedTuple):
    """Throughput of a database's scans, in pages a second. None: unknown, the sentence says why.

    `together` is of passes that shared at least a quarter of their time with others, `share` of it.
    """

    alone: float | None
    together: float | None
    share: float | None
    sentence: str


def scans_in(state: State, settings: Settings) -> list[Scans]:
    """The databases that can be moved and share known disks with another of them."""
    where = _disks(state, settings)
    shared = {disks for disks, count in Counter(where.values()).items() if count > 1}
    found = []
    for key, disks in where.items():
        if disks not in shared:
            continue
        database = state.databases[key]
        rows = list(unpack(database.transitions))
        found.append(
            Scans(
                key=key,
                name=database_name(database, settings),
                disks=disks,
                runs=runs(rows, SCANS, stops_in(database, rows, life_of(state, database))),
                complete_since=database.evicted_until,
                stale_seconds=stale_seconds(database, settings),
            )
        )
    return found


def colliding_scans(scans: Iterable[Scans], now: float) -> dict[DatabaseKey, tuple[str, ...]]:
    """By database, names of others that were scanned at the same time on the same disks. Judged are
    the last run that ended, within 28 days, and the running one. At most 3 names each."""
    found = {}
    for group in _by_disks(scans):
        latest = [
            [run for run in _stretches(each, now) if run[1] > now - PERIOD][-LATEST:]
            for each in group
        ]
        timeline = _Timeline(latest)
        for index, one in enumerate(group):
            own = latest[index][-2 if _at_work(one, now) else -1 :]
            others = {
                other
                for mine in own
                for other, run in timeline.beside(mine, index)
                if _collide(mine, run)
            }
            if others:
                found[one.key] = tuple(group[other].name for other in sorted(others)[:NAMED])
    return found


def throughput_lost(
    scans: Iterable[Scans], passes: Mapping[DatabaseKey, Sequence[Pass]], now: float
) -> dict[DatabaseKey, Loss]:
    """The cost of simultaneous scans for each of the databases that share disks.

    `passes` are the ended checksum passes of each. Compared are ratios of sums: pages over work
    seconds of passes that were alone and of those that were not, all ended by the same event (one
    that zeroes too is slower by itself).
    """
    found: dict[DatabaseKey, Loss] = {}
    for group in _by_disks(scans):
        stretches = [_stretches(each, now) for each in group]
        timeline, crowded = _Timeline(stretches), _Crowded(stretches)
        since = max(each.complete_since for each in group)
        measured = []
        for index, one in enumerate(group):
            timed = [
                told
                for done in passes.get(one.key, ())
                if (told := _timed(done, since, crowded, stretches[index])) is not None
            ]
            measured.append(_measure(timed, index, timeline))
        for index, one in enumerate(group):
            found[one.key] = _loss(measured, index)
    return found


def collisions_found(
    scans: Sequence[Scans],
    colliding: Mapping[DatabaseKey, Sequence[str]],
    passes: Callable[[DatabaseKey], Sequence[Pass]],
    now: float,
) -> dict[DatabaseKey, Finding]:
    """The finding of each database that is `colliding` (`colliding_scans`), with its cost.
    `passes` gives the ended checksum passes of a database; asked for where scans collided."""
    disks = {each.disks for each in scans if each.key in colliding}
    crowded = [each for each in scans if each.disks in disks]
    losses = throughput_lost(crowded, {each.key: passes(each.key) for each in crowded}, now)
    return {key: scans_collide(names, losses[key].sentence) for key, names in colliding.items()}


class _Measured(NamedTuple):
    """`partners` are places in the group, as `_partners` finds them."""

    alone: float | None
    alone_passes: int
    together: float | None
    together_passes: int
    share: float
    partners: frozenset[int]


class _Timed(NamedTuple):
    """A pass whose runs are all known: `shared` is its time beside other scans."""

    event: int
    pages: int
    seconds: float
    shared: float
    runs: Sequence[Stretch]


class _Timeline:
    def __init__(self, stretches: Sequence[Sequence[Stretch]]) -> None:
        self._runs = sorted((run, index) for index, each in enumerate(stretches) for run in each)
        self._starts = [run[0] for run, _ in self._runs]
        self._longest = max((run[1] - run[0] for run, _ in self._runs), default=0.0)

    def beside(self, own: Stretch, index: int) -> Iterator[tuple[int, Stretch]]:
        first = bisect_left(self._starts, own[0] - self._longest)
        for place in range(first, bisect_left(self._starts, own[1])):
            run, other = self._runs[place]
            if other != index and run[1] > own[0]:
                yield other, run


class _Crowded:
    """The parts of a stretch of time in which two databases or more were scanned; the runs of each
    one are disjoint, so that any second one is of another."""

    def __init__(self, stretches: Iterable[Sequence[Stretch]]) -> None:
        edges = sorted(
            edge for each in stretches for run in each for edge in ((run[0], 1), (run[1], -1))
        )
        self._times = [time for time, _ in edges]
        self._crowded = [depth > 1 for depth in accumulate(step for _, step in edges)]
        lengths = (
            (after - before) * crowded
            for (before, after), crowded in zip(pairwise(self._times), self._crowded, strict=False)
        )
        self._before = [0.0, *accumulate(lengths)]

    def within(self, stretch: Stretch) -> float:
        return self._until(stretch[1]) - self._until(stretch[0])

    def _until(self, time: float) -> float:
        at = bisect_left(self._times, time)
        if at == 0:
            return 0.0
        return self._before[at - 1] + (time - self._times[at - 1]) * self._crowded[at - 1]


def _disks(state: State, settings: Settings) -> dict[DatabaseKey, Disks]:
    pools = {device: pool for pool, devices in settings.pools.items() for device in devices}
    found = {}
    for key, database in state.databases.items():
        host = state.hosts.get(database.computer)
        device = device_of(database, host.volumes if host is not None else {}, settings)
        if device is None or maintenance_model(database, settings) != "window":
            continue
        pool = pools.get(device)
        found[key] = ("", pool) if pool is not None else (database.computer, device)
    return found


def _by_disks(scans: Iterable[Scans]) -> list[list[Scans]]:
    groups: dict[Disks, list[Scans]] = {}
    for each in scans:
        groups.setdefault(each.disks, []).append(each)
    return [group for group in groups.values() if len(group) > 1]


def _stretches(scans: Scans, now: float) -> list[Stretch]:
    """Its runs, oldest first, the running one up to now."""
    found = [
        (run.start, run.end)
        for run in scans.runs
        if run.end is not None and -math.inf < run.start < run.end < math.inf
    ]
    if _at_work(scans, now):
        found.append((scans.runs[-1].start, now))
    return found


def _at_work(scans: Scans, now: float) -> bool:
    last = scans.runs[-1] if scans.runs else None
    return last is not None and last.end is None and 0 < now - last.start <= scans.stale_seconds


def _collide(one: Stretch, other: Stretch) -> bool:
    shared = min(one[1], other[1]) - max(one[0], other[0])
    shorter = min(one[1] - one[0], other[1] - other[0])
    return shared > 0 and shared >= SHARE * shorter


def _measure(timed: Sequence[_Timed], index: int, timeline: _Timeline) -> _Measured:
    shared = [each for each in timed if each.shared >= SHARE * each.seconds]
    event = (shared or timed)[-1].event if timed else 0
    alike = [each for each in shared if each.event == event]
    alone = [e for e in timed if e.shared <= ALONE * e.seconds and e.event == event]
    seconds = sum(each.seconds for each in alike)
    return _Measured(
        alone=_rate(alone),
        alone_passes=len(alone),
        together=_rate(alike),
        together_passes=len(alike),
        share=min(1.0, sum(each.shared for each in alike) / seconds) if seconds else 0.0,
        partners=_partners(alike, index, timeline),
    )


def _timed(done: Pass, since: float, crowded: _Crowded, own: Sequence[Stretch]) -> _Timed | None:
    start, end, seconds = done.started, done.ended, done.work_seconds
    pages = min(done.pages_seen or 0, MOST_PAGES)
    if start is None or end is None or seconds is None or start <= since:
        return None
    if pages <= 0 or not 0 < seconds < math.inf:
        return None
    mine = own[bisect_left(own, (start,)) : bisect_right(own, (end, math.inf))]
    mine = [run for run in mine if run[1] <= end]
    if not abs(sum(run[1] - run[0] for run in mine) - seconds) <= ACCOUNTED * seconds:
        return None
    return _Timed(done.completion_event, pages, seconds, sum(map(crowded.within, mine)), mine)


def _partners(timed: Iterable[_Timed], index: int, timeline: _Timeline) -> frozenset[int]:
    """The partner of these passes, or two of them: more are not distinguished."""
    found: set[int] = set()
    for each in timed:
        for run in each.runs:
            for other, _ in timeline.beside(run, index):
                found.add(other)
                if len(found) > 1:
                    return frozenset(found)
    return frozenset(found)


def _rate(timed: Sequence[_Timed]) -> float | None:
    seconds = sum(each.seconds for each in timed)
    return sum(each.pages for each in timed) / seconds if seconds > 0 else None


def _loss(measured: Sequence[_Measured], index: int) -> Loss:
    own = measured[index]
    share = own.share if own.together_passes else None
    if own.alone is None or own.together is None:
        # Both readings of the published table.
        rates = (PUBLISHED_TWO, PUBLISHED_TWO / 2)
        low, high = (1 - rate / PUBLISHED_ALONE for rate in rates)
        sentence = (
            f"{_missing(own)}; in published figures two scans at once are each {low:.0%} to"
            f" {high:.0%} slower"
        )
        return Loss(own.alone, own.together, share, sentence)
    both = None
    if len(own.partners) == 1:
        partner = measured[next(iter(own.partners))].together
        both = own.together + partner if partner is not None else None
    sentence = (
        f"its scan reads {own.alone:,.0f} pages a second alone"
        f" ({counted(own.alone_passes, 'pass', 'passes')}) and {own.together:,.0f} when others run"
        f" for {own.share:.0%} of the time ({counted(own.together_passes, 'pass', 'passes')}):"
        f" {_change(own.together, own.alone)}"
    )
    if both is not None:
        sentence += f"; the two together read {both:,.0f}: {_change(both, own.alone)} than it alone"
    return Loss(own.alone, own.together, share, sentence)


def _change(now: float, before: float) -> str:
    part = 1 - now / before
    return f"{abs(part):.0%} {'less' if part >= 0 else 'more'}"


def _missing(own: _Measured) -> str:
    if own.alone is None and own.together is None:
        why = "the pages, run time or runs of its completed passes are not all known"
    elif own.alone is None:
        why = f"it reads {own.together:,.0f} pages a second beside others, but never ran alone"
    else:
        why = f"it reads {own.alone:,.0f} pages a second alone, but never completed beside others"
    return f"the cost is not measured here ({why})"


GAP = 900.0
"""Seconds from the end of one scan to the start of the next."""
HORIZON = 7 * 86400.0
"""Openings that begin within these seconds are used."""
MINUTE = 60.0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A database to be scanned. Times are epoch seconds."""

    key: DatabaseKey
    disks: Disks | None
    """None when its device is not known: then nothing is advised."""
    model: Model
    window: Window | None
    defragmented: bool
    """Online defragmentation runs in them: the first half of each opening is its (P1)."""
    verified: float | None
    """Its latest verification, None for never: that goes first."""
    scan_seconds: Sequence[float]
    """Work seconds of its own completed scans."""


class ScanSlot(NamedTuple):
    key: DatabaseKey
    start: float
    end: float


class Unplaced(NamedTuple):
    key: DatabaseKey
    finding: Finding | None
    """That its scan does not fit; None where its duration or its allowed hours are not known."""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """The scans of one device or pool: `slots` by start, `unplaced` in the order of age."""

    slots: tuple[ScanSlot, ...]
    unplaced: tuple[Unplaced, ...]


def schedules(candidates: Iterable[Candidate], now: float) -> list[Schedule]:
    """A schedule for each device with two or more databases whose windows can be moved. Of
    databases with the same window none starts before one that was verified earlier."""
    groups: dict[Disks, list[Candidate]] = {}
    for each in candidates:
        if each.disks is not None and each.model == "window":
            groups.setdefault(each.disks, []).append(each)
    calendar = _Calendar(now)
    return [_schedule(group, calendar) for _, group in sorted(groups.items()) if len(group) > 1]


def p90(values: Iterable[float]) -> float | None:
    """The smallest of the values that nine in ten do not exceed; None without a usable one."""
    usable = sorted(value for value in values if math.isfinite(value) and value > 0)
    return usable[math.ceil(0.9 * len(usable)) - 1] if usable else None


class _Calendar:
    """The stretches of time that each window has for scans, from the next opening on."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._known: dict[str, list[Stretch]] = {}

    def key(self, window: Window, *, halved: bool) -> str:
        """Key of a window: equal for windows with the same hours for scans."""
        return repr((window.start, window.duration, window.days, window.timezone, halved))

    def stretches(self, window: Window, *, halved: bool) -> list[Stretch]:
        """The stretches in order, touching ones joined; none where the calendar has no such time.
        `halved`: the first half of each opening is not for scans."""
        key = self.key(window, halved=halved)
        if key not in self._known:
            self._known[key] = self._open(window, halved=halved)
        return self._known[key]

    def _open(self, window: Window, *, halved: bool) -> list[Stretch]:
        found: list[Stretch] = []
        at = self._now
        try:
            while True:
                opening = next_opening(window, at)
                at = opening.start
                if at > self._now + HORIZON:
                    return found
                begin = (at + opening.end) / 2 if halved else at
                if found and begin <= found[-1][1]:
                    found[-1] = (found[-1][0], max(found[-1][1], opening.end))
                else:
                    found.append((begin, opening.end))
        except (ValueError, OverflowError, OSError, StopIteration):
            return found


def _schedule(group: Sequence[Candidate], calendar: _Calendar) -> Schedule:
    slots: list[ScanSlot] = []
    unplaced: list[Unplaced] = []
    reached: dict[str, float] = {}
    for each in sorted(group, key=_oldest_first):
        need = p90(each.scan_seconds)
        if need is None or each.window is None:
            unplaced.append(Unplaced(each.key, None))
            continue
        need = math.ceil(need / MINUTE) * MINUTE
        hours = calendar.key(each.window, halved=each.defragmented)
        begin = reached.get(hours, -math.inf)
        open_for_it = calendar.stretches(each.window, halved=each.defragmented)
        free = _free(open_for_it, slots, begin)
        start = next((low for low, high in free if high - low >= need), None)
        if start is None:
            room = max((high - low for low, high in free), default=0.0)
            finding = scans_do_not_fit(need, room, halved=each.defragmented)
            unplaced.append(Unplaced(each.key, finding))
            continue
        slots.append(ScanSlot(each.key, start, start + need))
        slots.sort(key=lambda slot: slot.start)
        reached[hours] = start
    return Schedule(slots=tuple(slots), unplaced=tuple(unplaced))


def _oldest_first(candidate: Candidate) -> tuple[float, DatabaseKey]:
    verified = candidate.verified
    never = verified is None or not math.isfinite(verified)
    return (-math.inf if never else verified or 0.0, candidate.key)


def _free(stretches: Iterable[Stretch], slots: Sequence[ScanSlot], begin: float) -> list[Stretch]:
    """Free time within the stretches from `begin` on: without the sorted slots and the gap around
    each."""
    found = []
    for low, high in stretches:
        low = max(low, begin)
        for slot in slots:
            if slot.end + GAP <= low:
                continue
            if slot.start - GAP >= high:
                break
            if slot.start - GAP > low:
                found.append((low, slot.start - GAP))
            low = slot.end + GAP
        if low < high:
            found.append((low, high))
    return found
