"""What to do with the window of a database, where no counters are (semantics, section 6).

Where the text leaves a rule open, what docs/advice.md promises is read; such sentences are quoted
with (docs).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import ceil, floor
from typing import Any, NamedTuple

from tests.oracle.chronicle import Event
from tests.oracle.facts import seconds
from tests.oracle.history import DAY, HOUR
from tests.oracle.identity import is_nameless_snapshot, is_temporary
from tests.oracle.judgement import deadline
from tests.oracle.nights import (
    Run,
    Stretch,
    Work,
    configured,
    day_begin,
    length,
    nights,
    restarts,
    stretches,
)
from tests.oracle.passes import Completion
from tests.oracle.subject import Subject

Key = tuple[str, str]
QUARTER = 900.0
RULES = ("evidence", "bad_pages", "quiet", "backup", "late", "completes_often", "no_ratio")
"""Those of the table (docs) that need no counters, in its order."""
BACKUP_STARTS = frozenset({210, 211, 2005, 2008, 2009, 2010})
BACKUP_ENDS = frozenset({213, 2006, 214, 215, 226, 2002, 2004, 2007})
SHADOW_COPIES = 2000
"""The ids of their events are above."""


class Advice(NamedTuple):
    """What to do, which rule said so, and how long the window should be (0: not said)."""

    action: str
    rule: str = ""
    seconds: float = 0.0


def actions(
    subjects: Mapping[Key, Subject],
    events: Sequence[Event],
    configuration: Mapping[str, Any],
    now: float,
) -> dict[Key, str]:
    """The action of each database, that of its instance where it shares one.

    "An instance with several attached databases: ratio and window advice are per instance". What
    was moved or dismounted decides nothing, and a temporary database is none.
    "For those with the same window one advice is given: that of the database whose rule stands
    first in this table." (docs)
    """
    own = {key: Case(each, events, configuration, now).advice() for key, each in subjects.items()}
    found = {}
    for key, subject in subjects.items():
        attached = [
            (other, each)
            for other, each in subjects.items()
            if not is_nameless_snapshot(other[1])
            and not is_temporary(other[1])
            and each.computer == subject.computer
            and instance(each) == instance(subject) != ""
            and not (each.left or each.dismounted)
        ]
        group = [
            other
            for other, each in attached
            if own[other].rule
            and each.last_seen >= now - 28 * DAY
            and configured(each, configuration) == configured(subject, configuration)
        ]
        members = group if own[key].rule and group and len(attached) > 1 else [key]
        first = min(members, key=lambda k: (RULES.index(own[k].rule), -own[k].seconds, k)
                    if own[k].rule else (0, 0.0, k))  # fmt: skip
        found[key] = own[first].action
    return found


def instance(subject: Subject) -> str:
    """The name of the instance that it was last seen in; empty where it has none."""
    named = [e.instance for e in subject.owned if not e.instance.startswith("process ")]
    return named[-1] if named else ""


class Case:
    """One database, judged at one moment."""

    def __init__(
        self,
        subject: Subject,
        events: Sequence[Event],
        configuration: Mapping[str, Any],
        now: float,
    ) -> None:
        self.subject, self.configuration, self.now = subject, configuration, now
        self.window = configured(subject, configuration)
        self.policy: Mapping[str, Any] = configuration.get("policy") or {}
        self.runs = stretches(subject, range(700, 706), now)
        self.scans = stretches(subject, range(717, 728), now)
        done = [each for each in subject.copy.completions if each.event.when <= now]
        self.defrags = [each for each in done if each.task == "defrag"]
        self.checks = [each for each in done if each.task != "defrag"]
        work = Work(
            self.runs,
            self.scans,
            [each.event.when for each in self.defrags],
            [event.when for event in subject.owned if event.id == 705 and event.when <= now],
            [each.event.when for each in self.checks],
            backups(subject, events),
        )
        self.nights = nights(self.window, now - 44 * DAY, now, work)
        self.breaks = self.all_breaks()

    def all_breaks(self) -> list[float]:
        """Moments before which nothing counts.

        "evidence for advice restarts when a role changes". "After a gap of more than one window:
        ... advice is `insufficient_evidence`"; "the sums begin anew" (docs).
        """
        longest = length(self.subject, self.configuration)
        gaps = [gap.end for gap in self.subject.gaps if gap.end - gap.begin > longest]
        changes = [event.when for event in self.subject.copy.changes]
        found = [*gaps, *changes, *restarts(self.nights)]
        return sorted(each for each in found if each <= self.now)

    @property
    def begin(self) -> float:
        """Since when evidence counts: "Days begin at noon UTC" (docs)."""
        begin = day_begin(self.now - 28 * DAY)
        if self.breaks:
            noon = day_begin(self.breaks[-1])
            begin = max(begin, noon if noon == self.breaks[-1] else noon + DAY)
        return begin

    def advice(self) -> Advice:
        """The first rule that says something decides (docs)."""
        subject = self.subject
        if subject.model != "window" or subject.tier != "watched":
            return Advice("not_applicable")
        if subject.role == "passive" and not self.runs and not self.scans and not self.checks:
            # "`passive` of a copy of Exchange 2007 that nothing maintains" (docs).
            return Advice("not_applicable")
        lasts = seconds(self.window.get("duration", "")) or 0.0
        if self.lacks_evidence():
            return Advice("insufficient_evidence", "evidence")
        recent = any(event.time > self.now - 7 * DAY for event in subject.standing_io_errors)
        if subject.known.pages or subject.known.damage or recent:
            return Advice("keep", "bad_pages", lasts)
        if self.quiet():
            return Advice("keep", "quiet", lasts)
        if self.conflicts():
            return Advice("move", "backup", lasts)
        factor = self.late()
        if factor:
            return self.changed("grow", "late", factor)
        factor = self.quick()
        if factor:
            return self.changed("shrink", "completes_often", factor)
        return Advice("insufficient_evidence", "no_ratio")

    def lacks_evidence(self) -> bool:
        """Whether the events alone are too few.

        "whole windows only: OLD ran in at least 7 windows, and one whole pass or 14 days". "no
        start or end for 7 days (two windows, if that is more)" (docs).
        """
        ran = [run for run in self.runs if run[0] <= self.now]
        if self.window:
            over = [night for night in self.nights if night.end <= self.now]
            used = sum(night.ran and self.begin <= night.start for night in over)
        else:
            used = len({day_begin(run[0]) for run in ran if run[0] >= self.begin})
        silence = self.now - min(self.now, max([end(run) for run in ran], default=0.0))
        two = 7 * DAY
        whole = any(each.event.when > self.begin for each in self.defrags)
        days = self.now - max(self.begin, self.subject.first_seen)
        return used < 7 or silence > two or not (whole or days >= 14 * DAY)

    def quiet(self) -> bool:
        """Whether it is "Quiet ... for 14 days after ... an engine upgrade, a role change".

        "An upgrade is another version of the engine than any that its instance had before. ...
        The last of its four parts is left out". (docs)
        """
        times = [event.when for event in self.subject.copy.changes]
        known: set[tuple[int, ...]] = set()
        for event in self.subject.life:
            version = engine(event)
            if version and version not in known:
                times += [event.when] if known else []
                known.add(version)
        return any(self.now - 14 * DAY < each <= self.now for each in times)

    def conflicts(self) -> bool:
        """Whether a "conflict with backup (the stops coincide with it)" is seen.

        "in three of the last seven openings a backup stopped online defragmentation or the scan
        before its time, or kept defragmentation waiting for 15 minutes" (docs).
        """
        over = [night for night in self.nights if night.end <= self.now]
        return sum(night.hindered for night in over[-7:]) >= 3

    def late(self) -> float:
        """By what factor "a scan or OLD pass [is] late against its deadline"; 0 where it is not."""
        limit = seconds(self.policy.get("defrag_complete_within", "14d")) or 14 * DAY
        waited = self.waited(self.defrags, (700, 702), self.runs)
        if waited > limit:
            return waited / limit
        if not any(self.begin <= run[0] <= self.now for run in self.scans):
            return 0.0
        waited = self.waited(self.checks, range(717, 721), self.scans)
        limit = deadline(self.subject, self.now)
        return waited / limit if waited > limit else 0.0

    def waited(
        self,
        done: Sequence[Completion],
        starts: Iterable[int],
        runs: Sequence[Run],
    ) -> float:
        """How long no pass completed: since the last completion, else since the first start.

        A resume is no start, but the pass was under way then.

        "left out when the machine was off and windows in which that task is not known to have run"
        (docs)
        """
        known = [each.event.when for each in done][-1:] or [
            event.when for event in self.subject.owned if event.id in starts
        ][:1]
        if not known:
            return 0.0
        since = max([*known, *self.breaks])
        idle = self.subject.off(since, self.now)
        reached, longest = since, length(self.subject, self.configuration)
        for run in [*(run for run in runs if since <= run[0] <= self.now), (self.now, None)]:
            if run[0] > reached + longest:
                idle.append((reached + longest, run[0]))
            reached = max(reached, end(run))
        return self.now - since - together(idle, since, self.now)

    def quick(self) -> float:
        """By what factor less is enough where it "completes every <= 2 days"; 0 where it does not.

        "three times or more, by the mean to a tenth of a day, the last of them at most three days
        ago"; "mean time between two completions / 3 days" (docs).
        """
        done = [each.event.when for each in self.defrags if each.event.when > self.begin]
        if len(done) < 3 or self.now - done[-1] > 3 * DAY:
            return 0.0
        mean = round((done[-1] - done[0]) / (len(done) - 1) / DAY, 1)
        return max(mean, 0.05) / 3 if mean <= 2 else 0.0

    def changed(self, action: str, rule: str, factor: float) -> Advice:
        """The length that a change comes to; `keep` where nothing is left of it.

        "at most halve or double; never under max(1 h, 15 min + twice the p90 need of the scan when
        it is on ...). Steps of 15 minutes."
        """
        lasts = seconds(self.window.get("duration", "")) or 0.0
        if not self.window:
            return Advice(action, rule)
        if action == "grow":
            wanted = min(up(lasts * min(factor, 2)), down(2 * lasts), DAY)
            wanted = max(lasts, wanted)
        else:
            over = [n for n in self.nights if self.begin <= n.start and n.end <= self.now]
            needs = sorted(night.scanned for night in over if night.scanned > 0)
            floor_ = HOUR
            if needs:
                floor_ = max(HOUR, up(QUARTER + 2 * needs[ceil(0.9 * len(needs)) - 1]))
            wanted = min(lasts, max(down(lasts * factor), up(lasts / 2), floor_))
        return Advice(action if wanted != lasts else "keep", rule, wanted)


def end(run: tuple[float, float | None]) -> float:
    """When a run ended; one that goes on lasts a day at most."""
    return run[0] + DAY if run[1] is None else run[1]


def up(length: float) -> float:
    """To the next quarter of an hour."""
    return ceil(length / QUARTER) * QUARTER


def down(length: float) -> float:
    """To the quarter of an hour before."""
    return floor(length / QUARTER) * QUARTER


def together(found: Iterable[Stretch], begin: float, until: float) -> float:
    """The seconds of `begin` to `until` that lie in any of these."""
    total, reached = 0.0, begin
    for low, high in sorted(found):
        low, high = max(low, reached), min(high, until)
        if low < high:
            total += high - low
            reached = high
    return total


def engine(event: Event) -> tuple[int, ...]:
    """The first three parts of the version of the engine that an event tells; empty without one.

    "Event 102 names the version when an instance starts, every event of a current Exchange server
    does so too." (docs)
    """
    parts = [event.at(n) for n in (5, 6, 7)] if event.id == 102 else []
    if not all(parts) or not parts:
        told = event.at(2).split(",")
        parts = told[3].split(".")[:3] if len(told) > 3 else []
    return tuple(int(each) for each in parts)


def backups(subject: Subject, events: Sequence[Event]) -> list[Stretch]:
    """When backups ran that concern it.

    "Of a backup counts when it ran, streaming or shadow copy, completed or failed. One whose events
    name no instance is of all instances of its process." (docs)
    """
    programs = {f"process {event.process}" for event in subject.owned}
    found: list[Stretch] = []
    for key, is_shadow in product({*subject.instances, *programs}, (False, True)):
        begun: float | None = None
        for event in events:
            if event.computer != subject.computer or event.instance != key or event.tool:
                continue
            if (event.id > SHADOW_COPIES) != is_shadow:
                # The engine freezes nothing while a streaming backup runs, which goes on.
                continue
            if event.id in BACKUP_STARTS:
                begun = event.when
            elif begun is not None and event.id in BACKUP_ENDS:
                found.append((begun, event.when))
                begun = None
    return sorted(found)
