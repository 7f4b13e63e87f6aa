"""A process whose scan zeroes pages while a mailbox store is at work, until it is killed.

python -m tests.eselab.zeroing_process FOLDER SEED TIME: goes on at TIME, and writes the journal of
`mailing_process`. It says each time that a pass is completed.
"""

import os
import random
import sys
from pathlib import Path

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY
from eselab.disk.disk import RealDisk
from eselab.logs.counters import Counters
from eselab.machine.workload import Mail
from eselab.maintenance.zeroing import DatabaseZeroing
from eselab.storage.database import Database
from tests.eselab.mailing import NAME, PLAN
from tests.eselab.mailing_process import Writer
from tests.eselab.zeroed import Recorder


class Teller(Recorder):
    """Prints each completed pass when it is logged."""

    def zeroing_completed(self, summary: object) -> None:
        os.write(sys.stdout.fileno(), b"zeroed\n")


def main(folder: str, seed: str, time: str) -> None:
    """Go on from what is in the database: a step of zeroing after each one of the work."""
    chance, clock = random.Random(int(seed)), VirtualClock(float(time))
    os.write(sys.stdout.fileno(), b"opening\n")
    cache_pages = chance.choice([5, 50])
    database = Database.open(RealDisk(Path(folder)), NAME, cache_pages=cache_pages, now=clock.now())
    database.store.counts_deleted = True
    journal = Writer(Path(f"{folder}.journal"), clock)
    zeroing = DatabaseZeroing(database, Teller(), Counters(), clock, pause=0.0)
    until = 2 * clock.now()
    task = zeroing.invocation(lambda: until)
    for wait in Mail(database, PLAN, DAY, clock, chance, journal=journal).work():
        clock.spend(wait)
        if next(task, None) is None:
            task = zeroing.invocation(lambda: until)
        if chance.random() < 0.1:
            database.store.checkpoint(chance.choice([0, 5000, 100_000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
