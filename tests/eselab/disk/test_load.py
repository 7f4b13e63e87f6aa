"""Streams of requests on a LUN: how many are under way, where they lie, when they end."""

from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eselab.disk import load
from eselab.disk.load import Figures, LoadError, LoadPlan, run_load
from eselab.disk.lun import Lun

Submitted = list[tuple[float, int, int, bool]]
"""(time, offset, bytes, whether it is a write)."""


def plan(*workloads: dict[str, Any], **lun: Any) -> LoadPlan:
    return msgspec.convert({"lun": lun, "workloads": workloads}, type=LoadPlan)


def stream(**kept: Any) -> dict[str, Any]:
    return {"name": "a", "bytes": 8192, **kept}


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> Submitted:
    """What LUNs are asked for."""
    found: Submitted = []
    submit = Lun.submit

    def noted(self: Lun, at: float, offset: int, length: int, *, write: bool = False) -> int:
        found.append((at, offset, length, write))
        return submit(self, at, offset, length, write=write)

    monkeypatch.setattr(Lun, "submit", noted)
    return found


def places(submitted: Submitted) -> list[int]:
    return [offset for _, offset, _, _ in submitted]


def test_a_sequential_stream_goes_round_its_span(submitted: Submitted) -> None:
    run_load(plan(stream(offset=4096, span=3 * 8192 + 100, count=5)), 1)

    assert places(submitted) == [4096, 12288, 20480, 4096, 12288]


def test_a_random_stream_stays_within_its_span_and_follows_the_seed(submitted: Submitted) -> None:
    asked = plan(stream(pattern="random", offset=1 << 20, span=8192 * 1000, count=200))
    found = []
    for seed in (1, 1, 2):
        run_load(asked, seed)
        found.append(places(submitted))
        submitted.clear()

    assert found[0] == found[1] != found[2]
    assert all((place - (1 << 20)) % 8192 == 0 for place in found[0])
    assert all(0 <= place - (1 << 20) < 8192 * 1000 for place in found[0])
    assert len(set(found[0])) > 150


def test_one_request_is_handed_in_when_the_last_one_is_done(submitted: Submitted) -> None:
    (found,) = run_load(plan(stream(count=50)), 1)

    times = [at for at, _, _, _ in submitted]
    assert all(a < b for a, b in pairwise(times))
    assert found.latency_mean * 50 == pytest.approx(found.seconds)
    assert found.bytes_per_second == pytest.approx(50 * 8192 / found.seconds)


def test_a_pause_is_made_after_each_request(submitted: Submitted) -> None:
    (found,) = run_load(plan(stream(count=11, pause=0.5)), 1)

    assert len(submitted) == 11
    assert found.seconds == pytest.approx(10 * 0.5 + 11 * found.latency_mean)


def test_a_pause_after_a_batch_waits_for_all_of_it(submitted: Submitted) -> None:
    run_load(plan(stream(count=10, pause=2.0, batch=4, outstanding=1000)), 1)

    times = [at for at, _, _, _ in submitted]
    assert [times.count(at) for at in sorted(set(times))] == [4, 4, 2]
    assert all(b - a > 2.0 for a, b in pairwise(sorted(set(times))))


def test_without_a_batch_the_pause_comes_after_as_many_as_are_under_way(
    submitted: Submitted,
) -> None:
    run_load(plan(stream(count=9, pause=2.0, outstanding=3)), 1)

    assert len({at for at, _, _, _ in submitted}) == 3


def test_a_stream_of_seconds_hands_in_none_later_and_all_are_done(submitted: Submitted) -> None:
    (found,) = run_load(plan(stream(seconds=0.5, pattern="random", outstanding=16)), 1)

    assert found.requests == len(submitted)
    assert max(at for at, _, _, _ in submitted) < 0.5 <= found.seconds < 0.7


def test_writes_go_into_the_cache_and_reads_do_not(submitted: Submitted) -> None:
    asked = {"pattern": "random", "count": 30}
    written, read = run_load(
        plan(
            stream(operation="write", **asked),
            stream(name="b", **asked),
            spindles=2,
            write_cache=1 << 20,
        ),
        1,
    )

    assert written.latency_max < 0.001 < read.latency_p50
    assert sorted(write for _, _, _, write in submitted) == [False] * 30 + [True] * 30


def test_an_update_reads_a_place_and_then_writes_it(submitted: Submitted) -> None:
    asked = stream(operation="update", pattern="random", count=20, outstanding=3)
    (found,) = run_load(plan(asked), 1)

    assert found.requests == len(submitted) == 40
    assert [write for *_, write in submitted].count(True) == 20
    reads = [(offset, length) for _, offset, length, write in submitted if not write]
    assert sorted((offset, length) for _, offset, length, write in submitted if write) == sorted(
        reads
    )
    for offset, length in reads:
        first, second = (write for _, *place, write in submitted if place == [offset, length])
        assert (first, second) == (False, True)


