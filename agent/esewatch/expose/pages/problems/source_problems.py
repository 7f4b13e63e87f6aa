"""Problems of the sources: not read to the end, late, incomplete, or with a wrong clock."""

import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from esefiles.base.units import size
from esewatch.advice.base.finding import counted
from esewatch.advice.base.time_at_work import DAY, two_windows
from esewatch.config import PageScan, Settings, SourceSettings
from esewatch.expose.formatting import duration
from esewatch.expose.pages.problems.problem import Problem, listed_names
from esewatch.fold.channels.clock_guard import EARLIEST_NOW
from esewatch.fold.identity.entities import long_paths
from esewatch.fold.identity.identity import MAX_PATH
from esewatch.fold.state.state import Channel, SourceState, State

UNITS = ("/etc/systemd/system/esewatch.service", "/usr/lib/systemd/system/esewatch.service")

AHEAD_SECONDS = 300.0
"""A record may be this much later than this machine's clock: domains let clocks differ so far."""

MANY = 100
"""One wrong record among this many is no accident."""

_LOG_OF_WINDOWS = r"$env:ProgramData\esewatch\logs\esewatch.log"
"""As the installation sets it (docs/windows.md)."""

BEHIND_BYTES = 64 << 20
"""A source with less to read is done in seconds."""

PATIENCE = 2 * DAY
"""The wait for a snapshot where no window says when it is read."""

EMPTY_SECONDS = 3600.0
"""The wait for a log or counter source without data."""

SHOWN_OF_A_PATH = 60

GAP_DAYS = 28
"""Records that were missed longer ago are no longer reported."""

GROUPS = {
    "windows_log": "Add-LocalGroupMember -SID S-1-5-32-573 -Member 'NT SERVICE\\esewatch'",
    "windows_counters": "Add-LocalGroupMember -SID S-1-5-32-558 -Member 'NT SERVICE\\esewatch'",
}
"""Access rights for the account of the service (docs/windows.md), by type of source: Event Log
Readers, Performance Monitor Users, by number because their names are translated."""


def of_sources(state: State, settings: Settings, now: float) -> Iterator[Problem]:
    """Problems of each source and channel, and of the clock of this machine (`now`)."""
    if not settings.watches:
        yield Problem(
            problem="nothing_configured",
            sentence="no source of events or counters is configured, so no database is watched",
            setting="sources: [{type: evtx, path: '/logs/*.evtx'}]",
        )
    if now < EARLIEST_NOW:
        yield Problem(
            problem="clock_skew",
            sentence="the clock of this machine is before 2026, which cannot be",
            command="w32tm /resync" if sys.platform == "win32" else "timedatectl set-ntp true",
        )
    for entry in settings.sources:
        source = state.sources.get(entry.name)
        if source is not None:
            yield from _source(entry, source, settings, now)
    for _, channel in sorted(state.channels.items()):
        yield from _missed(channel, now)
    yield from _dropped(state, settings)


def _dropped(state: State, settings: Settings) -> Iterator[Problem]:
    if sentence := dropped_sentence(state):
        yield Problem(
            problem="databases_dropped",
            sentence=sentence,
            setting=f"max_databases: {2 * settings.max_databases}",
        )
    if sentence := long_path_sentence(state):
        yield Problem(problem="databases_dropped", sentence=sentence)


def dropped_sentence(state: State) -> str:
    long = long_paths(state)
    beyond = state.databases_dropped - len(long)
    if beyond <= 0:
        return ""
    pairs = {
        (computer, name) for computer, _, name in (key.partition("|") for key in state.dropped)
    }
    return (
        f"{counted(beyond, 'name')} not taken in, as max_databases is reached "
        "(databases, instances, devices, computers, channels, event ids): "
        f"{_some(pairs.difference(long))}"
    )


def long_path_sentence(state: State) -> str:
    long = long_paths(state)
    if not long:
        return ""
    begun = [(computer, f"{name[:SHOWN_OF_A_PATH]}…") for computer, name in long]
    return (
        f"{counted(len(long), 'database')} not taken in, as the path has more than {MAX_PATH:,} "
        "characters, so that nothing of it is watched; move it to a shorter path: "
        f"{_some(begun)}"
    )


def _some(pairs: Iterable[tuple[str, str]]) -> str:
    return listed_names(
        [f"{name} on {computer}" if name else computer for computer, name in sorted(pairs)]
    )


