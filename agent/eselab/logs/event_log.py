"""The event log of the engine, in the form that `evtx_dump -o jsonl` prints, and as Windows has it.

One line an event, the insertion strings by position in `EventData`. The lines come first: what a
kill took from the log of Windows is added to it from them. Only where that was cleared and has no
event since is nothing added.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from eselab.base.clock import Clock
from eselab.base.programs import Program
from eselab.logs.binary.evtx.evtx_log import EvtxLog
from eselab.logs.binary.evtx.record import Event, Source
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
        evtx: int | None = None,
    ) -> None:
        """`computer` and `program` are named in every event. `evtx`: the most bytes of a log of
        Windows beside it, None: there is none. Raises OSError.
        """
        self._clock = clock
        self._computer = computer
        self._program = program
        self._truth = truth
        self._encoder = msgspec.json.Encoder()
        path = folder / EVENTS
        self._lines = Lines(path, buffered=buffered, before=truth.ledger)
        self.record_id, self._last = _last_event(last_line(path))
        """Of the last event, 0 where there is none."""
        self._buffered = buffered
        self._evtx = None if evtx is None else self._windows_log(folder, path, evtx)

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
        if self._evtx is not None:
            since = (time - _EPOCH) // _MICROSECOND
            self._evtx.append(Event(told.event_id, since, level, category, strings))
            if not self._buffered:
                self._evtx.flush()

    def clear(self) -> None:
        """Take all events out of the log of Windows, where there is one. Raises OSError."""
        self._lines.flush()
        if self._evtx is not None:
            self._evtx.clear()

    def flush(self) -> None:
        """Write what is held back. Raises OSError."""
        self._lines.flush()
        if self._evtx is not None:
            self._evtx.flush()

    def close(self) -> None:
        """Write what is held back and close the files. Raises OSError."""
        self._lines.close()
        if self._evtx is not None:
            self._evtx.close()

    def _windows_log(self, folder: Path, lines: Path, size: int) -> EvtxLog:
        """The log of Windows, with what the lines have behind its last event."""
        path = folder / f"{self._program.channel}.evtx"
        is_new = not path.exists()
        source = Source(self._program.provider, self._program.channel, self._computer)
        log = EvtxLog(path, source, size)
        if log.last_time is not None or is_new:
            with lines.open("rb") as file:
                for line in file:
                    event = _event(msgspec.json.decode(line)["Event"])
                    if event.time > (log.last_time or 0):
                        log.append(event)
        log.flush()
        return log


def _event(line: dict[str, Any]) -> Event:
    """The event of a line."""
    system, strings = line["System"], line["EventData"]["Data"]["#text"]
    time = datetime.fromisoformat(system["TimeCreated"]["#attributes"]["SystemTime"])
    since = (time - _EPOCH) // _MICROSECOND
    return Event(system["EventID"], since, system["Level"], system["Task"], strings)


def _last_event(line: bytes) -> tuple[int, datetime]:
    """Record id and time of an event; 0 and the epoch where there is none."""
    if not line:
        return 0, _EPOCH
    system: dict[str, Any] = msgspec.json.decode(line)["Event"]["System"]
    time = datetime.fromisoformat(system["TimeCreated"]["#attributes"]["SystemTime"])
    return system["EventRecordID"], time
