"""What the sides of an experiment make the rules say, through the rules that are shipped."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from eselab.lab.bench import Bench
from eselab.lab.experiments import EXPERIMENTS, scan_kindness
from tests.e2e.harness import Prometheus, serving
from tests.eselab.lab import signals_sides, signals_told
from tests.eselab.lab.signals_sides import Side
from tests.rules.expressions import ROOT, alerts
from tests.rules.quality import backfill, replaying
from tests.rules.quality.month import END, START

ALL = {alert for each in EXPERIMENTS.values() for side in each.signals for alert in side.alerts}


def test_every_alert_of_an_experiment_is_one_that_is_shipped() -> None:
    assert {rule["alert"] for rule in alerts()} >= ALL
    assert all((ROOT / "docs" / "runbooks" / f"{alert}.md").exists() for alert in ALL)


def test_each_side_is_one_of_the_cases_and_the_good_one_raises_nothing() -> None:
    for each in EXPERIMENTS.values():
        for signal in each.signals:
            assert re.fullmatch(r"[A-Za-z ]+", signal.case)
            told = bool(signal.alerts) or signal.action not in {"", "keep"}
            assert told == (signal.side == "bad")


@pytest.mark.slow
def test_the_bad_side_of_scan_kindness_is_beyond_the_limit_of_its_alert_and_no_good_one_is(
    tmp_path: Path,
) -> None:
    (limit,) = {
        float(found)
        for rule in alerts()
        if rule["alert"] == "EseLatencyHigh" and rule["labels"]["severity"] == "warning"
        for found in re.findall(
            r'median15m\{file="database",operation="read",phase!="recovery"\} > ([0-9.]+)',
            rule["expr"],
        )
    }
    findings = scan_kindness.run(Bench(tmp_path, 1, lambda: None), seconds=1.0)
    latency = {row.case: row.ours for row in findings.rows if row.quantity == "users' read latency"}

    for signal in EXPERIMENTS["scan-kindness"].signals:
        found = latency[signal.case]
        assert isinstance(found, float)
        assert (found / 1e3 > limit) == (signal.side == "bad")


def sides(folder: Path) -> Iterator[Side]:
    """Of all experiments."""
    for make in (
        signals_sides.old_ratios,
        signals_sides.checksums,
        signals_sides.zeroings,
        signals_sides.write_caches,
        signals_told.kindnesses,
    ):
        (folder / make.__name__).mkdir()
        yield from make(folder / make.__name__)


def loaded(folder: Path, found: Sequence[Side]) -> Path:
    """The blocks of a Prometheus with the months of all sides, and what rules record of them."""
    data = folder / "data"

    def written(side: Side) -> tuple[float, int]:
        return side.since, side.step

    for (since, step), group in groupby(sorted(found, key=written), written):
        text = folder / "months.om"
        together = [month for side in group for month in side.months]
        replaying.write(text, together, since=since, step=step)
        backfill.load(text, data)
        text.unlink()
    backfill.record(folder, data, START, END, backfill.asked_by_alerts())
    return data


def at_the_end(prometheus: Prometheus, expression: str, label: str) -> dict[str, set[str]]:
    """Agent -> the values of a label of what it says at the end of the month."""
    said: dict[str, set[str]] = {}
    for labels, _ in prometheus.query(expression.replace("@", f"@ {END:.0f}")):
        said.setdefault(labels["instance"], set()).add(labels[label])
    return said


def origin(fired: backfill.Fired) -> str:
    """The computer that an alert is about; of an alert about an agent, that agent."""
    return fired.labels.get("computer") or fired.labels["instance"]


def severities(names: Collection[str]) -> set[tuple[str, str]]:
    """The rules of these alerts."""
    return {
        (rule["alert"], rule["labels"]["severity"]) for rule in alerts() if rule["alert"] in names
    }


@pytest.mark.slow
@pytest.mark.e2e
def test_each_bad_side_raises_its_alert_and_no_good_one_any(tmp_path: Path) -> None:
    signals = {
        (name, signal.case): signal for name, each in EXPERIMENTS.items() for signal in each.signals
    }
    found = list(sides(tmp_path))
    assert {(side.experiment, side.case) for side in found} == signals.keys()
    with serving(tmp_path, loaded(tmp_path, found)) as prometheus:
        fired = backfill.fired(prometheus, START, END)
        advised = at_the_end(prometheus, "ese_window_advice @ == 1", "action")
        findings = at_the_end(prometheus, "ese_finding @ == 1", "finding")

    told = {}
    for side in found:
        agents = {month.instance for month in side.months}
        of_side = agents | {month.computer for month in side.months}
        raised = [
            each
            for each in fired
            if origin(each) in of_side and (each.alert in ALL or each.severity != "info")
        ]
        told[side.experiment, side.case] = {(each.alert, each.severity) for each in raised}
        assert all(each.when.start >= side.bad_from for each in raised)
        signal = signals[side.experiment, side.case]
        for agent in agents:
            assert advised.get(agent, set()) >= ({signal.action} if signal.action else set())
            collide = "scans_collide" in findings.get(agent, set())
            assert collide == ("EseScansCollide" in signal.alerts)
    # An alert with two limits is raised with both severities.
    assert told == {case: severities(signal.alerts) for case, signal in signals.items()}
