"""The servers of an estate and their databases, and what those log in a month without incident."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from tests.estate.month import END, START, at
from tests.estate.truth import Key
from tests.oracle.history import DAY, HOUR
from tests.oracle.identity import database_label
from tests.oracle.script import Draft, Place, Script, date, days

HEARD_EVERY = 6 * HOUR
"""Something of another program is in each log so often."""
PAGES = 900_000
"""Of a database."""
CLOSES = 5.0
"""The hour at which the windows of 2007 close."""


@dataclass
class Server:
    """A computer; `full` is the name in its records."""

    number: int
    site: str
    full: str
    label: str
    silent: tuple[float, float] = (math.inf, math.inf)
    """From when to when nothing that it logs is delivered."""
    clock: tuple[float, float] = (math.inf, 0.0)
    """From when on its clock is behind, and by how many seconds."""
    cleared: float = math.inf
    lost: tuple[float, float] = (math.inf, math.inf)
    """What it logs then is overwritten before anybody reads it."""
    exported: tuple[float, float, float] = (math.inf, 0.0, 0.0)
    """When a part of its log is exported into a file beside it, and the begin and end of that."""
    taken: bool = False
    """An incident of the whole server is planned."""


@dataclass
class Home:
    """A database where it lies, with what deviates from an ordinary month."""

    server: Server
    place: Place
    kind: str
    partner: "Home | None" = None
    scans_until: float = math.inf
    streaming: bool = True
    """Its backups are streaming ones, not snapshots."""
    backup_in_window: tuple[float, float] = (math.inf, math.inf)
    down: tuple[float, float] = (math.inf, math.inf)
    failover: float = math.inf
    bad_pass: float = math.inf
    """The first pass that ends after it counts two bad pages."""
    failing_pass: float = math.inf
    """The first pass that is under way then ends with an error."""
    taken: bool = False
    passes: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of scans that read every page of this copy and found all good."""
    counted_bad: float = math.inf
    """When a pass ended that counted bad pages."""
    failed: float = math.inf
    completions: list[float] = field(default_factory=list)
    """Ends of passes of the task that failed, after it did."""
    cut: list[float] = field(default_factory=list)
    """When a backup stopped defragmentation in the window."""
    backups: list[float] = field(default_factory=list)
    """Ends of streaming backups."""

    @property
    def key(self) -> Key:
        return self.server.label, database_label(self.place.path)

    def scanned_after(self, time: float) -> float:
        """The end of the first good pass that began after `time`."""
        return min((end for begin, end in self.passes if begin > time), default=math.inf)

    def verified(self) -> list[float]:
        return sorted([*(end for _, end in self.passes), *self.backups])


def estate(seed: int, *, large: bool = False) -> tuple[list[Server], list[Home]]:
    """300 databases on 40 servers, or 24 on 8."""
    rng = Random(f"estate {seed}")
    made = _Builder(rng)
    stores, pairs, others = (8, 4, 6) if large else (1, 1, 1)
    for site in ("north", "south"):
        for number in range(stores):
            made.exchange_2007(f"ex{number + 1:02}", site, 10 if large else 4)
    for number in range(pairs):
        made.pair(f"dag{number + 1}", 15 if large else 6)
    for number in range(others):
        made.directory(f"dc{number + 1}", "north")
        made.instances(f"lds{number + 1}", "south", 2)
        made.search(f"pc{number + 1}", "north")
    return made.servers, made.homes


