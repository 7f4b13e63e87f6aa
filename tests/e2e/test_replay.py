"""Logs, replayed, loaded by promtool and read back from a real Prometheus."""

import csv
import json
import shlex
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.expose.replay.series_changes import JUDGED, OF_NOW, PREFIXES
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.detect_input import open_inputs
from tests.e2e.harness import Prometheus, get, serving
from tests.support.farm import build
from tests.support.made_once import made_once
from tests.support.patience import PATIENCE
from tests.support.tools import require

NOW = datetime(2026, 3, 12, tzinfo=UTC)
STEP = 300

pytestmark = pytest.mark.e2e


class History(NamedTuple):
    """The logs, and the Prometheus that holds their replay."""

    logs: list[Path]
    prometheus: Prometheus

    def ask(self, path: str, **parameters: object) -> list[dict[str, Any]]:
        """The result of a query of the HTTP API."""
        query = urllib.parse.urlencode(parameters)
        data = json.loads(get(f"{self.prometheus.url}/api/v1/{path}?{query}"))["data"]
        result: list[dict[str, Any]] = data["result"]
        return result

    def range(self, expression: str, first: float, last: float) -> dict[int, float]:
        """The only series of `expression` at each step of five minutes."""
        (found,) = self.ask("query_range", query=expression, start=first, end=last, step=STEP)
        return {int(time): float(value) for time, value in found["values"]}


def replayed(folder: Path) -> None:
    """Five weeks of logs over two months, replayed and loaded with the lines that are printed."""
    promtool = require("promtool")
    logs = build(folder / "logs", NOW)
    esewatch = [sys.executable, "-m", "esewatch"]
    done = subprocess.run(
        [*esewatch, "replay", *map(str, reversed(logs)), "-o", str(folder / "history.om")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("  promtool ")]
    assert len(lines) == 2
    for line in lines:
        words = [str(folder / "data") if it == "DATA_DIR" else it for it in shlex.split(line)]
        subprocess.run([promtool, *words[1:]], check=True, capture_output=True, timeout=PATIENCE)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Iterator[History]:
    """The logs and their replay, made once; a Prometheus for each worker."""
    made = made_once(tmp_path_factory, "replay", replayed)
    folder = tmp_path_factory.mktemp("replay")
    # Only one can open them.
    shutil.copytree(made / "data", folder / "data")
    logs = sorted(path for path in (made / "logs").rglob("*") if path.is_file())
    with serving(folder, folder / "data") as prometheus:
        yield History(logs, prometheus)


def events(logs: list[Path]) -> list[dict[str, Any]]:
    """The events as `esewatch events` prints them, `time` in seconds."""
    done = subprocess.run(
        [sys.executable, "-m", "esewatch", "events", "--format", "json", *map(str, logs)],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for event in found:
        event["time"] = datetime.fromisoformat(event["time"]).timestamp()
    return sorted(found, key=lambda event: float(event["time"]))


def running_total(
    logs: list[Path], database: str, of: Callable[[dict[str, Any]], int]
) -> tuple[dict[int, float], float, float]:
    """By step, the sum of `of` over the events of a database so far; first and last step."""
    all_events = events(logs)
    own = [(event["time"], of(event)) for event in all_events if event["database"] == database]
    rows = counter_rows(logs)
    first = -(-own[0][0] // STEP) * STEP
    last = max(all_events[-1]["time"], rows[-1][0]) // STEP * STEP
    steps = range(int(first), int(last) + 1, STEP)
    return (
        {step: float(sum(value for time, value in own if time <= step)) for step in steps},
        first,
        last,
    )


def counter_rows(logs: list[Path]) -> list[tuple[float, list[float]]]:
    (path,) = (path for path in logs if path.suffix == ".csv")
    with path.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return [
        (
            datetime.strptime(time, "%m/%d/%Y %H:%M:%S.%f").replace(tzinfo=UTC).timestamp(),
            list(map(float, cells)),
        )
        for time, *cells in rows
    ]


def test_pages_freed_at_every_step_are_the_sum_of_the_events_so_far(history: History) -> None:
    def freed(event: dict[str, Any]) -> int:
        return int(event["fields"]["pages_freed"]) if event["event_id"] in {701, 703} else 0

    for store in ("e:\\MDB06\\priv06.edb", "e:\\MDB07\\priv07.edb"):
        expected, first, last = running_total(history.logs, store, freed)
        label = store.lower().replace("\\", "\\\\")
        name = f'ese_defrag_reported_pages_freed_total{{database="{label}"}}'

        assert history.range(name, first, last) == expected
        assert max(expected.values()) > 0


def test_completed_passes_at_every_step_are_counted_from_the_events(history: History) -> None:
    database = "C:\\Windows\\NTDS\\ntds.dit"
    expected, first, last = running_total(
        history.logs, database, lambda event: event["event_id"] == 701
    )
    label = database.lower().replace("\\", "\\\\")
    name = f'ese_passes_completed_total{{database="{label}",task="defrag"}}'

    assert history.range(name, first, last) == expected
    assert expected[int(last)] == 70


def test_integrated_counters_at_every_step_are_rate_times_time(history: History) -> None:
    rows = counter_rows(history.logs)
    total, expected = 0.0, {}
    for (before, _), (time, cells) in zip([rows[0], *rows], rows, strict=False):
        total += cells[0] * (time - before)
        expected[int(time)] = total
    found = history.range(
        'ese_defrag_pages_read_total{ese_instance="SG06"}', rows[0][0], rows[-1][0]
    )

    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-12)
    assert total > 1e6


def test_a_change_lies_at_the_very_time_of_its_record(history: History) -> None:
    (bad,) = (event for event in events(history.logs) if event["event_id"] == 474)
    name = 'ese_known_bad_pages{database=~".*priv08.edb",kind="uncorrectable"}[10m]'
    (found,) = history.ask("query", query=name, time=bad["time"])
    values = [(time, value) for time, value in found["values"] if time > bad["time"] - STEP]

    assert values == [(bad["time"] // STEP * STEP, "0"), (bad["time"], "1")]


def test_at_the_end_prometheus_holds_all_that_the_fold_shows(history: History) -> None:
    folder = Folder(State(), Settings())
    sources, errors, _ = open_inputs([str(path) for path in history.logs], companions=True)
    assert errors == []
    last = max(events(history.logs)[-1]["time"], counter_rows(history.logs)[-1][0])
    for source in sources:
        folder.open_source(source.name, 0.0)
        for batch in source.poll(final=True):
            folder.fold(source.name, batch)
        source.close()
    expected = {
        (sample.name, *sorted((k, v) for k, v in sample.labels.items() if v)): sample.value
        for family in families(folder.state, Settings(), last)
        for sample in family.samples
        if sample.name.startswith(PREFIXES) and sample.name not in OF_NOW
    }
    found = {
        (row["metric"].pop("__name__"), *sorted(row["metric"].items())): float(row["value"][1])
        for row in history.ask("query", query='{__name__=~"e.*"}', time=last)
        if row["metric"]["__name__"] not in JUDGED
    }

    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, rel=1e-9)
    assert len(found) > 100
