"""A process with a mailbox store at work, in virtual time without an end, until it is killed.

python -m tests.eselab.mailing_process FOLDER SEED TIME: goes on at TIME, and writes to the file
FOLDER.journal what it intends to commit, what is durable, and how late it is.
"""

import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY
from eselab.disk.disk import RealDisk
from eselab.machine.mail import Row
from eselab.machine.workload import Mail
from eselab.storage.database import Database
from tests.eselab.mailing import NAME, PLAN


class Line(msgspec.Struct, omit_defaults=True):
    """One line of the journal: `rows` are intended, or a `word` with the time."""

    word: str = ""
    now: float = 0.0
    rows: list[Row] = []


class Writer:
    """A Journal in a file: each line is there before what it tells goes on."""

    def __init__(self, path: Path, clock: VirtualClock) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._clock = clock

    def _write(self, line: Line) -> None:
        os.write(self._file, msgspec.json.encode(line) + b"\n")

    def intended(self, rows: Sequence[Row]) -> None:
        self._write(Line(rows=list(rows)))

    def given_up(self) -> None:
        self._write(Line(word="given_up"))

    def durable(self) -> None:
        self._write(Line(word="durable", now=self._clock.now()))


def main(folder: str, seed: str, time: str) -> None:
    """Go on from what is in the database."""
    chance, clock = random.Random(int(seed)), VirtualClock(float(time))
    os.write(sys.stdout.fileno(), b"opening\n")
    cache_pages = chance.choice([5, 50])
    database = Database.open(RealDisk(Path(folder)), NAME, cache_pages=cache_pages, now=clock.now())
    journal = Writer(Path(f"{folder}.journal"), clock)
    for wait in Mail(database, PLAN, DAY, clock, chance, journal=journal).work():
        clock.spend(wait)
        if chance.random() < 0.1:
            database.store.checkpoint(chance.choice([0, 5000, 100_000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
