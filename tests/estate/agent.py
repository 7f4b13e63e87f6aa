"""The agent that watches an estate, in virtual time; it is killed, and loses its journal."""

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from esewatch.advice.base.finding import INFORMATION
from esewatch.advice.judgement import Judgement
from esewatch.config.files import load
from esewatch.daemon import loop, publisher
from esewatch.daemon.loop import Daemon
from esewatch.journal import Journal
from esewatch.sources.registry import build_sources
from tests.estate.truth import Key

CONFIGURATION = {
    "windows": {"nightly": {"start": "01:00", "duration": "4h", "timezone": "UTC"}},
    "databases": [{"match": "*\\priv*.edb", "window": "nightly"}],
}


class Answer(NamedTuple):
    """What it says of one database at one moment."""

    verdict: str
    findings: Sequence[str]
    """Those that ask a person to do something."""
    reasons: str = ""


def answer(judgement: Judgement) -> Answer:
    findings = [
        each.finding
        for each in judgement.findings
        if each.severity != "info" and each.finding not in INFORMATION
    ]
    return Answer(judgement.verdict, findings, "; ".join(judgement.reasons))


class Agent:
    """A daemon over the files of `folder`, whose clock shows `now`."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.seconds = 0.0
        """Of a processor, that it took."""
        self.configuration = folder / "esewatch.yml"
        sources = [
            {"type": "evtx", "path": f"{folder}/logs/*/*.evtx"},
            {"type": "event_stream", "path": f"{folder}/logs/*/*.ndjson"},
        ]
        self.journal = folder / "journal.db"
        settings = {**CONFIGURATION, "sources": sources, "journal": str(self.journal)}
        # JSON is YAML.
        self.configuration.write_text(json.dumps(settings))
        self._daemon: Daemon | None = None

    def read(self, now: float) -> None:
        """Read what there is, and publish what it makes of it."""
        self.now = now
        begin = time.process_time()
        with self._in_virtual_time():
            daemon = self._started()
            while daemon._cycle():
                pass
            daemon.publisher.publish()
            # A snapshot judges some of the databases with news, the next ones the others.
            while daemon.publisher.waits:
                daemon.publisher.publish()
        self.seconds += time.process_time() - begin

    def answers(self) -> Mapping[Key, Answer]:
        groups = self._started().publisher._groups.groups.values()
        found = [each for shown in groups for each in shown.advice]
        return {(each.computer, each.database): answer(each) for each in found}

    def families(self) -> Iterable[Metric]:
        """Its metrics, as a scrape has them."""
        body, _, _ = self._started().publisher.snapshot.render()
        return text_string_to_metric_families(body.decode())

    def acknowledge(self, key: Key) -> None:
        """A person says `esewatch ack DATABASE`."""
        with self._in_virtual_time():
            self._started().publisher.ack(*key, [])

    def close(self) -> None:
        if self._daemon is not None:
            self._daemon.close()
            self._daemon = None

    def is_killed_while_it_reads(self, now: float, commits: int) -> None:
        """Another process of it reads on, and ends by SIGKILL before or at a commit."""
        self.close()
        self.now = now
        killed = get_context("fork").Process(target=self._read_until_killed, args=(commits,))
        killed.start()
        killed.join()
        assert killed.exitcode == -signal.SIGKILL

    def loses_its_journal(self) -> None:
        self.close()
        for file in self.journal.parent.glob(f"{self.journal.name}*"):
            file.unlink()

    def _read_until_killed(self, commits: int) -> None:
        done = 0
        commit = Journal.commit

        def counted(*given: Any, **named: Any) -> Any:
            nonlocal done
            if done == commits:
                os.kill(os.getpid(), signal.SIGKILL)
            done += 1
            return commit(*given, **named)

        with mock.patch.object(Journal, "commit", counted):
            self.read(self.now)
        os.kill(os.getpid(), signal.SIGKILL)

    def _started(self) -> Daemon:
        if self._daemon is None:
            settings = load(self.configuration)
            sources = build_sources(settings)
            journal = Journal(self.journal)
            self._daemon = Daemon(settings, journal, sources, clock=lambda: self.now)
        return self._daemon

    @contextmanager
    def _in_virtual_time(self) -> Iterator[None]:
        clock = SimpleNamespace(monotonic=lambda: self.now, time=lambda: self.now)
        with mock.patch.object(loop, "time", clock), mock.patch.object(publisher, "time", clock):
            yield
