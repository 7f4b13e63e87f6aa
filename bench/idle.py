"""CPU of the agent while nothing happens but scrapes every 15 seconds."""

import tempfile
import time
from pathlib import Path

from bench.figure import Figure
from bench.fleet import Fleet, cpu_seconds, days_ago, scrape, watching

DATABASES = 50
SECONDS = 120
SCRAPE_SECONDS = 15


def run() -> list[Figure]:
    """Part of a core, with the growing of logs left out and the looking for it left in."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "logs", DATABASES, days_ago(7))
        fleet.grow(7)
        with watching(fleet, Path(folder) / "agent") as agent:
            scrape(agent)
            begin, used = time.perf_counter(), cpu_seconds(agent.pid)
            for _ in range(SECONDS // SCRAPE_SECONDS):
                time.sleep(SCRAPE_SECONDS)
                scrape(agent)
            used = cpu_seconds(agent.pid) - used
            passed = time.perf_counter() - begin
    details = f"{DATABASES} databases, 10 files, {SECONDS} s, a scrape every {SCRAPE_SECONDS} s"
    return [Figure("idle CPU", 100 * used / passed, "% of a core", "under", 0.5, details)]
