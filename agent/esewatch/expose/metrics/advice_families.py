"""Advice as metrics: of watched databases only (semantics.md 1)."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from prometheus_client.core import Metric

from esefiles.base.names import printable
from esewatch.advice.checkdb import CheckdbJudgement
from esewatch.advice.findings.details import OfInstances
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import Judgement
from esewatch.advice.statements import standing, standing_checks
from esewatch.advice.window.window import ACTIONS, WindowAdvice
from esewatch.expose.metrics.samples import Labels, Samples
from esewatch.fold.state.state import State


def advice_families(
    advice: Iterable[Judgement],
    instances: OfInstances = MappingProxyType({}),
    stated: State | None = None,
    *,
    checks: Iterable[CheckdbJudgement] = (),
) -> list[Metric]:
    """Of findings those that stand, with 1, and those that are `stated` to be over, with 0."""
    out, stated = Samples(), stated or State()
    add_statements(out, stated)
    add_advice(out, advice, instances, stated)
    add_checks(out, checks)
    return out.families()


def add_checks(out: Samples, checks: Iterable[CheckdbJudgement]) -> None:
    for each in checks:
        labels = {"computer": printable(each.computer), "database": printable(each.database)}
        _add_findings(out, labels, standing_checks(each), 1)


def add_statements(out: Samples, stated: State) -> None:
    """Add what is over."""
    for (computer, database), known in stated.stated.items():
        labels = {"computer": printable(computer), "database": printable(database)}
        _add_findings(out, labels, map(str.split, known.over), 0)
    for key, known in stated.stated_instances.items():
        _add_findings(out, _of_instance(stated, key), map(str.split, known.over), 0)


def add_advice(
    out: Samples, advice: Iterable[Judgement], instances: OfInstances, known: State
) -> None:
    """Add what stands; `known` has the instances."""
    for key, details in instances.items():
        told = [(each.finding, each.severity) for each in details]
        _add_findings(out, _of_instance(known, key), told, 1)
    for each in advice:
        labels = {"computer": printable(each.computer), "database": printable(each.database)}
        _add_findings(out, labels, standing(each), 1)
        if each.tier != "watched":
            continue
        out.add("ese_database_verdict", {**labels, "verdict": each.verdict}, 1)
        _add_window(out, labels, each.window)
        out.add("ese_verification_deadline_seconds", labels, each.ledger.limit)
        for forecast in each.forecasts:
            _add_forecast(out, labels, forecast)


def _of_instance(known: State, key: tuple[str, str]) -> Labels:
    """Its name as its other metrics have it."""
    instance = known.instances.get(key)
    name = instance.ese_instance if instance is not None else key[1]
    return {"computer": printable(key[0]), "ese_instance": printable(name)}


def _add_findings(
    out: Samples, labels: Labels, findings: Iterable[Sequence[str]], value: int
) -> None:
    for finding, severity in findings:
        out.add("ese_finding", {**labels, "finding": finding, "severity": severity}, value)


def _add_window(out: Samples, labels: Labels, window: WindowAdvice) -> None:
    out.add("ese_window_configured_seconds", labels, window.configured_seconds)
    out.add("ese_window_recommended_seconds", labels, window.recommended_seconds)
    for action in ACTIONS:
        of_action = {**labels, "action": action}
        out.add("ese_window_advice", of_action, int(action == window.action))
    out.add("ese_window_advice_reason", {**labels, "reason": window.rule}, 1)
    out.add("ese_window_advice_confidence_ratio", labels, window.confidence)


def _add_forecast(out: Samples, labels: Labels, forecast: Forecast) -> None:
    """Add a forecast, rounded to the second and to a part in ten thousand: it is no more
    precise."""
    of_task = {**labels, "task": forecast.task}
    out.add("ese_pass_progress_ratio", of_task, _rounded(forecast.progress, 4))
    for confidence, time in (("p50", forecast.p50), ("p90", forecast.p90)):
        of_chance = {**of_task, "confidence": confidence}
        out.add("ese_pass_forecast_completion_timestamp_seconds", of_chance, _rounded(time, 0))
    out.add("ese_pass_deadline_timestamp_seconds", of_task, forecast.deadline)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
