"""The comparison notices each way in which what is reported may be wrong."""

from collections.abc import Sequence

import pytest

from tests.estate.agent import Answer
from tests.estate.comparison import Comparison
from tests.estate.truth import Told, Truth

KEY = ("ex01", "e:\\priv01.edb")
TOLD = Told("bit flip", KEY, "investigate", "bad_pages", 2.0, 5.0)
GOOD: tuple[str, Sequence[str]] = ("ok", [])
BAD: tuple[str, Sequence[str]] = ("bad_pages", ["investigate"])
RIGHT = [GOOD, GOOD, BAD, BAD, BAD, GOOD]


def parts(told: Sequence[tuple[str, Sequence[str]]], of: Told = TOLD) -> list[str]:
    """How the answers of the moments 0, 1, 2 ... differ from the truth."""
    comparison = Comparison(Truth([of], {KEY: -1.0}, {KEY: -1.0}))
    for moment, (verdict, findings) in enumerate(told):
        comparison.add(float(moment), {KEY: Answer(verdict, findings)})
    return [each.part for each in comparison.done()]


def test_what_is_told_as_it_must_be_is_no_difference() -> None:
    assert parts(RIGHT) == []


@pytest.mark.parametrize(
    ("told", "part"),
    [
        ([*RIGHT[:2], ("bad_pages", []), ("bad_pages", []), ("bad_pages", []), GOOD], "missing"),
        ([*RIGHT[:2], ("bad_pages", []), BAD, BAD, GOOD], "late"),
        ([*RIGHT[:4], ("bad_pages", []), GOOD], "early"),
        ([*RIGHT[:5], ("ok", ["investigate"])], "false"),
        ([GOOD, ("look", []), *RIGHT[2:]], "false"),
        ([*RIGHT[:4], ("ok", ["investigate"]), GOOD], "missing"),
        ([*RIGHT[:4], ("bad_pages", ["investigate", "investigate"]), GOOD], "twice"),
    ],
)
def test_each_difference_has_its_part(told: list[tuple[str, list[str]]], part: str) -> None:
    assert parts(told) == [part]


def test_what_nobody_says_anything_of_is_missing() -> None:
    comparison = Comparison(Truth([], {}, {KEY: 0.0}))
    comparison.add(1.0, {})

    assert [each.part for each in comparison.done()] == ["missing"]


def test_what_time_alone_brings_has_five_minutes() -> None:
    slow = TOLD._replace(by_time=True, end=1000.0)

    assert not slow.must(slow.begin + 299.0)
    assert slow.must(slow.begin + 300.0)
    assert slow.may(slow.end + 299.0)
    assert not slow.may(slow.end + 300.0)
