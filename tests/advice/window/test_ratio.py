"""Read to freed: when there is a verdict, and which."""

import pytest

from esewatch.advice.window.ratio import defrag_ratio
from esewatch.config import Policy
from esewatch.fold.state.rollups import PAGES_FREED, PAGES_READ
from esewatch.fold.state.state import Instance


def instance(**totals: float) -> Instance:
    named = {
        {"read": PAGES_READ, "freed": PAGES_FREED}[name]: value for name, value in totals.items()
    }
    return Instance(computer="ex01", ese_instance="SG06", totals=named)


@pytest.mark.parametrize(
    ("read", "freed", "verdict"),
    [
        (6_119_542.0, 42_794.0, "above"),
        (1_000_000.0, 10_000.0, "within"),
        (1_000_000.0, 20_000.0, "within"),
        (1_000_000.0, 20_001.0, "below"),
        (1_000_001.0, 10_000.0, "above"),
    ],
)
def test_the_band_itself_is_within(read: float, freed: float, verdict: str) -> None:
    ratio = defrag_ratio(instance(read=read, freed=freed), Policy())
    assert ratio.verdict == verdict
    assert ratio.value == read / freed
    assert "50 to 100" in ratio.sentence


def test_nothing_freed_is_nothing_left_to_free() -> None:
    ratio = defrag_ratio(instance(read=5e6, freed=0.0), Policy())
    assert (ratio.verdict, ratio.value) == ("above", None)
    assert ratio.sentence == "nothing left to free (like over 100:1)"
    assert (ratio.pages_read, ratio.pages_freed) == (5_000_000, 0)


def test_nothing_read_gives_no_verdict() -> None:
    ratio = defrag_ratio(instance(read=0.0, freed=0.0), Policy())
    assert (ratio.verdict, ratio.value) == ("none", None)
    assert ratio.sentence.startswith("no verdict: ")


@pytest.mark.parametrize("found", [None, instance(), instance(read=5e6), instance(freed=5e6)])
def test_without_both_counters_there_is_no_verdict(found: Instance | None) -> None:
    ratio = defrag_ratio(found, Policy())
    assert (ratio.verdict, ratio.value, ratio.pages_read) == ("none", None, None)
    assert "not both in the input" in ratio.sentence


def test_too_few_pages_give_a_ratio_and_no_verdict() -> None:
    ratio = defrag_ratio(instance(read=99_999.0, freed=10.0), Policy())
    assert ratio.verdict == "none"
    assert ratio.value == pytest.approx(9999.9)
    assert ratio.sentence == "no verdict: fewer than 100,000 pages read"


def test_the_configured_band_counts() -> None:
    policy = Policy(ratio_high=20.0, ratio_low=5.0, min_pages_read=0)
    assert defrag_ratio(instance(read=210.0, freed=10.0), policy).verdict == "above"
    assert defrag_ratio(instance(read=40.0, freed=10.0), policy).sentence == (
        "below the band 5 to 20: much is left to free"
    )
