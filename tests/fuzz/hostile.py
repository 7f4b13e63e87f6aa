"""Records that no server would log and any sender may: real shapes, hostile values."""

import random
from collections.abc import Callable
from typing import Any

from esewatch.ese.catalogue.event_table import CATALOGUE
from esewatch.ese.counters.counter_feeds import feed_of, kind_of
from esewatch.model import (
    CopyChecked,
    CountersSeen,
    Coverage,
    Event,
    HeaderSeen,
    PageFault,
    PagesScanned,
    Reading,
    Record,
    SetBackedUp,
    VolumesSeen,
)
from tests.support.decoding import event_from_strings

NAMES = (
    *("", " ", "ex01", "EX01.corp.example", "EX02", "b\udcff", "\x00", "\x1b[31m", '"\\\n{}', "%s"),
    *("\u202e\u0130\u00df", "n" * 400, "<script>alert(1)</script>", "../../etc/passwd", "|", "NaN"),
)
PATHS = (
    *("e:\\MDB06\\priv06.edb", "E:\\mdb06\\PRIV06.EDB", "/srv/ntds.dit", "\\\\?\\Volume{1}\\a.edb"),
    *("e:\\b\udcff.edb", "c:", "e:\\" + "d" * 2000 + ".edb", "a.edb\x00", "'\"<>&.edb"),
)
NUMBERS = (
    *(0, 1, -1, 7, 17, 500, 8192, 2**31, 2**32, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(-1018, -1022, 124_919, 5_850_768),
)
TEXTS = (
    *("6/16/2007", "16/6/2007", "2007-06-16", "31/12/9999", "0/0/0", "NaN", "inf", "1e999", "-"),
    *("12, 0", "[1] 0.5", "9" * 40, "-1018 (0xfffffc06)", "0xffffffffffffffff", "99:99:99"),
    *("3392,G,98,15.01.2507.012", "MSExchangeIS", "SG06: ", "ESE", "5%", "1,5 GB", "\udcff"),
)
TIMES = (0.0, 1.0, -1e9, 1.182e9, 1.1821e9, 1.1822e9, 1.1828e9, 4e9, 2.5e11)
COUNTERS = (
    "MSExchange Database ==> Instances\\Online Defrag Pages Read/sec",
    "MSExchange Database ==> Instances\\Online Maintenance (DB Scan) Pages Read",
    "MSExchange Database ==> Instances\\I/O Log Writes Average Latency",
    "MSExchange Database ==> Instances\\Version Buckets Allocated",
    "MSExchange Database\\Database Cache Size",
    "PhysicalDisk\\Disk Reads/sec",
    "LogicalDisk\\Free Megabytes",
    "Process\\% Processor Time",
)
FAULTS: tuple[PageFault, ...] = (
    "uncorrectable", "corrected", "wrong_page", "lost_flush", "no_data",
)  # fmt: skip
PROVIDERS = ("ESE", "ESE", "ESENT", "NTDS ISAM", "ESE BACKUP", "MSSQLSERVER", "\x00")
OFTEN = (474, 700, 701, 703, 704, 721)


class Hostile:
    """Makes them; equal seeds make equal records."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def record(self) -> Record:
        """One of any kind."""
        makers: list[Callable[[], Record | None]] = [
            *([self._event] * 12), *([self._reading] * 6), self._coverage, self._counters,
            self._volumes, self._header, self._copy, self._scanned, self._set,
        ]  # fmt: skip
        while (made := self._rng.choice(makers)()) is None:
            pass
        return made

    def _name(self) -> str:
        return self._rng.choice(NAMES[:6] if self._rng.random() < 0.7 else NAMES)

    def _path(self) -> str:
        return self._rng.choice(PATHS[:2] if self._rng.random() < 0.6 else PATHS)

    def _time(self) -> float:
        return self._rng.choice(TIMES) + self._rng.choice((0.0, self._rng.uniform(0, 1e6)))

    def _number(self) -> int:
        return self._rng.choice((*NUMBERS, self._rng.randrange(1000)))

    def _size(self) -> int:
        return abs(self._number())

    def _pages(self) -> tuple[tuple[int, PageFault], ...]:
        return tuple(
            (self._number(), self._rng.choice(FAULTS)) for _ in range(self._rng.randrange(4))
        )

    def _event(self) -> Event | None:
        choice = self._rng.choice
        event_id = choice((*CATALOGUE, choice(OFTEN), self._size() % 2**32))
        rest = [choice((choice(TEXTS), str(self._number()), self._path())) for _ in range(14)]
        head = [choice(("MSExchangeIS", "NTDS")), choice(TEXTS[-7:]), choice(("SG06: ", "", "x: "))]
        cut = [*head, self._path(), *rest][: self._rng.randrange(19)]
        common: dict[str, Any] = {
            "provider": choice(PROVIDERS),
            "computer": self._name(),
            "time": choice((None, self._time(), self._time(), self._time())),
            "channel": choice(("", "Application", self._name())),
            "record_id": choice((None, self._size() % 1000, self._size() % 1000, self._size())),
        }
        found = event_from_strings(event_id=event_id, strings=cut, **common)
        return found or Event(event_id=event_id, strings=tuple(cut), **common)

    def _reading(self) -> Reading:
        instance = self._rng.choice(("Information Store/SG06", "_Total", "0 C:", self._name()))
        object_name, counter = self._rng.choice(COUNTERS).split("\\")
        return Reading(
            time=self._time(),
            computer=self._name(),
            object=object_name,
            counter=counter,
            instance=instance,
            value=float(self._number()) * self._rng.choice((1.0, 0.001, 1e290)),
            kind=kind_of(object_name, counter),
            feed=feed_of(object_name, instance, counter),
        )

    def _coverage(self) -> Coverage:
        first, last = sorted((self._size(), self._size()))
        begin, end = sorted((self._time(), self._time()))
        computer = self._name()
        return Coverage(
            computer=computer, channel="Application",
            first=first, last=last, first_time=begin, last_time=end,
        )  # fmt: skip

    def _counters(self) -> CountersSeen:
        seen = {self._name(): self._rng.random() < 0.5 for _ in range(3)}
        return CountersSeen(time=self._time(), computer=self._name(), present=seen)

    def _volumes(self) -> VolumesSeen:
        devices = {self._path()[:2]: self._name(), self._name(): self._name()}
        return VolumesSeen(time=self._time(), computer=self._name(), devices=devices)

    def _header(self) -> HeaderSeen:
        return HeaderSeen(
            time=self._time(), computer=self._name(), database=self._path(),
            page_size=self._rng.choice((None, 0, 8192)), size_bytes=self._size(),
            state=self._rng.choice(TEXTS), bad_checksums=self._size(), corrected=self._size(),
        )  # fmt: skip

    def _copy(self) -> CopyChecked:
        bad = self._pages()
        return CopyChecked(
            time=self._time(), computer=self._name(), database=self._path(),
            by=self._rng.choice(("page_scan", "external")), complete=self._rng.random() < 0.5,
            pages_seen=self._size(), bad=len(bad), size_bytes=self._size(), bad_pages=bad,
        )  # fmt: skip

    def _scanned(self) -> PagesScanned:
        found = self._pages()
        return PagesScanned(
            time=self._time(), computer=self._name(), database=self._path(), read=self._time(),
            pages=self._size(), bytes=self._size(), bad=len(found), found=found,
            good=(self._number(),),
        )  # fmt: skip

    def _set(self) -> SetBackedUp:
        return SetBackedUp(
            time=self._time(), computer=self._name(), ese_instance=self._name(),
            kind=self._rng.choice(("ntbackup", "ntbackup_logs")), started=self._time(),
            seconds=float(self._size()), bytes=self._size(), job=self._name(),
        )  # fmt: skip
