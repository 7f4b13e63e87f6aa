"""What is stated of levels that are beyond a limit (semantics.md 7).

These are the records' half of the cases that `tests/rules/moved_cases.yml` lists.
"""

import pytest

from esewatch.advice.findings.risk import LIMITS
from esewatch.config import DatabaseRule, Policy, Settings
from esewatch.model import Event, Feed, Reading
from tests.support.records import EPOCH, HOUR, event
from tests.support.stated import Moment, assert_stated, configured, restarted

MINUTE = 60.0
KNOWN = event(700, 0)
BESIDE = event(700, 0, database="f:\\priv07.edb")
"""Another database of the same instance."""
BUCKETS, DEPTH, TARGET, COPY, REPLAY = (
    "ese_version_buckets_allocated",
    "ese_checkpoint_depth_logs",
    "ese_checkpoint_depth_target_ratio",
    "ese_copy_queue_logs",
    "ese_replay_queue_logs",
)
LIMITED = Settings(policy=Policy(version_buckets=16384))
FULL, DEEP, BEHIND = (
    f"{name} warning" for name in ("version_buckets_high", "checkpoint_deep", "copy_behind")
)
OF = {limit.metric: f"{limit.finding} warning" for limit in LIMITS} | {BUCKETS: FULL}
OVER = {BUCKETS: 12000.0, DEPTH: 612.0, TARGET: 4.5, COPY: 11.0, REPLAY: 101.0}
each_level = pytest.mark.parametrize("metric", OF)


def sample(metric: str, value: float, time: float, name: str = "SG06") -> Reading:
    """A level of an instance, `time` seconds after EPOCH."""
    return Reading(
        time=EPOCH + time,
        computer="EX01",
        object="an object",
        counter=metric,
        instance=name,
        value=value,
        kind="level",
        feed=Feed(metric=metric, name=name),
    )


def assert_minutes(
    metric: str,
    *runs: tuple[float, int, bool],
    settings: Settings = LIMITED,
) -> None:
    """Runs of a value for so many minutes, with a sample each minute, in each of which its finding
    stands or does not."""
    moments: list[Moment] = []
    minute = 0
    for value, length, stands in runs:
        for _ in range(length):
            at = minute * MINUTE
            records: list[Event | Reading] = [] if minute else [KNOWN]
            records.append(sample(metric, value, at))
            moments.append((at, records, {"sg06": OF[metric]} if stands else {}))
            minute += 1
    assert_stated(*moments, settings=settings)


@pytest.mark.parametrize(
    ("metric", "below", "above", "again"),
    [
        (BUCKETS, 40, 12000, 11400),
        (DEPTH, 20, 612, 500),
        (TARGET, 1, 4.5, 4),
        (REPLAY, 100, 101, 100),
        (COPY, 10, 11, 10),
    ],
)
def test_a_level_above_its_limit_is_told_until_it_is_not(
    metric: str, below: float, above: float, again: float
) -> None:
    assert_minutes(metric, (below, 5, False), (above, 21, True), (again, 4, False))


def test_seventy_per_cent_of_the_version_buckets_is_not_yet_too_many() -> None:
    settings = Settings(policy=Policy(version_buckets=16000))
    assert_minutes(BUCKETS, (11200, 3, False), (11201, 1, True), settings=settings)


@each_level
def test_a_peak_is_told_while_it_lasts(metric: str) -> None:
    over = OVER[metric]
    assert_minutes(metric, (1, 5, False), (over, 11, True), (1, 1, False), (over, 2, True))


@each_level
def test_a_sample_counts_for_twelve_minutes(metric: str) -> None:
    told = {"sg06": OF[metric]}
    assert_stated(
        (4 * MINUTE, [KNOWN, sample(metric, 1, 4 * MINUTE)], {}),
        (5 * MINUTE, [sample(metric, OVER[metric], 5 * MINUTE)], told),
        (17 * MINUTE, [], told),
        (17 * MINUTE + 1, [], {}),
        (HOUR, [], {}),
        settings=LIMITED,
    )


@each_level
def test_samples_each_quarter_of_an_hour_count_for_three_of_them(metric: str) -> None:
    told = {"sg06": OF[metric]}
    samples = [sample(metric, OVER[metric], n * 15 * MINUTE) for n in range(9)]
    assert_stated(
        (2 * HOUR, [KNOWN, *samples], told),
        (2 * HOUR + 45 * MINUTE, [], told),
        (2 * HOUR + 45 * MINUTE + 1, [], {}),
        settings=LIMITED,
    )


