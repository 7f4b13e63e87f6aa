import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.advice.history.history import History
from esewatch.advice.window.evidence import ratio_text
from esewatch.advice.window.window import ACTIONS, WindowAdvice, window_advice
from esewatch.config import Policy
from esewatch.fold.instances.backups import Backup
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, day_of
from esewatch.fold.state.state import BadPage, Pass
from tests.advice.histories import (
    DAY,
    HOUR,
    NOON,
    days,
    nightly_runs,
    one_pass,
    opening,
    passes,
    sampled,
    store,
    window,
)
from tests.support.campaign import EXAMPLES
from tests.support.processor import processor_seconds

POLICY = Policy()


def judged(history: History, policy: Policy = POLICY, now: float = NOON) -> WindowAdvice:
    return window_advice(history, policy, now)


def test_the_published_example_shrinks_four_hours_to_two_and_three_quarters() -> None:
    article = passes(73 / 14, 4)

    advice = judged(store(143_200, 1_000, defrag_passes=article))

    assert (advice.action, advice.rule) == ("shrink", "ratio_high")
    assert (advice.configured_seconds, advice.recommended_seconds) == (14400, 9900)
    assert advice.evidence.ratio == pytest.approx(143.2)
    assert "143.2 pages for each one freed" in advice.reasons[0]
    assert advice.evidence.missing == ()


@pytest.mark.parametrize(
    ("freed", "action"),
    [(1_001, "keep"), (989, "shrink"), (1_000, "keep"), (2_000, "keep"), (2_015, "grow")],
)
def test_the_band_of_50_to_100_is_kept(freed: float, action: str) -> None:
    assert judged(store(100_000, freed)).action == action


def test_the_ratio_is_one_of_sums_and_not_a_mean_of_ratios() -> None:
    mixed = [*days(27, 10_000, 10, ago=1), *days(1, 1_000_000, 20_000)]

    ratio = judged(store(days=mixed)).evidence.ratio

    assert ratio == pytest.approx((27 * 10_000 + 1_000_000) / (27 * 10 + 20_000))


def test_too_many_pages_freed_doubles_the_window_at_most() -> None:
    assert judged(store(100_000, 2_500)).recommended_seconds == 5 * HOUR
    assert judged(store(100_000, 3_000)).recommended_seconds == 6 * HOUR
    assert judged(store(100_000, 50_000)).recommended_seconds == 8 * HOUR


def test_nothing_freed_counts_as_the_highest_ratio_and_halves_the_window_at_most() -> None:
    advice = judged(store(100_000, 0))

    assert (advice.action, advice.recommended_seconds) == ("shrink", 2 * HOUR)
    assert advice.evidence.ratio is None
    assert "freed none" in advice.reasons[0]


def test_a_low_ratio_must_stand_for_a_week() -> None:
    young = [*days(53, 100_000, 1_200, ago=7), *days(7, 100_000, 5_500)]
    advice = judged(store(days=young))

    assert advice.evidence.ratio is not None
    assert advice.evidence.ratio < 50
    assert (advice.action, advice.rule) == ("keep", "ratio_low")
    assert advice.reasons[1].startswith("A week earlier the ratio was 83.3;")


def test_a_low_ratio_of_few_pages_a_week_earlier_is_said_to_be_uncertain() -> None:
    few = [*days(53, 86, 2, ago=7), *days(7, 300, 10)]
    advice = judged(store(days=few, pages=10_000.0), Policy(min_pages_read=1))

    assert (advice.action, advice.rule) == ("keep", "ratio_low")
    assert advice.reasons[1].startswith(
        "A week earlier the ratio was 43.0, of too few pages freed to tell: by chance up to 54;"
    )


def test_a_low_ratio_with_passes_that_finish_within_three_days_is_kept_with_a_remark() -> None:
    advice = judged(store(100_000, 4_000, defrag_passes=passes(2, 1.5)))

    assert (advice.action, advice.rule) == ("keep", "ratio_low_but_soon")
    assert "cache" in advice.reasons[1]


