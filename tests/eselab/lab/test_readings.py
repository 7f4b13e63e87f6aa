"""Figures out of events and counters."""

from eselab.lab.agent import Event, Reading
from eselab.lab.readings import (
    DATABASE_READS,
    DATABASE_WRITES,
    ZEROING,
    Point,
    Requests,
    Scan,
    grown,
    latency,
    mean,
    points,
    requests,
    samples,
    scans,
    summed,
)


def event(event_id: int, time: float, instance: str = "a", pages: int | None = None) -> Event:
    fields = {} if pages is None else {"pages_seen": pages}
    return Event(event_id=event_id, time=time, ese_instance=instance, fields=fields)


def reading(time: float, instance: str, counter: str, value: float) -> Reading:
    return Reading(time=time, computer="c", counter=counter, instance=instance, value=value)


def test_a_scan_is_from_its_begin_to_its_completion() -> None:
    events = [
        event(717, 1.0, "b"),
        event(717, 2.0),
        event(721, 5.0, "a", 9),
        event(721, 7.0, "b", 8),
    ]

    assert scans(events) == [
        Scan(instance="a", begin=2.0, end=5.0, pages=9),
        Scan(instance="b", begin=1.0, end=7.0, pages=8),
    ]


def test_a_scan_that_was_resumed_or_has_no_begin_tells_no_rate() -> None:
    assert scans([event(717, 1.0), event(719, 2.0), event(721, 5.0, "a", 9)]) == []
    assert scans([event(721, 5.0, "a", 9)]) == []
    assert scans([event(717, 1.0), event(721, 1.0, "a", 9)]) == []


def test_counters_of_one_instance_and_time_are_one_sample() -> None:
    found = samples(
        [reading(2.0, "a", "x", 3.0), reading(1.0, "a", "x", 1.0), reading(2.0, "a", "y", 4.0)]
    )

    assert found == [{"x": 1.0}, {"x": 3.0, "y": 4.0}]


def test_a_latency_counts_each_request_alike() -> None:
    of = [{"rate": 1.0, "ms": 10.0}, {"rate": 3.0, "ms": 2.0}, {"rate": 5.0}]

    assert latency(of, "ms", "rate") == 4.0
    assert latency([], "ms", "rate") is None
    assert mean(of, "rate") == 3.0
    assert mean(of, "other") is None


def test_a_scan_that_zeroes_has_other_events() -> None:
    events = [event(718, 1.0), event(722, 3.0, pages=9)]

    assert scans(events) == []
    assert scans(events, ZEROING) == [Scan(instance="a", begin=1.0, end=3.0, pages=9)]


def test_points_are_those_of_one_counter_of_one_instance() -> None:
    found = [
        reading(2.0, "engine/a", "x", 3.0),
        reading(1.0, "engine/a", "x", 1.0),
        reading(1.0, "engine/b", "x", 5.0),
        reading(1.0, "engine/a", "y", 7.0),
    ]

    assert points(found, "a", "x") == [Point(1.0, 1.0), Point(2.0, 3.0)]


def test_a_rate_is_summed_and_a_level_grows_over_whole_samples() -> None:
    of = [Point(0.0, 9.0), Point(10.0, 2.0), Point(20.0, 4.0), Point(30.0, 8.0)]

    assert summed(of, 12.0, 18.0) == 40.0
    assert summed(of, 5.0, 15.0) == 60.0
    assert grown(of, 12.0, 18.0) == 2.0
    assert grown(of, 12.0, 31.0) == 0.0


def test_requests_are_those_from_a_time_on_and_behind_the_morning() -> None:
    day, hour = 86400.0, 3600.0
    found = [
        reading(at, f"engine/{instance}", counter, value)
        for instance in "ab"
        for counter, value in ((DATABASE_READS, 2.0), (DATABASE_WRITES, 3.0))
        for at in (0.0, 6 * hour, 24 * hour, day + 6 * hour, day + 7 * hour)
    ]

    everything = requests(found, "a", begin=0.0, morning=0.0)
    assert everything == Requests(2.0 * 31 * hour, 3.0 * 31 * hour)
    assert everything.total == 5.0 * 31 * hour
    assert requests(found, "a", begin=0.0, morning=6 * hour).reads == 2.0 * 19 * hour
    assert requests(found, "a", begin=day, morning=6 * hour).reads == 2.0 * hour
    assert requests(found, "c", begin=0.0, morning=0.0) == Requests(0, 0)
