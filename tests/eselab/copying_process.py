"""A process with a machine and passive copies at work, in real time, until it is killed.

python -m tests.eselab.copying_process FOLDER SEED [scanned]: with copies of a current engine that
are scanned, else with those of Exchange 2007.
"""

import os
import sys
from pathlib import Path

import msgspec

from eselab.base.clock import RealClock
from eselab.base.plan import CopyPlan, DatabasePlan, MailPlan, Plan, WindowPlan
from eselab.machine.machine import Machine

PLAN = Plan(
    databases=[
        DatabasePlan(
            name="a",
            page_size=8192,
            pages=150,
            cache_pages=20,
            checkpoint_depth=1 << 18,
            window=WindowPlan(period=0.3, offset=0.0, length=0.2),
            mail=MailPlan(mailboxes=4, kept=3.0),
            defrag_pause=0.0002,
            scan_throttle=0.002,
            copies=[
                CopyPlan(computer="EX02", cache="drop", cache_pages=6, batch=0.02),
                CopyPlan(computer="EX03", cache="keep", batch=0.05, batch_logs=2),
            ],
        )
    ],
    sample=0.05,
)
"""A day takes less than a second, and the logs of a day some megabytes."""
SCANNED = msgspec.structs.replace(
    PLAN,
    databases=[
        msgspec.structs.replace(
            PLAN.databases[0],
            generation="current",
            pages=300,
            scan_pace=2e7,
            copies=[
                msgspec.structs.replace(copy, scan=True, scan_pace=pace)
                for copy, pace in zip(PLAN.databases[0].copies, (4e6, 4e7), strict=True)
            ],
        )
    ],
)
"""A pass of one copy takes half a second and more, one of the other a tenth of that."""


def main(folder: str, seed: str, kind: str = "") -> None:
    """Go on from what is there."""
    plan = SCANNED if kind == "scanned" else PLAN
    os.write(sys.stdout.fileno(), b"opening\n")
    machine = Machine(Path(folder), plan, clock=RealClock(), seed=int(seed), computer="LAB")
    machine.open()
    os.write(sys.stdout.fileno(), b"working\n")
    machine.run(float("inf"))


if __name__ == "__main__":
    main(*sys.argv[1:])
