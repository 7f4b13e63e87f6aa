"""A fleet of mail servers for the benches: event logs and counter logs, and the agent on them.

Ten databases a server. Each database defragments, checksums and is interrupted every night as
Exchange 2007 logs it; its counters are sampled every quarter of an hour.
"""

import gzip
import json
import os
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.e2e.harness import Agent

DATABASES_A_SERVER = 10
SAMPLE = timedelta(minutes=15)
WINDOW = timedelta(hours=4)
READY_SECONDS = 300
COUNTERS = (
    ("Online Defrag Pages Read/sec", 812.4),
    ("Online Defrag Pages Freed/sec", 9.2),
    ("Online Defrag Log Bytes/sec", 20480.0),
    ("Online Maintenance (DB Scan) Pages Read/sec", 3200.0),
    ("I/O Database Reads/sec", 120.0),
    ("I/O Database Writes/sec", 80.0),
    ("I/O Database Reads Average Latency", 7.2),
    ("I/O Database Writes Average Latency", 3.1),
    ("I/O Log Writes Average Latency", 1.4),
    ("Log Generation Checkpoint Depth", 20.0),
    ("Log Record Stalls/sec", 0.2),
    ("Version Buckets Allocated", 4.0),
)


class Store(NamedTuple):
    """One database."""

    computer: str
    instance: str

    @property
    def head(self) -> list[str]:
        """The strings that each of its events begins with."""
        path = f"e:\\{self.instance}\\{self.instance.lower()}.edb"
        return ["MSExchangeIS", "3392", f"{self.instance}: ", path]


class Fleet:
    """The logs of `databases` databases in `folder`, which `grow` makes longer."""

    def __init__(self, folder: Path, databases: int, begin: datetime) -> None:
        self.folder = folder
        self.databases = databases
        self.now = begin
        self._record = 0
        servers = -(-databases // DATABASES_A_SERVER)
        self._stores = [
            [Store(f"EX{server:03}", f"DB{server:03}{number}") for number in range(count)]
            for server in range(servers)
            for count in [min(DATABASES_A_SERVER, databases - server * DATABASES_A_SERVER)]
        ]
        folder.mkdir()
        for stores in self._stores:
            columns = [
                f"\\\\{store.computer}\\MSExchange Database ==> Instances"
                f"(Information Store/{store.instance})\\{name}"
                for store in stores
                for name, _ in COUNTERS
            ]
            head = '","'.join(["(PDH-CSV 4.0) (Coordinated Universal Time)(0)", *columns])
            self._counters(stores[0].computer).write_text(f'"{head}"\r\n', encoding="utf-8")

    @property
    def settings(self) -> dict[str, object]:
        """The configuration that reads these logs."""
        return {
            "sources": [
                {"type": "event_stream", "path": str(self.folder / "*.ndjson")},
                {"type": "perfmon_csv", "path": str(self.folder / "*.csv")},
            ]
        }

    def grow(self, days: int) -> None:
        """Append so many days of events and counters."""
        for _ in range(days):
            for stores in self._stores:
                computer = stores[0].computer
                with (self.folder / f"{computer}.ndjson").open("a", encoding="utf-8") as file:
                    file.writelines(self._events(stores))
                with self._counters(computer).open("a", encoding="utf-8") as file:
                    file.writelines(self._samples(len(stores)))
            self.now += timedelta(days=1)

    def storm(self, events: int) -> str:
        """Lines of so many events of all databases, one after another."""
        lines = []
        for number in range(events):
            servers = self._stores[number % len(self._stores)]
            store = servers[number // len(self._stores) % len(servers)]
            at = self.now + timedelta(milliseconds=number)
            lines.append(self._line(store, at, 704 if number % 2 else 702, []))
        self.now += timedelta(milliseconds=events)
        return "".join(lines)

    def _counters(self, computer: str) -> Path:
        return self.folder / f"{computer}.csv"

    def _events(self, stores: list[Store]) -> Iterator[str]:
        start = self.now + timedelta(hours=1)
        day = f"{start.month}/{start.day}/{start.year}"
        for store in stores:
            yield self._line(store, start, 700, [])
            yield self._line(store, start, 717, [])
            scan = [day, "1260", "1", "1", "5850768", "0", "72682"]
            yield self._line(store, start + timedelta(minutes=21), 721, scan)
            done = ["42794", day, "7200", "1", "1", "14", "73"]
            yield self._line(store, start + WINDOW / 2, 701, done)

    def _line(self, store: Store, at: datetime, event_id: int, further: list[str]) -> str:
        self._record += 1
        strings = [*store.head, *further]
        winlog = {
            "provider_name": "ESE",
            "event_id": event_id,
            "computer_name": store.computer,
            "channel": "Application",
            "record_id": self._record,
            "event_data": {f"param{index}": text for index, text in enumerate(strings, 1)},
        }
        return json.dumps({"@timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%f}Z", "winlog": winlog}) + "\n"

    def _samples(self, stores: int) -> Iterator[str]:
        at, end = self.now, self.now + timedelta(days=1)
        begin = self.now + timedelta(hours=1)
        idle = '","'.join(["0.000000"] * len(COUNTERS) * stores)
        busy = '","'.join([f"{value:.6f}" for _, value in COUNTERS] * stores)
        while at < end:
            cells = busy if begin < at <= begin + WINDOW / 2 else idle
            yield f'"{at:%m/%d/%Y %H:%M:%S}.000","{cells}"\r\n'
            at += SAMPLE


def days_ago(days: int) -> datetime:
    """Midnight so many days ago, UTC."""
    midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=days)


@contextmanager
def watching(fleet: Fleet, folder: Path) -> Iterator[Agent]:
    """The agent on the fleet's logs, all of them read."""
    agent = Agent(folder, fleet.settings)
    try:
        agent.start(wait=False)
        agent.wait_until_ready(READY_SECONDS)
        yield agent
    finally:
        agent.close()


def scrape(agent: Agent) -> tuple[float, bytes]:
    """Seconds of one scrape of /metrics and its body, as Prometheus asks for it."""
    accept = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
    headers = {"Accept": accept, "Accept-Encoding": "gzip"}
    request = urllib.request.Request(f"{agent.url}/metrics", headers=headers)
    begin = time.perf_counter()
    with urllib.request.urlopen(request, timeout=30) as answer:
        body: bytes = answer.read()
    return time.perf_counter() - begin, gzip.decompress(body)


def status(pid: int, field: str) -> float:
    """A size of a process in MB, such as VmRSS (now) or VmHWM (most so far)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"/proc/{pid}/status has no {field}")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
