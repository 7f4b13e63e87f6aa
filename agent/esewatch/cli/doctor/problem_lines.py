"""The problems that `doctor` found, as lines of text or of JSON."""

import itertools
from collections.abc import Iterator, Sequence

import msgspec

from esewatch.expose.pages.problems.problem import Problem
from esewatch.names import visible

MOST = 3
"""Problems of one name and urgency that have a line of text each, as on the status page."""


def text_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """A line a problem; of alike ones that follow each other the first, and how many more."""
    for (urgency, name), alike in itertools.groupby(problems, _kind):
        found = list(alike)
        # "1 more" takes as much room as the problem itself.
        shown = found if len(found) <= MOST + 1 else found[:MOST]
        for each in shown:
            yield visible(f"{urgency}  {name}  {_said(each)}")
        if more := len(found) - len(shown):
            yield f"{urgency}  {name}  and {more} more like it; all: --format json"


def json_lines(problems: Sequence[Problem]) -> Iterator[str]:
    """An object a problem."""
    for each in problems:
        yield msgspec.json.encode(each).decode("utf-8", "surrogatepass")


def _kind(problem: Problem) -> tuple[str, str]:
    return "person" if problem.needs_person else "note", problem.problem


def _said(problem: Problem) -> str:
    whose = f"{problem.whose}: " if problem.whose else ""
    run = f"  run: {problem.command}" if problem.command else ""
    setting = f"  set: {problem.setting}" if problem.setting else ""
    return f"{whose}{problem.sentence}{run}{setting}"