@each_level
def test_a_restart_ends_no_level(metric: str) -> None:
    told, over = {"sg06": OF[metric]}, OVER[metric]
    assert_stated(
        (20 * MINUTE, [KNOWN, sample(metric, over, 20 * MINUTE)], told),
        (30 * MINUTE, [restarted], told),
        (31 * MINUTE, [sample(metric, over, 31 * MINUTE)], told),
        settings=LIMITED,
    )


def test_version_buckets_without_a_maximum_or_of_another_instance_say_nothing() -> None:
    of_other = Settings(
        databases=[DatabaseRule(match="*priv07.edb", policy={"version_buckets": 16384})]
    )
    beside = event(700, 0, database="f:\\priv07.edb", ese_instance="SG07")
    samples = [sample(BUCKETS, 12000, MINUTE)]
    assert_stated((2 * MINUTE, [KNOWN, beside, *samples], {}), settings=of_other)
    assert_stated((2 * MINUTE, samples, {}), settings=LIMITED)


def test_the_smallest_maximum_of_the_watched_databases_counts_whatever_their_role() -> None:
    rules = [
        DatabaseRule(match="*priv07.edb", policy={"version_buckets": 15000}),
        DatabaseRule(match="*lab.edb", policy={"version_buckets": 100}, tier="observed"),
    ]
    lab = event(700, 0, database="f:\\lab.edb")
    settings = Settings(policy=Policy(version_buckets=16384), databases=rules)
    passive = event(301, 2 * MINUTE, process="MSExchangeRepl")
    assert_stated(
        (MINUTE, [KNOWN, BESIDE, lab, sample(BUCKETS, 10500, MINUTE)], {}),
        (2 * MINUTE, [sample(BUCKETS, 10501, 2 * MINUTE)], {"sg06": FULL}),
        (3 * MINUTE, [passive], {"sg06": FULL}),
        settings=settings,
    )


def test_a_checkpoint_that_is_deep_by_either_count_is_one_finding() -> None:
    others = [event(700, 0, database=f"f:\\{name}.edb", ese_instance=name) for name in "ab"]
    samples = [
        *(sample(DEPTH, 612, MINUTE), sample(TARGET, 6, MINUTE)),
        *(sample(DEPTH, 700, MINUTE, "a"), sample(TARGET, 5, MINUTE, "b")),
    ]
    told = dict.fromkeys(("sg06", "a", "b"), DEEP)
    assert_stated((MINUTE, [KNOWN, *others, *samples], told))


def test_a_checkpoint_at_its_target_and_an_instance_without_levels_say_nothing() -> None:
    beside = event(700, 0, database="f:\\priv07.edb", ese_instance="SG07")
    samples = [sample(DEPTH, 20, MINUTE), sample(TARGET, 1, MINUTE)]
    assert_stated((MINUTE, [KNOWN, beside, *samples], {}))


def test_a_copy_that_is_behind_by_both_queues_is_one_finding() -> None:
    samples = [sample(COPY, 500, MINUTE), sample(REPLAY, 500, MINUTE)]
    assert_stated((MINUTE, [KNOWN, *samples], {"sg06": BEHIND}))


@each_level
def test_levels_of_what_is_only_observed_or_ignored_are_not_told(metric: str) -> None:
    told, over = {"sg06": OF[metric]}, OVER[metric]
    observed, ignored = (
        Settings(policy=LIMITED.policy, databases=[DatabaseRule(match="*priv06.edb", tier=tier)])
        for tier in ("observed", "ignored")
    )
    assert_stated(
        (MINUTE, [KNOWN, sample(metric, over, MINUTE)], {}),
        (2 * MINUTE, [configured(LIMITED)], told),
        (3 * MINUTE, [configured(ignored)], {}),
        (4 * MINUTE, [configured(LIMITED)], told),
        settings=observed,
    )
    # One database that is watched is enough.
    assert_stated((MINUTE, [KNOWN, BESIDE, sample(metric, over, MINUTE)], told), settings=ignored)


@each_level
def test_of_an_instance_without_a_known_database_only_queues_are_told(metric: str) -> None:
    told = {"sg06": OF[metric]} if metric in (COPY, REPLAY) else {}
    assert_stated((MINUTE, [sample(metric, OVER[metric], MINUTE)], told), settings=LIMITED)
