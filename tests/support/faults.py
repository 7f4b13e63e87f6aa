"""The faults under test: what each costs, and how long until all is right again.

A test that provokes a fault is marked with its row of the table in docs/reliability.md:

    @pytest.mark.fault("FAULT", provoked="HOW", lost="WHAT", again="WHEN")

Without `again` the test measures it, with `until_right_again` (tests/support/figures.py). The
table is made of the marks in the sources, so that it can name no row without a test.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
WORDS = {"provoked", "lost", "again"}


class Fault(NamedTuple):
    """One row. `again` is None where the test measures it; `test` as pytest names it."""

    fault: str
    provoked: str
    lost: str
    again: str | None
    test: str


def marked() -> list[Fault]:
    """All rows, by fault. Raises ValueError for a mark that is no row."""
    found: list[Fault] = []
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if "pytest.mark.fault(" in source:
            name = path.relative_to(TESTS.parent).as_posix()
            for node in ast.parse(source).body:
                if isinstance(node, ast.FunctionDef):
                    found += [_row(call, f"{name}::{node.name}") for call in _marks(node)]
    return sorted(found)


def _marks(function: ast.FunctionDef) -> Iterator[ast.Call]:
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.fault":
            yield decorator


def _row(call: ast.Call, test: str) -> Fault:
    words = {str(word.arg): str(ast.literal_eval(word.value)) for word in call.keywords}
    if len(call.args) != 1 or not {"provoked", "lost"} <= words.keys() <= WORDS:
        raise ValueError(f"{test}: a fault has a name, provoked=, lost= and perhaps again=")
    name = str(ast.literal_eval(call.args[0]))
    if any("|" in text or "\n" in text for text in (name, *words.values())):
        raise ValueError(f"{test}: a cell of a table is one line without a bar")
    return Fault(name, words["provoked"], words["lost"], words.get("again"), test)
