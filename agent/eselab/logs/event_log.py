"""The event log of the engine, in the form that `evtx_dump -o jsonl` prints.

One line an event, the insertion strings by position in `EventData`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from eselab.base.clock import Clock
from eselab.base.programs import Program
from eselab.logs.lines import Lines, last_line
from eselab.logs.truth import EVENTS, Truth
from eselab.logs.truth_entries import Told

ERROR: Final = 2
WARNING: Final = 3
INFORMATION: Final = 4

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class EventLog:
    """Appends events to `events.jsonl` in `folder`. `buffered`: held back until `flush`."""

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        computer: str,
        program: Program,
        buffered: bool,
        truth: Truth,
    ) -> None:
        """`computer` and `program` are named in every event. Raises OSError."""
        self._clock = clock
        self._computer = computer
        self._program = program
        self._truth = truth
        self._encoder = msgspec.json.Encoder()
        path = folder / EVENTS
        self._lines = Lines(path, buffered=buffered, before=truth.ledger)
        self.record_id, self._last = _last_event(last_line(path))
        """Of the last event, 0 where there is none."""

    @property
    def last_time(self) -> float:
        """Epoch seconds of the last event, 0 where there is none."""
        return self._last.timestamp()

    def append(self, told: Told, *, level: int, category: int, strings: Sequence[str]) -> None:
        """Add one event now; `told` says the same for the truth and is given its time.

        Two events are never of one time: the later one is a microsecond younger at least.
        Raises OSError.
        """
        # Through text, as a reader does: the time is that of the line to the last digit.
        time = _EPOCH + timedelta(microseconds=round(self._clock.now() * 1e6))
        self._last = time = max(time, self._last + _MICROSECOND)
        self.record_id += 1
        system = {
            "Provider": {"#attributes": {"Name": self._program.provider}},
            "EventID": told.event_id,
            "Level": level,
            "Task": category,
            "TimeCreated": {"#attributes": {"SystemTime": f"{time:%Y-%m-%dT%H:%M:%S.%fZ}"}},
            "EventRecordID": self.record_id,
            "Channel": self._program.channel,
            "Computer": self._computer,
        }
        event = {"Event": {"System": system, "EventData": {"Data": {"#text": strings}}}}
        line = self._encoder.encode(event) + b"\n"
        told.time = time.timestamp()
        told.end = self._lines.size + len(line)
        self._truth.tell(told)
        self._lines.append(line)

    def flush(self) -> None:
        """Write the buffered lines. Raises OSError."""
        self._lines.flush()

    def close(self) -> None:
        """Write the buffered lines and close the file. Raises OSError."""
        self._lines.close()


def _last_event(line: bytes) -> tuple[int, datetime]:
    """Record id and time of an event; 0 and the epoch where there is none."""
    if not line:
        return 0, _EPOCH
    system: dict[str, Any] = msgspec.json.decode(line)["Event"]["System"]
    time = datetime.fromisoformat(system["TimeCreated"]["#attributes"]["SystemTime"])
    return system["EventRecordID"], time
