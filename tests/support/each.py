"""One test for a property of all rows of a table; it names every row that lacks it."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest

LONGEST = 500
"""Characters of what is said of a row."""

Row = TypeVar("Row")
Fixtures = ParamSpec("Fixtures")


def of_each(
    rows: Iterable[Row], name: Callable[[Row], object] = str
) -> Callable[[Callable[Concatenate[Row, Fixtures], None]], Callable[Fixtures, None]]:
    """Put all `rows` to the decorated test, which takes one of them before its fixtures."""
    table = list(rows)

    def decorate(
        check: Callable[Concatenate[Row, Fixtures], None],
    ) -> Callable[Fixtures, None]:
        @wraps(check)
        def test(*args: Fixtures.args, **fixtures: Fixtures.kwargs) -> None:
            assert table, "there are no rows"
            offenders = []
            for row in table:
                try:
                    check(row, *args, **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    offenders.append(f"{name(row)}: {type(error).__name__}: {_in_a_line(error)}")
            assert not offenders, "\n".join(offenders)

        signature = inspect.signature(check)
        of_test: Any = test
        of_test.__signature__ = signature.replace(
            parameters=list(signature.parameters.values())[1:]
        )
        return test

    return decorate


def _in_a_line(error: BaseException) -> str:
    """What is wrong, without the pages of values that pytest adds."""
    line = str(error).partition("\n")[0]
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


def check_each(
    rows: Iterable[Row],
    check: Callable[Concatenate[Row, Fixtures], None],
    *args: Fixtures.args,
    **fixtures: Fixtures.kwargs,
) -> None:
    """Put `rows` to a check within a test, which names every row that fails."""
    of_each(rows)(check)(*args, **fixtures)