def test_an_update_that_writes_elsewhere_is_a_copy(submitted: Submitted) -> None:
    asked = stream(operation="update", offset=8192, span=3 * 8192, to=1 << 20, count=4)
    (found,) = run_load(plan(asked), 1)

    steps = [0, 8192, 16384, 0]
    assert [(offset, write) for _, offset, _, write in submitted] == [
        place for step in steps for place in ((8192 + step, False), ((1 << 20) + step, True))
    ]
    times = [at for at, *_ in submitted]
    # Of one request under way, each begins when the one before ends.
    reads = sum(end - begin for begin, end in zip(times[::2], times[1::2], strict=True)) / 4
    assert found.latency_read == pytest.approx(reads)
    assert found.requests == 8


def test_only_an_update_says_how_long_its_reads_took() -> None:
    both = [stream(count=1), stream(name="b", operation="write", count=1)]
    assert [each.latency_read for each in run_load(plan(*both), 1)] == [None, None]


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "bytes": st.integers(512, 1 << 20),
                "operation": st.sampled_from(["read", "write", "update"]),
                "pattern": st.sampled_from(["sequential", "random"]),
                "offset": st.integers(0, 1 << 34),
                "outstanding": st.integers(1, 40),
                "pause": st.sampled_from([0.0, 0.001, 3.0]),
                "count": st.integers(1, 60),
            }
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([0, 1 << 20]),
)
@settings(max_examples=40, deadline=None)
def test_all_that_was_asked_for_is_done_and_the_figures_are_in_order(
    asked: list[dict[str, Any]], cache: int
) -> None:
    named = [{"name": f"w{at}", **each} for at, each in enumerate(asked)]
    found = run_load(plan(*named, write_cache=cache), 1)

    assert [each.name for each in found] == [each["name"] for each in named]
    twice = {"read": 1, "write": 1, "update": 2}
    asked_for = [each["count"] * twice[each["operation"]] for each in named]
    assert [each.requests for each in found] == asked_for
    for each in found:
        assert 0 < each.latency_p50 <= each.latency_p99 <= each.latency_max <= each.seconds
        assert each.latency_mean <= each.latency_max * (1 + 1e-9)
    assert run_load(plan(*named, write_cache=cache), 1) == found


def test_ranks_are_the_nearest_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([*[(at, float(at)) for at in range(1, 201)], None])
    monkeypatch.setattr(Lun, "next_done", lambda _: next(answers))

    (found,) = run_load(plan(stream(count=200, outstanding=200)), 1)
    assert found == Figures(
        name="a", requests=200, seconds=200.0, bytes_per_second=8192.0,
        latency_mean=100.5, latency_p50=100.0, latency_p99=198.0, latency_max=200.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "asked",
    [
        {"offset": 1 << 40},
        {"offset": 0, "span": 8191},
        {"offset": 1 << 20, "span": 1 << 40},
        {"operation": "update", "span": 8192, "to": 1 << 40},
        {"bytes": 1 << 20, "offset": 8 * 73_400_000_000 - (1 << 20)},
    ],
)
def test_a_stream_that_is_not_within_the_lun_is_an_error(asked: dict[str, Any]) -> None:
    with pytest.raises(LoadError, match=r"workload a: .* are not within the \d+ bytes of the LUN"):
        run_load(plan(stream(count=1, **asked)), 1)


def test_more_requests_than_there_is_room_for_are_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(load, "MOST_REQUESTS", 100)
    assert run_load(plan(stream(count=100)), 1)[0].requests == 100

    with pytest.raises(LoadError, match=r"after .* s these are more than 100 requests"):
        run_load(plan(stream(count=60), stream(name="b", seconds=100.0)), 1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ([stream()], "workload a needs one of count and seconds"),
        ([stream(count=1, seconds=1.0)], "workload a needs one of count and seconds"),
        ([stream(count=1, batch=2)], "workload a: batch needs a pause after it"),
        ([stream(count=1, to=0)], "workload a: only an update has a place to write to"),
        ([stream(count=1)] * 2, "workloads: 2 of them have the name a"),
        (
            [stream(count=1, outstanding=4096), stream(name="b", count=1)],
            "workloads: 4097 requests at once are more than 4096",
        ),
    ],
)
def test_a_plan_that_makes_no_sense_is_an_error(asked: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=said):
        plan(*asked)
