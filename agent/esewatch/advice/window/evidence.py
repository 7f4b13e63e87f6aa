"""The evidence for a window's length, as of any moment of the kept history (semantics.md 6.1).

`Timeline` sums the history up once; `at` then answers for a moment, so that a verdict of a
week ago is derived and not stored.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import NormalDist

import msgspec

from esewatch.advice.base.finding import counted, moment, span
from esewatch.advice.base.time_at_work import Stretch, one_window, two_windows
from esewatch.advice.history.history import History, as_copy
from esewatch.advice.history.ledger import verification_deadline
from esewatch.advice.window.past_windows import Used, openings_used, restarts
from esewatch.config import Policy
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import DAY_SECONDS, Day, day_of, day_start
from esewatch.fold.state.state import Pass

PERIOD_DAYS = 28
LEAST_DAYS = 14.0
LEAST_COVERAGE = 0.9
SHARE_OF_PAGES = 0.1
CHANCE = 0.82
"""Of f pages freed the 90 % interval is from (sqrt f - 0.82)^2 to (sqrt(f + 1) + 0.82)^2."""
MOST_DIGITS = 12
MOST_PAGES = 1e11
"""Over a million pages a second all day long: damage."""
LONGEST_SILENCE = 7 * DAY_SECONDS
"""Without a start or end for this long, or two windows, its events are missing or it is off."""
SAMPLE_SLACK = 900.0
"""The last sample may be this old while sampling goes on."""
LOOK_BACK = 16 * DAY_SECONDS
"""The longest time before `now` that is needed: a week of verdicts, and the week before each."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The basis of a verdict. `missing` is empty when it is enough."""

    ratio: float | None = None
    """Sum of pages read over sum of pages freed. None: no counters, or nothing was freed."""
    shown: str = "none"
    """The ratio for people, see `ratio_text`."""
    pages_read: float = 0.0
    pages_freed: float = 0.0
    windows: int = 0
    """Openings that are over (days, where no window is configured) in which online defragmentation
    ran."""
    passes: int = 0
    days: float = 0.0
    """Whole ones."""
    counter_coverage: float = 0.0
    """Share of the run time of online defragmentation in which counters were sampled."""
    missing: tuple[str, ...] = ()
    """Sentences."""
    uncounted: bool = False
    """None of both counters was sampled while online defragmentation ran."""
    lacks_events: bool = False
    """More than counters is missing."""

    @property
    def lowest(self) -> float:
        """The least ratio that chance allows, 0 where no page was read."""
        return self.pages_read / (math.sqrt(self.pages_freed + 1.0) + CHANCE) ** 2

    @property
    def highest(self) -> float:
        """The largest ratio that chance allows; infinite where none need have been freed."""
        least = max(0.0, math.sqrt(self.pages_freed) - CHANCE) ** 2 if self.pages_freed else 0.0
        return self.pages_read / least if least else math.inf

    def beyond(self, limit: float) -> float:
        """The probability that the ratio is above `limit`, from 0 to 1.

        The square root of a count varies by a half (Anscombe 1948), so that `CHANCE` on both sides
        is nine tenths of it.
        """
        apart = math.sqrt(self.pages_read / limit) - math.sqrt(self.pages_freed)
        return NormalDist().cdf(2.0 * apart)


