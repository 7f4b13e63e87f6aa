"""How our figures are held against published ones."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final

import pytest

from eselab.lab.frame import (
    Comparison,
    Experiment,
    Findings,
    Result,
    Span,
    Verdict,
    compared,
    ratio,
    repeatable,
    repeated,
    rounded,
    told,
)

KIND: Final = "modelled disk"


def result(comparisons: Sequence[Comparison]) -> Result:
    findings = Findings(rows=[], comparisons=comparisons)
    experiment = Experiment(
        name="x", article="P1", question="?", setup=[], steps=1, run=lambda _: findings
    )
    return Result(experiment=experiment, findings=findings)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.0, 0.0), (12345.678, 12350.0), (0.00123456, 0.001235), (-7.0, -7.0)]
)
def test_a_figure_keeps_four_digits(value: float, expected: float) -> None:
    assert rounded(value) == expected


@pytest.mark.parametrize(
    ("bad", "good", "expected"),
    [(6.0, 3.0, 2.0), (None, 3.0, None), (6.0, None, None), (6.0, 0.0, None), (-1.0, 2.0, None)],
)
def test_a_ratio_needs_two_figures_above_nothing(
    bad: float | None, good: float | None, expected: float | None
) -> None:
    assert ratio(bad, good) == expected


@pytest.mark.parametrize(
    ("ours", "holds"), [(1.99, False), (2.0, True), (4.0, True), (8.0, True), (8.01, False)]
)
def test_a_ratio_within_half_and_twice_the_published_one_has_its_shape(
    ours: float, holds: bool
) -> None:
    found = compared("x", KIND, 4.0, ours, why="because")

    assert (found.holds, found.factor) == (holds, ours / 4)
    assert found.why == ("" if holds else "because")


@pytest.mark.parametrize(
    ("published", "ours", "holds"),
    [
        (1.8, 1.1, True),
        (1.8, 1.0, False),
        (1.8, 0.95, False),
        (0.6, 0.9, True),
        (0.6, 1.1, False),
        (1.0, 1.9, True),
        (1.0, 0.6, True),
        (Span(least=0.5, most=1.0), 1.0, True),
        (Span(least=0.5, most=1.0), 1.2, False),
        (Span(least=1.2, most=1.5), 0.9, False),
        (Span(least=0.8, most=1.5), 0.7, True),
    ],
)
def test_the_side_that_was_the_larger_one_has_to_be_it_here(
    published: float | Span, ours: float, holds: bool
) -> None:
    assert compared("x", KIND, published, ours, why="because").holds is holds


@pytest.mark.parametrize(
    ("ours", "absent", "holds", "why"),
    [
        ([4.0, 5.0, 3.0], "", True, ""),
        ([40.0, 50.0, 30.0], "", False, "because"),
        ([4.0, 5.0, 9.0], "", None, "not decided: the runs do not agree on it"),
        ([4.0], "", None, "not decided: the runs do not agree on it"),
        ([4.0, 5.0, 3.0], "it was cached", None, "not decided: it was cached"),
    ],
)
def test_what_runs_do_not_agree_on_or_has_another_cause_is_not_decided(
    ours: list[float], absent: str, holds: bool | None, why: str
) -> None:
    found = repeated("x", "real files", 4.0, ours, why="because", absent=absent)

    assert (found.holds, found.why) == (holds, why)
    assert found.ours == median(ours)
    assert found.spread == Span(least=min(ours), most=max(ours))
    assert result([found]).verdict == {
        True: "as published", False: "not as published", None: "not decided"
    }[holds]  # fmt: skip


def test_without_a_run_nothing_was_measured() -> None:
    found = repeated("x", "real files", 4.0, [], why="not run", absent="it was cached")

    assert (found.holds, found.ours, found.why, found.spread) == (None, None, "not run", None)


@pytest.mark.parametrize("ours", [None, 0.0, -1.0, math.nan, math.inf])
def test_what_is_no_ratio_was_not_measured(ours: float | None) -> None:
    found = compared("x", KIND, 4.0, ours, why="not run")

    assert (found.ours, found.factor, found.holds, found.why) == (None, None, None, "not run")


@pytest.mark.parametrize(("ours", "factor"), [(1.0, 0.5), (2.0, 1.0), (2.5, 1.0), (6.0, 2.0)])
def test_a_published_span_is_met_at_its_nearest_bound(ours: float, factor: float) -> None:
    assert compared("x", KIND, Span(least=2.0, most=3.0), ours, why="").factor == factor


def test_a_bound_that_is_not_there_is_never_passed() -> None:
    assert Span(least=5.0).nearest(1e9) == 1e9
    assert Span(most=5.0).nearest(-1e9) == -1e9


@pytest.mark.parametrize(
    ("published", "ours", "holds"),
    [
        ("shrink", "shrink", True),
        ("shrink", "keep", False),
        ("shrink", None, None),
        (Span(least=50.0, most=100.0), 50.0, True),
        (Span(least=50.0, most=100.0), 49.9, False),
        (Span(least=50.0, most=100.0), "keep", False),
    ],
)
def test_a_word_or_a_band_is_met_or_not(
    published: str | Span, ours: str | float | None, holds: bool | None
) -> None:
    found = told("x", KIND, published, ours, why="because")

    assert (found.holds, found.factor) == (holds, None)
    assert found.why == ("" if holds else "because")


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([4.0, 5.0], "as published"),
        ([4.0, None], "as published"),
        ([4.0, 40.0], "in part as published"),
        ([40.0, None], "not as published"),
        ([None], "not measured"),
        ([], "not measured"),
    ],
)
def test_the_verdict_is_of_all_that_was_measured(
    ours: list[float | None], expected: Verdict
) -> None:
    found = [compared("x", KIND, 4.0, each, why="because") for each in ours]

    assert result(found).verdict == expected


def test_only_real_files_do_not_come_out_the_same() -> None:
    assert repeatable(["engine-counted", "modelled disk"])
    assert not repeatable(["modelled disk", "real files"])
