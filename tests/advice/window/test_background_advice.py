import math
from typing import Any

import pytest

from esewatch.advice.base.finding import moment
from esewatch.advice.window.window import WindowAdvice, window_advice
from esewatch.config import Policy
from tests.advice.histories import DAY, HOUR, NOON, one_pass, store

TWO_TB = 2e12


def judged(model: str, policy: Policy | None = None, **changes: Any) -> WindowAdvice:
    given: dict[str, Any] = {"model": model, "window": None, **changes}
    return window_advice(store(**given), policy or Policy(), NOON)


def cycles(count: int, **changes: Any) -> list[Any]:
    ends = [NOON - n * 12 * HOUR for n in reversed(range(count))]
    return [one_pass(end, end, invocations=1, **changes) for end in ends]


def scan(ago: float, **changes: Any) -> list[Any]:
    return [one_pass(NOON - ago * DAY, None, task="checksum", **changes)]


def test_a_domain_controller_that_collects_garbage_twice_a_day_needs_no_window() -> None:
    advice = judged("garbage_collection", defrag_passes=cycles(10))

    assert (advice.action, advice.rule) == ("not_applicable", "cycles")
    assert advice.recommended_seconds is None
    assert advice.reasons == (
        "Online defragmentation is part of garbage collection; it has no window.",
    )


def test_garbage_collection_that_has_not_completed_for_three_cycles_is_said() -> None:
    old = [one_pass(NOON - 40 * HOUR, NOON - 37 * HOUR)]

    advice = judged("garbage_collection", defrag_passes=old)

    assert (advice.action, advice.rule) == ("not_applicable", "no_completion")
    assert "for 37 h of uptime;" in advice.reasons[1]
    started = judged("garbage_collection", defrag_passes=[], started=NOON - 3 * DAY)
    assert started.rule == "no_completion"


def test_nothing_is_late_where_the_log_would_not_have_shown_a_completion() -> None:
    advice = judged("garbage_collection", defrag_passes=[])

    assert (advice.action, advice.rule) == ("not_applicable", "unknown")
    assert advice.reasons[1] == (
        "Its completions are unknown: its log shows neither a pass nor a start of its instance."
    )
    young = judged("garbage_collection", defrag_passes=[], first_seen=NOON - 13 * DAY)
    assert (young.rule, len(young.reasons)) == ("cycles", 1)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"first_seen": NOON - 13 * DAY}, id="known for 13 days"),
        pytest.param({"first_seen": 0.0}, id="not known since when"),
        pytest.param({"tier": "observed"}, id="observed"),
    ],
)
def test_garbage_collection_is_late_only_where_the_finding_says_so(changes: dict[str, Any]) -> None:
    old = [one_pass(NOON - 40 * HOUR, NOON - 37 * HOUR)]

    advice = judged("garbage_collection", defrag_passes=old, **changes)
    assert (advice.rule, len(advice.reasons)) == ("cycles", 1)


def test_garbage_collection_is_not_called_late_while_events_are_missing() -> None:
    old = [one_pass(NOON - 60 * HOUR, NOON - 60 * HOUR)]
    gap = [(NOON - 50 * HOUR, NOON - 10 * HOUR, 12)]

    assert judged("garbage_collection", defrag_passes=old, event_gaps=gap).rule == "unknown"


def test_three_cycles_in_a_row_that_were_interrupted_or_resumed_are_said() -> None:
    advice = judged("garbage_collection", defrag_passes=cycles(4), defrag_torn=3)

    assert advice.rule == "cycles_interrupted"
    assert "last 3 cycles" in advice.reasons[1]
    half = judged("garbage_collection", defrag_passes=cycles(4), defrag_torn=2)
    assert half.rule == "cycles"


def test_two_terabytes_at_a_megabyte_a_second_are_not_late_at_day_20() -> None:
    size: dict[str, Any] = {"size_bytes": TWO_TB, "page_size": 32768}
    first = judged("background", checksum_passes=scan(20), **size)
    took = TWO_TB / 1e6
    before = one_pass(
        NOON - 20 * DAY - took,
        NOON - 20 * DAY,
        task="checksum",
        pages_seen=int(TWO_TB / 32768),
        wall_seconds=took,
    )
    later = judged("background", checksum_passes=[before, *scan(20)], **size)

    assert (first.action, first.rule) == ("not_applicable", "background")
    assert (later.action, later.rule) == ("not_applicable", "background")
    assert "the deadline is 34.7 days" in first.reasons[1]
    assert "the deadline is 34.7 days" in later.reasons[1]


def test_a_background_scan_over_its_deadline_is_said_with_a_remedy_that_is_no_window() -> None:
    late = judged("background", checksum_passes=scan(40), size_bytes=TWO_TB, page_size=32768)
    strict = judged("background", Policy(verify_within=3 * DAY), checksum_passes=scan(4))

    assert (late.action, late.rule) == ("not_applicable", "scan_late")
    assert "running for 40 days" in late.reasons[1]
    assert "page scan of a snapshot" in late.reasons[2]
    assert "3 days (configured)" in strict.reasons[1]


def test_a_background_scan_that_did_not_start_again_is_late_too() -> None:
    done = one_pass(NOON - 50 * DAY, NOON - 46 * DAY, task="checksum")

    advice = judged("background", checksum_passes=[done], size_bytes=1e9, page_size=32768)

    assert advice.rule == "scan_late"
    assert advice.reasons[1].startswith(
        f"The last pass ended at {moment(NOON - 46 * DAY)}, and its computer was on for 46 days"
        " since; the deadline is 7 days"
    )
    off = [(NOON - 40 * DAY, NOON - HOUR)]
    assert judged("background", checksum_passes=[done], off=off).rule == "background"


def test_nothing_is_said_to_be_since_a_scan_that_ended_at_this_moment() -> None:
    done = one_pass(NOON - 4 * DAY, NOON, task="checksum")

    advice = judged("background", checksum_passes=[done], size_bytes=1e9, page_size=32768)

    assert advice.reasons[1].startswith(f"The last pass ended at {moment(NOON)}; the deadline is")


def test_a_background_scan_that_failed_is_not_said_to_be_running() -> None:
    ended = NOON - 3 * DAY + HOUR
    broken: dict[str, Any] = {"interrupted": True, "failures": 1, "last_event": ended}
    size: dict[str, Any] = {"size_bytes": TWO_TB, "page_size": 32768, "failures": [ended]}

    advice = judged("background", checksum_passes=scan(3, **broken), **size)
    assert (advice.rule, advice.reasons[1]) == (
        "background",
        "The pass that began 3 days ago ended with an error at 2007-06-28 13:00 UTC; the deadline"
        " is 34.7 days (1.5 times the 23.1 days that a background scan at 1 MB/s would take).",
    )
    resumed = {**broken, "interrupted": False, "last_event": ended + HOUR}
    advice = judged("background", checksum_passes=scan(3, **resumed), **size)
    assert advice.reasons[1].startswith("The pass has been running for 3 days;")


def test_a_scan_that_begins_at_this_moment_has_a_start() -> None:
    advice = judged("background", checksum_passes=scan(0))

    assert advice.reasons[1].startswith("The pass has been running for 0 ")


def test_a_passive_copy_of_exchange_2007_is_maintained_by_nothing() -> None:
    passive: dict[str, Any] = {"role": "passive", "defrag_passes": [], "defrag_runs": []}

    advice = judged("window", **passive)

    assert (advice.action, advice.rule) == ("not_applicable", "passive")
    assert "eseutil /k" in advice.reasons[0]
    assert judged("window", role="passive").rule != "passive"
    assert judged("window", **{**passive, "role": ""}).rule == "evidence"


def test_where_nothing_is_known_nothing_is_claimed() -> None:
    assert judged("background").reasons[1] == "The start of its scan is not known."
    assert judged("application").rule == "application"
    assert judged("application").confidence == 1.0


@pytest.mark.parametrize("started", [math.nan, -math.inf, math.inf, NOON + DAY])
def test_a_start_that_cannot_be_is_not_known(started: float) -> None:
    damaged = [one_pass(started, None, task="checksum")]

    advice = judged("background", checksum_passes=damaged, size_bytes=1e9, page_size=32768)

    assert advice.reasons[1] == "The start of its scan is not known."
