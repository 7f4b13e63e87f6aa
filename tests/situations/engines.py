"""Event logs of running engines: what the service of a server writes while it works.

Ids, positions and formats are those of current and old engines; the strings of 102, 300, 326 and
the backups are as in real logs. A server here has the time zone UTC and American dates.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from tests.oracle.history import DAY, HOUR, History, Logged

BEGIN = datetime(2026, 3, 1, tzinfo=UTC).timestamp()
MINUTE = 60.0
PAGES = 6_553_600
"""200 GiB in pages of 32 KiB."""
SCAN_SECONDS = 56 * HOUR
"""Of a whole background scan of them, at about 1 MB/s."""
TIMINGS = "\n[1] 0.000621 +J(0)\n[2] 0.008132 +J(0)\n[3] 0.000047 +J(0)."


def day(number: float) -> float:
    """The time `number` days after the beginning, in whole seconds."""
    return BEGIN + round(number * DAY)


def short_date(time: float) -> str:
    """`3/9/2026`."""
    then = datetime.fromtimestamp(time, UTC)
    return f"{then.month}/{then.day}/{then.year}"


def date_and_time(time: float) -> str:
    """`3/9/2026 2:05:00 AM`."""
    then = datetime.fromtimestamp(time, UTC)
    return f"{short_date(time)} {then.hour % 12 or 12}:{then:%M:%S %p}"


class Engine:
    """One instance of the engine, and the records that it has written."""

    def __init__(
        self,
        computer: str,
        database: str,
        *,
        who: str,
        instance: str,
        provider: str = "ESENT",
        channel: str = "Application",
        version: tuple[str, str, str, str] = ("10", "00", "20348", "0000"),
        process: str = "1984,{},{}",
    ) -> None:
        self.computer, self.database = computer, database
        self.who, self.instance = who, f"{instance}: " if instance else ""
        self.provider, self.channel = provider, channel
        self.version, self.process = version, process
        self.passes = 100
        self.records: list[Logged] = []

    def log(
        self,
        time: float,
        event_id: int,
        *strings: object,
        state: str = "D",
        context: int = 50,
        level: Literal["error", "warning", "information"] = "information",
    ) -> None:
        """Write one record; `strings` from `%4` on."""
        head = (self.who, self.process.format(state, context), self.instance)
        self.records.append(
            Logged(time, self.computer, self.channel, self.provider, event_id, None,
                   (*head, *map(str, strings)), level)
        )  # fmt: skip

    def start(self, time: float, *, replay: bool = True) -> None:
        """The instance starts and attaches its database; 300 and 302 where logs are replayed."""
        self.log(time, 102, 0, *self.version, state="P", context=98)
        if replay:
            self.log(time + 1, 300, state="R", context=98)
            self.log(time + 6, 302, state="U", context=98)
        self.log(time + 7, 105, 0, 7, TIMINGS, context=0)
        self.log(time + 8, 326, 1, self.database, 0, TIMINGS, "0 0", "lgpos: 0")

    def start_passive(self, time: float) -> None:
        """The instance starts and replays for as long as its copy is passive: no 105, no 326."""
        self.log(time, 102, 0, *self.version, state="P", context=98)
        self.log(time + 1, 300, state="R", context=98)
        self.log(time + 2, 328, self.database, "(0x1D2C4,8,0)", 0, state="R", context=98)

    def stop(self, time: float, *, passive: bool = False) -> None:
        """The database is detached and the instance stops."""
        if not passive:
            self.log(time, 327, 1, self.database, 0, TIMINGS, "0 0", "", context=51)
        self.log(time + 2, 103, 0, TIMINGS, 0, state="T", context=97)

    def collect_garbage(self, time: float) -> None:
        """One pass of online defragmentation that finds nothing to free."""
        self.log(time, 700, self.database, context=0)
        self.passes += 1
        self.log(time, 701, self.database, 0, short_date(time), 0, 1, 1, self.passes, context=0)

    def scan(self, start: float, until: float = float("inf")) -> float:
        """A whole background scan of an active copy, as far as `until`; when it ends."""
        end = start + SCAN_SECONDS
        if start < until:
            self.log(start, 736, self.database)
        self.still_scanning(start, start, min(end, until))
        if end <= until:
            self.scanned(end, start, PAGES - 1)
        return end

    def still_scanning(self, begun: float, since: float, until: float) -> None:
        """What an active copy says every six hours after `since` of the scan begun at `begun`."""
        time = since + 6 * HOUR
        while time < until:
            share = min((time - begun) / SCAN_SECONDS, 1.0)
            self.log(time, 744, self.database, short_date(begun), int((time - begun) / HOUR),
                     int(PAGES * share))  # fmt: skip
            time += 6 * HOUR

    def scanned(self, time: float, begun: float, run_pages: int) -> None:
        """A background scan of an active copy is complete; its last run read `run_pages`."""
        self.log(time, 737, self.database, date_and_time(begun), int(time - begun), PAGES,
                 f"{run_pages}, 0", 4711, 3_900_000, 7020, 2_500_000)  # fmt: skip

    def scan_passive(self, start: float, until: float = float("inf")) -> float:
        """A whole scan of a passive copy in one run, as far as `until`; when it ends."""
        end = start + SCAN_SECONDS
        if start < until:
            self.log(start, 717, self.database, state="R", context=41)
        if end <= until:
            self.scanned_passive(end, start, PAGES - 1)
        return end

    def scanned_passive(self, time: float, begun: float, run_pages: int) -> None:
        """A scan of a passive copy is complete; its last run read `run_pages`."""
        self.log(time, 732, self.database, date_and_time(begun), int(time - begun),
                 max(1, int((time - begun) / DAY)), PAGES, f"{run_pages}, 0",
                 state="R", context=41)  # fmt: skip

    def snapshot(self, time: float, number: int) -> None:
        """A full backup by shadow copy: pages are not read by the engine."""
        logs = f"E00{number:08X}.log"
        self.log(time, 2005, number)
        self.log(time + 40, 2001, number)
        self.log(time + 42, 2003, number)
        self.log(time + 1800, 224, logs, logs)
        self.log(time + 1801, 2006, number)

    def stream(self, time: float, minutes: float, size: str, *, truncates: bool = True) -> float:
        """A full streaming backup: the engine reads every page; when it is complete."""
        folder = self.database.rpartition("\\")[0]
        last = time + minutes * MINUTE
        self.log(time, 210, context=60)
        self.log(time + 1, 220, self.database, size, context=60)
        self.log(last - 3, 221, self.database, context=60)
        self.log(last - 2, 223, f"{folder}\\edb0001A.log", f"{folder}\\edb0001B.log", context=60)
        if truncates:
            self.log(last - 1, 224, f"{folder}\\edb0001A.log", f"{folder}\\edb0001A.log",
                     context=60)  # fmt: skip
        else:
            self.log(last - 1, 225, context=60)
        self.log(last, 213, context=60)
        return last


def history(*engines: Engine, configuration: dict[str, object] | None = None) -> History:
    """What the engines wrote, numbered in each channel as the event log service does."""
    return History(
        tuple(_numbered(record for engine in engines for record in engine.records)),
        max(record.time for engine in engines for record in engine.records),
        configuration or {},
        complete_channels=True,
    )


def channels(told: History) -> dict[tuple[str, str], list[Logged]]:
    """The records of each channel of each computer, in their order."""
    found: dict[tuple[str, str], list[Logged]] = defaultdict(list)
    for record in told.records:
        if isinstance(record, Logged):
            found[record.computer, record.channel].append(record)
    return found


def _numbered(records: Iterable[Logged]) -> Iterable[Logged]:
    last: Counter[tuple[str, str]] = Counter()
    for record in sorted(records, key=lambda each: each.time):
        channel = record.computer, record.channel
        last[channel] += 1
        yield record._replace(record_id=52_000 + last[channel])
