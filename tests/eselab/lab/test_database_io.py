"""The two experiments on requests to the database file, in a form that takes seconds."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from eselab.lab.bench import Bench
from eselab.lab.experiments import EXPERIMENTS, io_reduction, passive_io
from eselab.lab.frame import Findings
from eselab.lab.readings import Requests


def number(findings: Findings, quantity: str, case: str) -> float:
    (found,) = [each for each in findings.rows if (each.quantity, each.case) == (quantity, case)]
    assert isinstance(found.ours, float)
    return found.ours


def both(findings: Findings, where: str, case: str) -> float:
    return sum(number(findings, f"{what}, {where}", case) for what in ("reads", "writes"))


class Made(NamedTuple):
    findings: Findings
    told: int
    """How often the bench was called."""


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The experiment with the copies, once."""
    told: list[int] = []
    bench = Bench(tmp_path_factory.mktemp("copies"), 1, lambda: told.append(1))
    return Made(passive_io.run(bench, pages=600, days=2), len(told))


@pytest.mark.slow
def test_a_dropped_cache_costs_requests_in_each_reading(copies: Made) -> None:
    findings = copies.findings

    for cache in passive_io.CACHES:
        day, office, users = (
            f"{when}, {cache:,} pages of cache"
            for when in ("whole days", "06:00 to 24:00", "whole days of users alone")
        )
        for where in (day, office, users):
            assert both(findings, where, "cache dropped") >= both(findings, where, "cache kept") > 0
        for case in ("active", "cache dropped", "cache kept"):
            assert both(findings, office, case) <= both(findings, day, case)
    assert copies.told == EXPERIMENTS["passive-io"].steps


@pytest.mark.slow
def test_each_cache_and_each_reading_has_a_line_beside_the_article(copies: Made) -> None:
    findings = copies.findings

    assert len(findings.comparisons) == 2 * 3 * len(passive_io.CACHES)
    assert len({each.what for each in findings.comparisons}) == len(findings.comparisons)
    for each in findings.comparisons:
        case, _, where = each.what.partition(": ")[2].partition(", ")
        times = both(findings, where, case) / both(findings, where, "active")
        assert each.ours == pytest.approx(times)
        assert bool(each.why) == (each.holds is not True)
    for row in findings.rows:
        if row.unit == "times":
            case, _, where = row.case.partition(", ")
            reading = row.quantity.rpartition(", ")[2]
            stated = [
                each.ours
                for each in findings.comparisons
                if each.what.endswith(f": {case}, {reading}, {where} of cache")
            ]
            assert stated == [row.ours]


@pytest.mark.slow
def test_cache_saves_reads_depth_saves_writes_and_larger_pages_decide_nothing(
    tmp_path: Path,
) -> None:
    told: list[int] = []
    findings = io_reduction.run(
        Bench(tmp_path, 1, lambda: told.append(1)), size=4 << 20, days=24, warm=8
    )

    first, large, deeper, _ = (each.name for each in io_reduction.STEPS)
    assert number(findings, "reads", large) < 0.9 * number(findings, "reads", first)
    assert number(findings, "writes", large) == pytest.approx(number(findings, "writes", first))
    assert number(findings, "writes", deeper) < 0.5 * number(findings, "writes", large)
    relative = "requests of a mailbox, by those of the first step"
    total = sum(number(findings, what, first) for what in ("reads", "writes"))
    for step in io_reduction.STEPS:
        ours = sum(number(findings, what, step.name) for what in ("reads", "writes"))
        assert number(findings, relative, step.name) == pytest.approx(ours / total)
    assert len(told) == EXPERIMENTS["io-reduction"].steps
    *words, larger = findings.comparisons
    said = [each.what.rpartition(" ")[2] for each in words]
    assert said == ["cache", "saves", "checkpoint", "saves"]
    for before, after in pairwise(io_reduction.STEPS):
        (stated,) = [
            each for each in findings.comparisons if each.what.endswith(f"those with {after.name}")
        ]
        assert stated.published == pytest.approx(before.iops / after.iops)
        shares = [number(findings, relative, step.name) for step in (before, after)]
        assert stated.ours == pytest.approx(shares[0] / shares[1])
    # Where no message is longer than a page, none takes fewer of the larger ones.
    assert (larger.holds, larger.why.startswith("not decided: ")) == (None, True)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (Requests(10.0, 100.0), "reads"),
        (Requests(100.0, 20.0), "writes"),
        (Requests(50.0, 50.0), "reads and writes"),
        (Requests(100.0, 100.0), "nothing"),
        (Requests(10.0, 300.0), "nothing"),
        (Requests(10.0, 110.0), "reads"),
    ],
)
def test_a_step_saves_what_makes_most_of_what_is_gone(after: Requests, said: str) -> None:
    assert io_reduction.saved(Requests(100.0, 100.0), after) == said


def test_the_steps_keep_the_proportions_of_the_article() -> None:
    plans = [io_reduction.plan(step, 24 << 20)["databases"][0] for step in io_reduction.STEPS]
    caches = [each["cache_pages"] * each["page_size"] for each in plans]
    depths = [each["checkpoint_depth"] for each in plans]

    assert caches[1] / caches[0] == pytest.approx(20 * 1024 / 900, rel=0.05)
    assert caches[1] == pytest.approx(caches[3], rel=0.01)
    assert [depth / depths[0] for depth in depths] == pytest.approx([1, 1, 7, 7], rel=0.01)
    assert len({each["page_size"] * each["pages"] for each in plans}) == 1