def test_a_high_ratio_with_late_or_unknown_passes_does_not_shrink() -> None:
    unknown = [one_pass(None, NOON - DAY)]
    slow = passes(13, 15, count=3)

    assert judged(store(300_000, 1_000, defrag_passes=unknown)).action == "keep"
    assert judged(store(300_000, 1_000, defrag_passes=slow)).action == "keep"


def test_passes_that_complete_every_two_days_shrink_the_window() -> None:
    daily = judged(store(100_000, 1_500, defrag_passes=passes(1, 0.9, count=40)))
    every_other_night = judged(store(100_000, 1_500, defrag_passes=passes(2, 1.1, count=20)))

    assert (daily.rule, daily.recommended_seconds) == ("completes_often", 2 * HOUR)
    assert (every_other_night.action, every_other_night.recommended_seconds) == (
        "shrink",
        2.5 * HOUR,
    )
    assert "one every 2 days" in every_other_night.reasons[0]


def test_a_pass_that_does_not_complete_in_two_weeks_grows_the_window() -> None:
    late = judged(store(300_000, 1_000, defrag_passes=passes(5, 4, ago=21)))

    assert (late.action, late.rule, late.recommended_seconds) == ("grow", "late", 6 * HOUR)
    assert "has not completed a pass for 21 days" in late.reasons[0]
    assert judged(store(defrag_passes=passes(5, 4, ago=13))).action == "keep"


def test_a_scan_that_misses_its_deadline_grows_the_window_only_while_it_is_on() -> None:
    scans = [one_pass(NOON - 31 * DAY, NOON - 30 * DAY, task="checksum", pages_seen=5_000_000)]
    on = store(checksum_passes=scans, scan_runs=nightly_runs(60, 2))

    assert (judged(on).action, judged(on).rule) == ("grow", "late")
    assert "database scan" in judged(on).reasons[0]
    assert judged(on, Policy(verify_within=40 * DAY)).action == "keep"
    assert judged(store(checksum_passes=scans)).action == "keep"


@pytest.mark.parametrize("ago", [10, 20, 26])
def test_a_scan_that_was_switched_off_is_not_late(ago: int) -> None:
    """Windows in which it is not known to have run are left out, whatever else ran in them."""
    done = [one_pass(opening(n) + 2 * HOUR, opening(n) + 3 * HOUR) for n in range(59, ago - 1, -1)]
    runs = [Run(each.started or 0.0, each.ended) for each in done]
    off = store(checksum_passes=done, scan_runs=runs)
    halved = [Run(run.start, run.start + HOUR / 2) for run in nightly_runs(ago)]
    too_slow = store(checksum_passes=done, scan_runs=[*runs, *halved])

    assert (judged(off).action, judged(off).rule) == ("keep", "otherwise")
    assert (judged(too_slow).action, judged(too_slow).rule) == ("grow", "late")


def test_bad_pages_come_before_any_change_of_the_window() -> None:
    bad = [BadPage(page=7, kind="uncorrectable", first=NOON - DAY, last=NOON - DAY)]

    advice = judged(store(300_000, 1_000, bad_pages=bad))

    assert (advice.action, advice.rule, advice.recommended_seconds) == ("keep", "bad_pages", 14400)
    assert advice.reasons[0].endswith(": first resolve its bad pages.")


def backed_up(
    nights: int, seconds: float, *, stops: bool = True, hours: float = 1, **changes: Any
) -> WindowAdvice:
    """A backup begins `hours` after the window opens, in each of the last `nights`."""
    starts = [opening(n) + hours * HOUR for n in reversed(range(nights))]
    backups = [Backup("full", at, at + seconds, {}, verifying=True) for at in starts]
    stopped = [*nightly_runs(60 - nights, ago=nights), *nightly_runs(nights, hours)]
    runs = stopped if stops else nightly_runs(60)
    return judged(store(backups=backups, defrag_runs=runs, **changes))


def test_backups_that_stop_it_ask_for_another_time() -> None:
    advice = backed_up(3, 2 * HOUR)

    assert (advice.action, advice.rule, advice.recommended_seconds) == ("move", "backup", 14400)
    assert "in 3 of the last 7 windows" in advice.reasons[0]
    assert "they ran for 2 h (median)" in advice.reasons[0]
    assert backed_up(2, 2 * HOUR).action == "keep"


