"""The last events in the logs that the agent of the demo reads, a line each."""

import re
from pathlib import Path

from esewatch.expose.formatting import iso_time
from esewatch.fold.databases.integrity import PAGE_EVENTS
from esewatch.model import Event, SourceError
from esewatch.names import one_line
from esewatch.sources.logs.event_stream import event_stream_source

KEPT = 50
RECENT = 3600.0
"""Seconds before the newest: what is older is the past of the demo."""


class LastEvents:
    """Follows the event logs in `folder`, that of the demo, as the agent does."""

    def __init__(self, folder: Path) -> None:
        paths = [str(folder / "*/events.jsonl"), str(folder / "*/*/events.jsonl")]
        self._source = event_stream_source("last events", paths)
        self._events: list[Event] = []

    def lines(self) -> list[str]:
        """The last events, oldest first."""
        try:
            for batch in self._source.poll():
                events = [record for record in batch.records if isinstance(record, Event)]
                self._events += events[-KEPT:]
        except SourceError:
            pass  # the agent reads the same file and says on its page what is wrong
        self._events = sorted(self._events, key=_time)[-KEPT:]
        recent = _time(self._events[-1]) - RECENT if self._events else 0.0
        return [event_line(event) for event in self._events if _time(event) >= recent]

    def close(self) -> None:
        """Close the file."""
        self._source.close()


def _time(event: Event) -> float:
    return event.time or 0.0


def event_line(event: Event) -> str:
    """`03:14:15  healthy  703  defrag completed`; times are UTC."""
    time = (iso_time(event.time) or "")[11:19]
    name = re.split(r"[\\/]", event.database)[-1].rsplit(".", 1)[0] or event.ese_instance
    what = " ".join(part for part in (event.task, event.stage) if part)
    if not what and event.event_id in PAGE_EVENTS:
        what = f"bad page: {PAGE_EVENTS[event.event_id][1]}"
    text = f"{time:8}  {name:<12} {event.event_id:>4}  {what or event.level or ''}"
    return one_line(text).rstrip()
