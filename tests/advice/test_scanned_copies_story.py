"""Copies of the engine that comes along, which scan themselves: from its logs to the alert."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from eselab.base.plan import CopyPlan
from esewatch.advice.advise import advise
from esewatch.advice.history.history import histories
from esewatch.advice.judgement import Judgement
from esewatch.config import DatabaseRule, Policy, Settings
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.eselab.background import current_plan
from tests.eselab.running import run
from tests.rules.expressions import ROOT
from tests.support.records import DAY
from tests.support.tools import require

SETTINGS = Settings(
    databases=[DatabaseRule(match="*", name="a")],
    policy=Policy(verify_within=7 * DAY),
)
ROLE_CONFIGURED = msgspec.structs.replace(
    SETTINGS, databases=[DatabaseRule(match="*", name="a", role="passive")]
)
RULES = [str(ROOT / name) for name in ("rules/findings.rules.yml", "alerts/verification.yml")]
Told = set[tuple[str, str]]
"""Computers and findings."""
DAYS = 15.0
"""Of a run: before that the alert holds back."""


def read(folder: Path) -> State:
    """What the agent knows of the computers of a run, by their logs alone."""
    agent = Folder(State(), SETTINGS)
    for place in (folder, folder / "EX02"):
        for source in (
            event_stream_source(f"{place.name} events", [str(place / "events.jsonl")]),
            perfmon_csv_source(f"{place.name} counters", [str(place / "counters.csv")]),
        ):
            agent.open_source(source.name, 0.0)
            for batch in source.poll(final=True):
                agent.fold(source.name, batch)
            source.close()
    return agent.state


def expect_firing(
    state: State, told: Sequence[Judgement], now: float, wanted: Told, folder: Path
) -> None:
    """The alert fires for these alone when all metrics stood as they are now for two hours."""
    series = []
    for family in [*families(state, SETTINGS, now), *advice_families(told)]:
        for sample in family.samples:
            labels = [f"{name}={json.dumps(text)}" for name, text in sample.labels.items()]
            labels += ['instance="ex01:19703"', 'job="esewatch"']
            # The time of promtool begins at 0.
            value = sample.value - (now if sample.name.endswith("_timestamp_seconds") else 0.0)
            name = f"{sample.name}{{{','.join(labels)}}}"
            series.append({"series": name, "values": f"{value:f}x24"})
    ask = {
        "expr": 'count by (computer, finding) (database:ese_finding:last15m{finding=~"only_.+"}'
        ' and on (computer) ALERTS{alertname="EseVerificationOverdue",alertstate="firing"})',
        "eval_time": "2h",
        "exp_samples": [
            {"labels": f'{{computer="{computer}",finding="{finding}"}}', "value": 1}
            for computer, finding in wanted
        ],
    }
    case = {"interval": "5m", "input_series": series, "promql_expr_test": [ask]}
    file = folder / "case.json"
    file.write_text(json.dumps({"rule_files": RULES, "tests": [case]}))
    command = [require("promtool"), "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("active", "passive", "expected"),
    [
        pytest.param(True, True, set(), marks=pytest.mark.slow),
        (True, False, {("ex02", "only_active_verified")}),
        pytest.param(False, True, {("lab", "only_passive_verified")}, marks=pytest.mark.slow),
    ],
)
def test_a_copy_that_is_not_scanned_beside_one_that_is_comes_to_the_alert(
    tmp_path: Path, active: bool, passive: bool, expected: Told
) -> None:
    copy = CopyPlan(computer="EX02", scan=passive)
    folder = tmp_path / "run"
    now = run(folder, current_plan(scan=active, copies=[copy]), DAYS)

    state = read(folder)
    # A copy that only replays logs tells no role: then it must be configured.
    settings = SETTINGS if passive else ROLE_CONFIGURED
    told = advise(state, settings, now)

    roles = {each.computer: each.role for each in histories(state, settings).values()}
    assert roles == {"lab": "active", "ex02": "passive"}
    found = {(each.computer, name.finding) for each in told for name in each.findings}
    assert found == expected | {(computer, "never_verified") for computer, _ in expected}
    expect_firing(state, told, now, expected, tmp_path)
