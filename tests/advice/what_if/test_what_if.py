"""What-if: ranges from a database's own history, or a sentence that says why there is none."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from esewatch.advice.findings.scan_collisions import Loss
from esewatch.advice.history.history import History
from esewatch.advice.what_if.estimate import Estimate, WhatIfChange
from esewatch.advice.what_if.what_if import ALONE, Environment, WhatIf, what_if, what_ifs
from esewatch.config import DatabaseRule, Policy, Settings
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Day, Hour, Size, add_sample
from esewatch.fold.state.state import Host
from tests.advice.histories import DAY, HOUR, NOON, one_pass, opening, store, window
from tests.support.campaign import EXAMPLES, number_of
from tests.support.records import EPOCH, event, folder_of

POLICY = Policy()
NIGHTS = 40


def maintained(nights: int = 4, scan: float = 1500.0, **changes: Any) -> History:
    """Passes of `nights` windows, of which defragmentation has the first half, scans the second."""
    halves = [Run(opening(n), opening(n) + 2 * HOUR) for n in reversed(range(NIGHTS))]
    scans = [Run(run.end or 0.0, (run.end or 0.0) + scan) for run in halves]
    defrag = [
        one_pass(first.start, last.end, work_seconds=nights * 2 * HOUR)
        for first, last in zip(halves[::nights], halves[nights - 1 :: nights], strict=False)
    ]
    checks = [
        one_pass(run.start, run.end, task="checksum", work_seconds=scan, pages_seen=5_000_000)
        for run in scans
    ]
    given: dict[str, Any] = {
        "defrag_runs": halves,
        "scan_runs": scans,
        "defrag_passes": defrag,
        "checksum_passes": checks,
        **changes,
    }
    return store(**given)


def asked(history: History, around: Environment = ALONE, **change: Any) -> WhatIf:
    return what_if(history, POLICY, WhatIfChange(**change), NOON, around)


def values(found: Estimate | None) -> tuple[float, float, float]:
    assert found is not None
    assert found.values is not None, found.sentence
    return found.values


def sentence(found: Estimate | None) -> str:
    assert found is not None
    return found.sentence


def test_half_the_window_takes_twice_the_days() -> None:
    found = asked(maintained(), window=2 * HOUR)

    low, likely, high = values(found.defrag_days)
    assert low <= 8 <= high
    assert likely in {8, 9}
    assert values(found.defrag_days_now)[0] == 4
    assert "10 complete passes; as used in 40 past nights, scaled from 4 h to 2 h" in sentence(
        found.defrag_days
    )


def test_a_pass_never_takes_less_than_from_one_opening_to_the_next() -> None:
    found = asked(maintained(), window=24 * HOUR)

    assert values(found.defrag_days)[0] == 1


def test_nights_on_which_the_window_is_closed_count_as_days() -> None:
    daily = maintained()
    scans = [run for run in daily.scan_runs if int(run.start // DAY + 3) % 7 in {0, 2, 4}]
    three = window(days=["mon", "wed", "fri"])
    found = asked(msgspec.structs.replace(daily, scan_runs=scans, window=three))

    assert values(found.scan_days) == pytest.approx([7 / 3] * 3)


def test_a_larger_database_takes_longer_in_proportion() -> None:
    found = asked(maintained(), growth=1.0)

    low, _, high = values(found.defrag_days)
    assert low <= 8 <= high
    assert "20%" in sentence(asked(maintained(), growth=0.2).scan_days)


def test_a_scan_that_outgrows_its_half_of_the_window_is_said_to() -> None:
    answers = [
        asked(maintained(scan=scan), window=length).scan_in_window
        for scan, length in ((1500.0, 2 * HOUR), (7000.0, 2 * HOUR), (3590.0, 2 * HOUR))
    ]

    assert [each.answer for each in answers if each] == ["yes", "no", "likely"]
    assert answers[1] is not None
    assert answers[1].sentence.endswith("; half of the window is 1 h")


def test_a_scan_that_outlasts_its_deadline_is_said_to() -> None:
    slow = what_if(
        maintained(scan=7000.0), Policy(verify_within=2 * DAY), WhatIfChange(window=HOUR / 2), NOON
    )

    assert slow.scan_in_time is not None
    assert slow.scan_in_time.answer == "no"
    assert slow.scan_in_time.sentence == "the deadline is 2 days"


def test_a_throttle_adds_its_sleep_for_each_read() -> None:
    reads = math.ceil(5_000_000 * 8192 / 327_680)
    found = asked(maintained(), throttle=0.02)

    assert f"{reads:,} reads of 320 KB, 20 ms more after each: 42 min a pass" in sentence(
        found.scan_days
    )
    assert found.scan_in_window is not None
    assert found.scan_in_window.sentence.startswith("it takes 1 h 6 min to 1 h 7 min")


def test_without_a_size_a_throttle_cannot_be_judged() -> None:
    found = asked(maintained(pages=None), throttle=0.02)

    assert found.scan_days is not None
    assert found.scan_days.values is None
    assert "its size is not known" in sentence(found.scan_days)
    assert values(found.defrag_days)[0] == 4


def seconds_of(found: WhatIf) -> str:
    assert found.scan_in_window is not None
    return found.scan_in_window.sentence


def test_scans_at_once_are_as_slow_as_they_were_seen_here() -> None:
    loss = Loss(alone=4000.0, together=2000.0, share=1.0, sentence="")
    history = maintained(scan=1250.0)

    alone = asked(history, Environment((), loss), parallel=1)
    two = asked(history, Environment((), loss), parallel=2)

    assert seconds_of(alone).startswith("it takes 21 min")
    assert seconds_of(two).startswith("it takes 41 min to 42 min")
    assert "measured here" in sentence(two.scan_days)
    assert "published" not in sentence(two.scan_days)


def test_where_only_a_part_was_beside_others_all_of_it_is_slower_still() -> None:
    loss = Loss(alone=4000.0, together=2000.0, share=0.5, sentence="")

    assert seconds_of(asked(maintained(scan=1250.0), Environment((), loss), parallel=2)).startswith(
        "it takes 41 min to 1 h 3 min"
    )


def test_passes_that_were_all_beside_others_are_not_slowed_again() -> None:
    loss = Loss(alone=None, together=4000.0, share=1.0, sentence="")
    history = maintained(scan=1250.0)
    one, two, four = (asked(history, Environment((), loss), parallel=count) for count in (1, 2, 4))

    assert seconds_of(one).startswith("it takes 3 min to 21 min")
    assert seconds_of(two).startswith("it takes 21 min;")
    assert seconds_of(four).startswith("it takes 21 min to 42 min")
    assert "measured here: 4,000 pages a second beside others" in sentence(two.scan_days)
    assert "published: up to 7.5 times as fast alone" in sentence(one.scan_days)


def test_of_passes_that_were_partly_beside_others_all_beside_them_are_slower() -> None:
    loss = Loss(alone=None, together=4000.0, share=0.5, sentence="")
    two, four = (
        asked(maintained(scan=1250.0), Environment((), loss), parallel=count) for count in (2, 4)
    )

    assert seconds_of(two).startswith("it takes 21 min to 42 min;")
    assert "assumed to share" not in sentence(two.scan_days)
    assert "4 at once are assumed to share the throughput of two" in sentence(four.scan_days)


def test_scans_at_once_that_were_not_seen_are_told_by_both_readings_of_the_table() -> None:
    found = asked(maintained(), parallel=2)

    assert (
        "published, not measured here: two at once read 67 instead of 250 MB/s, which takes 3.7 to"
        " 7.5 times as long"
    ) in sentence(found.scan_days)
    assert "never scanned alone" in sentence(asked(maintained(), parallel=1).scan_days)
    assert sentence(found.rpc_latency) == "there are no published figures for several scans at once"


def test_a_first_pass_of_zeroing_is_slower_than_later_ones() -> None:
    first, later = asked(maintained(), zeroing="first"), asked(maintained(), zeroing="on")

    assert "zeroing takes 1.8 to 3.7 times as long" in sentence(first.scan_days)
    assert "zeroing takes 1.0 to 1.8 times as long" in sentence(later.scan_days)


def test_a_scan_that_zeroes_already_is_no_slower() -> None:
    base = maintained()
    zeroed = [msgspec.structs.replace(done, completion_event=722) for done in base.checksum_passes]
    found = asked(msgspec.structs.replace(base, checksum_passes=zeroed), zeroing="on")

    assert values(found.scan_days) == values(found.scan_days_now)
    assert "its scan zeroes pages already (722)" in sentence(found.scan_days)


def test_without_a_configured_window_another_length_has_no_answer() -> None:
    found = asked(maintained(window=None), window=2 * HOUR)

    assert sentence(found.defrag_days) == "no window is configured"
    assert values(found.defrag_days_now)[0] == 4
    assert found.scan_in_window is not None


def test_latencies_of_its_computer_are_compared() -> None:
    folder = folder_of([event(717, 0.0), event(725, HOUR)])
    ((computer, _),) = folder.state.databases
    host = folder.state.hosts.setdefault(computer, Host(computer=computer))
    rules = Settings(
        windows={"night": window()}, databases=[DatabaseRule(match="*", window="night")]
    )
    before = what_ifs(folder.state, rules, WhatIfChange(), EPOCH + DAY)
    add_sample(host.rpc_latency, EPOCH, 0.01)
    after = what_ifs(folder.state, rules, WhatIfChange(), EPOCH + DAY)

    told = [sentence(each.rpc_latency) for found in (before, after) for each in found.values()]
    assert ["RPC latency was not sampled here" in each for each in told] == [True, False]


def test_without_a_whole_pass_there_is_no_range() -> None:
    found = asked(maintained(defrag_passes=[], checksum_passes=[]), window=2 * HOUR)

    assert sentence(found.defrag_days) == "there is no complete pass of online defragmentation yet"
    assert sentence(found.scan_days) == "there is no complete pass of the scan yet"
    assert found.scan_in_time is not None
    assert found.scan_in_time.answer == "unknown"


def background(**changes: Any) -> History:
    """Scans of ten days each, from start to end, one after the other."""
    checks = [
        one_pass(
            NOON - (n + 1) * 10 * DAY,
            NOON - n * 10 * DAY,
            task="checksum",
            wall_seconds=10 * DAY,
            pages_seen=5_000_000,
        )
        for n in reversed(range(5))
    ]
    return store(model="background", window=None, checksum_passes=checks, **changes)


def test_a_background_scan_is_told_for_another_size_only() -> None:
    grown = asked(background(), growth=0.5)

    assert values(grown.scan_days) == pytest.approx((15, 15, 15), rel=0.06)
    assert values(grown.scan_days_now) == pytest.approx((10, 10, 10), rel=0.06)
    assert grown.not_applicable == ""
    assert (grown.defrag_days, grown.rpc_latency, grown.scan_in_window) == (None, None, None)


@pytest.mark.parametrize("change", [{"window": HOUR}, {"throttle": 0.1}, {"parallel": 2}])
def test_a_background_scan_has_no_window_or_throttle(change: dict[str, Any]) -> None:
    found = asked(background(), **change)

    assert found == WhatIf(change=WhatIfChange(**change), not_applicable=found.not_applicable)
    assert "without a window or throttle" in found.not_applicable
    both = asked(background(), growth=0.5, **change)
    assert values(both.scan_days)[1] > 14
    assert both.not_applicable == found.not_applicable


@pytest.mark.parametrize("model", ["garbage_collection", "application"])
def test_other_models_are_not_applicable(model: str) -> None:
    found = asked(store(model=model), growth=0.5, window=HOUR)

    assert found.not_applicable
    assert not found.applies


TIMES = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(0, 60 * 24).map(lambda hour: NOON - hour * HOUR),
)
RUNS = st.lists(st.builds(Run, TIMES, st.none() | TIMES), max_size=20)
PASSES = st.lists(
    st.builds(
        one_pass,
        st.none() | TIMES,
        st.none() | TIMES,
        work_seconds=st.none() | st.floats(),
        wall_seconds=st.none() | st.floats(),
        pages_seen=st.none() | st.integers(-5, 2**70),
        completion_event=st.sampled_from([721, 722]),
    ),
    max_size=12,
)
NUMBERS = st.none() | st.floats()
CHANGES = st.builds(
    WhatIfChange,
    window=st.none() | st.floats(900, 86400),
    throttle=st.none() | st.floats(0, 60),
    parallel=st.none() | st.integers(1, 16),
    growth=st.none() | st.floats(-0.9, 10),
    zeroing=st.sampled_from(["", "first", "on"]),
)


HISTORIES = st.builds(
    store,
    defrag_runs=RUNS,
    scan_runs=RUNS,
    defrag_passes=PASSES,
    checksum_passes=PASSES,
    pages=NUMBERS,
    size_bytes=NUMBERS,
    days=st.lists(st.builds(Day, st.integers(0, 20_000), *[st.floats()] * 5), max_size=20),
    sizes=st.lists(st.builds(Size, st.integers(13_000, 13_700), st.floats()), max_size=5),
    model=st.sampled_from(["window", "background", "application"]),
)
AROUND = st.builds(
    Environment,
    st.lists(st.builds(Hour, st.integers(-9, 400_000), st.floats(), st.integers(0, 9)), max_size=9),
    st.none() | st.builds(Loss, NUMBERS, NUMBERS, NUMBERS, st.just("")),
)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@drawn(HISTORIES, CHANGES, AROUND, st.one_of(st.just(NOON), st.floats()))
def test_nothing_raises_and_every_range_is_of_numbers_in_order(
    history: History, change: WhatIfChange, around: Environment, now: float
) -> None:
    found = what_if(history, POLICY, change, now, around)

    for name in found.__struct_fields__:
        each = getattr(found, name)
        if isinstance(each, Estimate) and each.values is not None:
            low, likely, high = each.values
            assert math.isfinite(low + likely + high), (name, each)
            assert low <= likely <= high
            assert each.sentence


def days_told(found: Estimate | None) -> tuple[float, float, float]:
    """Too long to be said is longer than all."""
    assert found is not None
    return found.values or (math.inf,) * 3


WORKS = st.lists(st.floats(600, 20 * HOUR), min_size=1, max_size=8)


def of_works(works: list[float]) -> History:
    """Whole passes that took so many seconds each."""
    defrag = [
        one_pass(NOON - (n + 1) * DAY, NOON - n * DAY - HOUR, work_seconds=work)
        for n, work in reversed(list(enumerate(works)))
    ]
    checks = [msgspec.structs.replace(each, task="checksum") for each in defrag]
    return msgspec.structs.replace(maintained(), defrag_passes=defrag, checksum_passes=checks)


@settings(max_examples=2 * EXAMPLES, deadline=None)
@drawn(WORKS, st.floats(900, 86400), st.floats(900, 86400))
def test_a_longer_window_never_lengthens_the_days_of_a_pass(
    works: list[float], one: float, other: float
) -> None:
    shorter, longer = (asked(of_works(works), window=each) for each in sorted((one, other)))

    for task in ("defrag_days", "scan_days"):
        before, after = days_told(getattr(shorter, task)), days_told(getattr(longer, task))
        assert all(a <= b for a, b in zip(after, before, strict=True))


@settings(max_examples=2 * EXAMPLES // 5, deadline=None)
@drawn(WORKS, st.floats(-0.9, 10), st.floats(-0.9, 10))
def test_more_growth_never_shortens_the_days_of_a_pass(
    works: list[float], one: float, other: float
) -> None:
    less, more = (asked(of_works(works), growth=each) for each in sorted((one, other)))

    for task in ("defrag_days", "scan_days"):
        before, after = days_told(getattr(less, task)), days_told(getattr(more, task))
        assert all(a >= b for a, b in zip(after, before, strict=True))


@settings(max_examples=number_of(40, 12), deadline=None)
@drawn(WORKS, st.floats(0, 60), st.floats(0, 60), st.integers(1, 8))
def test_more_throttle_and_more_scans_at_once_never_shorten_a_scan(
    works: list[float], one: float, other: float, count: int
) -> None:
    history = of_works(works)
    less, more = (asked(history, throttle=each) for each in sorted((one, other)))
    fewer = asked(history, parallel=count)
    several = asked(history, parallel=count + 1)

    for first, second in ((less, more), (fewer, several)):
        before, after = days_told(first.scan_days), days_told(second.scan_days)
        assert all(a >= b for a, b in zip(after, before, strict=True))
