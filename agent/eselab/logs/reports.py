"""The events of one instance, with the parameters of the real ones by position.

Ids, parameters, severities and categories are those of the engine's message table, in the
generation of Exchange 2007 (ese-facts 1.3, 1.4, 1.6-1.8): dates are US short dates, days
whole ones and at least 1, seconds whole ones.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from esefiles import __version__
from eselab.base.clock import Clock
from eselab.base.trouble import ERRORS, Kind, SlowRequest, Trouble
from eselab.logs.event_log import ERROR, INFORMATION, WARNING, EventLog
from eselab.logs.truth_entries import DamageKind, Told

DAY: Final = 86400.0
GENERAL: Final = 1
PAGE_CACHE: Final = 2
LOGGING: Final = 3
PERFORMANCE: Final = 7
DEFRAG: Final = 10

PROCESS_ID: Final = "4242"
"""The same in every run: the same seed gives the same bytes."""

_DAMAGE: Final[dict[Kind, tuple[int, DamageKind]]] = {
    "corrected": (399, "corrected"),
    "correction_failed": (398, "checksum"),
    "checksum": (474, "checksum"),
    "wrong_page": (475, "wrong_page"),
    "no_data": (476, "no_data"),
    "lost_flush": (530, "lost_flush"),
}


class DefragSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A completed pass of online defragmentation. Times are epoch seconds."""

    pages_freed: int
    started: float
    ended: float
    seconds: float
    """That it ran, over all invocations."""
    invocations: int
    completions: int
    """Passes in the life of the database, this one included."""
    first_started: float
    """Start of the first pass in the life of the database."""


class ScanSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A completed checksum scan. Times are epoch seconds; `seconds` over all invocations."""

    started: float
    ended: float
    seconds: float
    invocations: int
    pages_seen: int
    bad_checksums: int
    uninitialized: int


class ZeroingSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A completed scan that zeroed pages. `deleted` are records, the others pages."""

    scan: ScanSummary
    unchanged: int
    unused: int
    used: int
    deleted: int