def test_a_backup_beside_which_it_goes_on_is_in_nobodys_way() -> None:
    assert backed_up(7, 2 * HOUR, stops=False).action == "keep"


def test_a_shadow_copy_of_a_minute_that_stops_it_every_night_is_in_the_way() -> None:
    assert backed_up(7, 60).action == "move"
    assert backed_up(7, 60, stops=False).action == "keep"


def test_a_backup_that_begins_when_the_window_ends_is_in_nobodys_way() -> None:
    assert backed_up(7, 2 * HOUR, hours=4).action == "keep"
    assert backed_up(7, 2 * HOUR, hours=3.9).action == "keep"


def test_a_pass_that_never_completes_for_backups_is_not_for_want_of_time() -> None:
    """The window is moved, not made longer: the longer one would be cut off in the same way."""
    never = [one_pass(opening(40), None, interrupted=True)]

    moved = backed_up(40, 2 * HOUR, defrag_passes=never)
    late = judged(store(defrag_passes=never))

    assert (moved.action, moved.rule) == ("move", "backup")
    assert (late.action, late.rule) == ("grow", "late")


def test_a_backup_that_fails_each_night_stops_it_too() -> None:
    spans = [(opening(n) + HOUR, opening(n) + 2 * HOUR) for n in reversed(range(5))]
    runs = [*nightly_runs(55, ago=5), *nightly_runs(5, 1)]

    assert judged(store(backup_spans=spans, defrag_runs=runs)).rule == "backup"


def shifted(hours: float, nights: int, duration: float = 4) -> list[Run]:
    """The last `nights` begin so many hours beside the configured window."""
    runs = [
        Run(run.start + hours * HOUR, run.start + (hours + duration) * HOUR)
        for run in nightly_runs(nights)
    ]
    return [*nightly_runs(60 - nights, ago=nights), *runs]


@pytest.mark.parametrize("hours", [-2, -1, 1, 2])
def test_after_a_change_of_the_clock_the_evidence_of_a_window_stays(hours: float) -> None:
    """Three of four hours overlap, and it is as long as it was."""
    before = judged(store())
    for nights in (1, 5, 40):
        after = judged(store(defrag_runs=shifted(hours, nights)))
        assert (after.action, after.rule) == (before.action, before.rule) == ("keep", "otherwise")
        assert after.evidence.windows == before.evidence.windows == 28


def test_a_window_of_another_length_is_another_window() -> None:
    for hours, duration in ((-1, 6), (1, 5)):
        found = judged(store(defrag_runs=shifted(hours, 5, duration)))
        assert found.action == "insufficient_evidence"
        assert "configured window" in found.reasons[0]


def test_the_reason_names_the_hours_that_were_seen() -> None:
    late = judged(store(defrag_runs=[*nightly_runs(55, 5, ago=5), *nightly_runs(5)])).reasons
    assert "before, it went on 1 h after the end of its time in the configured window" in late[0]
    early = judged(store(defrag_runs=[*nightly_runs(55, 3, ago=5), *nightly_runs(5)])).reasons
    assert "before, it stopped 1 h before the end of its time in the configured window" in early[0]
    assert judged(store(defrag_runs=nightly_runs(60, 3))).evidence.windows == 28


def test_a_window_that_is_set_a_quarter_of_an_hour_too_long_is_judged() -> None:
    runs = nightly_runs(60, 3.75)
    assert judged(store(143_200, 1_000, defrag_runs=runs)).action == "shrink"
    overdue = judged(store(100_000, 3_300, defrag_runs=runs, defrag_passes=[one_pass(0, 1)]))
    assert (overdue.action, overdue.rule) == ("grow", "late")


def test_a_reboot_at_the_same_hour_of_two_nights_leaves_the_evidence() -> None:
    runs = nightly_runs(60)
    for at in (-9, -8, -3, -2):
        runs[at] = Run(runs[at].start, runs[at].start + 3 * HOUR)
    found = judged(store(100_000, 3_300, defrag_runs=runs))
    assert found.evidence.windows == 28
    assert found.action == "grow"


