import random

from esefiles.scans.results import Latencies


def test_without_a_read_there_is_no_latency() -> None:
    assert Latencies().percentiles() is None


def test_median_and_99th_percentile_are_right_within_a_few_percent() -> None:
    latencies = Latencies()
    values = sorted(random.Random(seed).lognormvariate(-6, 2) for seed in range(5000))
    for value in values:
        latencies.add(value)

    found = latencies.percentiles()

    assert found is not None
    assert abs(found.p50 / values[2499] - 1) < 0.05
    assert abs(found.p99 / values[4949] - 1) < 0.05


def test_any_number_of_reads_takes_bounded_memory() -> None:
    latencies = Latencies()
    for exponent in range(-400, 400):
        latencies.add(10.0 ** (exponent / 10))
    latencies.add(0.0)

    assert len(latencies._classes) < 1300
