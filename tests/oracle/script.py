"""The words of invented histories: programs, and events in the forms that engines give them."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from random import Random
from typing import Literal, NamedTuple

from tests.oracle.history import DAY

Level = Literal["critical", "error", "warning", "information"]
Generation = Literal["old", "esent", "ese"]

WARNINGS = frozenset({399, 705, 733, 735, 905, 911, 613, 614, 643, 507, 508, 509, 510, 532, 533})
ERRORS = frozenset(
    {*range(474, 477), 398, 447, 448, 467, 481, 482, 551, 516, 530, *range(537, 546), 549, 550}
    | {556, 557, 559, 560, 566, 568, 569, 570, 734, 104, 214, 215, 217, 218, 222}
)


def date(time: float) -> str:
    """A short date of a US system, in UTC: `6/16/2007`."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment.month}/{moment.day}/{moment.year}"


def stamp(time: float) -> str:
    """Date and time: `6/16/2007 1:02:03 AM`."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{date(time)} {moment.hour % 12 or 12}:{moment.strftime('%M:%S %p')}"


def page(number: int) -> str:
    """A page number: `17 (0x11)`."""
    return f"{number} (0x{number:X})"


def days(since: float, until: float) -> str:
    """Whole days that have passed, at least one."""
    return str(max(1, int((until - since) // DAY)))


@dataclass(frozen=True)
class Place:
    """A database in a program on a server."""

    server: int
    provider: str
    channel: str
    process: str
    generation: Generation
    instance: str
    """Its display name; empty where it has none."""
    path: str
    pid: int = 3392

    def who(self) -> tuple[str, str, str]:
        """`%1` to `%3`."""
        ids = str(self.pid)
        if self.generation != "old":
            ids += ",D,50"
        if self.generation == "ese":
            ids += ",15.02.0986.005"
        return self.process, ids, f"{self.instance}: " if self.instance else ""

    def by(self, process: str) -> "Place":
        """Another program, without an instance, at the same file."""
        return replace(self, process=process, instance="", pid=7788)


class Draft(NamedTuple):
    """A record before it has a number."""

    time: float
    server: int
    channel: str
    provider: str
    event_id: int
    strings: tuple[str, ...]
    level: Level


class Move(NamedTuple):
    """A switchover: another copy is the active one from now on."""

    time: float
    before: Place
    after: Place


@dataclass
class Script:
    """What is being written."""

    rng: Random
    drafts: list[Draft] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)

    def log(self, place: Place, time: float, event_id: int, *rest: str, level: str = "") -> None:
        """One event of a program."""
        severity: Level = "information"
        if event_id in WARNINGS or level == "warning":
            severity = "warning"
        if event_id in ERRORS or level == "error":
            severity = "error"
        if level == "critical":
            severity = "critical"
        strings = (*place.who(), *rest)
        self.drafts.append(
            Draft(time, place.server, place.channel, place.provider, event_id, strings, severity)
        )

    def on(self, place: Place, time: float, event_id: int, *rest: str) -> None:
        """One event that names the database in `%4`."""
        path = place.path
        if self.rng.random() < 0.02 and path[1:2] == ":":
            path = self.rng.choice([path.upper(), path.lower(), "\\\\?\\" + path])
        self.log(place, time, event_id, path, *rest)

    def start(self, place: Place, time: float, version: str = "0") -> None:
        """The instance starts and attaches the database."""
        self.log(place, time, 102, "0", "15", "02", version, "0")
        self.log(place, time + 4, 326, "1", place.path, "0", "[1] 0.0", "0 0")
        self.log(place, time + 5, 105, "0", "1", "[1] 0.0")

    def stop(self, place: Place, time: float) -> None:
        """The instance detaches the database, or not so, and stops."""
        if self.rng.random() < 0.5:
            self.log(place, time - 3, 327, "1", place.path, "0", "[1] 0.0", "0 0")
        if self.rng.random() < 0.1:
            self.log(place, time, 104, "0", "-1090", "[1] 0.0")
        else:
            self.log(place, time, 103, "0", "[1] 0.0", "0")

    def defrag_done(
        self, place: Place, time: float, start: float, resumed: bool, work: int = 0
    ) -> None:
        """701 or 703; `work`: the seconds that it took, else half of those that have passed."""
        rng = self.rng
        freed = str(rng.randint(900, 2400))
        if "ntds" in place.path.lower():
            freed = "0"
        seconds = str(work or int((time - start) / 2))
        rest = [freed, date(start), seconds, str(rng.randint(1, 9))]
        rest += [days(start, time), str(rng.randint(1, 90))]
        if resumed and place.generation == "old" and rng.random() < 0.5:
            rest.append("73")
        if place.generation == "old" and rng.random() < 0.1:
            rest = []
        self.on(place, time, 703 if resumed else 701, *rest)

    def scan_done(
        self,
        place: Place,
        time: float,
        start: float,
        bad: int = 0,
        zeroing: bool = False,
        *,
        pages: int = 0,
        work: int = 0,
    ) -> None:
        """721 or 722, of a database of so many pages and so many seconds of work, or of any."""
        pages = pages or self.rng.randint(100_000, 6_000_000)
        seconds = work or self.rng.randint(200, 3000)
        rest = [date(start), str(seconds), "2", days(start, time)]
        if self.rng.random() < 0.15:
            rest[0] = "16.06.2007"
        rest += [str(pages), str(bad), "72682"]
        if zeroing:
            rest += ["4379723", "33759", "1210764", "57214", "0"]
        self.on(place, time, 722 if zeroing else 721, *rest)

    def active_done(
        self,
        place: Place,
        time: float,
        start: float,
        run: int | None,
        bad: int = 0,
        *,
        pages: int = 0,
    ) -> None:
        """735 where it took more than seven days, else 737; `run`: percent of the last run."""
        pages = pages or self.rng.randint(50_000, 900_000)
        statistics = "-, -" if run is None else f"{pages * run // 100 - 1}, {bad}"
        wall = str(int(time - start))
        free = ["812", "41000", "1200", "9000"]
        if time - start > 7 * DAY:
            threshold = str(self.rng.choice([7, 7, 7, 14]))
            rest = [stamp(start), wall, days(start, time), threshold, str(pages), statistics]
            self.on(place, time, 735, *rest, *free)
        else:
            self.on(place, time, 737, stamp(start), wall, str(pages), statistics, *free)

    def passive_done(
        self, place: Place, time: float, start: float, run: int | None, pages: int = 0
    ) -> None:
        """732."""
        pages = pages or self.rng.randint(50_000, 900_000)
        statistics = "-, -" if run is None else f"{pages * run // 100 - 1}, 0"
        rest = [stamp(start), str(int(time - start)), days(start, time), str(pages), statistics]
        self.on(place, time, 732, *rest)

    def skipped(self, place: Place, time: float) -> None:
        """747."""
        self.on(place, time, 747, "4096", " / 90000 = 4.5", page(20_000), page(24_096))

    def bad_page(self, place: Place, time: float, event_id: int, number: int) -> None:
        """One of 398, 399, 474-476, 530, 544, 727."""
        where = [f"{number * 8192 + 8192} (0x{number * 8192 + 8192:016x})", "8192 (0x00002000)"]
        minus = {474: -1018, 475: -1118, 476: -1019, 530: -1119, 544: -1119, 398: -1018}
        error = minus.get(event_id, -1018)
        code = f"{error} (0x{error & 0xFFFFFFFF:08x})"
        sums = ["[00112233445566aa]", "[99112233445566bb]"]
        rest = {
            474: [*where, code, *sums, page(number)],
            475: [*where, code, page(number), page(number + 5)],
            476: [*where, code, page(number)],
            398: [*where, code, "1025", page(number)],
            399: [*where, "1025", page(number)],
            727: [where[0], page(number)],
        }.get(event_id, [*where, code, page(number), "2", page(9), "1", "0"])
        self.on(place, time, event_id, *rest)

    def damage(self, place: Place, time: float, event_id: int) -> None:
        """An event of damage that no checksum shows."""
        number = str(self.rng.randint(20, 900))
        path = place.path
        fatal = self.rng.choice(["0", "1", "1"])
        rest = {
            447: ["-327", "130", "29", path, "31", "32", "0", "7", fatal],
            448: ["Msg", path, "3", "4"],
            467: ["MsgIndex", "Msg", path, "0"],
            537: ["-1206", "130", "29", number, path, "0"],
            568: [number, "Msg", "130", path],
            569: [number, "130"],
        }.get(event_id, [path, number, "77", "78", "-566", "79", "8", "2", "9", "0", "0"])
        self.log(place, time, event_id, *rest)

    def io_error(self, place: Place, time: float, event_id: int, file: str = "") -> None:
        """481, 482 or 551."""
        file = file or place.path
        text = "The request could not be performed because of an I/O device error."
        if event_id == 551:
            self.log(place, time, 551, file, "4", "1117 (0x0000045d)", text, "-1022 (0xfffffc02)")
            return
        where = ["81920 (0x0000000000014000)", "8192 (0x00002000)"]
        rest = ["-1022 (0xfffffc02)", "1117 (0x0000045d)", text, "4.015"]
        self.log(place, time, event_id, file, *where, *rest)

    def backup(self, place: Place, time: float, kind: str = "good") -> None:
        """A streaming backup; `kind`: good, early, error, open, incremental, stopped, shadow."""
        if kind == "shadow":
            self.log(place, time, 2005, "3")
            self.log(place, time + 5, 2001, "3")
            self.log(place, time + 9, 2003, "3")
            self.log(place, time + 1800, 2006, "3")
            self.log(place, time + 1801, 224, "E0000000001.log", "E0000000009.log")
            return
        self.log(place, time, 211 if kind == "incremental" else 210)
        self.on(place, time + 10, 220, "40 Gb")
        if kind == "early":
            self.on(place, time + 900, 222, "1 Gb", "40 Gb")
        elif kind != "open":
            self.on(place, time + 900, 221)
        log = place.path.rsplit("\\", 1)[0] + "\\E0000000042.log"
        self.log(place, time + 910, 220, log, "1 Mb")
        self.log(place, time + 911, 221, log)
        if kind == "error":
            self.log(place, time + 915, 217, "-1018", place.path)
        if kind == "stopped":
            self.log(place, time + 915, 215)
        else:
            self.log(place, time + 920, 224, "E0000000001.log", "E0000000009.log")
            self.log(place, time + 930, 213)
