"""Advice as metrics: what is there, and what is not."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from prometheus_client.core import Metric

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import FINDINGS, Detail, Finding
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.ledger import Deadline
from esewatch.advice.judgement import VERDICTS, Judgement
from esewatch.advice.window.window import ACTIONS, REASONS, WindowAdvice
from esewatch.config import default_settings
from esewatch.expose.metrics.advice_families import advice_families
from esewatch.expose.metrics.metric_catalogue import ADVICE
from esewatch.fold.state.state import Instance, State, Stated
from tests.expose.examples import NOW, PRIV06, example

D = {"computer": PRIV06[0], "database": PRIV06[1]}


def advice(**changes: Any) -> Judgement:
    found = advise(example(), default_settings(), NOW)
    one = next(each for each in found if (each.computer, each.database) == PRIV06)
    return msgspec.structs.replace(one, **changes)


def samples(*of: Judgement) -> dict[str, list[tuple[Mapping[str, str], float]]]:
    """Name -> labels beside computer and database, and value."""
    found: dict[str, list[tuple[Mapping[str, str], float]]] = {}
    for family in advice_families(of):
        for sample in family.samples:
            assert sample.labels.items() >= D.items()
            own = {name: value for name, value in sample.labels.items() if name not in D}
            found.setdefault(sample.name, []).append((own, sample.value))
    return found


@pytest.mark.parametrize("action", ACTIONS)
def test_all_actions_are_there_and_exactly_one_is_1(action: Any) -> None:
    found = samples(advice(window=WindowAdvice(action=action, rule="otherwise")))

    assert [(own["action"], value) for own, value in found["ese_window_advice"]] == [
        (each, float(each == action)) for each in ACTIONS
    ]


def test_lengths_are_absent_where_they_are_not_known() -> None:
    known = WindowAdvice(
        action="shrink",
        rule="ratio_high",
        configured_seconds=14400,
        recommended_seconds=9900,
        confidence=0.8,
    )
    found = samples(advice(window=known))
    assert found["ese_window_configured_seconds"] == [({}, 14400.0)]
    assert found["ese_window_recommended_seconds"] == [({}, 9900.0)]
    assert found["ese_window_advice_confidence_ratio"] == [({}, 0.8)]

    unknown = samples(advice(window=WindowAdvice(action="insufficient_evidence", rule="evidence")))
    assert "ese_window_configured_seconds" not in unknown
    assert "ese_window_recommended_seconds" not in unknown
    assert unknown["ese_window_advice_confidence_ratio"] == [({}, 0.0)]


@pytest.mark.parametrize("rule", REASONS)
def test_the_rule_that_decided_is_the_reason(rule: str) -> None:
    found = samples(advice(window=WindowAdvice(action="keep", rule=rule)))
    assert found["ese_window_advice_reason"] == [({"reason": rule}, 1.0)]


@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_verdict_that_holds_is_there_alone(verdict: Any) -> None:
    found = samples(advice(verdict=verdict))
    assert found["ese_database_verdict"] == [({"verdict": verdict}, 1.0)]


def test_a_deadline_that_is_a_guess_is_absent() -> None:
    ledger = advice().ledger
    known = msgspec.structs.replace(ledger, deadline=Deadline(864000.0, "configured"))
    assert samples(advice(ledger=known))["ese_verification_deadline_seconds"] == [({}, 864000.0)]


def test_a_finding_is_there_once_while_it_stands() -> None:
    twice = tuple(Finding(name, "why") for name in (*FINDINGS, FINDINGS[0]))

    assert samples(advice(findings=twice))["ese_finding"] == [
        ({"finding": name, "severity": "warning"}, 1.0) for name in sorted(FINDINGS)
    ]
    assert "ese_finding" not in samples(advice(findings=()))


def test_a_finding_that_is_stated_to_be_over_is_there_with_zero() -> None:
    over = Stated(over={"investigate critical": 60.0})
    (family,) = advice_families([], {}, State(stated={("ex02", "x:\\y.edb"): over}))

    (sample,) = family.samples
    assert sample.labels == {
        "computer": "ex02",
        "database": "x:\\y.edb",
        "finding": "investigate",
        "severity": "critical",
    }
    assert sample.value == 0.0


def test_of_an_instance_its_findings_are_there_with_its_own_name() -> None:
    key = ("ex01", "sg06")
    instances = {key: Instance(computer="ex01", ese_instance="SG06")}
    over = Stated(standing=["disk_full critical"], over={"io_error warning": 60.0})
    state = State(instances=instances, stated_instances={key: over})
    details = {key: (Detail("disk_full", "critical"),), ("ex01", "sg07"): ()}
    (family,) = advice_families([], details, state)

    of_it = {"computer": "ex01", "ese_instance": "SG06"}
    assert [(sample.labels, sample.value) for sample in family.samples] == [
        ({**of_it, "finding": "io_error", "severity": "warning"}, 0.0),
        ({**of_it, "finding": "disk_full", "severity": "critical"}, 1.0),
    ]


def test_of_what_is_only_observed_only_what_alerts_carry_is_there() -> None:
    findings = tuple(Finding(name, "why") for name in FINDINGS)
    details = (Detail("known_bad_page", "warning"),)
    told = samples(advice(tier="observed", findings=findings, details=details))
    assert told.keys() == {"ese_finding"}
    assert [own["finding"] for own, _ in told["ese_finding"]] == [
        "copy_divergence",
        "copy_suspect",
        "known_bad_page",
        "logical_damage",
    ]


def test_a_forecast_is_told_by_task_and_confidence() -> None:
    defrag = Forecast(
        task="defrag", p50=NOW + 3600.4, p90=NOW + 7200, progress=0.123456, deadline=NOW + 9
    )
    scan = Forecast(task="checksum", reason="no pass is running", deadline=NOW + 5)
    found = samples(advice(forecasts=(defrag, scan)))

    assert found["ese_pass_progress_ratio"] == [({"task": "defrag"}, 0.1235)]
    assert found["ese_pass_forecast_completion_timestamp_seconds"] == [
        ({"task": "defrag", "confidence": "p50"}, NOW + 3600),
        ({"task": "defrag", "confidence": "p90"}, NOW + 7200),
    ]
    assert found["ese_pass_deadline_timestamp_seconds"] == [
        ({"task": "defrag"}, NOW + 9),
        ({"task": "checksum"}, NOW + 5),
    ]


def test_only_watched_databases_have_advice() -> None:
    assert advice_families([advice(tier="observed")]) == []
    everything: list[Metric] = advice_families(advise(example(), default_settings(), NOW))
    of_actions = next(each for each in everything if each.name == "ese_window_advice")
    places = {(each.labels["computer"], each.labels["database"]) for each in of_actions.samples}
    assert len(of_actions.samples) == len(places) * len(ACTIONS)
    assert len(places) == 4


def test_a_state_without_databases_has_no_advice() -> None:
    assert advice_families(advise(State(), default_settings(), NOW)) == []


def test_labels_are_those_of_the_catalogue() -> None:
    rows = {row.name: row for row in ADVICE}
    for family in advice_families(advise(example(), default_settings(), NOW)):
        for sample in family.samples:
            either = {"ese_instance"} if sample.name == "ese_finding" else set[str]()
            assert sample.labels.keys() == set(rows[sample.name].labels) - either