class Timeline:
    def __init__(self, history: History, policy: Policy, now: float) -> None:
        self.history = history
        self.policy = policy
        self.now = now
        self.period = period_days(history, policy) * DAY_SECONDS
        self.days = sorted(
            (
                day if is_plausible(day) else day._replace(pages_read=0.0, pages_freed=0.0)
                for day in history.days
            ),
            key=lambda day: day.day,
        )
        self._numbers = [each.day for each in self.days]
        self._read = [0.0, *accumulate(each.pages_read for each in self.days)]
        self._freed = [0.0, *accumulate(each.pages_freed for each in self.days)]
        self.runs = _sane_runs(history.defrag_runs)
        self.scan_runs = _sane_runs(history.scan_runs)
        self._ends = [_end(run) for run in self.runs]
        covered = [
            max(0.0, end - run.start - _unsampled(history, run.start, end))
            for run, end in zip(self.runs, self._ends, strict=True)
        ]
        self._lasted = [
            0.0,
            *accumulate(e - r.start for r, e in zip(self.runs, self._ends, strict=True)),
        ]
        self._covered = [0.0, *accumulate(covered)]
        since = now - LOOK_BACK - self.period
        self.openings = openings_used(history, self.runs, since, now)
        self._other_hours = restarts(self.openings)
        self._restarts = sorted([*self._other_hours, *_breaks(history)])
        self.scan_deadline = verification_deadline(as_copy(history, policy))
        self._known: dict[float, Evidence] = {}

    def begin(self, time: float) -> float:
        """Begin of the evidence for `time`: a noon, after the last break."""
        begin = day_start(day_of(time - self.period))
        broken = self.last_break(time)
        if math.isfinite(broken):
            begin = max(begin, _noon_after(broken))
        since = self.history.sampled_since
        if since is not None and begin < since <= time:
            # The day of the first sample is not whole.
            begin = max(begin, _noon_after(since))
        return begin

    def last_break(self, time: float) -> float:
        """The last moment up to `time` before which nothing counts, minus infinity without one."""
        at = bisect_right(self._restarts, time)
        return self._restarts[at - 1] if at else -math.inf

    def at(self, time: float) -> Evidence:
        """The evidence as of `time` (epoch seconds), of whole days and the present one."""
        known = self._known.get(time)
        if known is None:
            known = self._known[time] = self._gather(time)
        return known

    def completed(self, time: float, since: float = -math.inf) -> list[Pass]:
        return [
            done
            for done in self.history.defrag_passes
            if done.outcome == "completed" and done.ended is not None and since < done.ended <= time
        ]

    def running(self, passes: Iterable[Pass], time: float) -> Pass | None:
        found = [
            each
            for each in passes
            if each.started is not None
            and each.started <= time
            and (each.ended is None or each.ended > time)
        ]
        return found[-1] if found else None

    def openings_until(self, time: float, since: float = -math.inf) -> list[Used]:
        """The openings that began from `since` on and were over at `time`."""
        return [night for night in self.openings if since <= night.start and night.end <= time]

    def idle(self, runs: Sequence[Run], since: float, time: float) -> float:
        """Seconds up to `time` in which its machine was off, or windows passed with none of `runs`.

        A longer window does not fix that: the task is switched off, or its events are missing.
        `runs` are sorted.
        """
        begin, end = since, time
        stretches = [*self.history.off]
        longest = one_window(self.history.window)
        first = bisect_left(runs, since, key=lambda run: run.start)
        last = bisect_right(runs, time, key=lambda run: run.start)
        for run in runs[first:last]:
            stretches.append((since + longest, run.start))
            since = max(since, _end(run))
        stretches.append((since + longest, time))
        return sum(max(0.0, high - low) for low, high in _apart(stretches, begin, end))

    def _gather(self, time: float) -> Evidence:
        begin = self.begin(time)
        read, freed = self._sums(begin, time)
        history = self.history
        evidence = Evidence(
            ratio=read / freed if freed > 0 else None,
            shown=ratio_text(read / freed, self.policy) if freed > 0 else "none",
            pages_read=read,
            pages_freed=freed,
            windows=self._windows(begin, time),
            passes=len(self.completed(time, begin)),
            days=max(0.0, time - max(begin, history.first_seen)) // DAY_SECONDS,
            counter_coverage=self._coverage(begin, time),
        )
        none = evidence.counter_coverage == 0.0 and evidence.pages_read == 0.0
        evidence = msgspec.structs.replace(
            evidence, uncounted=none and not self._is_half_counted(begin, time)
        )
        events = [
            self._too_few_windows(evidence, begin, time),
            self._silent(time),
            self._too_short(evidence),
        ]
        counters = [
            self._no_counters(evidence, begin, time),
            self._too_few_pages(evidence),
            _badly_covered(evidence),
        ]
        missing = tuple(filter(None, (*events, *counters)))
        return msgspec.structs.replace(evidence, missing=missing, lacks_events=any(events))

    def _sums(self, begin: float, time: float) -> tuple[float, float]:
        """Pages read and freed from the noon `begin` up to `time`."""
        first = bisect_left(self._numbers, day_of(begin))
        last = bisect_left(self._numbers, math.ceil((time - day_start(0)) / DAY_SECONDS))
        if last <= first or self.history.sampled_since is None:
            return 0.0, 0.0
        return self._read[last] - self._read[first], self._freed[last] - self._freed[first]

    def _windows(self, begin: float, time: float) -> int:
        if self.history.window is not None:
            return sum(each.ran for each in self.openings_until(time, begin))
        return len({day_of(run.start) for run in self.runs if begin <= run.start <= time})

    def _coverage(self, begin: float, time: float) -> float:
        starts = bisect_left(self.runs, begin, key=lambda run: run.start)
        stops = bisect_right(self.runs, time, key=lambda run: run.start)
        if stops <= starts:
            return 0.0
        lasted = self._lasted[stops] - self._lasted[starts]
        covered = self._covered[stops] - self._covered[starts]
        last = self.runs[stops - 1]
        beyond = self._ends[stops - 1]
        if beyond > time:
            lasted -= beyond - time
            tail = beyond - time - _unsampled(self.history, time, beyond)
            covered -= max(0.0, tail)
        if lasted <= 0:
            # Only a run that began this very moment, or runs of no length.
            return float(_unsampled(self.history, last.start, last.start + 1.0) == 0.0)
        return min(1.0, max(0.0, covered / lasted))

    def _is_half_counted(self, begin: float, time: float) -> bool:
        """True if one counter alone was sampled while it ran."""
        alone = self.history.sampled_alone
        return any(
            low < end and run.start < high
            for run, end in zip(self.runs, self._ends, strict=True)
            if begin <= run.start <= time
            for low, high in alone
        )

    def _silent(self, time: float) -> str:
        runs = bisect_right(self.runs, time, key=lambda run: run.start)
        if not runs:
            return ""
        last = min(time, max(self._ends[:runs]))
        if time - last <= max(LONGEST_SILENCE, two_windows(self.history.window)):
            return ""
        return (
            f"No start or end of online defragmentation was logged after {moment(last)}:"
            " either it did not run, or its events are missing."
        )

    def _too_few_windows(self, evidence: Evidence, begin: float, time: float) -> str:
        asked = self.policy.min_windows
        if evidence.windows >= asked:
            return ""
        if not self.runs:
            return without_runs(self.history)
        unit = "maintenance windows" if self.history.window else "days"
        why = self._why_restarted(begin, time)
        so_far = f"{evidence.windows} so far{why}"
        return f"Advice needs {asked} {unit} with online defragmentation; {so_far}."

    def _why_restarted(self, begin: float, time: float) -> str:
        broken = self.last_break(time)
        if not math.isfinite(broken) or _noon_after(broken) != begin:
            return ""
        if broken in self.history.role_changes:
            why = "the role of the copy changed"
        elif broken in {gap[1] for gap in self.history.event_gaps}:
            why = "earlier events are missing"
        else:
            why = f"before, it {beside_its_time(self._other_hours[broken])}"
        return f", counted from {moment(broken)} ({why})"

    def _too_short(self, evidence: Evidence) -> str:
        if evidence.passes or evidence.days >= LEAST_DAYS:
            return ""
        of_time = any(done.task == "defrag" for done in self.history.untimed_passes)
        none = f"no completed pass{' of a known time' if of_time else ''}"
        return (
            f"Advice needs one completed pass, or {LEAST_DAYS:g} days of records; {none} and"
            f" {span(evidence.days * DAY_SECONDS)} so far."
        )

    def _no_counters(self, evidence: Evidence, begin: float, time: float) -> str:
        since = self.history.sampled_since
        ran = any(begin <= run.start <= time for run in self.runs)
        if (since is None or since > time) or (evidence.counter_coverage == 0.0 and ran):
            return (
                "The counters Online Defrag Pages Read/sec and Pages Freed/sec were not both"
                " sampled while online defragmentation ran, so there is no ratio."
            )
        return ""

    def _too_few_pages(self, evidence: Evidence) -> str:
        if evidence.counter_coverage == 0.0 and evidence.pages_read == 0.0:
            return ""
        asked = float(self.policy.min_pages_read)
        pages = self.history.pages
        if pages is not None and math.isfinite(pages):
            asked = max(asked, SHARE_OF_PAGES * pages)
        if evidence.pages_read >= asked:
            return ""
        return (
            f"Advice needs {asked:,.0f} pages read by online defragmentation;"
            f" {evidence.pages_read:,.0f} so far."
        )


