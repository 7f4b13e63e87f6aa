"""A server that logs as real ones do, and knows what it logged.

Four logs grow and rotate: an event log (EVTX, archived when it is moved away),
JSON lines and plain text without record ids, and a counter log with a new file
now and then. Lines are written in two pieces now and then, so that a reader
sees half of them.
"""

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.support.ese_text import render
from tests.support.evtx_writer import EvtxWriter

START = 1_767_571_200.0
"""2026-01-05T00:00:00Z: the agent does not believe times ahead of its clock."""
TICK = 30.0
DATABASES = {
    "ex01": ("e:\\MDB06\\priv06.edb", "SG06"),
    "ex02": ("e:\\MDB07\\priv07.edb", "SG07"),
    "ex03": ("e:\\MDB08\\priv08.edb", "SG08"),
}
INSTANCE = "\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)"
READ_COLUMN = f"{INSTANCE}\\Online Defrag Pages Read/sec"
FREED_COLUMN = READ_COLUMN.replace("Read", "Freed")
SCAN_COLUMN = READ_COLUMN.replace(
    "Online Defrag Pages Read/sec", "Online Maintenance (DB Scan) Pages Read"
)
HEADER = ",".join(
    f'"{cell}"'
    for cell in (
        "(PDH-CSV 4.0) (Coordinated Universal Time)(0)",
        READ_COLUMN,
        FREED_COLUMN,
        SCAN_COLUMN,
    )
)


class _Lines:
    """A text log that is renamed away now and then, or copied and truncated."""

    def __init__(self, path: Path, rng: random.Random, header: str = "") -> None:
        self._path = path
        self._rng = rng
        self._header = header
        self._rotations = 0
        self._held = ""
        self._file = path.open("ab")
        self.write_header()

    def write_header(self) -> None:
        if self._header:
            self._file.write(self._header.encode() + b"\r\n")
            self._file.flush()

    def line(self, text: str) -> None:
        """Append a line, its end perhaps only with the next one."""
        data = self._held + text + "\n"
        cut = self._rng.randrange(len(data)) if self._rng.random() < 0.3 else len(data)
        self._file.write(data[:cut].encode())
        self._file.flush()
        self._held = data[cut:]

    def finish(self) -> None:
        """Write what is held back and close."""
        self._file.write(self._held.encode())
        self._file.close()
        self._held = ""

    def rotate(self) -> None:
        """Move the file away under a name that the agent's glob finds, and begin a new one; or copy
        it to that name and truncate it."""
        self.finish()
        self._rotations += 1
        rotated = self._path.with_name(f"{self._path.stem}-{self._rotations}{self._path.suffix}")
        if self._rng.random() < 0.5:
            self._path.rename(rotated)
        else:
            shutil.copyfile(self._path, rotated)
            os.truncate(self._path, 0)
        self._file = self._path.open("ab")
        self.write_header()


class Server:
    """Three computers' logs in `root`. `tick` writes the next half minute."""

    def __init__(self, root: Path, seed: int) -> None:
        self._rng = random.Random(seed)
        self._root = root
        self._now = START
        self._archives = 0
        self.events: Counter[tuple[str, int]] = Counter()
        self.pages_freed: Counter[str] = Counter()
        self.slow_reads: Counter[str] = Counter()
        self.bad_pages: dict[str, set[int]] = {name: set() for name in DATABASES}
        self.integrals = {"read": 0.0, "freed": 0.0}
        self._scanned = 1000
        self.scanned_from: int | None = None
        self._samples = 0
        self._evtx = EvtxWriter(root / "Application.evtx")
        self._json = _Lines(root / "app.ndjson", self._rng)
        self._text = _Lines(root / "app.log", self._rng)
        self._csv = _Lines(root / "counters.csv", self._rng, HEADER)

    @property
    def now(self) -> float:
        """The time of what was logged last."""
        return self._now

    @property
    def scanned(self) -> int:
        """Growth of the running total since its first sample."""
        return self._scanned - (self.scanned_from or 0)

    def tick(self) -> None:
        """One event on each computer and one sample of the counters; now and then a rotation."""
        self._now += TICK
        for computer in DATABASES:
            event_id, strings = self._next_event(computer)
            self._log(computer, event_id, strings)
        self._sample()
        if self._rng.random() < 0.05:
            self._rng.choice(
                (self._json.rotate, self._text.rotate, self._csv.rotate, self._archive)
            )()

    def finish(self) -> None:
        """Write all that is held back, and close."""
        for log in (self._json, self._text, self._csv):
            log.finish()
        self._evtx.close()

    def _next_event(self, computer: str) -> tuple[int, list[str]]:
        database, instance = DATABASES[computer]
        event_id = self._rng.choice((700, 702, 703, 704, 704, 474, 509, 717))
        head = ["MSExchangeIS", "3392", f"{instance}: "]
        rest: list[str] = [database]
        if event_id == 703:
            freed = self._rng.randrange(50_000)
            self.pages_freed[computer] += freed
            rest += [str(freed), "6/16/2007", "124919", "7", "4", "14", "73"]
        elif event_id == 702:
            rest += ["6/16/2007", "2"]
        elif event_id == 474:
            page = self._rng.randrange(1, 500)
            self.bad_pages[computer].add(page)
            offset = (page + 1) * 8192
            rest += [
                f"{offset} (0x{offset:016x})",
                "8192 (0x00002000)",
                "-1018 (0xfffffc06)",
                "[1111222233334444]",
                "[5555666677778888]",
                f"{page} (0x{page:X})",
            ]
        elif event_id == 509:
            more = self._rng.randrange(5)
            self.slow_reads[computer] += 1 + more
            rest += ["8192 (0x0000000000002000)", "8192 (0x00002000)", "17", str(more), "60"]
        return event_id, head + rest

    def _log(self, computer: str, event_id: int, strings: Sequence[str]) -> None:
        self.events[computer, event_id] += 1
        time = datetime.fromtimestamp(self._now, UTC)
        if computer == "ex01":
            self._evtx.write(event_id, strings, time=time)
            if self._rng.random() < 0.5:
                self._evtx.flush()
        elif computer == "ex02":
            record = {
                "SourceName": "ESE",
                "EventID": event_id,
                "Channel": "Application",
                "Hostname": "EX02.corp.example",
                "TimeCreated": time.isoformat().replace("+00:00", "Z"),
                "Message": render(event_id, strings),
            }
            self._json.line(json.dumps(record))
        else:
            stamp = time.isoformat().replace("+00:00", "Z")
            self._text.line(f"{stamp} EX03 Information ESE {event_id} {render(event_id, strings)}")

    def _archive(self) -> None:
        self._evtx.close()
        self._archives += 1
        path = self._root / "Application.evtx"
        path.rename(self._root / f"Archive-Application-{self._archives:03}.evtx")
        self._evtx = EvtxWriter(path, first_record_id=self._evtx.next_record_id)

    def _sample(self) -> None:
        time = datetime.fromtimestamp(self._now, UTC).strftime("%m/%d/%Y %H:%M:%S.000")
        read, freed = self._rng.randrange(1000), self._rng.randrange(10)
        self._scanned += self._rng.randrange(5000)
        if self._samples:
            self.integrals["read"] += read * TICK
            self.integrals["freed"] += freed * TICK
        else:
            self.scanned_from = self._scanned
        self._samples += 1
        self._csv.line(f'"{time}","{read}","{freed}","{self._scanned}"')