def test_a_pass_that_fails_at_a_bad_page_each_night_keeps_to_its_window() -> None:
    """It ends after seconds by event 705: that shows nothing of the window's length."""
    failed = [Run(run.start, run.start + 12) for run in nightly_runs(5)]
    runs = [*nightly_runs(55, ago=5), *failed]
    ends = [run.end for run in failed if run.end is not None]
    found = judged(store(defrag_runs=runs, failures=ends))
    assert found.action == "keep"
    assert found.evidence.windows == 28


def test_a_machine_that_was_off_is_not_late_for_that() -> None:
    """From its shutdown to its start, not only for the windows that passed meanwhile."""
    runs = [*nightly_runs(30, ago=18), *nightly_runs(14)]
    here: dict[str, Any] = {"defrag_passes": [one_pass(opening(24), opening(19))]}
    off = [(opening(18) + 5 * HOUR, opening(13) - HOUR)]
    limit = Policy(defrag_complete_within=15 * DAY)

    assert judged(store(**here, defrag_runs=runs), limit).rule == "late"
    assert judged(store(**here, defrag_runs=runs, off=off), limit).rule != "late"


@pytest.mark.parametrize(
    "changes",
    [
        {"engine_changes": [NOON - 10 * DAY]},
        {"days": [*days(50, 300_000, 1_000, ago=10), *days(1, 300_000, 5_100, ago=9),
                  *days(9, 300_000, 1_000)]},
    ],
    ids=["engine", "mass deletion"],
)  # fmt: skip
def test_after_a_great_change_there_is_no_advice_for_two_weeks(changes: dict[str, Any]) -> None:
    history = store(300_000, 1_000, **changes)

    quiet = judged(history)

    assert (quiet.action, quiet.rule) == ("keep", "quiet")
    assert judged(store(300_000, 1_000)).action == "shrink"


def test_a_mass_deletion_is_forgotten_after_two_weeks() -> None:
    deleted = [*days(40, 300_000, 1_000, ago=20), *days(1, 300_000, 9_000, ago=19)]
    history = store(days=[*deleted, *days(19, 300_000, 1_000)])

    assert judged(history).action == "shrink"


@pytest.mark.parametrize(
    ("least_read", "freed", "rule"),
    [(100_000, 1_001, "quiet"), (100_000, 1_000, "ratio_high"), (400, 12, "quiet")],
)
def test_a_night_that_freed_few_pages_is_no_mass_deletion(
    least_read: int, freed: int, rule: str
) -> None:
    one = days(1, 50 * freed, freed, ago=9)
    history = store(days=[*days(50, 30_000, 2, ago=10), *one, *days(9, 30_000, 2)])

    assert judged(history, policy=Policy(min_pages_read=least_read)).rule == rule


def test_nights_that_free_unevenly_are_no_mass_deletion() -> None:
    uneven = [
        day for n in reversed(range(60)) for day in days(1, 300_000, 2_900 if n % 7 else 200, ago=n)
    ]
    weekly = [day._replace(pages_freed=3_100.0 - day.pages_freed) for day in uneven]

    assert judged(store(days=weekly)).rule == "ratio_high"


def test_evidence_begins_anew_when_the_role_changes() -> None:
    advice = judged(store(300_000, 1_000, role_changes=[NOON - 3 * DAY]))

    assert advice.action == "insufficient_evidence"
    assert "needs 7 maintenance windows with online defragmentation; 3 so far" in advice.reasons[0]
    assert "role" in advice.reasons[0]