class _Builder:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.servers: list[Server] = []
        self.homes: list[Home] = []

    def server(self, name: str, site: str) -> Server:
        """Of two computers with one short name the first that was met keeps it."""
        full = f"{name}.{site}.example"
        label = full if any(each.label == name for each in self.servers) else name
        self.servers.append(Server(len(self.servers), site, full, label))
        return self.servers[-1]

    def exchange_2007(self, name: str, site: str, groups: int) -> None:
        server = self.server(name, site)
        for number in range(1, groups + 1):
            path = f"E:\\MDB{number:02}\\priv{number:02}.edb"
            where = ("ESE", "Application", "MSExchangeIS", "old", f"SG{number:02}", path)
            home = Home(server, Place(server.number, *where), "2007")
            home.streaming = number % 2 == 1
            self.homes.append(home)

    def pair(self, name: str, count: int) -> None:
        servers = [self.server(f"{name}{part}", "north") for part in "ab"]
        for number in range(1, count + 1):
            instance = f"{name}-db{number:02}"
            path = f"F:\\{instance}\\{instance}.edb"
            process = "Microsoft.Exchange.Store.Worker"
            pair = []
            for server in servers:
                where = ("ESE", "Application", process, "ese", instance, path)
                place = Place(server.number, *where, pid=5000 + number)
                pair.append(Home(server, place, "active" if not pair else "passive"))
            pair[0].partner, pair[1].partner = pair[1], pair[0]
            self.homes += pair

    def directory(self, name: str, site: str) -> None:
        server = self.server(name, site)
        path = "C:\\Windows\\NTDS\\ntds.dit"
        where = ("NTDS ISAM", "Directory Service", "NTDS", "esent", "NTDSA", path)
        self.homes.append(Home(server, Place(server.number, *where, pid=640), "directory"))

    def instances(self, name: str, site: str, count: int) -> None:
        server = self.server(name, site)
        for number in range(1, count + 1):
            path = f"D:\\ADAM\\app{number}\\adamntds.dit"
            where = (f"ADAM [app{number}] ISAM", f"ADAM (app{number})", "dsamain", "esent")
            place = Place(server.number, *where, f"ADAM{number}", path, pid=700 + number)
            self.homes.append(Home(server, place, "directory"))

    def search(self, name: str, site: str) -> None:
        server = self.server(name, site)
        path = "C:\\ProgramData\\Microsoft\\Search\\Data\\Applications\\Windows\\Windows.edb"
        where = ("ESENT", "Application", "SearchIndexer", "esent", "Windows", path)
        self.homes.append(Home(server, Place(server.number, *where, pid=3120), "search"))


def live(script: Script, servers: list[Server], homes: list[Home]) -> None:
    """Write what all of them log in the month, as each deviates."""
    for server in servers:
        _other_programs(script, server, [each.place for each in homes if each.server is server])
    for home in homes:
        LIVES[home.kind](script, home)


def _other_programs(script: Script, server: Server, places: list[Place]) -> None:
    for channel in sorted({each.channel for each in places}):
        time = START + 60.0 + server.number
        provider, strings = "Service Control Manager", ("x", "running")
        while time < END:
            script.drafts.append(
                Draft(time, server.number, channel, provider, 7036, strings, "information")
            )
            time += HEARD_EVERY * script.rng.uniform(0.8, 1.0)


def _starts(script: Script, home: Home, begin: float) -> None:
    script.start(home.place, begin)
    if home.down[0] < END:
        script.start(home.place, home.down[1])


def _is_down(home: Home, time: float) -> bool:
    return home.down[0] <= time < home.down[1]


def _live_2007(script: Script, home: Home) -> None:
    """Defragmentation of two nights and a scan of three; a backup each evening."""
    rng, place = script.rng, home.place
    _starts(script, home, START + 300.0 + rng.uniform(0, 600))
    opened = scanned = math.inf
    opened_for = 0.0
    scan_nights = 0
    for night in range(30):
        begin, close = at(night, 1.0) + rng.uniform(0, 300), at(night, CLOSES)
        in_window = home.backup_in_window[0] <= begin < home.backup_in_window[1]
        if opened == math.inf:
            opened, opened_for = begin, 0.0
            script.on(place, begin, 700)
        else:
            script.on(place, begin, 702, date(opened), "1")
        if in_window:
            home.cut.append(at(night, 2.0) + 5)
            script.on(place, home.cut[-1], 704)
            opened_for += home.cut[-1] - begin
        elif opened < begin:
            left = rng.randint(3600, 7000)
            work = int(opened_for) + left
            script.defrag_done(place, begin + left, opened, resumed=True, work=work)
            opened = math.inf
        else:
            script.on(place, close, 704)
            opened_for += close - begin
        begin += 7600
        if begin < home.scans_until:
            if scan_nights == 0:
                scanned = begin
                script.on(place, begin, 717)
            else:
                script.on(place, begin, 719, date(scanned), "1")
            scan_nights += 1
            if home.failing_pass < begin and home.failed == math.inf:
                home.failed, scan_nights = begin + 900, 0
                script.on(place, home.failed, 723, "-1011", "900")
            elif scan_nights < 3:
                script.on(place, close + 1, 725)
            else:
                scan_nights = 0
                end = begin + 2400
                bad = 2 if home.bad_pass < end and home.counted_bad == math.inf else 0
                work = 2 * int(CLOSES * HOUR - HOUR - 7600) + 2400
                script.scan_done(place, end, scanned, bad, pages=PAGES, work=work)
                if bad:
                    home.counted_bad = end
                else:
                    home.passes.append((scanned, end))
                home.completions.append(end)
        hour = 2.0 if in_window else 20.0
        script.backup(place, at(night, hour), "good" if home.streaming else "shadow")
        if home.streaming:
            home.backups.append(at(night, hour) + 930)


