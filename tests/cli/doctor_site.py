"""A place where esewatch is at work: its configuration, the logs it reads, its journal."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from esewatch.config.files import load
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.server import HttpServer
from esewatch.journal import Journal
from esewatch.sources.registry import build_sources
from tests.support.evtx_writer import EvtxWriter
from tests.support.patience import PATIENCE

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
INSTANCES = "\\\\EX01\\MSExchange Database ==> Instances(Information Store/SG06)"
COUNTERS = (
    "Online Defrag Pages Read/sec",
    "Online Defrag Pages Freed/sec",
    "Database Maintenance Pages Read/sec",
)
UTC_ZONE = "(Coordinated Universal Time)(0)"
DATABASES = """\
windows: {nightly: {start: "01:00", duration: 4h}}
policy: {backup_within: never}
databases:
  - {match: '*priv06.edb', window: nightly, device: lun7, log_path: 'L:\\SG06', mailboxes: 800}
"""
SOURCES = """\
sources:
  - {name: logs, type: evtx, path: "logs/*.evtx"}
  - {name: counters, type: perfmon_csv, path: "logs/*.csv"}
"""


class Site:
    """In one folder. `doctor` asks about it, `ran` lets the daemon read it once."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.config = folder / "esewatch.yml"
        self.logs = folder / "logs"
        self.journal = folder / "state" / "journal.db"
        self._capsys = capsys
        self.logs.mkdir()
        self.configure(SOURCES, DATABASES)

    def configure(self, *texts: str) -> None:
        """Write the configuration."""
        self.config.write_text("".join((f"journal: {self.journal}\n", *texts)))

    def write_events(self, night: datetime | None = None, name: str = "ex01.evtx") -> None:
        """The event log of a night whose maintenance was all done in its window."""
        end = night or datetime.now(UTC) - HOUR
        head = ["MSExchangeIS", "840,D,0", "SG06: ", "e:\\MDB06\\priv06.edb"]
        day = f"{end.month}/{end.day}/{end.year}"
        with EvtxWriter(self.logs / name) as writer:
            writer.write(700, head, time=end - 4 * HOUR)
            freed = ["900", day, "3600", "1", "1", "9", "9"]
            writer.write(701, [*head, *freed], time=end - 3 * HOUR)
            writer.write(717, head, time=end - 2 * HOUR)
            writer.write(721, [*head, day, "3600", "1", "1", "5850768", "0", "72"], time=end)

    def write_counters(
        self, *, zone: str = UTC_ZONE, columns: Sequence[str] | None = None, name: str = "c.csv"
    ) -> None:
        """An hour of its counter log."""
        names = columns or [f"{INSTANCES}\\{counter}" for counter in COUNTERS]
        rows = [",".join(f'"{cell}"' for cell in (f"(PDH-CSV 4.0) {zone}".strip(), *names))]
        start = datetime.now(UTC) - HOUR
        for minute in range(60):
            moment = (start + timedelta(minutes=minute)).strftime("%m/%d/%Y %H:%M:%S.000")
            rows.append(",".join(f'"{cell}"' for cell in (moment, *["100.0"] * len(names))))
        (self.logs / name).write_text("\r\n".join(rows) + "\r\n")

    def write(self) -> None:
        """All that a healthy server gives."""
        self.write_events()
        self.write_counters()

    def ran(self) -> None:
        """The daemon has read what is there, and is stopped."""
        with self.running():
            pass

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        """A daemon that has read what is there; its address."""
        settings = load(self.config)
        daemon = Daemon(settings, Journal(self.journal), build_sources(settings))
        server = HttpServer(App(daemon.publisher), "127.0.0.1:0")
        server.start()
        thread = threading.Thread(target=daemon.run)
        thread.start()
        try:
            end = time.monotonic() + PATIENCE
            while not self._settled(daemon):
                assert time.monotonic() < end, daemon.publisher.ready()[1]
                time.sleep(0.05)
            yield server.address
        finally:
            daemon.stop()
            thread.join()
            server.stop()
            daemon.close()

    def _settled(self, daemon: Daemon) -> bool:
        """All sources are read to their end, or cannot be."""
        ready, why = daemon.publisher.ready()
        return (ready or why.startswith("no source can be read")) and all(
            not each.up or each.caught_up for each in daemon.publisher.overview().sources
        )

    def doctor(self, *options: str) -> tuple[int, list[dict[str, Any]]]:
        """Exit status and the objects."""
        where = () if "--web.address" in options else ("--web.address", "127.0.0.1:1")
        status = main(
            ["doctor", "--config.file", str(self.config), "--format", "json", *where, *options]
        )
        return status, [json.loads(line) for line in self._capsys.readouterr().out.splitlines()]

    def named(self, problem: str, *options: str) -> dict[str, Any]:
        """The only object of this problem."""
        (found,) = [each for each in self.doctor(*options)[1] if each["problem"] == problem]
        return found

    def names(self, *options: str) -> list[str]:
        """What needs a person, but that no daemon answers and none ever ran."""
        left_out = {"daemon_silent", "journal_missing"}
        return [
            each["problem"]
            for each in self.doctor(*options)[1]
            if each["problem"] not in left_out and each["needs_person"]
        ]