def test_a_window_that_was_changed_is_not_judged_by_what_was_before() -> None:
    followed = store(
        143_200,
        1_000,
        window=window(2.75),
        defrag_runs=[*nightly_runs(50, 4, ago=5), *nightly_runs(5, 2.75)],
    )
    settled = store(
        143_200,
        1_000,
        window=window(2.75),
        defrag_runs=[*nightly_runs(40, 4, ago=20), *nightly_runs(20, 2.75)],
    )
    grown = store(
        100_000,
        4_000,
        window=window(8),
        defrag_runs=[*nightly_runs(55, 4, ago=5), *nightly_runs(5, 8)],
    )

    assert judged(followed).action == "insufficient_evidence"
    assert "configured window" in judged(followed).reasons[0]
    assert judged(settled).action == "shrink"
    assert judged(grown).action == "insufficient_evidence"


def test_one_night_that_ends_early_is_no_other_window() -> None:
    runs = nightly_runs(60)
    runs[-5] = Run(runs[-5].start, runs[-5].start + HOUR)

    assert judged(store(143_200, 1_000, defrag_runs=runs)).action == "shrink"


def test_the_window_stays_long_enough_for_its_scan() -> None:
    short_scan = store(300_000, 1_000, scan_runs=nightly_runs(60, 1), checksum_passes=passes(1, 1))
    long_scan = store(300_000, 1_000, scan_runs=nightly_runs(60, 2), checksum_passes=passes(1, 1))

    assert judged(short_scan).recommended_seconds == 2.25 * HOUR
    assert (judged(long_scan).action, judged(long_scan).recommended_seconds) == ("keep", 14400)
    assert "less than 4 h 15 min is not advised" in judged(long_scan).reasons[-1]


def test_a_window_is_never_under_an_hour_nor_over_a_day() -> None:
    hour = store(900_000, 1_000, window=window(1), defrag_runs=nightly_runs(60, 1))
    day = store(100_000, 5_000, window=window(24), defrag_runs=nightly_runs(60, 23.9))

    assert (judged(hour).action, judged(hour).recommended_seconds) == ("keep", HOUR)
    assert (judged(day).action, judged(day).recommended_seconds) == ("keep", DAY)


def test_without_a_configured_window_there_is_an_action_but_no_length() -> None:
    advice = judged(store(143_200, 1_000, window=None))

    assert (advice.action, advice.recommended_seconds) == ("shrink", None)
    assert advice.reasons[-1] == "No window is configured, so no length is recommended."


def test_the_advice_of_a_shared_instance_says_that_it_is_the_instances() -> None:
    advice = judged(store(shares_instance=5))

    assert "all 5 databases of instance SG06" in advice.reasons[-1]


def test_thresholds_of_the_policy_decide() -> None:
    assert judged(store(150_000, 1_000), Policy(ratio_high=200.0)).action == "keep"
    assert judged(store(60_000, 1_000), Policy(ratio_low=70.0)).action == "grow"


# What is missing.


def test_events_without_counters_judge_by_how_often_passes_complete() -> None:
    blind: dict[str, Any] = {"days": [], "sampled_since": None, "sampled_until": None}

    often = judged(store(defrag_passes=passes(1, 0.9, count=40), **blind))
    seldom = judged(store(**blind))
    late = judged(store(defrag_passes=passes(5, 4, ago=20), **blind))

    assert often.action == "shrink"
    assert seldom.action == "insufficient_evidence"
    assert "there is no ratio" in seldom.reasons[0]
    assert late.action == "grow"
    assert all("there is no ratio" in each.evidence.missing[0] for each in (often, late))


def test_counters_without_events_say_that_the_events_are_missing() -> None:
    advice = judged(store(300_000, 1_000, defrag_passes=[], defrag_runs=[]))

    assert advice.action == "insufficient_evidence"
    assert "700-704" in advice.reasons[0]


def test_a_week_without_counters_is_said() -> None:
    advice = judged(store(300_000, 1_000, **sampled([(10, 3)])))

    assert advice.action == "insufficient_evidence"
    assert advice.evidence.counter_coverage == pytest.approx(21 / 28)
    assert advice.reasons == (
        "Advice needs counters for 90% of the time that online defragmentation ran;"
        " they cover 75%.",
    )


def test_a_week_without_events_is_said() -> None:
    advice = judged(store(300_000, 1_000, event_gaps=[(NOON - 10 * DAY, NOON - 3 * DAY, 99)]))

    assert advice.action == "insufficient_evidence"
    assert "events are missing" in advice.reasons[0]


