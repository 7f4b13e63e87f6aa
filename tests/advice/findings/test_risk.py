"""Databases that refuse writes or are about to."""

import pytest

from esewatch.advice.base.finding import REPORT_WORDS, RISKS
from esewatch.advice.findings.risk import BUCKETS, at_risk
from esewatch.fold.state.state import ENGINE_ERROR_KINDS, EngineErrorKind, Instance, Level

NOW = 1_182_384_840.0
"""2007-06-21 00:14 UTC."""
YEAR = 365 * 86400.0


def instance(buckets: float | None = None, mounted: float = 0.0, **errors: float) -> Instance:
    """With one error of each of these kinds, so many seconds before NOW."""
    levels = {BUCKETS: Level(buckets, NOW - 15, 15)} if buckets is not None else {}
    times = {kind: NOW - ago for kind, ago in errors.items()}
    return Instance(
        computer="ex01",
        ese_instance="SG06",
        errors={kind: (1, time) for kind, time in times.items()},  # type: ignore[misc]
        error_times={kind: [time] for kind, time in times.items()},  # type: ignore[misc]
        mounted=mounted,
        levels=levels,
    )


@pytest.mark.parametrize("kind", sorted(RISKS))
def test_an_error_counts_until_the_instance_came_up_or_it_was_acknowledged(
    kind: EngineErrorKind,
) -> None:
    found = at_risk(instance(**{kind: YEAR}), 0.0, None, NOW)
    assert found is not None
    assert found.finding == "writes_at_risk"
    assert RISKS[kind] in found.sentence
    assert found.causes == (kind,)
    assert at_risk(instance(mounted=NOW - 60, **{kind: YEAR}), 0.0, None, NOW) is None
    assert at_risk(instance(**{kind: YEAR}), NOW - YEAR, None, NOW) is None
    assert at_risk(instance(mounted=NOW - 60, **{kind: 30}), NOW - 60, None, NOW) is not None


def test_a_recovery_that_failed_is_said_in_words() -> None:
    found = at_risk(instance(recovery=3600), 0.0, None, NOW)
    assert found is not None
    assert found.sentence == (
        "its instance logged that recovery failed or the instance stopped with an error"
        " (last 2007-06-20 23:14 UTC)"
    )


def test_errors_that_stop_no_writes_do_not_count() -> None:
    others = set(ENGINE_ERROR_KINDS) - RISKS.keys()
    assert others - REPORT_WORDS.keys() == {"io"}
    assert at_risk(instance(**dict.fromkeys(others, 1.0)), 0.0, None, NOW) is None


def test_what_the_first_reading_found_old_does_not_count() -> None:
    old = instance(disk_full=YEAR)
    old.error_times = {}
    assert at_risk(old, 0.0, None, NOW) is None


def test_a_clock_that_is_ahead_hides_no_error() -> None:
    assert at_risk(instance(disk_full=-300), 0.0, None, NOW) is not None


def test_version_buckets_count_above_seven_tenths_of_their_configured_number() -> None:
    found = at_risk(instance(buckets=701), 0.0, 1000, NOW)
    assert found is not None
    assert found.sentence == "its instance uses 701 of at most 1,000 version buckets"
    assert at_risk(instance(buckets=700), 0.0, 1000, NOW) is None
    assert at_risk(instance(buckets=1e300), 0.0, None, NOW) is None


def test_a_sample_that_is_stale_says_nothing() -> None:
    assert at_risk(instance(buckets=999), 0.0, 1000, NOW + 3600) is None


def test_all_that_holds_is_said_in_one_sentence() -> None:
    found = at_risk(instance(buckets=9000, log_disk_low=600, disk_full=60), 0.0, 10000, NOW)
    assert found is not None
    assert found.sentence == (
        "its instance logged that it could not create a log file (last 2007-06-21 00:13 UTC) and"
        " the log disk is nearly full (last 2007-06-21 00:04 UTC), and uses 9,000 of at most 10,000"
        " version buckets"
    )


def test_without_an_instance_nothing_is_known() -> None:
    assert at_risk(None, 0.0, 1000, NOW) is None
