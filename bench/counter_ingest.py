"""All counters of a log, read as a process of its own.

`python -m bench.counter_ingest LOG` prints as JSON the CPU seconds without the start of the
program, the least of some readings, and how many readings the log has.
"""

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Final

_SOURCES: Final = {
    ".blg": ("esewatch.sources.counters.blg.perfmon_blg", "perfmon_blg_source"),
    ".csv": ("esewatch.sources.counters.perfmon_csv", "perfmon_csv_source"),
}
"""By name: an earlier agent has the second alone."""
_ROUNDS: Final = 3


def read(log: str) -> int:
    """How many records a log has."""
    module, name = _SOURCES[Path(log).suffix]
    source = getattr(importlib.import_module(module), name)("log", [log])
    try:
        return sum(len(batch.records) for batch in source.poll(final=True))
    finally:
        source.close()


if __name__ == "__main__":
    spent = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        records = read(sys.argv[1])
        spent.append(time.process_time() - begin)
    print(json.dumps({"seconds": min(spent), "records": records}))