def test_advice_needs_seven_windows_a_pass_and_enough_pages() -> None:
    young = judged(store(nights=6, defrag_passes=[]))
    small = judged(store(3_000, 10))
    allowed = judged(store(3_000, 10, pages=1_000.0), Policy(min_pages_read=1_000))

    assert young.action == "insufficient_evidence"
    assert "needs 7 maintenance windows with online defragmentation; 6 so far" in young.reasons[0]
    assert "no completed pass and 6 days so far" in young.reasons[1]
    assert small.reasons == (
        "Advice needs 500,000 pages read by online defragmentation; 84,000 so far.",
    )
    assert allowed.action == "shrink"


def test_a_window_that_is_open_does_not_count_yet() -> None:
    running = store(nights=7, defrag_passes=passes(1, 0.9, count=3, ago=2))
    last = opening(0)

    within = judged(running, now=last + 2 * HOUR).evidence.windows
    after = judged(running, now=last + 4 * HOUR).evidence.windows

    assert (within, after) == (6, 7)


def test_a_pass_whose_start_is_not_in_the_events_is_late_too() -> None:
    advice = judged(store(defrag_passes=[one_pass(None, None)], defrag_runs=nightly_runs(20)))

    assert (advice.action, advice.rule) == ("grow", "late")


# Confidence.


def test_confidence_grows_with_evidence_and_agreement() -> None:
    full = judged(store(143_200, 1_000)).confidence
    first = judged(store(143_200, 1_000, nights=8, defrag_passes=passes(5, 4, count=3))).confidence

    assert full == 1.0
    assert 0 < first < 0.5
    assert judged(store(3_000, 10)).confidence == 0.0


# Properties.

AMOUNTS = st.floats(min_value=0, max_value=1e7)


@given(read=AMOUNTS, freed=AMOUNTS, k=st.floats(min_value=1, max_value=1e4))
@settings(deadline=None)
def test_more_of_the_same_changes_nothing(read: float, freed: float, k: float) -> None:
    read = max(read, 20_000)
    one, many = judged(store(read, freed)), judged(store(k * read, k * freed))

    assert one.action != "insufficient_evidence"
    if (
        one.evidence.ratio is not None
        and min(abs(one.evidence.ratio - x) for x in (50, 100)) < 1e-6
    ):
        return
    assert (many.action, many.rule, many.confidence) == (one.action, one.rule, one.confidence)
    assert abs((many.recommended_seconds or 0) - (one.recommended_seconds or 0)) <= 900


@given(
    st.lists(st.tuples(AMOUNTS, AMOUNTS, AMOUNTS), min_size=28, max_size=60),
    st.sampled_from([1, 2, 5, 20]),
)
@settings(deadline=None)
def test_more_freed_never_turns_grow_into_shrink(
    amounts: list[tuple[float, float, float]], every: int
) -> None:
    last = day_of(NOON - 1)
    before = [Day(last - n, r, f, 0, 0, 0) for n, (r, f, _) in enumerate(amounts)]
    after = [Day(last - n, r, f + more, 0, 0, 0) for n, (r, f, more) in enumerate(amounts)]
    done = passes(every, every)

    one = judged(store(days=before, defrag_passes=done))
    other = judged(store(days=after, defrag_passes=done))

    assert (one.action, other.action) != ("grow", "shrink")


