"""The daemon's path from a log of text or JSON to its journal, as a process of its own.

`python -m bench.text_ingest LOG JOURNAL` polls, folds and commits batch by batch, as the daemon
does, and prints as JSON its CPU seconds without its start, and how many events of each provider and
id it counted.
"""

import json
import sys
import time
from pathlib import Path

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.journal import Journal
from esewatch.sources.logs.event_stream import event_stream_source


def ingest(log: str, journal_path: str) -> dict[str, dict[int, int]]:
    """Read `log` to its end; every batch is committed with the position behind it."""
    source = event_stream_source("log", [log])
    journal = Journal(Path(journal_path))
    state, positions = journal.load()
    folder = Folder(state, Settings())
    source.restore(positions.get("log", {}))
    folder.open_source("log", time.time())
    for batch in source.poll(final=True):
        folder.fold("log", batch)
        journal.commit(state, folder.changed, {"log": batch.positions})
        folder.changed.clear()
    source.close()
    journal.close()
    counts: dict[str, dict[int, int]] = {}
    for host in state.hosts.values():
        for provider, numbers in host.events.items():
            counted = counts.setdefault(provider, {})
            for event_id, number in numbers.items():
                counted[event_id] = counted.get(event_id, 0) + number
    return counts


if __name__ == "__main__":
    begin = time.process_time()
    events = ingest(*sys.argv[1:])
    print(json.dumps({"seconds": time.process_time() - begin, "events": events}))
