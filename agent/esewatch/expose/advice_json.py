"""Advice as the JSON object of `advise --format json` and `/api/v1/advice` (contract.md)."""

import math
from collections.abc import Sequence
from typing import Any

from esefiles.base.names import printable
from esewatch.advice.base.finding import Finding
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.judgement import Judgement
from esewatch.advice.window.evidence import Evidence
from esewatch.expose.formatting import iso_time, tidy


def advice_object(advice: Judgement) -> dict[str, Any]:
    """One object; a key is absent when it is unknown, times are ISO 8601 in UTC. Names are those of
    the labels, however long."""
    window = advice.window
    found = {
        "computer": printable(advice.computer),
        "ese_instance": printable(advice.ese_instance),
        "database": printable(advice.database),
        "tier": advice.tier,
        "model": advice.model,
        "action": window.action,
        "configured_seconds": _number(window.configured_seconds),
        "recommended_seconds": _number(window.recommended_seconds),
        "confidence": window.confidence,
        "reasons": [tidy(reason) for reason in window.reasons],
        "evidence": _evidence(window.evidence) if advice.model == "window" else None,
        "as_of": iso_time(advice.as_of),
        "verdict": advice.verdict,
        "findings": [finding_object(each) for each in advice.findings],
        "details": [
            {
                key: value
                for key, value in of._replace(sentence=tidy(of.sentence))._asdict().items()
                if value
            }
            for of in advice.details
        ]
        or None,
        "forecast": _forecast(most_urgent(advice.forecasts)),
        "verified": {
            by: told
            for by, time in sorted(advice.ledger.verified.items())
            if (told := iso_time(time)) is not None
        },
    }
    return {key: value for key, value in found.items() if value not in (None, "", {})}


def finding_object(found: Finding) -> dict[str, Any]:
    told = {
        "finding": found.finding,
        "sentence": tidy(found.sentence),
        "severity": found.severity,
        "since": iso_time(found.since),
    }
    return {key: value for key, value in told.items() if value is not None}


def most_urgent(forecasts: Sequence[Forecast]) -> Forecast | None:
    """The most urgent forecast: of those with a date the one with the least time to its deadline.
    Without a date, the first that has a deadline; None where nothing is known."""
    dated = [each for each in forecasts if each.p90 is not None]
    if dated:
        return min(dated, key=lambda each: (each.deadline or math.inf) - (each.p90 or 0.0))
    return next((each for each in forecasts if each.p50 or each.deadline), None)


def _evidence(found: Evidence) -> dict[str, Any]:
    told = {
        "ratio": found.ratio,
        "pages_read": round(found.pages_read),
        "pages_freed": round(found.pages_freed),
        "windows": found.windows,
        "passes": found.passes,
        "counter_coverage": round(found.counter_coverage, 2),
    }
    return {key: value for key, value in told.items() if value is not None}


def _forecast(forecast: Forecast | None) -> dict[str, Any] | None:
    if forecast is None:
        return None
    dates = {"p50": forecast.p50, "p90": forecast.p90, "deadline": forecast.deadline}
    told = {key: iso_time(round(date)) for key, date in dates.items() if date is not None}
    return {"task": forecast.task, **{key: date for key, date in told.items() if date is not None}}


def _number(seconds: float | None) -> float | int | None:
    return int(seconds) if seconds is not None and seconds == int(seconds) else seconds