def ratio_text(ratio: float, policy: Policy, form: str = ".1f") -> str:
    """The ratio with a decimal, or more of them: it is not rounded to or across a limit of the
    policy that it is compared with."""
    limits = (policy.ratio_low, policy.ratio_high)
    for text in (f"{ratio:{form}}", *(f"{ratio:.{digits}f}" for digits in range(2, MOST_DIGITS))):
        if all(_side(float(text), limit) == _side(ratio, limit) for limit in limits):
            return text
    return repr(ratio)


def _side(ratio: float, limit: float) -> int:
    return (ratio > limit) - (ratio < limit)


def beside_its_time(off: float) -> str:
    """`stopped 1 h before the end of its time in the configured window`; `off` as in `restarts`."""
    what, where = ("stopped", "before") if off < 0 else ("went on", "after")
    return f"{what} {span(abs(off))} {where} the end of its time in the configured window"


def _apart(stretches: Iterable[Stretch], begin: float, end: float) -> Iterator[Stretch]:
    """The time covered between `begin` and `end`, each moment once."""
    for low, high in sorted(stretches):
        low, high = max(low, begin), min(high, end)
        if low < high:
            yield low, high
            begin = high


def period_days(history: History, policy: Policy) -> int:
    """Days that the evidence covers: 28, more where windows are rare, at most 371."""
    window = history.window
    weekly = len(set(window.days)) if window is not None else 7
    weeks = math.ceil((policy.min_windows + 1) / max(1, weekly))
    return min(max(PERIOD_DAYS, 7 * weeks), 371)


