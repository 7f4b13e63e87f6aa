"""The metrics of an agent as a Prometheus would have them over a month, and what fires."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.e2e.harness import serving
from tests.estate.agent import Agent
from tests.estate.month import END, START
from tests.rules.quality import backfill
from tests.rules.quality.backfill import STEP, Fired
from tests.rules.quality.replaying import event_ids

Labels = tuple[tuple[str, str], ...]
EVERY = 6 * 3600.0
"""The agent is asked at least so often; between two answers the last one holds."""
SCRAPED: Mapping[str, str] = {"job": "esewatch", "instance": "agent:19703"}
RUNS_ON = frozenset({"esewatch_snapshot_timestamp_seconds"})
"""A snapshot is made each minute."""


class Scrapes:
    """What was scraped, as far as rules ask for it."""

    def __init__(self) -> None:
        self._asked = backfill.unrecorded(backfill.asked_by_alerts())
        self._ids = event_ids()
        self.moments: list[float] = []
        self._values: dict[tuple[str, Labels], list[tuple[float, float]]] = {}

    def take(self, now: float, agent: Agent) -> None:
        """Scrape the agent as of this moment."""
        self.moments.append(now)
        there = set()
        for family in agent.families():
            for name, labels, value, *_ in family.samples:
                if name not in self._asked or labels.get("event_id", "") not in {"", *self._ids}:
                    continue
                key = (name, tuple(sorted({**labels, **SCRAPED}.items())))
                self._note(key, now, value)
                there.add(key)
        for key in self._values.keys() - there:
            self._note(key, now, math.nan)
        self._note(("up", tuple(sorted(SCRAPED.items()))), now, 1.0)

    def _note(self, key: tuple[str, Labels], now: float, value: float) -> None:
        course = self._values.setdefault(key, [])
        last = course[-1][1] if course else None
        if key[0] in RUNS_ON or last is None or repr(last) != repr(value):
            course.append((now, value))

    def write(self, path: Path) -> None:
        """All as OpenMetrics, a sample each five minutes."""
        families: dict[str, list[tuple[Labels, list[tuple[float, float]]]]] = {}
        for (name, labels), course in self._values.items():
            families.setdefault(name, []).append((labels, course))
        with path.open("w", encoding="utf-8", newline="\n") as text:
            for name, series in sorted(families.items()):
                text.write(f"# TYPE {name} unknown\n")
                for labels, course in series:
                    text.writelines(_samples(name, labels, course))
            text.write("# EOF\n")


def _samples(name: str, labels: Labels, course: list[tuple[float, float]]) -> Iterator[str]:
    listed = ",".join(f"{key}={json.dumps(value)}" for key, value in labels)
    ends = [time for time, _ in course[1:]] + [END + 1.0]
    for (begin, value), end in zip(course, ends, strict=True):
        if math.isnan(value):
            continue
        for time in range(int(math.ceil(begin / STEP) * STEP), math.ceil(end), STEP):
            shown = value + (time - begin if name in RUNS_ON else 0.0)
            yield f"{name}{{{listed}}} {shown!r} {time}\n"


def fired(scrapes: Scrapes, folder: Path) -> list[Fired]:
    """What the rules make of it, evaluated each five minutes."""
    text, data = folder / "month.om", folder / "data"
    scrapes.write(text)
    backfill.load(text, data)
    text.unlink()
    backfill.record(folder, data, START, END, backfill.asked_by_alerts())
    with serving(folder, data) as prometheus:
        return backfill.fired(prometheus, START, END)
