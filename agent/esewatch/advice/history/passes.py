"""The passes of a database: past ones scaled to its size, and signs of life of the running scan."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from esewatch.advice.history.ledger import Gap
from esewatch.fold.channels import hearing
from esewatch.fold.identity.identity import family
from esewatch.fold.passes.passes import TASKS, TaskSummary, TaskView
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.acknowledgements import failure, up_to
from esewatch.fold.state.rollups import DAY_SECONDS, HOUR_SECONDS
from esewatch.fold.state.state import Channel, Database, Instance, Pass, Transition

DAY = 86400.0
LATEST_PASSES = 16
"""Older passes ran on other disks and another database."""
LONGEST = 100 * 365 * DAY
"""Seconds: a longer time of work is damaged data."""
MOST = 2.0**63
_LEAST_DAYS = 7
"""Days that sizes must span before growth is computed."""


def scans_of(views: Mapping[str, TaskView]) -> list[Pass]:
    """Passes of checksums. An open zeroing pass is the running scan: one scan does both."""
    scans, zeroing = passes_of(views["checksum"]), views["zeroing"].current
    if zeroing is None:
        return scans
    if not scans or scans[-1].ended is not None:
        return [*scans, msgspec.structs.replace(zeroing, task="checksum")]
    if (zeroing.started or 0.0) <= (scans[-1].started or 0.0):
        return scans
    return [*scans[:-1], msgspec.structs.replace(zeroing, task="checksum")]


def passes_of(view: TaskView) -> list[Pass]:
    return [*view.passes, view.current] if view.current else view.passes


def pages_of(entry: Database, views: Mapping[str, TaskView]) -> float | None:
    """The size in pages, else the pages that the last whole scan saw that says how many."""
    if entry.size_bytes is not None and entry.page_size:
        return entry.size_bytes / entry.page_size
    whole = (done for done in reversed(views["checksum"].passes) if done.outcome == "completed")
    return next((float(done.pages_seen) for done in whole if done.pages_seen), None)


def failed_tasks(views: Mapping[str, TaskSummary], of: Database) -> list[str]:
    """Tasks of a database that ended with an error and have not completed since, without
    acknowledged ones."""
    found = []
    for task in TASKS:
        last = views[task].last_completed
        completed = (last.ended or 0.0) if last is not None else 0.0
        if (views[task].last_failed or 0.0) > max(completed, up_to(of, failure(task))):
            found.append(task)
    return found


class CompletedPass(NamedTuple):
    """One completed pass: its seconds, and the pages it saw (a scan only)."""

    seconds: float
    wall: bool
    """Seconds from start to end (732, 735, 737), not of work (semantics.md 2)."""
    ended: float
    pages: int | None


def whole_passes(
    passes: Sequence[Pass], runs: Sequence[Run], gaps: Sequence[Gap] = ()
) -> list[CompletedPass]:
    """The latest completed passes whose seconds are known, oldest first, all of one clock.

    Seconds that the engine did not log (701 and 703 before Exchange 2007 SP1) are the sum of the
    `runs`, unless records were missed meanwhile (`gaps`). Where work and wall seconds are mixed,
    the clock of the latest pass decides. Partial passes do not count.
    """
    found: list[CompletedPass] = []
    for each in passes:
        if each.outcome != "completed" or each.partial or each.ended is None:
            continue
        seconds = each.work_seconds if each.wall_seconds is None else each.wall_seconds
        if seconds is None and each.started is not None:
            begun, ended = each.started, each.ended
            if not any(first < ended and last > begun for first, last, _ in gaps):
                seconds = worked(runs, begun, ended) or None
        if seconds is not None and 0 <= seconds <= LONGEST:
            wall = each.wall_seconds is not None
            # The engine cuts off the fraction of a second.
            found.append(CompletedPass(seconds + 0.5, wall, each.ended, each.pages_seen))
    return [each for each in found if each.wall == found[-1].wall][-LATEST_PASSES:]


def worked(runs: Sequence[Run], since: float, until: float) -> float:
    """Seconds of `runs` between two times; a running one lasts to `until`."""
    return sum(
        max(0.0, min(until if run.end is None else run.end, until) - max(run.start, since))
        for run in runs
    )


def seconds_now(
    wholes: Sequence[CompletedPass], pages: float | None, sizes: Sequence[tuple[int, float]]
) -> list[float]:
    """The seconds each of `wholes` would take at the present size.

    `pages` are those of the database now, `sizes` (day since the epoch, bytes) by day. A scan is
    scaled to `pages` by the pages it saw, other work by the bytes of its day; without them it is
    taken as it was.
    """
    known = [each for each in sizes if is_amount(each[1])]
    return [each.seconds * _grown(each, pages, known) for each in wholes]


def growth(sizes: Sequence[tuple[int, float]]) -> float | None:
    """Bytes a day: the median of the slopes between days half the time apart. None where `sizes`
    (day, bytes; oldest first) span less than a week."""
    sizes = [each for each in sizes if is_amount(each[1])]
    if not sizes or sizes[-1][0] - sizes[0][0] < _LEAST_DAYS:
        return None
    apart = (sizes[-1][0] - sizes[0][0]) / 2
    days = [day for day, _ in sizes]
    slopes = []
    for day, size in sizes:
        later = bisect_left(days, day + apart)
        if later < len(sizes):
            slopes.append((sizes[later][1] - size) / (sizes[later][0] - day))
    return median(slopes)


def _grown(whole: CompletedPass, pages: float | None, sizes: Sequence[tuple[int, float]]) -> float:
    if is_amount(whole.pages) and is_amount(pages):
        return (pages or 0.0) / (whole.pages or 1.0)
    if not sizes:
        return 1.0
    # Without a size of that day the next one: growth before the first is not known.
    place = bisect_left(sizes, whole.ended / DAY - 0.5, key=lambda item: item[0])
    then, today = sizes[min(place, len(sizes) - 1)][1], sizes[-1][1]
    return today / then


def is_amount(value: float | None) -> bool:
    """True if it is a number of pages or bytes that a database can have."""
    return value is not None and 0 < value <= MOST


class Mark(NamedTuple):
    """Progress of the running pass: the pages it had seen at `time` (epoch seconds)."""

    time: float
    pages: float


MARKS = {738: "resume_page", 744: "pages_seen"}
"""Events that report the progress of the running scan, and the number that holds it."""
LATE_END = 735


def marks(transitions: Iterable[Transition], began: float | None) -> list[Mark]:
    """Progress marks of the running scan: 744 has the pages seen, 738 the page it resumes from."""
    if began is None:
        return []
    found = []
    for each in transitions:
        if each.event_id in MARKS and each.time >= began:
            pages = each.fields.get(MARKS[each.event_id])
            if pages is not None:
                found.append(Mark(each.time, pages))
    return found


def begun(scans: Sequence[Pass]) -> float | None:
    """Start of the running scan: where that is not known, the end of the one before it."""
    if not scans or scans[-1].outcome != "open":
        return None
    if scans[-1].started is not None:
        return scans[-1].started
    return max((done.ended for done in scans[:-1] if done.ended is not None), default=-math.inf)


def engine_threshold(transitions: Sequence[Transition]) -> float | None:
    """Seconds in which its engine wants a scan to complete, as the last 735 reported."""
    for each in reversed(transitions):
        if each.event_id == LATE_END and each.fields.get("threshold_days"):
            return each.fields["threshold_days"] * DAY_SECONDS
    return None


LOG = "application"
"""Channel in which ESE and ESENT log (ese-facts 1.1)."""
NOTICE = 744
"""Progress of a scan: every six hours, where the level of logging is medium or more."""
_SCAN_EVENTS = frozenset({*range(717, 727), *range(732, 739), *range(744, 748)})
_SCAN_COUNTERS = ("|database maintenance pages read", "|online maintenance (db scan) pages read")


class Liveness(NamedTuple):
    """Times are epoch seconds; None is unknown."""

    heard: Sequence[float] = ()
    """Times of records read of its computer's log, one an hour (fold/channels/hearing.py)."""
    told: float | None = None
    """Last time at which the running scan reported progress (744)."""
    role: str = ""
    """Role of the copies whose scans log like the running one did last: active or passive."""
    sampled: float | None = None


