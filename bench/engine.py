"""Virtual time of the engine: a month of nights of the busiest profile."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figure import Figure

PROFILE = "busy"
DAYS = 30
LIMIT_SECONDS = 10


def run() -> list[Figure]:
    """As a process, so that its start and the making of the database count too."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "esewatch", "engine", "run", "--dir", f"{folder}/run"]
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        begin = time.perf_counter()
        done = subprocess.run(
            [*command, "--profile", PROFILE, "--days", str(DAYS)],
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
        if done.returncode != 0:
            raise RuntimeError(f"the engine ended with {done.returncode}: {done.stderr}")
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.edb"))
        events = _lines(Path(folder) / "run" / "events.jsonl")
        rows = _lines(Path(folder) / "run" / "counters.csv")
    details = (
        f"{DAYS} days in {seconds:.1f} s, {used:.1f} of them on a processor: profile {PROFILE}, "
        f"{size / 8192:,.0f} pages of 8 KiB, {events:,} events, {rows:,} rows of counters"
    )
    limit = DAYS * 86400 / LIMIT_SECONDS
    ratio = DAYS * 86400 / seconds
    return [Figure("virtual time beside real time", ratio, "x", "at least", limit, details)]


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
