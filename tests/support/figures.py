"""Figures of the long tests, and the page made of them.

`record` notes one figure while a test runs (into the file that the environment
variable ESEWATCH_FIGURES names, nowhere without it). `make test-slow`, `make
test-campaign` and `make fuzz` set it and write docs/reliability.md from it:

    python -m tests.support.figures FIGURES PAGE

The page begins with sections that the tests of estates write (`record_section`), and with what is
promised, by hand. The rows of the table of faults are the marks of the tests
(tests/support/faults.py), the seconds in it are figures.
"""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from tests.support.faults import marked

ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "ESEWATCH_FIGURES"

INTRODUCTION = """\
## Faults

Each row is a test that causes the fault and fails when more is lost than listed here. The test
measures the seconds from the end of the cause (the file back, the disk free, the process started
again) until the figures are correct; behind them stands the version of esewatch that was measured.
`make test-slow` runs these tests and writes the table; `make test` runs all but the slowest.
[Operation](operation.md) explains what to do in each case.

| fault | how it was caused | lost | correct again after | test |
| --- | --- | --- | --- | --- |
"""

FIGURES = """
Not tried: a power cut (SQLite handles it), a machine that is out of memory (its kernel ends
processes as `kill -9` does), a million files in one folder (beyond the limit they are listed, not
followed).

## Figures

The command in each row measured its figure and wrote it, with the version of esewatch: what has
changed since then may have changed the figure. `make test-slow` tries a part of what
`make test-campaign` tries in hours, and each has a row of its own.

| what was tried | figure | command | measured |
| --- | --- | --- | --- |
"""

NOT_MEASURED = "not measured"


class Figure(TypedDict):
    """One row."""

    what: str
    figure: str
    command: str
    measured: str


def record(what: str, figure: str, command: str = "make test-slow") -> None:
    """Note a figure: what was tried, what came out, the command that does it again."""
    measured = f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {version()}"
    append(json.dumps(Figure(what=what, figure=figure, command=command, measured=measured)))


@cache
def version() -> str:
    """The commit that is measured."""
    command = ["git", "describe", "--always", "--abbrev=8", "--exclude=*", "--dirty"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()


def record_section(heading: str, text: str, command: str = "make test-slow") -> None:
    """Note the text of a section of the page, which has the heading already."""
    measured = f"Measured by `{command}`, {datetime.now(UTC):%Y-%m-%d}, {version()}."
    append(json.dumps({"section": heading, "text": f"\n{text}\n{measured}\n\n"}))


def append(line: str) -> None:
    """Add a line to the file of figures, if one is asked for."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


@contextmanager
def until_right_again() -> Iterator[None]:
    """Measure the block for the row of the test that runs: from repair to correct figures."""
    begin = time.monotonic()
    yield
    seconds = time.monotonic() - begin
    test = os.environ["PYTEST_CURRENT_TEST"].rsplit(" ", 1)[0].partition("[")[0]
    append(json.dumps({"test": test, "seconds": seconds}))


def page(figures: Path, old: str) -> str:
    """The page: new figures take the place of older ones of the same name and command.

    What stands before the table of faults is written by hand and stays.
    """
    found = [json.loads(text) for text in figures.read_text(encoding="utf-8").splitlines()]
    before, heading, rest = old.partition("## Faults\n")
    promised = _with_sections(before if heading else "", found)
    faults, _, tried = rest.partition("## Figures\n")
    lines = _rows(tried)
    for row in found:
        if "what" in row:
            cells = (row["what"], row["figure"], f"`{row['command']}`", row["measured"])
            lines.append(f"| {' | '.join(cells)} |")
    rows = {_key(line): line for line in lines}
    table = "".join(f"{rows[key]}\n" for key in sorted(rows))
    return promised + INTRODUCTION + _faults(found, faults) + FIGURES + table


def _with_sections(promised: str, found: list[dict[str, Any]]) -> str:
    """The part by hand, with the sections in it that a test wrote."""
    for row in found:
        if "section" in row:
            heading = f"## {row['section']}\n"
            before, there, rest = promised.partition(heading)
            after = rest.partition("## ")
            promised = before + there + (row["text"] + "".join(after[1:]) if there else "")
    return promised


def _key(line: str) -> tuple[str, str]:
    """What was tried and by which command: a part does not take the place of the whole."""
    what, _, command, _ = line.removeprefix("| ").split(" | ")
    return what, command


def _rows(text: str) -> list[str]:
    """The rows of a table, without the two lines of its head."""
    return [line for line in text.splitlines() if line.startswith("| ")][2:]


def _faults(found: list[dict[str, Any]], old: str) -> str:
    """The rows of all marked tests, with the seconds measured now or before."""
    known = {}
    for line in _rows(old):
        *_, again, test = line.removesuffix(" |").split(" | ")
        known[test.strip("`")] = again
    slowest: dict[str, float] = {}
    for row in found:
        if "test" in row:
            slowest[row["test"]] = max(row["seconds"], slowest.get(row["test"], 0.0))
    known |= {test: f"{seconds:.1f} s ({version()})" for test, seconds in slowest.items()}
    return "".join(
        f"| {each.fault} | {each.provoked} | {each.lost} | "
        f"{each.again or known.get(each.test, NOT_MEASURED)} | `{each.test}` |\n"
        for each in marked()
    )


def main(arguments: list[str]) -> int:
    """Write the page from the figures; returns the exit status."""
    figures, target = map(Path, arguments)
    if not figures.exists():
        print(f"{figures}: no figures were recorded", file=sys.stderr)
        return 1
    old = target.read_text(encoding="utf-8") if target.exists() else ""
    target.write_text(page(figures, old), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
