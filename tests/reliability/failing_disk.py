"""Every n-th call of a kind on the journal's files fails, each in a short run of its own.

    LD_PRELOAD=failing_disk.so python -m tests.reliability.failing_disk FOLDER MOST

prints as JSON by kind: runs, calls that failed, other starts, and the figures that are wrong
before and after another start. See tests/support/failing_disk.c; at most MOST runs of a kind.
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

from tests.reliability.short_run import Run, without_waiting

KINDS = ("sync", "write", "truncate")
NEVER = 0


def tried(folder: Path, kind: str, most: int) -> dict[str, Any]:
    """What came of the calls of one kind, evenly chosen where there are more than `most`."""
    disk, number = ctypes.CDLL(None), KINDS.index(kind)
    disk.fail_at(number, NEVER)
    run = Run(folder / kind)
    found, expected = run.figures(lambda: None)
    assert found == expected
    calls = disk.calls_of(number)
    told: dict[str, Any] = {"calls": calls, "runs": 0, "failed": 0, "restarts": 0, "wrong": []}
    for at in sorted({1 + calls * each // most for each in range(most)} if calls else set()):
        run = Run(folder / f"{kind}-{at}")
        disk.fail_at(number, at)
        found, expected = run.figures(lambda: None)
        told["runs"] += 1
        told["failed"] += disk.failed_of(number)
        told["restarts"] += run.restarts
        disk.fail_at(number, NEVER)
        if found != expected or run.again() != expected:
            told["wrong"].append(at)
    return told


def main(folder: str, most: str) -> None:
    """Try all kinds."""
    with without_waiting():
        print(json.dumps({kind: tried(Path(folder), kind, int(most)) for kind in KINDS}))


if __name__ == "__main__":
    main(*sys.argv[1:])
