"""Databases that refuse writes or are about to."""

import pytest

from esewatch.advice.base.finding import REPORT_WORDS, RISKS
from esewatch.advice.findings.risk import BUCKETS, at_risk
from esewatch.fold.state.database_state import Request
from esewatch.fold.state.state import ENGINE_ERROR_KINDS, Database, EngineErrorKind, Instance, Level

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
    found = at_risk(instance(**{kind: YEAR}), {}, None, NOW)
    assert found is not None
    assert found.finding == "writes_at_risk"
    assert RISKS[kind] in found.sentence
    assert found.causes == (kind,)
    assert at_risk(instance(mounted=NOW - 60, **{kind: YEAR}), {}, None, NOW) is None
    assert at_risk(instance(**{kind: YEAR}), {kind: NOW - YEAR}, None, NOW) is None
    assert (
        at_risk(instance(mounted=NOW - 60, **{kind: 30}), {kind: NOW - 60}, None, NOW) is not None
    )


def test_a_recovery_that_failed_is_said_in_words() -> None:
    found = at_risk(instance(recovery=3600), {}, None, NOW)
    assert found is not None
    assert found.sentence == (
        "its instance logged that recovery failed or the instance stopped with an error"
        " (last 2007-06-20 23:14 UTC)"
    )


def test_errors_that_stop_no_writes_do_not_count() -> None:
    others = set(ENGINE_ERROR_KINDS) - RISKS.keys()
    assert others - REPORT_WORDS.keys() == {"io"}
    assert at_risk(instance(**dict.fromkeys(others, 1.0)), {}, None, NOW) is None


def test_a_clock_that_is_ahead_hides_no_error() -> None:
    assert at_risk(instance(disk_full=-300), {}, None, NOW) is not None


def test_version_buckets_count_above_seven_tenths_of_their_configured_number() -> None:
    found = at_risk(instance(buckets=701), {}, 1000, NOW)
    assert found is not None
    assert found.sentence == "its instance uses 701 of at most 1,000 version buckets"
    assert at_risk(instance(buckets=700), {}, 1000, NOW) is None
    assert at_risk(instance(buckets=1e300), {}, None, NOW) is None


def test_a_sample_that_is_stale_says_nothing() -> None:
    assert at_risk(instance(buckets=999), {}, 1000, NOW + 3600) is None


def test_all_that_holds_is_said_in_one_sentence() -> None:
    found = at_risk(instance(buckets=9000, log_disk_low=600, disk_full=60), {}, 10000, NOW)
    assert found is not None
    assert found.sentence == (
        "its instance logged that it could not create a log file (last 2007-06-21 00:13 UTC) and"
        " the log disk is nearly full (last 2007-06-21 00:04 UTC), and uses 9,000 of at most 10,000"
        " version buckets"
    )


def test_without_an_instance_nothing_is_known() -> None:
    assert at_risk(None, {}, 1000, NOW) is None


def hanging(*ago: float) -> Database:
    requests = [Request(NOW - each, NOW - each - 36, "", 8192) for each in ago]
    return Database(computer="ex01", database="priv06.edb", hung_requests=requests)


def test_requests_that_have_not_completed_are_told_and_three_in_five_minutes_are_critical() -> None:
    one = at_risk(instance(), {}, None, NOW, hanging(60))
    assert one is not None
    assert (one.causes, one.severity, one.since) == (("hung_io",), "warning", NOW - 60)
    assert one.sentence == (
        "its instance reported 1 read or write that has not completed (last 2007-06-21 00:13 UTC)"
    )
    many = at_risk(instance(disk_full=60), {}, None, NOW, hanging(900, 300, 200, 0))
    assert many is not None
    assert many.sentence == (
        "its instance logged that it could not create a log file (last 2007-06-21 00:13 UTC),"
        " and reported 4 reads or writes that have not completed (last 2007-06-21 00:14 UTC)"
    )
    together = [at_risk(None, {}, None, NOW, hanging(*ago)) for ago in ((9, 5, 0), (900, 400, 0))]
    assert [each and each.severity for each in together] == ["critical", "warning"]


def test_a_request_that_was_acknowledged_or_came_before_a_start_does_not_count() -> None:
    assert at_risk(instance(mounted=NOW - 30), {}, None, NOW, hanging(60)) is None
    dealt_with = hanging(60)
    dealt_with.acknowledged_things = {"hung io": NOW - 60}
    assert at_risk(instance(), {}, None, NOW, dealt_with) is None
