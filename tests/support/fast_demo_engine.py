"""The engine of the demo by a clock that runs faster until it comes to the present.

    python -m tests.support.fast_demo_engine BEGIN run --start START ...

Its nights end in the past. From BEGIN (epoch seconds) on, its time goes on from there, ten times as
fast as the system's, and never beyond it.
"""

import sys
import time
from datetime import datetime

from eselab.__main__ import main
from eselab.base import clock
from eselab.demo.servers import DAY

FACTOR = 10.0
NIGHTS = 24
"""Enough for all stories: a copy is late after 14 days, and chance must not decide on a ratio."""


def hurry(begin: float, live: float) -> None:
    """Make all paced clocks of this process such ones; the nights end at `live`."""
    system = time.time() - time.monotonic()

    def now(_: clock._Waiting) -> float:
        present = system + time.monotonic()
        return min(present, live + FACTOR * (present - begin))

    vars(clock)["_LONGEST_WAIT"] = 0.1
    vars(clock)["_Waiting"] = type("_Faster", (clock._Waiting,), {"now": now})


if __name__ == "__main__":
    start = datetime.fromisoformat(sys.argv[sys.argv.index("--start") + 1])
    hurry(float(sys.argv[1]), start.timestamp() + NIGHTS * DAY)
    sys.exit(main(sys.argv[2:]))