def times_heard(
    channels: Iterable[Channel], instances: Iterable[Instance], last: float
) -> list[float]:
    """Times of the records read of a computer's log, one an hour, sorted; of the last hour its
    beginning, as more records of it may come. Where they have no numbers they are known by the
    hours of its instances; `last` is the last record of all."""
    numbered = [time for each in channels if each.channel == LOG for time in each.heard]
    ends = {end for each in instances for end in hearing.hour_ends(each.hours)}
    times = sorted(numbered or {min(end, last) for end in ends})
    return [*times[:-1], *(time // HOUR_SECONDS * HOUR_SECONDS for time in times[-1:])]


def liveness(
    transitions: Sequence[Transition],
    begun: float | None,
    heard: Sequence[float],
    instance: Instance | None,
) -> Liveness:
    """The liveness of a database: its kept transitions, its running scan, and its computer
    (`times_heard`). `begun` is when the running scan began, or the one before it ended; None where
    none runs."""
    since, role = math.inf if begun is None else begun, ""
    told: float | None = None
    for each in transitions if begun is not None else ():
        if each.time >= since:
            told = each.time if each.event_id == NOTICE else told
            role = family(each.event_id) or role
    columns = instance.counters.items() if instance is not None else ()
    sampled = [
        column.last_time for key, column in columns if any(name in key for name in _SCAN_COUNTERS)
    ]
    return Liveness(heard=heard, told=told, role=role, sampled=max(sampled, default=None))


def scan_told(transitions: Sequence[Transition], passes: Iterable[Sequence[Pass]]) -> float | None:
    """Last report of any scan by an event: among the kept ones, else those of the `passes`. The
    last event of a pass may be a stop of its instance: that is no report of a scan."""
    kept = [each.time for each in transitions if each.event_id in _SCAN_EVENTS]
    older = [each.last_event for of_task in passes for each in of_task[-1:]]
    return kept[-1] if kept else max(older, default=None)
