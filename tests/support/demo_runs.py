"""Runs of the demo from its start to the last story, and whether each page says what it is to say.

    python -m tests.support.demo_runs RUNS [--terminal]

One line a run: the load then, the seconds to the first page and to the last story, what was wrong.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from eselab.demo.stories import FORECAST, STORIES
from tests.support.demo_run import ROOT, Attended, demo_command

TITLES = (*(story.title for story in STORIES), FORECAST)
PATIENCE = 1500.0
"""Seconds for a run on a terminal, which ends on request, where much else is to do."""
SENTENCES = {
    "the window can shrink": r"Window 4 h, advice shrink to .*, above 100: little is left",
    "the window fits": r"Window 1 h, advice keep, because .* between 50 and 100",
    "the window must grow": r"Window 1 h, advice grow to .*, below 50: much is left to free",
    "done every night": r"advice shrink to 2 h, because .* completed \d+ passes, one every",
    "two scans on one disk": r"meets another one on the same disks: scan it from \d\d:\d\d to",
    "a backup in the window": r"advice move, because backups stopped or delayed online maintenance",
    "a bit flips": r"Page \d+ of bad-page.edb was corrected when read .*last clean online scan ",
    "a page is lost": r"Page \d+ of bad-page.edb is bad .*last clean online scan \d+ \w+ \d{4} ",
    "a domain controller": r"No window: garbage collection is meant to defragment it",
    "a current Exchange pair": r"No window: its engine is meant to scan in the background",
    FORECAST: r"was done at \d\d:\d\d:\d\d, forecast by \d\d:\d\d:\d\d UTC",
}  # fmt: skip
"""What is to be found in the sentence of each story."""
_LINE = re.compile(r"^ *(\d+) s  ([^:]+): (.*)$", re.MULTILINE)
_HEAD = re.compile(r"^esewatch demo +(\d+):(\d\d)  (\d+) of \d+ stories seen$")
_STORY = re.compile(r"^\[[x ]\] (?:\S+ on \S+: )?([^(]+?)(?: \(.*)?$")


class Run(NamedTuple):
    """A run that is over. Seconds since its start, as it says; 0: it did not come so far."""

    status: int
    first: int
    """When the first story was seen: the first page."""
    last: int
    wrong: list[str]


def wrong(told: Mapping[str, str]) -> list[str]:
    """What is not right in what was shown, title -> sentence."""
    found = [f"not seen: {title}" for title in TITLES if title not in told]
    return found + [
        f"{title}: {sentence}"
        for title, sentence in told.items()
        if not re.search(SENTENCES[title], sentence)
    ]


def in_lines(folder: Path, *, fast: bool = False) -> Run:
    """Without a terminal. `fast`: ten minutes of its time in one."""
    options = ("--dir", str(folder), "--web.listen-address", "127.0.0.1:0")
    done = subprocess.run(
        demo_command((), *options, fast=fast),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [each for each in _LINE.findall(done.stdout) if each[1] in TITLES]
    said = [f"on stderr: {done.stderr.strip()}"] if done.stderr else []
    if not done.returncode and f" s  all {len(TITLES)} stories seen\n" not in done.stdout:
        said.append("that all were seen is not said")
    seconds = [int(each[0]) for each in lines]
    return Run(
        done.returncode, min(seconds, default=0), max(seconds, default=0),
        [*wrong({title: sentence for _, title, sentence in lines}), *said],
    )  # fmt: skip


def on_terminal(folder: Path) -> Run:
    """On a terminal that is large enough for all sentences; ended by the key `q`."""
    demo = Attended((), folder, 70, 160)
    try:
        first = _seconds(demo.wait_for("stories seen", _has_begun, PATIENCE))
        screen = demo.wait_for(f"{len(TITLES)} of {len(TITLES)} stories seen", seconds=PATIENCE)
        demo.type(b"q")
        return Run(demo.process.wait(120), first, _seconds(screen), wrong(sentences(screen)))
    finally:
        demo.close()


def _has_begun(screen: list[str]) -> bool:
    return any((head := _HEAD.match(line)) and int(head[3]) for line in screen)


def _seconds(screen: list[str]) -> int:
    head = next(filter(None, map(_HEAD.match, screen)))
    return 60 * int(head[1]) + int(head[2])


def sentences(screen: list[str]) -> dict[str, str]:
    """Title -> sentence, of the stories that are ticked."""
    found: dict[str, str] = {}
    title = None
    for line in screen:
        if line.startswith("["):
            story = _STORY.match(line)
            title = story[1] if story and line.startswith("[x]") else None
        elif title is not None and line.startswith("    "):
            found[title] = f"{found.get(title, '')} {line.strip()}".strip()
        else:
            title = None
    return found


def main() -> int:
    """Run it so often, one after the other; 1 when one of them was wrong."""
    parser = argparse.ArgumentParser(prog="demo_runs", description=__doc__)
    parser.add_argument("runs", type=int)
    parser.add_argument("--terminal", action="store_true")
    options = parser.parse_args()
    failed = 0
    for number in range(1, options.runs + 1):
        with tempfile.TemporaryDirectory() as scratch:
            before = os.getloadavg()[0]
            run = (on_terminal if options.terminal else in_lines)(Path(scratch) / "demo")
        failed += bool(run.status or run.wrong)
        how = "terminal" if options.terminal else "lines"
        load = f"load {before:.1f} to {os.getloadavg()[0]:.1f}"
        seen = f"first page {run.first} s, all stories {run.last} s"
        what = "; ".join(run.wrong) or "all right"
        print(f"{number} {how}: {load}, {seen}, status {run.status}: {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