def _source(
    entry: SourceSettings, source: SourceState, settings: Settings, now: float
) -> Iterator[Problem]:
    if not source.up:
        yield Problem(
            problem="source_down",
            source=entry.name,
            sentence="it cannot be read; the log of esewatch says why",
            command=GROUPS.get(entry.type, _search_log(entry.name)),
        )
    elif not source.caught_up and source.backlog_bytes >= BEHIND_BYTES:
        yield Problem(
            problem="source_behind",
            source=entry.name,
            sentence=f"{size(source.backlog_bytes)} of it are not read yet: the data shown is old",
            needs_person=False,
        )
    if entry.type == "page_scan":
        yield from _snapshots(entry, source, settings, now)
    elif source.up and source.caught_up:
        waited = now - source.opened > EMPTY_SECONDS
        if not source.records and waited and entry.type not in ("disks", "kafka"):
            yield _empty(entry)
    yield from _clock(entry, source, now)
    if source.unreadable:
        # One torn record in a month of logs is no reason to get up.
        many = source.unreadable * MANY > source.records
        yield Problem(
            problem="unreadable_input",
            source=entry.name,
            sentence=f"{counted(source.unreadable, 'piece')} of its input could not be read: "
            "the log of esewatch names file and place",
            command=_search_log("unreadable"),
            needs_person=many,
        )


def _search_log(words: str) -> str:
    if sys.platform == "win32":
        text = words.replace("'", "''")
        return f"Select-String -SimpleMatch '{text}' \"{_LOG_OF_WINDOWS}\""
    if not any(Path(unit).exists() for unit in UNITS):
        return ""  # its log goes elsewhere
    return f"journalctl -u esewatch -g {shlex.quote(re.escape(words))}"


def _empty(entry: SourceSettings) -> Problem:
    counters = entry.type in ("perfmon_csv", "perfmon_blg", "prometheus", "windows_counters")
    what = (
        "it was read and has no counter of ESE: they are not collected, or have the names of a "
        "language that is not known here"
        if counters
        else "it was read and gave no record"
    )
    return Problem(
        problem="counters_foreign" if counters else "source_empty",
        source=entry.name,
        sentence=what,
        command='typeperf -q | findstr "==>"' if counters else "",
    )


def _snapshots(
    entry: PageScan, source: SourceState, settings: Settings, now: float
) -> Iterator[Problem]:
    window = settings.windows.get(entry.window) if entry.window else None
    allowed = two_windows(window) if window is not None else PATIENCE
    if not source.records:
        if now - source.opened > allowed:
            yield Problem(
                problem="snapshot_never",
                source=entry.name,
                sentence=f"no page was read in {duration(now - source.opened)}: nothing was at "
                f"{listed_names(entry.paths)} when it was due",
            )
    elif now - source.last_record > allowed:
        yield Problem(
            problem="snapshot_old",
            source=entry.name,
            sentence="the newest snapshot that it read is "
            f"{duration(now - source.last_record)} old: no new one is taken, or it is elsewhere",
        )


def _clock(entry: SourceSettings, source: SourceState, now: float) -> Iterator[Problem]:
    ahead = source.last_record - now
    if now < EARLIEST_NOW:
        return
    if ahead > AHEAD_SECONDS:
        zone = getattr(entry, "timezone", "told")
        why = "or its times are local ones and need `timezone`" if zone is None else ""
        yield Problem(
            problem="clock_skew",
            source=entry.name,
            sentence=f"its newest record is {duration(ahead)} later than the clock of this "
            f"machine: one of the clocks is wrong{', ' if why else ''}{why}",
            command="w32tm /resync",
        )
    if source.implausible:
        yield Problem(
            problem="clock_skew",
            source=entry.name,
            sentence=f"{counted(source.implausible, 'record')} had a time more than a day later "
            "than the clock of this machine, or of 1970 or before, and were read without it",
            command="w32tm /resync",
            needs_person=source.implausible * MANY > source.records,
        )


def _missed(channel: Channel, now: float) -> Iterator[Problem]:
    recent = [gap for gap in channel.gaps if gap[1] > now - GAP_DAYS * DAY]
    if recent:
        missing = sum(gap[2] for gap in recent)
        yield Problem(
            problem="records_missed",
            computer=channel.computer,
            sentence=f"{counted(missing, 'record')} of the log {channel.channel} were gone before "
            f"they were read, in the last {GAP_DAYS} days: the log is too small for the interval "
            "at which it is read, or files were removed",
        )
