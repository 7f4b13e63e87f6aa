"""What the product tells of a month of an estate is what must be told, and nothing else."""

from pathlib import Path

import pytest

from tests.estate.incidents import INCIDENTS
from tests.estate.script import month
from tests.estate.watching import watched
from tests.support.campaign import number_of


def test_of_a_small_estate_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    found = watched(month(9), 9, tmp_path)

    assert found.differences == []


def test_of_a_healthy_estate_nothing_is_told(tmp_path: Path) -> None:
    found = watched(month(0, healthy=True), 0, tmp_path)

    assert found.differences == []


@pytest.mark.minutes
@pytest.mark.slow
def test_of_ten_estates_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    kinds: set[str] = set()
    for seed in range(number_of(40, 10)):
        found = watched(month(seed), seed, tmp_path / str(seed))
        kinds |= {*found.month.kinds}

        assert (seed, found.differences) == (seed, [])
    assert len(kinds) == len(INCIDENTS)