TIMES = st.floats(allow_nan=True, allow_infinity=True) | st.floats(NOON - 60 * DAY, NOON + DAY)
ANY = st.floats(allow_nan=True, allow_infinity=True)
PASSES = st.builds(
    Pass,
    task=st.just("defrag"),
    started=st.none() | TIMES,
    ended=st.none() | TIMES,
    outcome=st.sampled_from(["open", "completed", "partial", "abandoned"]),
    interruptions=st.integers(-5, 10**6),
    interrupted=st.booleans(),
    days=st.none() | st.integers(-(10**9), 10**9),
    invocations=st.none() | st.integers(-(10**9), 10**9),
    pages_seen=st.none() | st.integers(-(10**18), 10**18),
)
SPANS = st.lists(st.tuples(TIMES, TIMES), max_size=4)
HISTORIES = st.builds(
    store,
    model=st.sampled_from(["window", "window", "garbage_collection", "background", "application"]),
    window=st.none() | st.builds(window, st.floats(0.25, 24), days=st.sampled_from(
        [["mon"], ["sat", "sun"], ["mon", "tue", "wed", "thu", "fri"]])),
    pages=st.none() | ANY,
    size_bytes=st.none() | ANY,
    days=st.lists(
        st.builds(Day, st.integers(day_of(NOON) - 70, day_of(NOON) + 9), ANY, ANY, ANY, ANY, ANY)
    ),
    sampled_since=st.none() | TIMES,
    sampled_until=st.none() | TIMES,
    unsampled=SPANS,
    defrag_passes=st.lists(PASSES, max_size=6),
    checksum_passes=st.lists(PASSES, max_size=6),
    defrag_runs=st.just(nightly_runs(40)) | st.lists(st.builds(Run, TIMES, st.none() | TIMES)),
    scan_runs=st.lists(st.builds(Run, TIMES, st.none() | TIMES)),
    bad_pages=st.lists(
        st.builds(BadPage, st.integers(-1, 9), st.sampled_from(["corrected", "no_data"]), ANY, ANY),
        max_size=2,
    ),
    event_gaps=st.lists(st.tuples(TIMES, TIMES, st.integers(0, 9)), max_size=3),
    role_changes=st.lists(TIMES, max_size=3),
    engine_changes=st.lists(TIMES, max_size=3),
    first_seen=TIMES,
)  # fmt: skip
POLICIES = st.builds(
    Policy,
    min_pages_read=st.integers(0, 10**6),
    min_windows=st.integers(0, 10**6),
    defrag_complete_within=st.floats(0, 1e9),
    verify_within=st.none() | st.floats(0, 1e9),
)


@given(HISTORIES, POLICIES, st.floats(-1e15, 1e15) | st.just(NOON))
@settings(deadline=None, max_examples=3 * EXAMPLES)
def test_no_input_raises_or_gives_a_figure_that_is_none(
    history: History, policy: Policy, now: float
) -> None:
    advice = judged(history, policy, now)

    assert advice.action in ACTIONS
    assert 0 <= advice.confidence <= 1
    figures = [
        advice.recommended_seconds,
        advice.evidence.ratio,
        advice.evidence.pages_read,
        advice.evidence.pages_freed,
        advice.evidence.days,
        advice.evidence.counter_coverage,
    ]
    assert all(figure is None or math.isfinite(figure) for figure in figures)
    assert advice.reasons
    assert all(reason.endswith(".") and "nan" not in reason.split() for reason in advice.reasons)


@given(
    nights=st.integers(1, 30),
    read=AMOUNTS,
    freed=AMOUNTS,
    gone=st.floats(0, 28),
)
@settings(deadline=None)
def test_below_the_floor_there_is_silence(
    nights: int, read: float, freed: float, gone: float
) -> None:
    advice = judged(store(read, freed, nights=nights, **sampled([(gone, 0.0)])))

    if advice.evidence.missing:
        # Without any counters it may still complete too often or too late.
        assert advice.action == "insufficient_evidence" or advice.evidence.pages_read == 0


@given(read=AMOUNTS, freed=AMOUNTS, every=st.sampled_from([1, 2, 5, 20]), gone=st.floats(0, 20))
@settings(deadline=None)
def test_answers_from_less_input_never_contradict_those_from_all(
    read: float, freed: float, every: int, gone: float
) -> None:
    changes: dict[str, Any] = {"defrag_passes": passes(every, every)}
    blind: dict[str, Any] = {"days": [], "sampled_since": None, "sampled_until": None}
    answers = {
        judged(store(read, freed, **changes)).action,
        judged(store(read, freed, **changes, **blind)).action,
        judged(store(read, freed)).action if every == 5 else "keep",
        judged(store(read, freed, **changes, **sampled([(gone, gone / 2)]))).action,
        judged(store(read, freed, defrag_passes=[], defrag_runs=[])).action,
    }

    assert not {"shrink", "grow"} <= answers


