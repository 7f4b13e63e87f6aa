"""The lines of `doctor`: alike problems are summed up in text, and all listed in JSON."""

import json

import pytest

from esewatch.cli.doctor.command import json_lines, text_lines
from esewatch.expose.pages.problems.problem import Problem


def problems(count: int, *, needs_person: bool = True) -> list[Problem]:
    return [
        Problem(
            problem="device_unknown",
            computer="ex01",
            database=f"e:\\db{number}.edb",
            sentence="its disk is not known",
            needs_person=needs_person,
        )
        for number in range(count)
    ]


def test_of_many_alike_problems_three_have_a_line_and_the_rest_is_counted() -> None:
    lines = list(text_lines(problems(1000)))
    assert lines[:3] == [
        f"action  device_unknown  ex01 e:\\db{number}.edb: its disk is not known"
        for number in range(3)
    ]
    assert lines[3:] == ["action  device_unknown  and 997 more like it; all: --format json"]


@pytest.mark.parametrize("count", [0, 1, 3, 4])
def test_a_few_alike_problems_have_a_line_each(count: int) -> None:
    assert len(list(text_lines(problems(count)))) == count
    assert not any("more like it" in line for line in text_lines(problems(count)))


def test_a_note_is_not_like_what_needs_a_person() -> None:
    lines = list(text_lines([*problems(5), *problems(5, needs_person=False)]))
    assert [line.split("  ")[0] for line in lines] == ["action"] * 4 + ["note"] * 4


def test_json_has_every_problem() -> None:
    found = [json.loads(line) for line in json_lines(problems(1000))]
    assert len({each["database"] for each in found}) == 1000
