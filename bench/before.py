"""Events in bulk, beside this program as it was before it decoded by plans.

`BEFORE` is the commit before the first one that reads a known shape of JSON straight into structs
(issue 24). Its agent is taken out of git into a temporary folder, and both read the same events in
turns, each in processes of its own. Seconds are those of the processor: of reading, folding and
committing without the start of the program, of `report` with it.
"""

import io
import json
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from bench.figure import Figure, paired
from bench.json_log import write

BEFORE: Final = "c2b1dc1363e8e499fcab3b4da91eadb029b6474a"
EVENTS: Final = 100_000
SHAPE: Final = "evtx_dump"
ROUNDS: Final = 3
TIMES: Final = 4.0
ROOT: Final = Path(__file__).parent.parent


def run() -> list[Figure]:
    """The figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        take_out(BEFORE, folder / "before")
        log = folder / "log.json"
        write(log, SHAPE, EVENTS)
        return [
            _ingest(log, folder / "before"),
            _report(log, folder / "before"),
        ]


def take_out(commit: str, folder: Path) -> None:
    """The agent of a commit. Raises RuntimeError where git does not have it."""
    command = ["git", "archive", "--format=tar", commit, "agent"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    except OSError as error:
        raise RuntimeError(f"git cannot be run: {error}") from error
    if done.returncode:
        raise RuntimeError(f"git has no commit {commit}: a whole clone is needed")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _ingest(log: Path, before: Path) -> Figure:
    spent, counts = [0.0], list[object]()

    def ingest(tree: Path) -> None:
        with tempfile.TemporaryDirectory(dir=log.parent) as name:
            done = json.loads(output(tree, "-m", "bench.text_ingest", str(log), f"{name}/journal"))
        spent[0] += done["seconds"]
        counts.append(done["events"])

    ours, theirs, ratio = paired(
        lambda: ingest(ROOT), lambda: ingest(before), ROUNDS, lambda: spent[0]
    )
    if any(each != counts[0] for each in counts):
        raise RuntimeError("the two do not count the same events")
    return Figure(
        "JSON of ESE events read, folded and committed, beside the commit before issue 24",
        ratio, "x", "at least", TIMES, _sides(ours, theirs),
    )  # fmt: skip


def _report(log: Path, before: Path) -> Figure:
    page = log.with_suffix(".html")

    def report(tree: Path) -> None:
        output(tree, "-m", "esewatch", "report", str(log), "-o", str(page))

    ours, theirs, ratio = paired(lambda: report(ROOT), lambda: report(before), ROUNDS, _of_children)
    return Figure(
        "`esewatch report` of JSON of ESE events, beside the commit before issue 24",
        ratio, "x", "at least", TIMES, _sides(ours, theirs),
    )  # fmt: skip


def _sides(ours: float, theirs: float) -> str:
    return (
        f"{EVENTS:,} events as {SHAPE} writes them, CPU seconds: ours {ours:.2f},"
        f" {BEFORE[:7]} {theirs:.2f}"
    )


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def output(tree: Path, *arguments: str) -> str:
    """What Python prints with the agent of `tree`. Raises RuntimeError when it fails."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        # Compiled once, as where it is installed.
        env={**os.environ, "PYTHONPATH": str(tree / "agent"), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):  # 1: a bad page is among the events
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"{tree.name} failed: {last}")
    return done.stdout
