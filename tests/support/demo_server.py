"""A stand-in for the engine in the tests of the demo: the same files, five stories in 4 s.

    python -m tests.support.demo_server MODE --dir D --seed S

MODE is `stories`, `silent` (no file at all), `dies` (two lines on stderr, then status 3)
or `stubborn` (as silent, but SIGTERM does not end it).
"""

import argparse
import json
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from esewatch.cli.demo_configuration import (
    BAD_PAGE,
    DATABASES,
    HEALTHY,
    SHARED_DISK,
    TOO_LONG,
    TOO_SHORT,
)

STEP_SECONDS = 0.25
RATES = {
    HEALTHY: (700.0, 10.0),
    TOO_LONG: (700.0, 1.0),
    TOO_SHORT: (700.0, 100.0),
    SHARED_DISK: (700.0, 10.0),
    BAD_PAGE: (700.0, 10.0),
}
"""Pages read and freed a second while it defragments."""

DEFRAG_DONE = ("9", "11/21/2026", "1", "1", "1", "1", "1")
PLACE = ("8192 (0x2000)", "8192 (0x2000)")


def scan_done(seconds: int) -> tuple[str, ...]:
    """The strings of 721 behind the database: 2,000 pages, none bad."""
    return ("11/21/2026", str(seconds), "1", "1", "2000", "0", "5")


def steps() -> Iterator[list[tuple[str, int, Sequence[str]]]]:
    """The events of each step, as database, id and strings."""
    yield [(name, 700, ()) for name in DATABASES]
    yield []
    yield [(TOO_SHORT, 704, ())]
    whole = [name for name in DATABASES if name != TOO_SHORT]
    yield [(name, 701, DEFRAG_DONE) for name in whole]
    yield [(name, 717, ()) for name in DATABASES]
    yield [(BAD_PAGE, 399, (*PLACE, "0 (0x0)", "7"))]
    yield [(HEALTHY, 721, scan_done(1)), (TOO_LONG, 721, scan_done(1)), (TOO_SHORT, 725, ())]
    yield [(TOO_SHORT, 702, ("11/21/2026", "1"))]
    yield [(SHARED_DISK, 721, scan_done(20)), (BAD_PAGE, 721, scan_done(20))]
    yield [(TOO_SHORT, 704, ())]
    yield [(BAD_PAGE, 474, (*PLACE, "-1018 (0xfffffc06)", "[0]", "[1]", "7 (0x7)"))]


class Logs:
    """The event log and the counter log in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._record = 0
        self._counters = folder / "counters.csv"
        instances = r"\\SERVER\MSExchange Database ==> Instances"
        columns = [
            f"{instances}(Information Store/{name})\\Online Defrag Pages {what}/sec"
            for name in DATABASES
            for what in ("Read", "Freed")
        ]
        self._row("(PDH-CSV 4.0) (Coordinated Universal Time)(0)", columns)

    def event(self, database: str, identifier: int, strings: Sequence[str]) -> None:
        """Append one event of the time that it is."""
        self._record += 1
        path = self._folder / database / f"{database}.edb"
        text = ["Information Store", "17", f"{database}: ", str(path), *strings]
        system = {
            "Provider": {"#attributes": {"Name": "ESE"}},
            "EventID": identifier,
            "TimeCreated": {"#attributes": {"SystemTime": datetime.now(UTC).isoformat()}},
            "EventRecordID": self._record,
            "Channel": "Application",
            "Computer": "SERVER",
        }
        line = json.dumps({"Event": {"System": system, "EventData": {"Data": {"#text": text}}}})
        with (self._folder / "events.jsonl").open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def sample(self) -> None:
        """Append one row of rates."""
        time = datetime.now(UTC)
        cells = [f"{rate}" for name in DATABASES for rate in RATES[name]]
        self._row(f"{time:%m/%d/%Y %H:%M:%S}.{time.microsecond // 1000:03}", cells)

    def _row(self, first: str, cells: Sequence[str]) -> None:
        with self._counters.open("a", encoding="utf-8") as file:
            file.write(",".join(f'"{cell}"' for cell in (first, *cells)) + "\r\n")


def main() -> int:
    """Write until a signal ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("stories", "silent", "dies", "stubborn"))
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    if options.mode == "dies":
        print("the disk is full\nso it cannot go on", file=sys.stderr)
        return 3
    if options.mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.mode == "stories":
        options.dir.mkdir(parents=True, exist_ok=True)
        logs = Logs(options.dir)
        story = steps()
        while True:
            for event in next(story, []):
                logs.event(*event)
            logs.sample()
            time.sleep(STEP_SECONDS)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    sys.exit(main())