def test_the_samples_before_a_counter_reset_are_not_lost() -> None:
    """The fold sums growth, so that a reset leaves a day with less in it and nothing negative."""
    usual = days(60, 80_000, 1_000)
    usual[-4] = usual[-4]._replace(pages_read=8_000.0, pages_freed=100.0)

    assert judged(store(days=usual)).action == judged(store(80_000, 1_000)).action == "keep"


def test_fifty_databases_of_400_days_are_judged_in_a_second() -> None:
    history = store(100_000, 2_500, nights=400, scan_runs=nightly_runs(400, 1))

    def judge_all() -> None:
        for _ in range(50):
            assert judged(history).action == "grow"

    assert processor_seconds(judge_all) < 1.0


def small(read: float, freed: float) -> History:
    """A small database: that many pages in 28 days."""
    return store(read / 28, freed / 28, pages=1000.0)


SMALL = Policy(min_pages_read=100)


@pytest.mark.parametrize(
    ("read", "freed", "action"),
    [
        (301, 3, "keep"),  # 100.3: 38 to 438
        (780, 3, "keep"),  # 260: 98 to 1,134
        (800, 3, "shrink"),  # all of it above 100
        (331, 0, "keep"),  # none freed may be 3.3
        (332, 0, "shrink"),
        (1_000, 25, "keep"),  # 40: 28 to 57
        (850, 25, "grow"),
        (2_800_000, 27_972, "keep"),  # 100.1
    ],
)
def test_a_ratio_decides_only_where_it_would_at_both_ends_of_its_interval(
    read: float, freed: float, action: str
) -> None:
    long = passes(7, 6)
    advice = judged(msgspec.structs.replace(small(read, freed), defrag_passes=long), SMALL)
    assert advice.action == action
    assert ("too few pages freed to tell" in advice.reasons[0]) == (action == "keep")


def test_confidence_follows_from_the_interval() -> None:
    few = judged(small(225, 3), SMALL)
    many = judged(small(225_000, 3_000), SMALL)
    assert (few.action, many.action) == ("keep", "keep")
    assert few.confidence < 0.5
    assert many.confidence == 1.0
    assert judged(small(225, 0), SMALL).confidence < 0.5
    assert judged(small(400, 3), SMALL).confidence < 0.5
    assert judged(small(100_000, 3), SMALL).confidence == 1.0


def test_often_completed_passes_shrink_only_where_the_ratio_is_surely_not_low() -> None:
    often = passes(1.5, 1)
    sure = msgspec.structs.replace(small(7_500, 100), defrag_passes=often)
    assert judged(sure, SMALL).rule == "completes_often"
    unsure = msgspec.structs.replace(small(300, 4), defrag_passes=often)
    advice = judged(unsure, SMALL)
    assert (advice.action, advice.rule) == ("keep", "otherwise")


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (49.999, "49.999"),
        (50.0, "50.0"),
        (50.01, "50.01"),
        (49.94, "49.9"),
        (99.96, "99.96"),
        (100.0, "100.0"),
        (100.04, "100.04"),
        (100.0000001, "100.0000001"),
        (143.2, "143.2"),
        (0.0, "0.0"),
    ],
)
def test_a_ratio_is_not_rounded_to_or_across_a_limit(ratio: float, text: str) -> None:
    assert ratio_text(ratio, POLICY) == text


def test_a_ratio_of_four_figures_is_not_rounded_across_a_limit_either() -> None:
    told = [ratio_text(ratio, POLICY, ".4g") for ratio in (75.0, 142.86, 49.999, 100.04)]
    assert told == ["75", "142.9", "49.999", "100.04"]


def test_a_ratio_below_its_limit_is_told_as_such() -> None:
    advice = judged(store(49.999 * 3e8, 3e8))
    assert advice.action == "grow"
    assert "read 49.999 pages for each one freed" in advice.reasons[0]
    assert "the ratio was 49.999" in advice.reasons[1]
