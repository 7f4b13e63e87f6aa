"""The events of an instance of a current engine, Exchange 2013 and later.

Its database scan and B+tree defragmentation have events of their own; the others are those of
reports.py. `%2` names the state of the instance too. Sources: ese-facts 1.1, 1.5 and trap 2.
"""

from datetime import UTC, datetime
from typing import ClassVar, Final

import msgspec

from esefiles import __version__
from eselab.base.plan import Role
from eselab.base.programs import Generation
from eselab.logs.event_log import ERROR, INFORMATION, WARNING
from eselab.logs.reports import DEFRAG, PROCESS_ID, Reports, days, short_date
from eselab.logs.truth_entries import Told

THRESHOLD: Final = 7
"""Days after which a scan is late (parameter 172)."""

_HOUR: Final = 3600.0
_CONTEXT: Final = "0"
"""Of the operation: the engine has one thread."""


class BackgroundSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A completed background scan. Times are epoch seconds."""

    started: float
    ended: float
    pages_seen: int
    """Of the pass."""
    run_pages: int
    """Since the scan was last begun or resumed."""
    run_bad: int
    """Bad checksums since then."""
    free_bytes: int
    """On all record pages together."""
    record_pages: int


class TreeSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that was defragmented."""

    table: str
    started: float
    pages_visited: int
    pages_freed: int


class CurrentReports(Reports):
    """Reports of an instance whose database is in use."""

    _states: ClassVar = {102: "P", 300: "R", 105: "D", 103: "T"}
    """By event: the state that the instance is in from then on."""
    _state = "P"

    def maintenance_begun(self) -> None:
        """736: a new pass."""
        self._of_task(736)

    def maintenance_resumed(self, started: float, page: int) -> None:
        """738: the pass that began at `started` goes on with `page`."""
        self._of_task(738, str(page), short_date(started), self._days_since(started))

    def maintenance_running(self, started: float, pages_seen: int) -> None:
        """744: every six hours."""
        hours = int((self._clock.now() - started) // _HOUR)
        self._of_task(744, short_date(started), str(hours), str(pages_seen))

    def maintenance_completed(self, summary: BackgroundSummary, *, late: bool) -> None:
        """737, or 735: it took more days than it may."""
        told = self._scan_told(735 if late else 737, summary)
        told.free_bytes = summary.free_bytes // max(1, summary.record_pages) * summary.record_pages
        threshold = (days(summary.started, summary.ended), str(THRESHOLD)) if late else ()
        self._write(
            told,
            DEFRAG,
            self._database,
            date_and_time(summary.started),
            str(told.seconds),
            *threshold,
            str(summary.pages_seen),
            _stats(summary.run_pages, summary.run_bad),
            str(summary.free_bytes // max(1, summary.record_pages)),
            str(summary.record_pages),
            # There are no long values apart from records.
            "0",
            "0",
            level=WARNING if late else INFORMATION,
        )

    def maintenance_not_begun(self, error: int) -> None:
        """734."""
        self._of_task(734, str(error), level=ERROR)

    def tree_defragmented(self, summary: TreeSummary) -> None:
        """728. A table has one tree, of its name; merges are whole, and no page is moved."""
        told = self._told(728)
        told.pages_visited, told.pages_freed = summary.pages_visited, summary.pages_freed
        counts = (summary.pages_visited, summary.pages_freed, 0, 0)
        names = (summary.table, summary.table, short_date(summary.started))
        self._write(told, DEFRAG, self._database, *names, *map(str, counts))

    def _scan_told(self, event_id: int, summary: BackgroundSummary) -> Told:
        told = self._told(event_id)
        told.seconds = int(summary.ended - summary.started)
        told.pages_seen, told.bad_checksums = summary.pages_seen, summary.run_bad
        told.run_pages = summary.run_pages
        return told

    def _days_since(self, started: float) -> str:
        # Current engines take the time since the wrong date: it is always 1.
        return "1"

    def _write(self, told: Told, category: int, *strings: str, level: int = INFORMATION) -> None:
        self._state = self._states.get(told.event_id, self._state)
        process, _, instance = self._who
        of_process = f"{PROCESS_ID},{self._state},{_CONTEXT},{_version()}"
        self._who = (process, of_process, instance)
        super()._write(told, category, *strings, level=level)


class PassiveReports(CurrentReports):
    """Reports of an instance that replays the logs of another copy. 717 and 719 as in Reports."""

    _states: ClassVar = {102: "P", 300: "R", 105: "R", 103: "T"}

    def checksum_completed(self, summary: BackgroundSummary) -> None:
        """732: it counts no bad page, as in the published engine; 474 and the counters do."""
        told = self._scan_told(732, summary)
        told.bad_checksums = 0
        self._write(
            told,
            DEFRAG,
            self._database,
            date_and_time(summary.started),
            str(told.seconds),
            days(summary.started, summary.ended),
            str(summary.pages_seen),
            _stats(summary.run_pages, 0),
        )

    def checksum_late(self, started: float) -> None:
        """733: once a day while the pass takes more days than it may."""
        now = self._clock.now()
        so_far = (str(int(now - started)), days(started, now))
        self._of_task(733, short_date(started), *so_far, level=WARNING)

    def checksum_aborted(self, page: int, completed: float, run_pages: int) -> None:
        """745 at `page`: `completed` is the end of the last whole pass, 0: there was none.

        `run_pages` were read since it was last begun or resumed. It counts no bad page, as 732.
        """
        last = date_and_time(completed) if completed else "-"
        self._of_task(745, str(page), last, _stats(run_pages, 0))

    def checksum_given_up(self, completed: float) -> None:
        """746: the pass that was open will not go on. `completed` as above."""
        self._of_task(746, date_and_time(completed) if completed else "-")


def reports_of(generation: Generation, role: Role) -> type[Reports]:
    """The reports of an engine of this generation with such a copy."""
    if generation == "2007":
        return Reports
    return CurrentReports if role == "active" else PassiveReports


def date_and_time(time: float) -> str:
    """The US short date and the time of epoch seconds, in UTC: `6/16/2007 1:20:00 PM`."""
    at = datetime.fromtimestamp(time, UTC)
    return f"{short_date(time)} {at.hour % 12 or 12}:{at:%M:%S} {'AM' if at.hour < 12 else 'PM'}"


def _stats(pages: int, bad: int) -> str:
    return f"{pages}, {bad}"


def _version() -> str:
    major, minor, build = (int(part) for part in __version__.split("."))
    return f"{major:02}.{minor:02}.{build:04}.000"
