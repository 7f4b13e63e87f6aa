"""A schedule that scans the databases of a device one after the other.

The database verified longest ago goes first. Each scan lies within an opening of the database's
own configured window, in its second half where online defragmentation has the first one; a scan
that does not fit in the next seven days is a finding.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from esewatch.advice.base.finding import Finding, scans_do_not_fit
from esewatch.advice.base.maintenance_model import Model
from esewatch.advice.findings.scan_collisions import Disks, Stretch
from esewatch.config import Window
from esewatch.config.calendar import next_opening
from esewatch.fold.state.database_state import DatabaseKey

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