def _live_active(script: Script, home: Home) -> None:
    """Passes of two to three days without an end. After a failover its partner goes on with it."""
    partner = home.partner
    assert partner
    until = home.failover
    time = START + 600.0 + script.rng.uniform(0, 6 * HOUR)
    for each in (home, partner):
        _starts(script, each, START + 300.0 + script.rng.uniform(0, 200))
        _snapshots(script, each)
    left_open = _active_scans(script, home, time, until)
    _passive_scans(script, partner, time + HOUR, min(until, END))
    if until < END:
        script.log(home.place, until - 30, 103, "0", "[1] 0.0", "0")
        script.start(home.place, until + 40)
        begun, length = left_open
        script.on(partner.place, until + 300, 738, "4000", date(begun), "1")
        end = until + 300 + length / 2
        script.active_done(partner.place, end, begun, run=50, pages=PAGES)
        _active_scans(script, partner, end + 600, math.inf)
        _passive_scans(script, home, until + HOUR, END)


def _live_with_partner(_: Script, home: Home) -> None:
    """It is told with the active one."""
    assert home.partner


def _active_scans(
    script: Script, home: Home, time: float, until: float
) -> tuple[float, float]:
    """Up to `until`: the begin and the length of the pass that is open then."""
    place = home.place
    while True:
        length = script.rng.uniform(2.2, 2.8) * DAY
        if time >= min(home.scans_until, END):
            return time, length
        script.on(place, time, 736)
        end = time + length
        if time < home.failing_pass < end and home.failed == math.inf:
            home.failed = home.failing_pass
            script.on(place, home.failed, 734, "-1011")
            time = home.failed + HOUR
            continue
        mark = time + DAY
        while mark < min(end, until, END) - 60:
            if not _is_down(home, mark):
                pages = str(int(PAGES * (mark - time) / length))
                script.on(place, mark, 744, date(time), str(int((mark - time) / HOUR)), pages)
            mark += DAY
        resumed = time < home.down[1] < end
        if resumed:
            script.on(place, home.down[1] + 60, 738, "4000", date(time), days(time, home.down[1]))
        if end >= min(until, END):
            return time, length
        run = 60 if resumed else 100
        script.active_done(place, end, time, run, pages=PAGES)
        home.passes.append((time, end))
        home.completions.append(end)
        time = end + 600


def _passive_scans(script: Script, home: Home, time: float, until: float) -> None:
    while time < min(until, home.scans_until):
        end = time + script.rng.uniform(1.7, 2.3) * DAY
        script.on(home.place, time, 717)
        if end >= until:
            return
        script.passive_done(home.place, end, time, 100, pages=PAGES)
        home.passes.append((time, end))
        time = end + HOUR


def _snapshots(script: Script, home: Home) -> None:
    """Each evening a backup by a shadow copy, which verifies nothing."""
    for day in range(30):
        script.backup(home.place, at(day, 20.0) + script.rng.uniform(0, 600), "shadow")


def _live_directory(script: Script, home: Home) -> None:
    """Garbage is collected twice a day; nothing verifies it, and nobody asks for it."""
    _starts(script, home, START + 300.0 + script.rng.uniform(0, 600))
    time = START + script.rng.uniform(1, 10) * HOUR
    while time < END:
        if not _is_down(home, time):
            script.on(home.place, time, 700)
            script.defrag_done(home.place, time + 1, time, resumed=False)
        time += DAY / 2


def _live_search(script: Script, home: Home) -> None:
    """It starts with its computer each week, and is defragmented at night."""
    for day in range(30):
        if day % 7 == 0:
            script.start(home.place, at(day, 4.0))
        night = at(day, 5.0) + script.rng.uniform(0, 1800)
        script.on(home.place, night, 700)
        script.defrag_done(home.place, night + 40, night, resumed=False)


LIVES: dict[str, Callable[[Script, Home], None]] = {
    "2007": _live_2007,
    "active": _live_active,
    "passive": _live_with_partner,
    "directory": _live_directory,
    "search": _live_search,
}
