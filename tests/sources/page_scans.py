"""A page scan source with a fold and a journal of its own, real processes and clocks by hand."""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from esewatch.config import PageScan, Settings
from esewatch.fold.databases.integrity import known_bad_pages
from esewatch.fold.folder import Folder
from esewatch.fold.passes.passes import views_in
from esewatch.fold.state.state import Database, State
from esewatch.model import Batch, CopyChecked, Event, Record, SourceError
from esewatch.sources.page_scan.page_scan_source import PageScanSource
from tests.sources import scan_on_own_device
from tests.support.edb import Edb, write_edb
from tests.support.patience import PATIENCE

NAME = "page_scan-1"
COMPUTER = "ex01"
LABEL = "e:\\mdb06\\priv06.edb"
EVERY_LOOK = 3600.0
"""Each poll is so much later than the last: all pauses are over."""
SLOW = {"throttle_ms": 20, "read_size": 64 << 10}
"""About 3 MB/s."""
SLOWEST = {"throttle_ms": 200, "read_size": 64 << 10}
"""About 300 KB/s: what is to be seen before the end of a pass is, however busy the machine."""


def stamp(path: Path, when: float) -> None:
    """Set the time of the last write."""
    os.utime(path, (when, when))


class Bench:
    """`restart` is a kill of the daemon: what was not committed is lost.

    The files lie on a device of their own, unless `program` is another.
    """

    def __init__(self, folder: Path, *, settings: Settings | None = None, **entry: Any) -> None:
        self.snap = folder / "snap"
        self.snap.mkdir(exist_ok=True)
        fields: dict[str, Any] = {
            "paths": [f"{self.snap}/*.edb"],
            "computer": COMPUTER,
            "database": "E:\\mdb06\\{name}",
            "throttle_ms": 0,
        }
        self.entry = PageScan(type="page_scan", name=NAME, **fields | entry)
        self.settings = settings or Settings()
        self.shift = 0.0
        self.passed = 0.0
        script = scan_on_own_device.__file__
        self.program: Sequence[str] = (sys.executable, "-P", script, str(folder))
        self.records: list[Record] = []
        self.unreadable: list[str] = []
        self.trouble = ""
        self.positions: dict[str, bytes] = {}
        self.batch = Batch()
        self.folder = Folder(State(), self.settings)
        self.folder.open_source(NAME, time.time())
        self.source = self._built()

    def _built(self) -> PageScanSource:
        source = PageScanSource(
            self.entry,
            self.settings,
            clock=self.clock,
            monotonic=lambda: time.monotonic() + self.passed,
            program=self.program,
        )
        source.restore(self.positions)
        source.look_at(self.folder.state, threading.Lock())
        return source

    def clock(self) -> float:
        """The time of day."""
        return time.time() + self.shift

    def restart(self) -> None:
        """Another daemon goes on from what was committed."""
        self.source.close()
        self.source = self._built()

    def hurry(self) -> None:
        """A process that is started from now on reads as fast as it can."""
        self.entry = msgspec.structs.replace(self.entry, throttle_ms=0)
        self.source._options = msgspec.structs.replace(self.source._options, throttle=0.0)

    def database(self, name: str = "priv06.edb", **form: Any) -> Edb:
        """A copy as of two minutes ago."""
        made = write_edb(self.snap / name, **form)
        stamp(made.path, self.clock() - 120)
        return made

    def poll(self) -> None:
        """One poll, its batches folded and committed."""
        self.passed += EVERY_LOOK
        self.trouble = ""
        try:
            for batch in self.source.poll():
                self.batch = batch
                self.records += batch.records
                self.unreadable += [str(piece) for piece in batch.unreadable]
                self.folder.fold(NAME, batch, self.clock())
                for path, position in batch.positions.items():
                    if position is None:
                        del self.positions[path]
                    else:
                        self.positions[path] = position
        except SourceError as error:
            self.trouble = str(error)

    def until(self, done: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Poll until `done`."""
        end = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < end, (self.records[-5:], self.unreadable, self.trouble)
            time.sleep(0.02)
            self.poll()

    def scanned(self, passes: int = 1) -> list[CopyChecked]:
        """The passes that ended, once there are so many."""
        self.until(lambda: len(self.ended()) >= passes)
        return self.ended()

    def ended(self) -> list[CopyChecked]:
        """The passes that ended so far."""
        return [record for record in self.records if isinstance(record, CopyChecked)]

    def rest(self, polls: int = 5) -> None:
        """Let it look a few times more: nothing is scanned that should not be."""
        for _ in range(polls):
            self.poll()
            time.sleep(0.02)

    def tell(self, event: Event) -> None:
        """An event of another source."""
        self.folder.open_source("events", self.clock())
        self.folder.fold("events", Batch(records=[event], caught_up=True), self.clock())

    def known(self, label: str = LABEL) -> Database:
        """The database in the state."""
        return self.folder.state.databases[COMPUTER, label]

    def bad(self, label: str = LABEL) -> dict[int, str]:
        """Known bad pages and their kinds."""
        entry = self.folder.state.databases.get((COMPUTER, label))
        if entry is None:
            return {}
        views = views_in(self.folder.state, entry)
        return {page.page: page.kind for page in known_bad_pages(entry, views)}

    def pages(self, label: str = LABEL) -> int:
        """What the metric counts."""
        entry = self.folder.state.databases.get((COMPUTER, label))
        return 0 if entry is None else entry.page_scan.get("pages", 0)

    def process(self) -> int | None:
        """Process id of the child, None while there is none."""
        run = self.source._run
        return None if run is None else run._child._process.pid

    def close(self) -> None:
        """End the child."""
        self.source.close()
