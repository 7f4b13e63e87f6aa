"""What the sides of an experiment make the rules say, through the rules that are shipped."""

import re
from pathlib import Path

import msgspec
import pytest

from esewatch.config.settings import DatabaseRule
from esewatch.engine.clock import VirtualClock
from esewatch.engine.machine import Machine
from esewatch.engine.plan import Plan
from esewatch.lab import old_ratio, scan_kindness
from esewatch.lab.bench import Bench, Run
from esewatch.lab.catalogue import EXPERIMENTS
from esewatch.model import Event, Reading, Record
from tests.e2e.harness import serving
from tests.rules.expressions import ROOT, alerts
from tests.rules.quality import backfill, replaying
from tests.rules.quality.engine_made import backups, of_server
from tests.rules.quality.month import END, HOUR, START, Month

PAGES = 2000
ALL = {alert for each in EXPERIMENTS.values() for side in each.signals for alert in side.alerts}


def test_every_alert_of_an_experiment_is_one_that_is_shipped() -> None:
    assert {rule["alert"] for rule in alerts()} >= ALL
    assert all((ROOT / "docs" / "runbooks" / f"{alert}.md").exists() for alert in ALL)


def test_each_side_is_one_of_the_cases_and_the_good_one_raises_nothing() -> None:
    for each in EXPERIMENTS.values():
        for signal in each.signals:
            assert re.fullmatch(r"[A-Za-z ]+", signal.case)
            assert bool(signal.alerts) == (signal.side == "bad")


def test_the_bad_side_of_scan_kindness_is_beyond_the_limit_of_its_alert_and_no_good_one_is(
    tmp_path: Path,
) -> None:
    (limit,) = {
        float(found)
        for rule in alerts()
        if rule["alert"] == "EseDatabaseReadLatencyHigh" and rule["labels"]["severity"] == "warning"
        for found in re.findall(r"ese_io_latency_seconds:median15m\{.*\} > ([0-9.]+)", rule["expr"])
    }
    findings = scan_kindness.run(Bench(tmp_path, 1, lambda: None), seconds=2.0)
    latency = {row.case: row.ours for row in findings.rows if row.quantity == "users' read latency"}

    for signal in EXPERIMENTS["scan-kindness"].signals:
        found = latency[signal.case]
        assert isinstance(found, float)
        assert (found / 1e3 > limit) == (signal.side == "bad")


def months(folder: Path) -> list[Month]:
    """Each churn of old-ratio as the only database of a server of its own, with backups."""
    plan = msgspec.convert(old_ratio.plan(PAGES), type=Plan)
    machine = Machine(folder, plan, clock=VirtualClock(START), seed=1, computer="lab")
    machine.open()
    machine.run(END)
    machine.close()
    run = Run(folder)
    records: list[Record] = [*run.events(), *run.readings()]
    return [_month(churn.name, records) for churn in old_ratio.CHURNS]


def _month(name: str, records: list[Record]) -> Month:
    computer = f"ex-{name}"
    called = {name: f"{computer}-{name}"}
    found = [of_server(each, called, computer) for each in records if _is_of(each, name)]
    found += backups(computer, list(called.values()))
    settings = msgspec.structs.replace(
        old_ratio.settings(PAGES), databases=[DatabaseRule(match="*.edb", window="nightly")]
    )
    return Month(computer, name, found, settings)


def _is_of(record: Record, name: str) -> bool:
    if isinstance(record, Event):
        return record.ese_instance == name
    return isinstance(record, Reading) and record.feed is not None and record.feed.name == name


@pytest.mark.e2e
def test_the_bad_churns_raise_their_alert_and_the_good_one_none(tmp_path: Path) -> None:
    made = months(tmp_path / "run")
    text, data = tmp_path / "months.om", tmp_path / "data"
    replaying.write(text, made, 6 * HOUR)
    backfill.load(text, data)
    text.unlink()
    backfill.record(tmp_path, data, START, END)
    with serving(tmp_path, data) as prometheus:
        fired = backfill.fired(prometheus, START, END)

    found = {
        month.kind: {
            (each.alert, each.severity)
            for each in fired
            if each.labels["instance"] == month.instance
        }
        for month in made
    }
    expected = {
        signal.case: {(alert, "info") for alert in signal.alerts}
        for signal in EXPERIMENTS["old-ratio"].signals
    }
    assert {
        case: {each for each in told if each[0] in ALL or each[1] != "info"}
        for case, told in found.items()
    } == expected
