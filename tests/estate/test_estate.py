"""What the product tells of a month of an estate is what must be told, and nothing else."""

from pathlib import Path

from tests.estate.script import month
from tests.estate.watching import watched


def test_of_a_small_estate_all_is_told_and_nothing_else(tmp_path: Path) -> None:
    found = watched(month(0), 0, tmp_path)

    assert found.differences == []
