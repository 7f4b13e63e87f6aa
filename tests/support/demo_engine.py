"""A stand-in for the engines of the demo: the same files in a second, without a month behind them.

    python -m tests.support.demo_engine MODE --dir D --plan F --computer NAME ...

MODE is `quick` (each database of the plan is there; a fault on the standard input is an event at
once), `silent` (no file at all), `dies` (two lines on stderr, then status 3), `waits` (a third of
the past) or `stubborn` (as `waits`, but SIGTERM does not end it).
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

PLACE = ("8192 (0x2000)", "8192 (0x2000)")
FAULTS = {
    "flip_one": (399, (*PLACE, "0 (0x0)", "7")),
    "flip_two": (474, (*PLACE, "-1018 (0xfffffc06)", "[0]", "[1]", "8 (0x8)")),
    "slow": (507, (*PLACE, "30")),
    "skip": (725, ()),
}


class Log:
    """The event log of a computer."""

    def __init__(self, folder: Path, computer: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._computer = computer
        self._record = 0

    def event(self, plan: dict[str, str], identifier: int, strings: Sequence[str] = ()) -> None:
        """Append one event of the time that it is."""
        self._record += 1
        name, directory = plan["name"], plan.get("program") == "directory"
        file = "ntds.dit" if directory else f"{name}.edb"
        system = {
            "Provider": {"#attributes": {"Name": "NTDS ISAM" if directory else "ESE"}},
            "EventID": identifier,
            "TimeCreated": {"#attributes": {"SystemTime": datetime.now(UTC).isoformat()}},
            "EventRecordID": self._record,
            "Channel": "Directory Service" if directory else "Application",
            "Computer": self._computer,
        }
        text = ["store", "17", f"{name}: ", str(self._folder / name / file), *strings]
        line = json.dumps({"Event": {"System": system, "EventData": {"Data": {"#text": text}}}})
        with (self._folder / "events.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")


def quick(folder: Path, plan: Path, computer: str) -> None:
    """Its databases begin a pass; then each line of the standard input happens."""
    databases = {each["name"]: each for each in json.loads(plan.read_text())["databases"]}
    log = Log(folder, computer)
    for each in databases.values():
        log.event(each, 700)
        for copy in each.get("copies", ()):
            Log(folder / copy["computer"], copy["computer"]).event(each, 700)
    print("esewatch engine: the present is reached", file=sys.stderr, flush=True)
    for line in sys.stdin:
        fault = json.loads(line)
        log.event(databases[fault["database"]], *FAULTS[fault["kind"]])


def main() -> int:
    """Write until the standard input, or a signal, ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("quick", "silent", "dies", "waits", "stubborn"))
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--plan", type=Path, required=True)
    parser.add_argument("--computer", required=True)
    options, _ = parser.parse_known_args()
    if options.mode == "dies":
        print("the disk is full\nso it cannot go on", file=sys.stderr)
        return 3
    if options.mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.mode in ("waits", "stubborn"):
        print("esewatch engine: 10.0 of 30.0 days", file=sys.stderr, flush=True)
    if options.mode == "quick":
        quick(options.dir, options.plan, options.computer)
        return 0
    while True:
        time.sleep(60)


if __name__ == "__main__":
    sys.exit(main())
