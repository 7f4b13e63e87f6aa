"""`python -m bench [NAME ...] [--write PAGE]`: run benches, all without a name.

Exit status 1 when a limit is not kept, 2 when a bench could not be run.
"""

import argparse
import importlib
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from bench.figure import Figure

NAMES = (
    "text",
    "decode",
    "evtx",
    "counters",
    "scrape",
    "memory",
    "idle",
    "snapshots",
    "cold_start",
    "kernel",
    "scan",
    "structure",
    "logs",
    "engine",
    "advice",
    "prometheus",
    "scale",
    "kafka",
)

INTRODUCTION = """\
# Performance

The cost of watching. Each row is a ratio of esewatch ("ours") to a peer, measured in one run, or a
figure with its limit. The command in the row measured the figures and wrote them. `make bench`
measures all again. **Not kept** marks a limit that was missed. The figures are of one machine; the
ratios should hold on yours.

| what | measured | limit | conditions | command | measured on |
| --- | --- | --- | --- | --- | --- |
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the benches."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--write", type=Path, metavar="PAGE", help="write the rows into this page")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(NAMES):
        parser.error(f"no such bench: {', '.join(sorted(unknown))}")
    kept, failed = True, False
    for name in options.names or NAMES:
        try:
            figures: list[Figure] = importlib.import_module(f"bench.{name}").run()
        except RuntimeError as error:
            print(f"bench {name}: {error}", file=sys.stderr)
            failed = True
            continue
        for figure in figures:
            print(f"{figure.what}: {_measured(figure)} ({_limit(figure)}) {figure.details}")
            kept = kept and figure.holds
        if options.write:
            _write(options.write, name, figures)
    return 2 if failed else 0 if kept else 1


def _measured(figure: Figure) -> str:
    mark = "" if figure.holds else " **not kept**"
    return f"{figure.measured:.3g} {figure.unit}{mark}".replace("  ", " ")


def _limit(figure: Figure) -> str:
    return f"{figure.must_be} {figure.limit:g} {figure.unit}" if figure.must_be else "none"


def _write(page: Path, name: str, figures: list[Figure]) -> None:
    """New rows take the place of all older ones of the same bench."""
    command = f"`python -m bench {name}`"
    old = page.read_text(encoding="utf-8").splitlines() if page.exists() else []
    rows = [line for line in old if line.startswith("| ") and f"| {command} |" not in line]
    rows = [line for line in rows if not line.startswith(("| what |", "| ---"))]
    where = (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores"
    )
    for figure in figures:
        cells = (figure.what, _measured(figure), _limit(figure), figure.details, command, where)
        rows.append(f"| {' | '.join(cells)} |")
    text = INTRODUCTION + "".join(f"{row}\n" for row in sorted(rows))
    page.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    sys.exit(main())