class Reports:
    """Reports of one instance with one database: a Watcher, and a method for each event."""

    def __init__(
        self,
        event_log: EventLog,
        clock: Clock,
        *,
        process: str,
        instance: str,
        database: str,
        number: int,
    ) -> None:
        """`process` and `instance` are names, `database` its path, `number` the instance's."""
        self._log = event_log
        self._clock = clock
        self._who = (process, PROCESS_ID, f"{instance}: ")
        self._instance = instance
        self._database = database
        self._number = str(number)

    def instance_starting(self) -> None:
        """102."""
        version = [*__version__.split("."), "0"]
        self._of_instance(102, GENERAL, self._number, *version)

    def instance_started(self, seconds: float) -> None:
        """105: it took so long."""
        self._of_instance(105, GENERAL, self._number, str(int(seconds)))

    def recovery_begun(self) -> None:
        """300."""
        self._of_instance(300, LOGGING)

    def log_replayed(self, log: str) -> None:
        """301: this file, by its path."""
        self._of_instance(301, LOGGING, log)

    def recovery_done(self) -> None:
        """302."""
        self._of_instance(302, LOGGING)

    def database_created(self, seconds: float) -> None:
        """325: it took so long."""
        self._attached_or_not(325, seconds)

    def database_attached(self, seconds: float) -> None:
        """326: it took so long."""
        self._attached_or_not(326, seconds)

    def database_detached(self, seconds: float) -> None:
        """327: it took so long."""
        self._attached_or_not(327, seconds)

    def instance_stopped(self) -> None:
        """103."""
        self._of_instance(103, GENERAL, self._number)

    def defrag_begun(self) -> None:
        """700: a new pass."""
        self._of_task(700)

    def defrag_resumed(self, started: float) -> None:
        """702: the pass that began at `started` goes on."""
        self._of_task(702, short_date(started), self._days_since(started))

    def defrag_completed(self, summary: DefragSummary, *, resumed: bool) -> None:
        """701, or 703 when the pass had been `resumed`."""
        event_id = 703 if resumed else 701
        told = self._told(event_id)
        told.seconds, told.invocations = int(summary.seconds), summary.invocations
        told.pages_freed = summary.pages_freed
        self._write(
            told,
            DEFRAG,
            self._database,
            str(summary.pages_freed),
            short_date(summary.started),
            str(told.seconds),
            str(summary.invocations),
            days(summary.started, summary.ended),
            str(summary.completions),
            days(summary.first_started, summary.ended),
        )

    def defrag_interrupted(self) -> None:
        """704: the window ended, or the instance stops."""
        self._of_task(704)

    def defrag_failed(self, error: int) -> None:
        """705."""
        self._of_task(705, str(error), level=WARNING)

    def scan_begun(self) -> None:
        """717: a new pass."""
        self._of_task(717)

    def scan_resumed(self, started: float) -> None:
        """719: the pass that began at `started` goes on."""
        self._of_task(719, short_date(started), self._days_since(started))

    def scan_completed(self, summary: ScanSummary) -> None:
        """721."""
        self._scanned(self._told(721), summary)

    def scan_interrupted(self) -> None:
        """725: the window ended, or the instance stops."""
        self._of_task(725)

    def scan_failed(self, error: int, seconds: float) -> None:
        """723: after so long."""
        self._of_task(723, str(error), str(int(seconds)), level=WARNING)

    def zeroing_begun(self) -> None:
        """718: a new pass."""
        self._of_task(718)

    def zeroing_resumed(self, started: float) -> None:
        """720: the pass that began at `started` goes on."""
        self._of_task(720, short_date(started), self._days_since(started))

    def zeroing_completed(self, summary: ZeroingSummary) -> None:
        """722. There are no long values apart from records, so no chunks of them either."""
        told = self._told(722)
        counts = (summary.unchanged, summary.unused, summary.used, summary.deleted, 0)
        told.zeroed = (*counts, summary.scan.uninitialized)
        self._scanned(told, summary.scan, *map(str, counts))

    def zeroing_interrupted(self) -> None:
        """726: the window ended, or the instance stops."""
        self._of_task(726)

    def zeroing_failed(self, error: int, seconds: float) -> None:
        """724: after so long."""
        self._of_task(724, str(error), str(int(seconds)), level=WARNING)

    def backup_begun(self, size: int) -> None:
        """210, and 220 of the database, of so many bytes."""
        self._of_instance(210, LOGGING)
        self._of_backup(220, self._database, f"{size / 2**20:g} Mb")

    def backup_completed(self) -> None:
        """221 of the database, and 213."""
        self._of_backup(221, self._database)
        self._of_instance(213, LOGGING)

    def backup_failed(self, error: int) -> None:
        """217 of the database, and 214."""
        code = f"{error} (0x{error & 0xFFFFFFFF:08x})"
        self._of_backup(217, code, self._database, level=ERROR)
        self._write(self._told(214, named=False), LOGGING, code, level=ERROR)

    def backup_aborted(self) -> None:
        """215: whom it was made for asked to end it."""
        self._write(self._told(215, named=False), LOGGING, level=ERROR)

    def page_error(self, trouble: Trouble) -> None:
        """398, 399, 474, 475, 476 or 530 (see trouble.Watcher)."""
        event_id, kind = _DAMAGE[trouble.kind]
        told = self._told(event_id)
        told.page, told.kind = trouble.number, kind
        level = WARNING if trouble.kind == "corrected" else ERROR
        place = (self._database, *_place(trouble.offset, trouble.bytes))
        self._write(told, PAGE_CACHE, *place, *_damage(trouble), level=level)

    def slow_request(self, slow: SlowRequest) -> None:
        """507 or 508 first, 509 or 510 later (see trouble.Watcher)."""
        again = slow.others is not None
        event_id = (509 if again else 507) + (slow.operation == "write")
        told = self._told(event_id, named=slow.file == self._database)
        told.operation, told.seconds = slow.operation, int(slow.seconds)
        told.others = slow.others or 0
        later = [str(told.others), str(int(slow.since or 0))] if again else []
        strings = (slow.file, *_place(slow.offset, slow.bytes), str(told.seconds), *later)
        self._write(told, PERFORMANCE, *strings, level=WARNING)

    def _scanned(self, told: Told, summary: ScanSummary, *zeroed: str) -> None:
        """721, or 722 with what was zeroed."""
        told.seconds, told.invocations = int(summary.seconds), summary.invocations
        told.pages_seen, told.bad_checksums = summary.pages_seen, summary.bad_checksums
        told.begun = summary.started
        self._write(
            told,
            DEFRAG,
            self._database,
            short_date(summary.started),
            str(told.seconds),
            str(summary.invocations),
            days(summary.started, summary.ended),
            str(summary.pages_seen),
            str(summary.bad_checksums),
            str(summary.uninitialized),
            *zeroed,
        )

    def _days_since(self, started: float) -> str:
        return days(started, self._clock.now())

    def _of_instance(self, event_id: int, category: int, *strings: str) -> None:
        self._write(self._told(event_id, named=False), category, *strings)

    def _of_backup(self, event_id: int, *strings: str, level: int = INFORMATION) -> None:
        self._write(self._told(event_id), LOGGING, *strings, level=level)

    def _attached_or_not(self, event_id: int, seconds: float) -> None:
        # The only database of its instance is its first.
        self._write(self._told(event_id), GENERAL, "1", self._database, str(int(seconds)))

    def _of_task(self, event_id: int, *strings: str, level: int = INFORMATION) -> None:
        self._write(self._told(event_id), DEFRAG, self._database, *strings, level=level)

    def _told(self, event_id: int, *, named: bool = True) -> Told:
        database = self._database if named else ""
        return Told(event_id=event_id, instance=self._instance, database=database)

    def _write(self, told: Told, category: int, *strings: str, level: int = INFORMATION) -> None:
        self._log.append(told, level=level, category=category, strings=(*self._who, *strings))


def short_date(time: float) -> str:
    """The US short date of epoch seconds, in UTC: `6/16/2007`."""
    date = datetime.fromtimestamp(time, UTC)
    return f"{date.month}/{date.day}/{date.year}"


def days(started: float, ended: float) -> str:
    """Whole elapsed days, at least 1."""
    return str(max(1, int((ended - started) // DAY)))


def _place(offset: int, size: int) -> tuple[str, str]:
    return f"{offset} (0x{offset:016x})", f"{size} (0x{size:08x})"


def _page(number: int) -> str:
    return f"{number} (0x{number:X})"


def _checksums(blocks: tuple[int, ...]) -> str:
    return f"[{':'.join(f'{block:016x}' for block in blocks)}]"


def _damage(trouble: Trouble) -> tuple[str, ...]:
    """The parameters from `%7` on."""
    code = ERRORS[trouble.kind]
    error, page = f"{code} (0x{code & 0xFFFFFFFF:08x})", _page(trouble.number)
    match trouble.kind:
        case "corrected":
            return str(trouble.bit), page
        case "correction_failed":
            return error, str(trouble.bit), page
        case "checksum":
            return error, _checksums(trouble.stored), _checksums(trouble.computed), page
        case "wrong_page":
            stored = trouble.written_as if trouble.written_as is not None else 0
            return error, page, _page(stored)
        case "no_data":
            return error, page
        case "lost_flush":
            types = str(trouble.flush_type), str(trouble.expected_type)
            return error, page, types[0], "-", types[1], "-"
