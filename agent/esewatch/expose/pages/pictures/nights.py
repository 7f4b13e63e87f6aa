"""Activity of the last nights, usage of the window, course of the ratio: values, drawn by `draw`.
A night lasts from noon to noon in the window's time zone (UTC without a window), so it may have 23
or 25 hours."""

import datetime
import math
import zoneinfo
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import Literal, NamedTuple, get_args

import msgspec

from esewatch.advice.base.time_at_work import Stretch, two_windows
from esewatch.advice.history.history import History
from esewatch.advice.window.evidence import is_plausible
from esewatch.advice.window.past_windows import backup_spans
from esewatch.advice.window.window import WindowAdvice
from esewatch.config.calendar import CALENDAR, Opening, next_opening
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import DAY_SECONDS, day_of, day_start
from esewatch.fold.state.state import Pass

Kind = Literal["window", "defrag", "scan", "backup", "unknown"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""`unknown`: events are missing or not read, or nothing was heard yet: there may have been more
than is shown."""
NIGHTS = 14
MOST_SPANS = (6, 4, 2)
"""Of one kind in a night; the nearest are taken together beyond it. As many of these as are enough
to keep all nights under `MOST_IN_ALL`: a picture must stay small."""
MOST_IN_ALL = 120
_DAY = datetime.timedelta(days=1)


class Span(NamedTuple):
    """Part of a night, epoch seconds: `runs` stretches of together `seconds`."""

    start: float
    end: float
    seconds: float
    runs: int = 1


class Stop(NamedTuple):
    """Work that ended before its pass was complete (704, 725, 726, 745, 746, an instance stopped).
    `failed`: it ended with an error."""

    time: float
    kind: Kind
    failed: bool = False


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One night, epoch seconds. `spans` has those of each kind, sorted, apart from each other."""

    start: float
    end: float
    spans: Mapping[Kind, tuple[Span, ...]]
    stops: tuple[Stop, ...] = ()

    def share(self, time: float) -> float:
        """Part of the night before `time`, 0 to 1."""
        return min(1.0, max(0.0, (time - self.start) / (self.end - self.start)))


class Nights(msgspec.Struct, frozen=True, kw_only=True):
    """The last nights, oldest first; `now` is in the last one. None where `now` is damaged."""

    zone: str
    now: float
    nights: tuple[Night, ...] = ()

    def any_of(self, kind: Kind) -> bool:
        return any(night.spans[kind] for night in self.nights)


def nights(history: History, now: float) -> Nights:
    """The last 14 nights of one database as of `now` (epoch seconds). Of a night without a record
    of its log it is not known what ran."""
    zone = history.window.timezone if history.window is not None else "UTC"
    if not CALENDAR[0] + 2 * NIGHTS * 86400 <= now <= CALENDAR[1]:
        return Nights(zone=zone, now=now)
    noons = _noons(zoneinfo.ZoneInfo(zone), now)
    spans = spans_of(history, noons[0], noons[-1], now)
    heard = history.heard
    unheard = [each for each in pairwise(noons) if heard and not _holds(heard, *each)]
    spans["unknown"] = _joined([*spans["unknown"], *unheard], noons[0], min(now, noons[-1]))
    stops = _stops(history, now)
    found: list[Night] = []
    for most in MOST_SPANS:
        found = [
            Night(
                start=start,
                end=end,
                spans={kind: tuple(_within(spans[kind], start, end, most)) for kind in KINDS},
                stops=tuple(stop for stop in stops if start < stop.time <= end),
            )
            for start, end in pairwise(noons)
        ]
        if sum(len(each) for night in found for each in night.spans.values()) <= MOST_IN_ALL:
            break
    return Nights(zone=zone, now=now, nights=tuple(found))


def _holds(heard: Sequence[Stretch], start: float, end: float) -> bool:
    return any(first < end and last >= start for first, last in heard)


def spans_of(
    history: History, since: float, until: float, now: float
) -> dict[Kind, list[tuple[float, float]]]:
    """(start, end) of each kind between two times, sorted, disjoint. Running work lasts to `now` or
    as long as its log was read, or until it was not heard of for two windows (7 days)."""
    stale = two_windows(history.window)
    lost = [(first, last) for first, last, _ in history.event_gaps]
    if history.first_seen > 0:
        lost.append((since, history.first_seen))
    if history.unread_since is not None:
        lost.append((history.unread_since, now))
    known = min(now, until)
    read = min(known, history.unread_since or known)
    return {
        "window": _joined(openings(history, since, until), since, until),
        "defrag": _joined(_ended(history.defrag_runs, history.defrag_passes, stale), since, read),
        "scan": _joined(_ended(history.scan_runs, history.checksum_passes, stale), since, read),
        "backup": _joined(backup_spans(history), since, read),
        "unknown": _joined(lost, since, known),
    }


def openings(history: History, since: float, until: float) -> list[Opening]:
    """Those of the window that are open between two times, oldest first; other models have none."""
    window = history.window
    if history.model != "window" or window is None or not window.days:
        return []
    found = []
    opening = next_opening(window, since - window.duration - 1.0)
    while opening.start < until:
        found.append(opening)
        opening = next_opening(window, opening.start)
    return found


def _noons(zone: zoneinfo.ZoneInfo, now: float) -> list[float]:
    """The 15 noons around the last 14 nights."""
    local = datetime.datetime.fromtimestamp(now, zone)
    last = local.date() + (_DAY if local.hour >= 12 else 0 * _DAY)
    days = [last - ago * _DAY for ago in range(NIGHTS, -1, -1)]
    return [datetime.datetime.combine(day, datetime.time(12), zone).timestamp() for day in days]


def _ended(runs: Iterable[Run], passes: Sequence[Pass], stale: float) -> list[tuple[float, float]]:
    """Every run with an end: an open one ends when its pass was last heard of."""
    heard = passes[-1].last_event if passes and passes[-1].outcome == "open" else -math.inf
    return [
        (run.start, max(run.start, heard) + stale if run.end is None else run.end) for run in runs
    ]


def _joined(
    spans: Iterable[tuple[float, float]], since: float, until: float
) -> list[tuple[float, float]]:
    """Those between two times, cut to it; what overlaps is one. Damaged times are left out."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(each for each in spans if each[0] <= each[1]):
        if end < since or start > until:
            continue
        start, end = max(start, since), min(end, until)
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _within(
    spans: Sequence[tuple[float, float]], start: float, end: float, most: int
) -> list[Span]:
    """The part of one night, at most so many: over the shortest pauses they are taken together."""
    found = [
        (max(first, start), min(last, end))
        for first, last in spans
        if first < end and (last > start or first >= start)
    ]
    pauses = sorted(range(1, len(found)), key=lambda at: found[at - 1][1] - found[at][0])
    cuts = [0, *sorted(pauses[: most - 1]), len(found)]
    return [
        Span(found[a][0], found[b - 1][1], sum(last - first for first, last in found[a:b]), b - a)
        for a, b in pairwise(cuts)
        if a < b
    ]


def _stops(history: History, now: float) -> list[Stop]:
    failures = set(history.failures)
    found = set()
    tasks: tuple[tuple[Kind, Sequence[Run], Sequence[Pass]], ...] = (
        ("defrag", history.defrag_runs, history.defrag_passes),
        ("scan", history.scan_runs, history.checksum_passes),
    )
    for kind, runs, passes in tasks:
        done = {each.ended for each in passes if each.outcome == "completed"}
        for run in runs:
            if run.end is not None and run.start <= run.end <= now and run.end not in done:
                found.add(Stop(run.end, kind, run.end in failures))
    return sorted(found)


USED_BY: tuple[Kind, ...] = ("defrag", "scan", "backup")
LOOK_BACK = 8 * 7 * DAY_SECONDS
"""Of a window of one day a week too some openings are seen."""
RATIO_DAYS = 28
SUMMED_DAYS = 7
NOON = datetime.time(12)


class Use(NamedTuple):
    """Usage of a window by `kind`: `seconds`, beginning `after` seconds, in the median opening."""

    kind: Kind
    after: float
    seconds: float


class WindowUse(msgspec.Struct, frozen=True, kw_only=True):
    """A window on a day of 24 hours that begins at the local time `axis`. Lengths in seconds."""

    zone: str
    axis: datetime.time
    start: datetime.time
    after: float
    """From the begin of the axis to the window's start."""
    configured: float
    recommended: float | None = None
    openings: int = 0
    """The openings behind `used`: the last ones that are over and miss no events."""
    used: tuple[Use, ...] = ()


class RatioDay(NamedTuple):
    """Sums of the seven days up to the noon `end` (epoch seconds, UTC)."""

    end: float
    read: float
    freed: float

    @property
    def ratio(self) -> float | None:
        """Pages read for each one freed; infinite when none was freed, None when none was read."""
        if self.read <= 0:
            return None
        return self.read / self.freed if self.freed > 0 else math.inf


def window_use(history: History, advice: WindowAdvice | None, now: float) -> WindowUse | None:
    """The window of one database as of `now`; None where the model has none, or none is known."""
    window = history.window
    if history.model != "window" or window is None:
        return None
    recommended = advice.recommended_seconds if advice is not None else None
    if recommended is not None and not 0 < recommended <= DAY_SECONDS:
        recommended = None
    length = max(window.duration, recommended or 0.0)
    after = (_seconds(window.start) - _seconds(NOON)) % DAY_SECONDS
    beyond = after + length > DAY_SECONDS
    number, used = _used(history, now)
    return WindowUse(
        zone=window.timezone,
        axis=window.start if beyond else NOON,
        start=window.start,
        after=0.0 if beyond else after,
        configured=window.duration,
        recommended=recommended,
        openings=number,
        used=used,
    )


def ratio_days(history: History, now: float) -> list[RatioDay]:
    """The last 28 days, oldest first, since both counters are sampled; none without them."""
    since = history.sampled_since
    if since is None or not CALENDAR[0] <= now <= CALENDAR[1]:
        return []
    known = {each.day: each for each in history.days if is_plausible(each)}
    today = day_of(now)
    found = []
    for day in range(today - RATIO_DAYS + 1, today + 1):
        last = [known[each] for each in range(day - SUMMED_DAYS + 1, day + 1) if each in known]
        if day_start(day + 1) > since:
            read = sum(each.pages_read for each in last)
            found.append(RatioDay(day_start(day + 1), read, sum(d.pages_freed for d in last)))
    return found


def _used(history: History, now: float) -> tuple[int, tuple[Use, ...]]:
    if not CALENDAR[0] + LOOK_BACK <= now <= CALENDAR[1]:
        return 0, ()
    since = now - LOOK_BACK
    spans = spans_of(history, since, now, now)
    over = [
        each
        for each in openings(history, since, now)
        if since <= each.start
        and each.end <= now
        and not any(start < each.end and end > each.start for start, end in spans["unknown"])
    ][-NIGHTS:]
    used = []
    for kind in USED_BY:
        taken, after = [], []
        for start, end in over:
            parts = [(max(a, start), min(b, end)) for a, b in spans[kind] if a < end and b > start]
            taken.append(sum(b - a for a, b in parts))
            after += [parts[0][0] - start] if parts else []
        usual = median(taken) if taken else 0.0
        if usual > 0 and history.window is not None:
            usual = min(usual, history.window.duration)
            used.append(Use(kind, min(median(after), history.window.duration - usual), usual))
    return len(over), tuple(used)


def _seconds(clock: datetime.time) -> float:
    return clock.hour * 3600.0 + clock.minute * 60.0
