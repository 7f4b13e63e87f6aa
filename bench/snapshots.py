"""What the daemon spends on snapshots of a fleet: after one event, after a minute without any, and
on its status page.

CPU time, so that a busy machine matters little. Everything made anew, as after a start, is measured
beside it.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.figure import Figure
from bench.fleet import Fleet, days_ago
from esewatch.config.files import load
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.requests import Request
from esewatch.journal import Journal
from esewatch.model import Batch, Event
from esewatch.sources.registry import build_sources

DATABASES: Final = 1000
DAYS: Final = 3
ROUNDS: Final = 15
MINUTE: Final = 60.0
AFTER_MIDNIGHT: Final = 600.0
"""All was read that the fleet has logged, and no log has been silent for a day."""
OPENMETRICS: Final = "application/openmetrics-text"
STATUS: Final = Request(method="GET", path="/", query=b"", headers={}, client="127.0.0.1")


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        fleet = Fleet(Path(name) / "logs", DATABASES, days_ago(DAYS))
        fleet.grow(DAYS)
        now = [days_ago(0).timestamp() + AFTER_MIDNIGHT]
        daemon = _reading(fleet, Path(name), now)
        try:
            return _figures(daemon, now)
        finally:
            daemon.close()


def _reading(fleet: Fleet, folder: Path, now: list[float]) -> Daemon:
    """An agent that has read everything, and has judged all of it."""
    configuration = folder / "esewatch.yml"
    configuration.write_text(json.dumps(fleet.settings), encoding="utf-8")
    settings, journal = load(configuration), Journal(folder / "j.db")
    daemon = Daemon(settings, journal, build_sources(settings), clock=lambda: now[0])
    end = time.monotonic() + 600
    while not daemon.publisher.ready()[0] or any(
        each.advice is None for each in daemon.publisher.overview().databases
    ):
        if time.monotonic() > end:
            raise RuntimeError("the fleet was not read and judged in 10 minutes")
        daemon._cycle()
    return daemon


def _figures(daemon: Daemon, now: list[float]) -> list[Figure]:
    publisher, app = daemon.publisher, App(daemon.publisher)
    spent: dict[str, list[float]] = {
        name: [] for name in ("event", "minute", "gzip", "page", "again", "anew")
    }
    publisher.snapshot.render(OPENMETRICS)
    for number in range(ROUNDS):
        _event(daemon, number, now)
        spent["event"].append(_cpu(publisher.publish))
        now[0] += MINUTE
        spent["minute"].append(_cpu(publisher.publish))
        app._status(STATUS)
        now[0] += MINUTE
        publisher.publish()
        spent["page"].append(_cpu(lambda: app._status(STATUS)))
        spent["again"].append(_cpu(lambda: app._status(STATUS)))
    body = publisher.snapshot.render(OPENMETRICS)[0]
    spent["gzip"].append(_cpu(lambda: publisher.snapshot.render(OPENMETRICS, "gzip")))
    publisher._groups.forget()
    spent["anew"].append(_cpu(publisher.publish))
    event, minute, packed, page, again, anew = map(statistics.median, spent.values())
    fleet = f"of {DATABASES:,} databases"
    lines = f"{len(body.splitlines()):,}"
    return [
        Figure(
            f"one event, snapshot {fleet}",
            event,
            "CPU-s",
            "under",
            0.03,
            f"median of {ROUNDS}, {lines} lines; with nothing kept {anew:.2f}, judgements of 50"
            f" included; gzip {packed:.3f} more",
        ),
        Figure(
            f"a minute without news, {fleet[3:]}",
            100 * minute / MINUTE,
            "% of a core",
            "under",
            0.15,
            f"one snapshot, median of {ROUNDS}; without reading and gzip",
        ),
        Figure(
            f"status page {fleet}, a minute later and nothing changed",
            page,
            "CPU-s",
            details=f"median of {ROUNDS}",
        ),
        Figure(
            f"status page {fleet}, nothing changed since it was rendered",
            again,
            "CPU-s",
            "under",
            0.05,
            f"median of {ROUNDS}",
        ),
    ]


def _event(daemon: Daemon, number: int, now: list[float]) -> None:
    """Fold and commit an interruption of the pass of one database."""
    known = list(daemon._shared.folder.state.databases.values())
    entry = known[number * len(known) // ROUNDS]
    record = Event(
        event_id=704,
        time=now[0],
        record_id=10**9 + number,
        computer=entry.computer,
        channel="Application",
        provider="ESE",
        process="MSExchangeIS",
        ese_instance=entry.ese_instance,
        database=entry.path,
        fields={},
    )
    now[0] += 1.0
    daemon._take(
        next(iter(daemon._shared.folder.state.sources)), Batch(records=[record], caught_up=True)
    )
    daemon._try_commit()


def _cpu(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin
