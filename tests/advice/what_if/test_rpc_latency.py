"""RPC latency that a scan adds: published until there are hours to compare."""

from collections.abc import Iterator

import pytest

from esewatch.advice.history.history import History
from esewatch.advice.what_if.estimate import WhatIfChange
from esewatch.advice.what_if.what_if import added_rpc_latency
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.rollups import Hour
from tests.advice.histories import DAY, HOUR, NOON, opening, store

NOTHING = WhatIfChange()


def scanned(every: int, nights: int = 14) -> History:
    """Scanned from 03:00 to 05:00 UTC on every so many-th of the nights."""
    runs = [Run(opening(n) + 2 * HOUR, opening(n) + 4 * HOUR) for n in range(0, nights, every)]
    return store(scan_runs=sorted(runs), defrag_runs=[])


def latencies(history: History, added: float, nights: int = 14) -> Iterator[Hour]:
    """10 ms by night and 50 ms from 08:00 to 20:00, and what scanning adds."""
    first = int((NOON - nights * DAY) // HOUR)
    for hour in range(first, int(NOON // HOUR)):
        begin = hour * HOUR
        mean = 0.05 if 8 <= hour % 24 < 20 else 0.01
        if any(run.start < begin + HOUR and (run.end or 0.0) > begin for run in history.scan_runs):
            mean *= 1 + added
        yield Hour(hour, 60 * mean, 60)


def test_without_latencies_the_published_share_is_taken() -> None:
    found = added_rpc_latency(scanned(2), [], NOTHING, NOON)

    assert found.values == pytest.approx((0.05, 0.1, 0.2))
    assert found.sentence == (
        "published as about 10%, shown as half to twice that; RPC latency was not sampled here"
    )


def test_zeroing_is_published_as_twice_as_much() -> None:
    found = added_rpc_latency(scanned(2), [], WhatIfChange(zeroing="first"), NOON)

    assert found.values == pytest.approx((0.1, 0.2, 0.4))


def test_with_enough_hours_what_was_seen_takes_its_place() -> None:
    history = scanned(2)
    found = added_rpc_latency(history, list(latencies(history, 0.3)), NOTHING, NOON)

    assert found.values == pytest.approx((0.3, 0.3, 0.3))
    assert found.sentence.startswith(
        "measured here in 7 nights, 14 hours with the scan and 14 without it at the same time"
    )


def test_quiet_nights_are_not_compared_with_busy_days() -> None:
    history = scanned(1)
    found = added_rpc_latency(history, list(latencies(history, 0.3)), NOTHING, NOON)

    assert "published as about 10%" in found.sentence
    assert "too few hours here: 0 hours with the scan and 0 without it" in found.sentence


def test_what_was_seen_without_zeroing_is_doubled_for_it() -> None:
    history = scanned(2)
    found = added_rpc_latency(
        history, list(latencies(history, 0.15)), WhatIfChange(zeroing="on"), NOON
    )

    assert found.values == pytest.approx((0.3, 0.3, 0.3))
    assert "published: 2 times as much with zeroing" in found.sentence


def test_without_a_scan_only_what_was_seen_is_told() -> None:
    found = added_rpc_latency(store(scan_runs=[]), [], NOTHING, NOON)

    assert found.values is None
    assert found.sentence.startswith("there are no published figures for online")


def test_no_latency_at_all_is_no_ratio() -> None:
    history = scanned(2)
    zero = [each._replace(seconds=0.0) for each in latencies(history, 0.3)]

    assert "too few hours" in added_rpc_latency(history, zero, NOTHING, NOON).sentence
