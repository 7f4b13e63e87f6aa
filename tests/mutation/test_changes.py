import ast

import pytest

from esewatch.advice.base.estimate import Estimate, fit
from tests.mutation.changes import changes
from tests.mutation.run import Mutant, in_child, mutants, replace

WHOLE = """
LIMIT = 900.0

def judged(value: int = 7) -> str | None:
    '''A text.'''
    if value < 3 and not value:
        seen.add("x")
        return None
    return value - 1
"""


def changed(source: str) -> list[str]:
    """The module after each of its changes."""
    found = []
    for index, _ in enumerate(changes(ast.parse(source))):
        tree = ast.parse(source)
        list(changes(tree))[index].make()
        found.append(ast.unparse(tree))
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("LIMIT = 900.0", "LIMIT = 1800.0"),
        ("value: int=7", "value: int=8"),
        ("value < 3", "value <= 3"),
        ("value < 3", "value < 4"),
        ("and (not value)", "or not value"),
        ("(not value)", "not not value"),
        ("seen.add('x')", "pass"),
        ("seen.add('x')", "seen.add('x?')"),
        ("return value - 1", "return None"),
        ("value - 1", "value + 1"),
        ("value - 1", "value - 2"),
    ],
)
def test_a_change_is_of_one_place(before: str, after: str) -> None:
    whole = ast.unparse(ast.parse(WHOLE))
    assert before in whole
    assert ast.unparse(ast.parse(whole.replace(before, after))) in changed(WHOLE)


def test_annotations_docstrings_and_what_is_none_are_left_alone() -> None:
    assert len(changed(WHOLE)) == 11
    assert (
        changed("'''A text.'''\nfrom a import b\n@cached\ndef c() -> None:\n    return None") == []
    )


def of(path: str, text: str) -> Mutant:
    (found,) = [each for each in mutants() if each.path == path and text in each.text]
    return found


def test_a_mutant_is_of_the_process_that_it_was_put_into() -> None:
    mutant = of("advice/base/estimate.py", "high <= limit: ops[0]")
    needed = Estimate(low=1.0, likely=2.0, high=3.0, sentence="")
    before = fit(needed, 3.0, "")

    def differs() -> int:
        assert replace(mutant)
        return int(fit(needed, 3.0, "") != before)

    assert in_child(differs, 60) == 1
    assert fit(needed, 3.0, "") == before
