"""What to do with the window of a database, where no counters are (semantics, section 6)."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from tests.oracle.facts import number, seconds
from tests.oracle.history import DAY, HOUR
from tests.oracle.judgement import WINDOW, deadline, unknown_since
from tests.oracle.subject import Subject

Window = tuple[float, float]
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
BACKUPS = frozenset({210, 211, 2005, 2008, 2009, 2010})


def configured(subject: Subject, configuration: Mapping[str, Any]) -> Mapping[str, Any]:
    """The window of the database as configured; empty where none is."""
    windows = configuration.get("windows") or {}
    found: Mapping[str, Any] = windows.get(subject.entry.get("window"), {})
    return found


def length(subject: Subject, configuration: Mapping[str, Any]) -> float:
    """From one of its windows to the end of the next, at most."""
    window = configured(subject, configuration)
    lasts = seconds(window.get("duration", ""))
    if lasts is None:
        return WINDOW
    days = [DAYS.index(str(each).lower()[:3]) for each in window.get("days", DAYS)]
    pauses = [b - a for a, b in pairwise([*sorted(days), min(days) + 7])]
    return max(pauses) * DAY + lasts


def whole_windows(window: Mapping[str, Any], begin: float, end: float) -> list[Window]:
    """The windows that lie whole in `begin` to `end`.

    "A window is a local start and an elapsed duration, also across a change of the clock." Without
    a configured one: the days from noon to noon, UTC.
    """
    zone = ZoneInfo(str(window.get("timezone", "UTC")))
    clock = re.match(r"(\d+):(\d+)", str(window.get("start", "12:00")))
    assert clock
    lasts = seconds(window.get("duration", "1d")) or DAY
    days = [str(each).lower()[:3] for each in window.get("days", DAYS)]
    found: list[Window] = []
    date = datetime.fromtimestamp(begin, UTC).date() - timedelta(days=2)
    while True:
        start = datetime(
            date.year, date.month, date.day, int(clock[1]), int(clock[2]), tzinfo=zone
        ).timestamp()
        if start > end:
            return found
        if start >= begin and start + lasts <= end and DAYS[date.weekday()] in days:
            found.append((start, start + lasts))
        date += timedelta(days=1)


def runs(subject: Subject) -> list[Window]:
    """When online defragmentation ran; one whose start or end was not seen is its event alone."""
    stops = [event for event in subject.life if event.id in (102, 103, 104)]
    mine = [event for event in subject.owned if event.id in (327, *range(700, 706))]
    found: list[Window] = []
    begun: float | None = None
    for event in sorted({*stops, *mine}, key=lambda each: each.order):
        if event.id in (700, 702):
            if begun is not None:
                found.append((begun, begun))
            begun = event.when
        elif event.id in (102, 103, 104, 327):
            if begun is not None:
                found.append((begun, begun if event.id == 102 else event.when))
            begun = None
        else:
            found.append((begun if begun is not None else event.when, event.when))
            begun = None
    if begun is not None:
        found.append((begun, begun))
    return found


def action(subject: Subject, configuration: Mapping[str, Any], now: float) -> str:
    """The advice: the first rule of section 6 that matches and asks for no counters."""
    if subject.model != "window" or subject.tier != "watched":
        return "not_applicable"
    lasts = length(subject, configuration)
    if unknown_since(subject, lasts) is not None:
        return "insufficient_evidence"
    changes = [event.when for event in subject.copy.changes]
    begin = max([now - 28 * DAY, subject.first_seen, *changes])
    window = configured(subject, configuration)
    windows = whole_windows(window, begin, now)
    ran = runs(subject)
    used = [each for each in windows if any(a <= each[1] and b >= each[0] for a, b in ran)]
    passes = [e for e in subject.copy.completions if e.task == "defrag" and e.event.when >= begin]
    whole = any(each.start_seen and each.begin and each.begin[0] >= begin for each in passes)
    if len(used) < 7 or not (whole or used[-1][1] - used[0][0] >= 14 * DAY):
        return "insufficient_evidence"
    found = first_match(subject, configuration, now, used)
    return "keep" if found in ("move", "grow", "shrink") and quiet(subject, now) else found


def first_match(
    subject: Subject, configuration: Mapping[str, Any], now: float, used: list[Window]
) -> str:
    """The first match of the rules that ask for no counters; else nothing can be said."""
    recent = any(event.time > now - 7 * DAY for event in subject.io_errors)
    if subject.known.pages or subject.known.damage or recent:
        return "keep"
    if conflicts(subject, used):
        return "move"
    if late(subject, configuration, now):
        return "grow"
    if quick(subject, now) and may_shrink(subject, configuration, now):
        return "shrink"
    return "keep" if quick(subject, now) else "insufficient_evidence"


def conflicts(subject: Subject, used: list[Window]) -> bool:
    """Whether "the stops coincide with" a backup, in three of the last seven windows."""
    backups = [event.when for event in subject.life if event.id in BACKUPS]
    stops = [event.when for event in subject.owned if event.id == 704]
    met = [
        any(
            each[0] <= stop <= each[1] and any(-60 <= stop - b <= 900 for b in backups)
            for stop in stops
        )
        for each in used[-7:]
    ]
    return sum(met) >= 3


def late(subject: Subject, configuration: Mapping[str, Any], now: float) -> bool:
    """Whether "a scan or OLD pass [is] late against its deadline", in time at work."""
    if now - subject.first_seen < 14 * DAY:
        return False
    policy = configuration.get("policy") or {}
    limit = seconds(policy.get("defrag_complete_within", "14d")) or 14 * DAY
    done = [e.event.when for e in subject.copy.completions if e.task == "defrag"]
    begun = [e.when for e in subject.owned if 700 <= e.id <= 705]
    if begun and subject.worked(done[-1] if done else begun[0], now) > limit:
        return True
    scans = [e.event.when for e in subject.copy.completions if e.task != "defrag"]
    seen = [e.when for e in subject.owned if 717 <= e.id <= 726]
    return bool(seen) and subject.worked(scans[-1] if scans else seen[0], now) > deadline(subject)


def quick(subject: Subject, now: float) -> bool:
    """Whether it "completes every <= 2 days": each time in the last 28 days, and up to now."""
    done = [e.event.when for e in subject.copy.completions if e.task == "defrag"]
    done = [each for each in done if each >= now - 28 * DAY]
    times = [*done, now]
    return len(done) >= 3 and all(b - a <= 2 * DAY for a, b in pairwise(times))


def may_shrink(subject: Subject, configuration: Mapping[str, Any], now: float) -> bool:
    """Whether a step down stays above the floor.

    "never under max(1 h, 15 min + twice the p90 need of the scan when it is on) ... Steps of 15
    minutes."
    """
    needs = sorted(
        number(event.at(6)) or 0
        for event in subject.owned
        if event.id in (721, 722) and event.when >= now - 28 * DAY
    )
    floor = HOUR
    if needs:
        floor = max(floor, 900.0 + 2 * needs[min(len(needs) - 1, int(0.9 * len(needs)))])
    lasts = seconds(configured(subject, configuration).get("duration", "")) or 4 * HOUR
    return lasts - 900 >= floor


def quiet(subject: Subject, now: float) -> bool:
    """Whether advice is "quiet for 14 days after ... an engine upgrade, a role change"."""
    if any(event.when > now - 14 * DAY for event in subject.copy.changes):
        return True
    versions = [
        (event.when, tuple(event.at(n) for n in range(5, 9)))
        for event in subject.life
        if event.id == 102
    ]
    return any(
        earlier[1] != later[1] and later[0] > now - 14 * DAY
        for earlier, later in pairwise(versions)
    )
