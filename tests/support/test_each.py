"""A test of all rows runs each of them and names every one that fails."""

import re
from pathlib import Path

import pytest

from tests.support.each import of_each

SEEN: list[tuple[str, Path]] = []


@of_each(["one", "two"])
def test_each_row_comes_with_the_fixtures_of_the_test(row: str, tmp_path: Path) -> None:
    assert tmp_path.is_dir()
    SEEN.append((row, tmp_path))
    assert [row for row, _ in SEEN] == ["one", "two"][: len(SEEN)]
    assert {folder for _, folder in SEEN} == {tmp_path}


def test_every_row_that_fails_is_named_with_what_is_wrong_with_it() -> None:
    @of_each([1, 2, 3, 4], lambda row: f"row {row}")
    def check(row: int) -> None:
        assert row % 2 == 0, f"{row} is odd"

    with pytest.raises(AssertionError) as failed:
        check()
    assert str(failed.value).splitlines()[0] == "row 1: AssertionError: 1 is odd"
    assert "row 3: AssertionError: 3 is odd" in str(failed.value)
    assert "row 2" not in str(failed.value)


def test_a_row_that_breaks_is_named_and_does_not_hide_the_others() -> None:
    @of_each([0, 1, 5])
    def check(row: int) -> None:
        assert 1 // row == 1

    with pytest.raises(AssertionError, match=r"0: ZeroDivisionError.*\n5: AssertionError"):
        check()


def test_a_row_that_fails_with_pages_of_values_is_one_short_line() -> None:
    @of_each(["query"])
    def check(row: str) -> None:
        assert row == "\n".join(["x" * 1000] * 100)

    with pytest.raises(AssertionError) as failed:
        check()
    assert re.fullmatch(r"query: AssertionError: .{1,503}", str(failed.value))


def test_a_row_that_fails_by_pytest_is_named() -> None:
    @of_each(["a"])
    def check(row: str) -> None:
        pytest.fail(f"no {row} here")

    with pytest.raises(AssertionError, match="a: Failed: no a here"):
        check()


def test_a_table_without_rows_proves_nothing() -> None:
    @of_each([])
    def check(row: str) -> None:
        """Pass whatever the row is."""

    with pytest.raises(AssertionError, match="there are no rows"):
        check()


def test_every_row_comes_from_what_can_be_read_once() -> None:
    seen = []

    @of_each(iter("ab"))
    def check(row: str) -> None:
        seen.append(row)

    check()
    check()
    assert seen == ["a", "b", "a", "b"]