def _badly_covered(evidence: Evidence) -> str:
    none = evidence.counter_coverage == 0.0 and evidence.pages_read == 0.0
    if none or evidence.counter_coverage >= LEAST_COVERAGE:
        return ""
    share = math.floor(100 * evidence.counter_coverage)
    return (
        f"Advice needs counters for {LEAST_COVERAGE:.0%} of the time that online defragmentation"
        f" ran; they cover {share}%."
    )


def is_plausible(day: Day) -> bool:
    """False for an impossible amount of pages: negative, NaN, huge."""
    return 0.0 <= day.pages_read <= MOST_PAGES and 0.0 <= day.pages_freed <= MOST_PAGES


def _sane_runs(runs: Iterable[Run]) -> list[Run]:
    sane = (run for run in runs if run.end is None or run.start <= run.end < math.inf)
    return sorted((run for run in sane if math.isfinite(run.start)), key=lambda run: run.start)


def _end(run: Run) -> float:
    """A run without an end lasts a day at most: no window is longer."""
    longest = run.start + DAY_SECONDS
    return longest if run.end is None else run.end


def _unsampled(history: History, start: float, end: float) -> float:
    """Seconds between `start` and `end` in which no counter was sampled; pieces may overlap."""
    since, until = history.sampled_since, history.sampled_until
    if since is None or until is None:
        return end - start
    gaps = [(-math.inf, since), *history.unsampled, (until + SAMPLE_SLACK, math.inf)]
    return sum(high - low for low, high in _apart(gaps, start, end))


def _breaks(history: History) -> list[float]:
    """Evidence starts again after a role change, or after events missing for longer than a
    window."""
    longest = one_window(history.window)
    lost = [end for begin, end, _ in history.event_gaps if end - begin > longest]
    return [time for time in (*lost, *history.role_changes) if math.isfinite(time)]


def _noon_after(time: float) -> float:
    begin = day_start(day_of(time))
    return begin if begin == time else begin + DAY_SECONDS


def intervals(passes: Sequence[Pass]) -> list[float]:
    """Seconds from the end of each pass to the end of the next."""
    ends = sorted(done.ended for done in passes if done.ended is not None)
    return [later - earlier for earlier, later in pairwise(ends)]


NOTHING = "The events have no start or end of online defragmentation (700-704)."
_DEFRAG = frozenset(range(700, 706))


def pass_figures(done: Pass) -> str:
    """`42,794 pages freed, 34 h 42 min of work, 7 runs over 4 days`; empty without figures."""
    took = done.work_seconds if done.work_seconds is not None else done.wall_seconds
    how = "of work" if done.work_seconds is not None else "from start to end"
    parts = (
        f"{counted(done.pages_freed, 'page')} freed" if done.pages_freed is not None else "",
        f"{counted(done.pages_seen, 'page')} seen" if done.pages_seen is not None else "",
        counted(done.bad_checksums, "bad checksum") if done.bad_checksums is not None else "",
        f"{span(took)} {how}" if took is not None else "",
        _runs(done),
    )
    return ", ".join(part for part in parts if part)


def without_runs(history: History) -> str:
    ended = [done for done in history.defrag_passes if done.outcome == "completed"]
    if ended:
        last = ended[-1]
        return (
            f"Online defragmentation completed at {moment(last.ended or 0.0)}{_told(last)}, but the"
            " events do not have its start."
        )
    without = [done for done in history.untimed_passes if done.task == "defrag"]
    if without:
        return f"Online defragmentation completed{_told(without[0])}, but its events have no time."
    if not _DEFRAG.isdisjoint(history.untimed):
        return "The times of online defragmentation are not known: its events have no time."
    if history.checksum_passes:
        return f"Of the tasks of the window, the events have only the database scan. {NOTHING}"
    return NOTHING


def _told(done: Pass) -> str:
    figures = pass_figures(done)
    return f" ({figures})" if figures else ""


def _runs(done: Pass) -> str:
    runs = counted(done.invocations, "run") if done.invocations is not None else ""
    over = f"over {counted(done.days, 'day')}" if done.days is not None else ""
    return f"{runs} {over}".strip()
