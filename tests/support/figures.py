"""Figures of the long tests, and the page made of them.

`record` notes one figure while a test runs (into the file that the environment
variable ESEWATCH_FIGURES names, nowhere without it). `make test-slow` and
`make fuzz` set it and write docs/reliability.md from it:

    python -m tests.support.figures FIGURES PAGE
"""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

VARIABLE = "ESEWATCH_FIGURES"

INTRODUCTION = """\
# Reliability

What was tried, and what came out. Each row was measured by the command beside it and written
by it; nothing here is typed by hand. Times are of one machine and say nothing of yours.

| what was tried | figure | command | measured |
| --- | --- | --- | --- |
"""


class Figure(TypedDict):
    """One row."""

    what: str
    figure: str
    command: str
    measured: str


def record(what: str, figure: str, command: str = "make test-slow") -> None:
    """Note a figure: what was tried, what came out, the command that does it again."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    measured = f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}"
    row = Figure(what=what, figure=figure, command=command, measured=measured)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def page(figures: Path, old: str) -> str:
    """The page: new figures take the place of older ones of the same name."""
    rows: dict[str, str] = {}
    for line in old.splitlines():
        if line.startswith("| ") and not line.startswith(("| what was tried", "| ---")):
            rows[line.split(" | ")[0].removeprefix("| ")] = line
    for text in figures.read_text(encoding="utf-8").splitlines():
        row: Figure = json.loads(text)
        cells = (row["what"], row["figure"], f"`{row['command']}`", row["measured"])
        rows[row["what"]] = f"| {' | '.join(cells)} |"
    return INTRODUCTION + "".join(f"{rows[what]}\n" for what in sorted(rows))


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
