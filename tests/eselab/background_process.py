"""A process with background maintenance while a mailbox store is at work, until it is killed.

python -m tests.eselab.background_process FOLDER SEED TIME: goes on at TIME, and writes the journal
of `mailing_process`. It says each time that a pass of the scan is completed, and its pages.
"""

import os
import random
import sys
from pathlib import Path

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY
from eselab.disk.disk import RealDisk
from eselab.logs.counters import Counters
from eselab.logs.reports_current import BackgroundSummary, TreeSummary
from eselab.machine.workload import Mail
from eselab.maintenance.background_scan import BackgroundScan
from eselab.maintenance.tree_defrag import TreeDefrag
from eselab.storage.database import Database
from tests.eselab.background import Recorder
from tests.eselab.mailing import NAME, PLAN
from tests.eselab.mailing_process import Writer


class Teller(Recorder):
    """Prints each completed pass when it is logged."""

    def maintenance_completed(self, summary: BackgroundSummary, *, late: bool) -> None:
        os.write(sys.stdout.fileno(), b"scanned %d\n" % summary.pages_seen)

    def tree_defragmented(self, summary: TreeSummary) -> None:
        os.write(sys.stdout.fileno(), b"defragmented\n")


def main(folder: str, seed: str, time: str) -> None:
    """Go on from what is in the database: a step of each task after each one of the work."""
    chance, clock = random.Random(int(seed)), VirtualClock(float(time))
    os.write(sys.stdout.fileno(), b"opening\n")
    cache_pages = chance.choice([5, 50])
    database = Database.open(RealDisk(Path(folder)), NAME, cache_pages=cache_pages, now=clock.now())
    journal = Writer(Path(f"{folder}.journal"), clock)
    scan = BackgroundScan(database, Teller(), Counters(), clock, pace=1e12, day=DAY)
    defrag = TreeDefrag(database, Teller(), Counters(), clock, pause=0.0)
    until = 2 * clock.now()
    invocations = (scan.invocation, defrag.invocation)
    tasks = [begin(lambda: until) for begin in invocations]
    for wait in Mail(database, PLAN, DAY, clock, chance, journal=journal).work():
        clock.spend(wait)
        for at, begin in enumerate(invocations):
            if next(tasks[at], None) is None:
                tasks[at] = begin(lambda: until)
        if chance.random() < 0.1:
            database.store.checkpoint(chance.choice([0, 5000, 100_000]))


if __name__ == "__main__":
    main(*sys.argv[1:])
