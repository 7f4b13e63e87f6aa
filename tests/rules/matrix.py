"""Every alert that carries a finding in every story; `python -m tests.rules.matrix` prints it.

A row of esewatch/advice/alerts.py is in it by itself. What is not held ends with its agent, and
stands for so much longer as its alert waits.
"""

import itertools
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.rules import promtool
from tests.rules.stories import STORIES, Row, document, groups, rows
from tests.support.tools import newest, require

STEP = 120
"""Seconds between two samples, and two evaluations of the rules."""
_FAILED = re.compile(r"name: (?P<story>.+),\s+alertname: (?P<alert>\w+), time: (?P<time>\w+)")
PROGRAMS = {"installed": lambda: require("promtool"), "newest": lambda: newest("promtool")}
"""promtool of the installed Prometheus, and of the newest."""


class Alike(NamedTuple):
    """Findings whose alerts wait for the same time, and are held or not."""

    held: bool
    hold: int

    @property
    def name(self) -> str:
        """For a person."""
        return f"{'held' if self.held else 'fresh'}, for {self.hold // 60} min"


def alike() -> Mapping[Alike, list[Row]]:
    """All rows."""
    found: dict[Alike, list[Row]] = {}
    for row in rows():
        found.setdefault(Alike(row.held, row.hold), []).append(row)
    return dict(sorted(found.items()))


def files(own: Alike, folder: Path) -> list[Path]:
    """Test files of all stories for these rows, ready for promtool."""
    about, found = alike()[own], []
    speeds = {story.evaluated or STEP for story in STORIES}
    for evaluated in sorted(speeds):
        told = [story for story in STORIES if (story.evaluated or STEP) == evaluated]
        cases = groups(told, about, STEP)
        place = folder / f"{evaluated}"
        place.mkdir(parents=True)
        path = place / "matrix_test.yml"
        promtool.write(document(cases, evaluated), path)
        found += promtool.prepare(path, place, cases, exact=True)
    return found


def wrong(own: Alike, program: str, folder: Path) -> dict[str, list[str]]:
    """Story -> what came out otherwise: an alert and a time each. Raises RuntimeError."""
    done = promtool.run(files(own, folder), PROGRAMS[program]())
    found: dict[str, list[str]] = {}
    for failed in _FAILED.finditer(done.stdout + done.stderr):
        found.setdefault(failed["story"], []).append(f"{failed['alert']} at {failed['time']}")
    if bool(done.returncode) is not bool(found):
        raise RuntimeError(done.stdout + done.stderr)
    return found


def table() -> Iterator[str]:
    """Lines of what came out, as Markdown."""
    columns = list(itertools.product(alike(), PROGRAMS))
    with tempfile.TemporaryDirectory() as folder:
        out = {
            column: wrong(*column, Path(folder, str(number)))
            for number, column in enumerate(columns)
        }
    about = [f"{own.name}: {len(alike()[own])}, {program}" for own, program in columns]
    yield f"| story | phases | {' | '.join(about)} |"
    yield "| --- " * (2 + len(columns)) + "|"
    for story in STORIES:
        came = ["<br>".join(out[column].get(story.name, ["as told"])) for column in columns]
        phases = story.phases.replace("|", "·")
        yield f"| {story.name} | `{phases}` | {' | '.join(came)} |"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
