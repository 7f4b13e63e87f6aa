"""Fuzz every target for a while: `python -m tests.fuzz.campaign SECONDS [TARGET ...]`.

Each runs in a process of its own. Findings end up in out/fuzz/; the status is 1
when there are any.
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.fuzz.targets import TARGETS
from tests.support.figures import record

FOLDER = Path("out/fuzz")
_DONE = re.compile(r"Done (\d+) runs in (\d+) second")


def main(arguments: list[str]) -> int:
    """Run the campaign; returns the exit status."""
    seconds, *names = arguments
    found = 0
    for name in names or sorted(TARGETS):
        corpus = (FOLDER / name).resolve()
        corpus.mkdir(parents=True, exist_ok=True)
        log = FOLDER / f"{name}.log"
        command = [sys.executable, "-m", "tests.fuzz.run", name, seconds, str(corpus)]
        with log.open("wb") as output:
            status = subprocess.run(command, stdout=output, stderr=output, check=False).returncode
        done = _DONE.search(log.read_text(encoding="utf-8", errors="replace"))
        if status == 0 and done is not None:
            runs, took = int(done[1]), int(done[2])
            print(f"{name}: {runs:,} runs in {took} s, nothing found")
            what = f"fuzzing `{name}`, guided by coverage"
            how = f"make fuzz FUZZ_SECONDS={seconds}"
            record(what, f"{runs:,} runs in {took} s, no finding", how)
        else:
            found += 1
            print(f"{name}: status {status}, see {log}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
