"""A daemon in this process that reads four logs while they grow, within a second."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from esewatch.config import LogFiles, Settings
from esewatch.daemon import loop
from esewatch.daemon.loop import Daemon
from esewatch.journal import Journal
from esewatch.model import EsewatchError
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.registry import build_sources
from tests.reliability.server import Server
from tests.reliability.test_kill import figures, truth
from tests.support.crashes import Crashed, crashing
from tests.support.patience import PATIENCE

TICKS = 12


@contextmanager
def without_waiting() -> Iterator[None]:
    """What the daemon pauses for takes milliseconds, for the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "POLL_SECONDS", 0.002)
        patch.setattr(loop, "RETRY_SECONDS", 0.005)
        defaults = FollowedFiles.__init__.__kwdefaults__
        assert defaults is not None
        patch.setitem(defaults, "settle_seconds", 0.05)
        yield


class Run:
    """A daemon in this process that reads four logs while they grow, twice."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.logs = root / "logs"
        self.logs.mkdir()
        self.settings = Settings(
            journal=str(root / "j.db"),
            sources=[
                LogFiles(type="evtx", name="evtx", paths=[f"{self.logs}/*.evtx"]),
                LogFiles(type="event_stream", name="json", paths=[f"{self.logs}/*.ndjson"]),
                LogFiles(type="event_stream", name="text", paths=[f"{self.logs}/*.log"]),
                LogFiles(type="perfmon_csv", name="csv", paths=[f"{self.logs}/*.csv"]),
            ],
        )
        self.server = Server(self.logs, 7)
        self.restarts = 0

    def figures(self, disarm: Callable[[], None]) -> tuple[dict[str, float], dict[str, float]]:
        """What is exposed at last and what is true; what failed ends behind `disarm`."""
        with crashing() as ends:
            return self._figures(disarm, ends)

    def _figures(
        self, disarm: Callable[[], None], ends: list[int]
    ) -> tuple[dict[str, float], dict[str, float]]:
        daemon, thread = self._start(ends)
        for _ in range(TICKS):
            self.server.tick()
        self.server.finish()
        expected = truth(self.server)
        found: dict[str, float] = {}

        def right() -> bool:
            nonlocal found, daemon, thread
            if ends:
                # The process would have ended, and been started again.
                daemon.stop()
                thread.join(20)
                daemon._poller.under_way.clear()  # its end closes also what was being read
                daemon.close()
                self.restarts += 1
                daemon, thread = self._start(ends)
            found = self._shown(daemon)
            return found == expected

        end = time.monotonic() + PATIENCE
        while not right() and time.monotonic() < end:
            time.sleep(0.01)
        disarm()
        daemon.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        daemon.close()
        return found, expected

    def again(self) -> dict[str, float]:
        """What another start shows of the journal, before it reads anything."""
        daemon = Daemon(self.settings, Journal(Path(self.settings.journal)), [])
        try:
            return self._shown(daemon)
        finally:
            daemon.close()

    def _start(self, ends: list[int]) -> tuple[Daemon, threading.Thread]:
        for attempt in range(3):
            journal: Journal | None = None
            ends.clear()
            try:
                journal = Journal(Path(self.settings.journal))
                daemon = Daemon(self.settings, journal, build_sources(self.settings))
                thread = threading.Thread(target=daemon.run)
                thread.start()
            except (EsewatchError, RuntimeError, OSError, Crashed):
                # The process would end with one line, and be started again.
                self.restarts += 1
                if journal is not None:
                    journal.close()
                if attempt == 2:
                    raise
            else:
                return daemon, thread
        raise AssertionError

    def _shown(self, daemon: Daemon) -> dict[str, float]:
        text = daemon.publisher.snapshot.render()[0].decode()
        shown = figures(
            {
                (sample.name, frozenset(sample.labels.items())): sample.value
                for family in text_string_to_metric_families(text)
                for sample in family.samples
            }
        )
        return {name: value for name, value in shown.items() if value}
