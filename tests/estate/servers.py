"""The servers of an estate and their databases."""

import math
from dataclasses import dataclass, field
from random import Random

from tests.estate.truth import Key
from tests.oracle.history import HOUR
from tests.oracle.identity import database_label
from tests.oracle.script import Place


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

    def verified_after(self, time: float) -> float:
        """The same, or of a backup."""
        backups = [end for end in self.backups if end > time + HOUR]
        return min([self.scanned_after(time), *backups])

    def verified(self) -> list[float]:
        return sorted([*(end for _, end in self.passes), *self.backups])


def estate(seed: int, *, large: bool = False) -> tuple[list[Server], list[Home]]:
    """300 databases on 40 servers, or 24 on 10."""
    rng = Random(f"estate {seed}")
    made = _Builder(rng)
    stores, pairs, others = (8, 4, 6) if large else (1, 2, 1)
    for site in ("north", "south"):
        for number in range(stores):
            made.exchange_2007(f"ex{number + 1:02}", site, 10 if large else 4)
    for number in range(pairs):
        made.pair(f"dag{number + 1}", 15 if large else 3)
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
            program = ("ESE", "Application", "MSExchangeIS")
            place = Place(server.number, *program, "old", f"SG{number:02}", path)
            home = Home(server, place, "2007")
            home.streaming = number % 2 == 1
            self.homes.append(home)

    def pair(self, name: str, count: int) -> None:
        servers = [self.server(f"{name}{part}", "north") for part in "ab"]
        for number in range(1, count + 1):
            instance = f"{name}-db{number:02}"
            path = f"F:\\{instance}\\{instance}.edb"
            program = ("ESE", "Application", "Microsoft.Exchange.Store.Worker")
            pair: list[Home] = []
            for server in servers:
                place = Place(server.number, *program, "ese", instance, path, 5000 + number)
                pair.append(Home(server, place, "active" if not pair else "passive"))
            pair[0].partner, pair[1].partner = pair[1], pair[0]
            self.homes += pair

    def directory(self, name: str, site: str) -> None:
        server = self.server(name, site)
        path = "C:\\Windows\\NTDS\\ntds.dit"
        program = ("NTDS ISAM", "Directory Service", "NTDS")
        place = Place(server.number, *program, "esent", "NTDSA", path, 640)
        self.homes.append(Home(server, place, "directory"))

    def instances(self, name: str, site: str, count: int) -> None:
        server = self.server(name, site)
        for number in range(1, count + 1):
            path = f"D:\\ADAM\\app{number}\\adamntds.dit"
            program = (f"ADAM [app{number}] ISAM", f"ADAM (app{number})", "dsamain")
            place = Place(server.number, *program, "esent", f"ADAM{number}", path, 700 + number)
            self.homes.append(Home(server, place, "directory"))

    def search(self, name: str, site: str) -> None:
        server = self.server(name, site)
        path = "C:\\ProgramData\\Microsoft\\Search\\Data\\Applications\\Windows\\Windows.edb"
        program = ("ESENT", "Application", "SearchIndexer")
        place = Place(server.number, *program, "esent", "Windows", path, 3120)
        self.homes.append(Home(server, place, "search"))
