"""Scrapes of 1,000 watched databases, against `generate_latest` over the same bare families."""

import statistics
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from bench.figure import Figure
from bench.fleet import Fleet, days_ago, scrape, watching
from tests.e2e.harness import Agent

DATABASES = 1000
SCRAPES = 100
STORM_EVENTS = 5000
"""Events a second while scrapes are measured under ingestion."""


class _Bare(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families


def run() -> list[Figure]:
    """p95 of scrapes, idle and while records stream in, against the bare rendering."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "logs", DATABASES, days_ago(7))
        fleet.grow(7)
        with watching(fleet, Path(folder) / "agent") as agent:
            body = scrape(agent)[1]
            bare = _bare(body)
            idle = _p95(agent, SCRAPES, 0.0)
            streaming, published = _while_streaming(fleet, agent)
            again = _bare(body)
    base = statistics.median([*bare, *again])
    samples = sum(1 for line in body.splitlines() if not line.startswith(b"#"))
    details = f"{DATABASES:,} databases, {samples:,} samples; bare {base * 1000:.0f} ms"
    return [
        Figure("scrape of 1,000 databases, p95", idle / base, "x", "under", 3, details),
        Figure(
            "scrape of 1,000 databases while records stream in, p95",
            streaming / base,
            "x",
            "under",
            3,
            f"{STORM_EVENTS:,} events/s, {published} snapshots met; bare {base * 1000:.0f} ms",
        ),
    ]


def _bare(body: bytes) -> list[float]:
    families = list(text_string_to_metric_families(body.decode()))  # type: ignore[no-untyped-call]
    generate_latest = choose_encoder("application/openmetrics-text")[0]
    collector = _Bare(families)
    seconds = []
    for _ in range(5):
        begin = time.perf_counter()
        rendered = generate_latest(collector)
        seconds.append(time.perf_counter() - begin)
    if len(rendered) != len(body):
        raise RuntimeError(f"bare rendering has {len(rendered)} bytes, the scrape {len(body)}")
    return seconds


def _p95(agent: Agent, scrapes: int, pause: float) -> float:
    seconds = []
    for _ in range(scrapes):
        seconds.append(scrape(agent)[0])
        time.sleep(pause)
    return statistics.quantiles(seconds, n=20)[-1]


def _while_streaming(fleet: Fleet, agent: Agent) -> tuple[float, int]:
    """p95 of scrapes while events are appended, and how many different bodies were met."""
    stop = threading.Event()

    def feed() -> None:
        with (fleet.folder / "storm.ndjson").open("a", encoding="utf-8") as file:
            while not stop.is_set():
                begin = time.perf_counter()
                file.write(fleet.storm(STORM_EVENTS // 10))
                file.flush()
                stop.wait(max(0.0, 0.1 - (time.perf_counter() - begin)))

    feeder = threading.Thread(target=feed)
    feeder.start()
    seconds, bodies = [], set()
    try:
        for _ in range(SCRAPES // 2):
            took, body = scrape(agent)
            seconds.append(took)
            bodies.add(hash(body))
            time.sleep(0.5)
    finally:
        stop.set()
        feeder.join()
    if len(bodies) < 2:
        raise RuntimeError("the figures did not change while records streamed in")
    return statistics.quantiles(seconds, n=20)[-1], len(bodies)
