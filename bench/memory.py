"""Resident memory of the agent: 50 databases, 1,000 databases, and over a year."""

import tempfile
import time
from pathlib import Path

from bench.figure import Figure
from bench.fleet import Fleet, days_ago, scrape, status, watching
from tests.e2e.harness import Agent

HISTORY_DAYS = 35
MONTHS = 12
MONTH_DAYS = 30
WARM_MONTH = 3
"""From here on all bounds of the state are reached by daily maintenance."""


def run() -> list[Figure]:
    """Each in an agent of its own, with scrapes in between."""
    small, small_peak = _after_history(50)
    large, large_peak = _after_history(1000)
    months = _year(50)
    grown = months[-1] / months[WARM_MONTH - 1]
    history = f"{HISTORY_DAYS} days of events and counters"
    shown = ", ".join(f"{month:.0f}" for month in months)
    return [
        Figure(
            "memory, 50 databases", small, "MB", "under", 60, f"{history}; peak {small_peak:.0f}"
        ),
        Figure(
            "memory, 1,000 databases",
            large,
            "MB",
            "under",
            150,
            f"{history}; peak {large_peak:.0f}",
        ),
        Figure(
            "memory after a year against after three months, 50 databases",
            grown,
            "x",
            "under",
            1.1,
            f"MB at the end of each month: {shown}",
        ),
    ]


def _after_history(databases: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "logs", databases, days_ago(HISTORY_DAYS))
        fleet.grow(HISTORY_DAYS)
        with watching(fleet, Path(folder) / "agent") as agent:
            return _resident(agent, fleet), status(agent.pid, "VmHWM")


def _year(databases: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "logs", databases, days_ago(MONTHS * MONTH_DAYS))
        fleet.grow(1)
        found = []
        with watching(fleet, Path(folder) / "agent") as agent:
            for month in range(MONTHS):
                fleet.grow(MONTH_DAYS - (month == 0))
                found.append(_resident(agent, fleet))
        return found


def _resident(agent: Agent, fleet: Fleet) -> float:
    """Resident MB once all is read and scraped a few times."""
    newest = fleet.now.timestamp() - 86400
    end = time.monotonic() + 300
    while _newest_record(agent) < newest:
        if time.monotonic() > end:
            raise RuntimeError("the agent did not catch up in 300 s")
        time.sleep(0.5)
    for _ in range(10):
        scrape(agent)
        time.sleep(0.2)
    return status(agent.pid, "VmRSS")


def _newest_record(agent: Agent) -> float:
    """Time of the latest record of the source that is furthest behind."""
    name = b"esewatch_source_last_record_timestamp_seconds{"
    lines = [line for line in scrape(agent)[1].splitlines() if line.startswith(name)]
    return min((float(line.split()[-1]) for line in lines), default=0.0)
