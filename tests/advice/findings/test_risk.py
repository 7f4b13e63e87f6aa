"""Databases that refuse writes or are about to."""

import pytest

from esewatch.advice.base.finding import REPORT_WORDS, RISKS
from esewatch.advice.findings.risk import BUCKETS, RECENT, at_risk
from esewatch.fold.state.state import ENGINE_ERROR_KINDS, EngineErrorKind, Instance, Level

NOW = 1_182_384_840.0
"""2007-06-21 00:14 UTC."""


def instance(buckets: float | None = None, **errors: float) -> Instance:
    """With errors of these kinds, so many seconds before NOW."""
    levels = {BUCKETS: Level(buckets, NOW - 15, 15)} if buckets is not None else {}
    told = {kind: (3, NOW - ago) for kind, ago in errors.items()}
    return Instance(
        computer="ex01",
        ese_instance="SG06",
        errors=told,  # type: ignore[arg-type]
        levels=levels,
    )


@pytest.mark.parametrize("kind", sorted(RISKS))
def test_an_error_counts_for_an_hour(kind: EngineErrorKind) -> None:
    found = at_risk(instance(**{kind: RECENT - 1}), None, NOW)
    assert found is not None
    assert found.finding == "writes_at_risk"
    assert RISKS[kind] in found.sentence
    assert found.causes == (kind,)
    assert at_risk(instance(**{kind: RECENT}), None, NOW) is None


def test_errors_that_stop_no_writes_do_not_count() -> None:
    others = set(ENGINE_ERROR_KINDS) - RISKS.keys()
    assert others - REPORT_WORDS.keys() == {"io", "recovery"}
    assert at_risk(instance(**dict.fromkeys(others, 1.0)), None, NOW) is None


def test_a_clock_that_is_ahead_hides_no_error() -> None:
    assert at_risk(instance(disk_full=-300), None, NOW) is not None


def test_version_buckets_count_above_seven_tenths_of_their_configured_number() -> None:
    found = at_risk(instance(buckets=701), 1000, NOW)
    assert found is not None
    assert found.sentence == "its instance uses 701 of at most 1,000 version buckets"
    assert at_risk(instance(buckets=700), 1000, NOW) is None
    assert at_risk(instance(buckets=1e300), None, NOW) is None


def test_a_sample_that_is_stale_says_nothing() -> None:
    assert at_risk(instance(buckets=999), 1000, NOW + 3600) is None


def test_all_that_holds_is_said_in_one_sentence() -> None:
    found = at_risk(instance(buckets=9000, log_disk_low=600, disk_full=60), 10000, NOW)
    assert found is not None
    assert found.sentence == (
        "its instance logged that the log disk is full (last 2007-06-21 00:13 UTC) and the log"
        " disk is nearly full (last 2007-06-21 00:04 UTC), and uses 9,000 of at most 10,000"
        " version buckets"
    )


def test_without_an_instance_nothing_is_known() -> None:
    assert at_risk(None, 1000, NOW) is None
