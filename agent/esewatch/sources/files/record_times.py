"""Times of records: when computers were heard, and what is later than its file (semantics 5a)."""

import time
from collections.abc import Callable, Iterable

import msgspec

from esewatch.model import Event, Heard, Record

AHEAD_SECONDS = 86400.0
"""A record cannot be so much later than it is read, or than its file was written."""


class FileTime:
    """Tells records with an impossible time, unless most of the file has such ones: then the time
    of the file is wrong, as of a copy."""

    def __init__(self) -> None:
        self._before = self._after = 0

    def checked(
        self, records: list[Record], heard: list[Heard], modified_ns: int
    ) -> tuple[list[Record], list[Heard]]:
        """The records, those that are impossible without their time."""
        until = modified_ns / 1e9 + AHEAD_SECONDS
        if until >= time.time():
            return records, heard
        late = {
            number
            for number, record in enumerate(records)
            if isinstance(record, Event) and record.time is not None and record.time > until
        }
        later = sum(moment > until for each in heard for moment in each.times)
        self._after += len(late) + later
        self._before += len(records) - len(late) + sum(len(h.times) for h in heard) - later
        if self._after > self._before or not (late or later):
            return records, heard
        kept = [
            msgspec.structs.replace(record, time=None) if number in late else record
            for number, record in enumerate(records)
        ]
        cut = [
            Heard(each.computer, each.channel, times)
            for each in heard
            if (times := tuple(moment for moment in each.times if moment <= until))
        ]
        return kept, cut


HOUR = 3600.0
CLOSE = 2 * HOUR
"""Of records within this time the first and the last of a log say enough."""
_WHOLE = 1 << 20
"""So many bytes of a source are read line by line before only ends are looked for."""
_SMALL = 32 << 10
_MAX_LOGS = 4096
_FEW_LOGS = 16
_TRIES = 8

Log = tuple[str, str]
"""Computer and channel, as logged."""
Hear = Callable[[int, int], tuple[Log, float] | None]
"""Notes the line from an offset to another if it is of another provider; its log and time."""


class HeardTimes:
    """Of each computer and channel, the first and the last time of each hour."""

    def __init__(self) -> None:
        self._hours: dict[Log, dict[float, tuple[float, float]]] = {}

    def note(self, computer: str, channel: str, time: float) -> None:
        hours = self._hours.setdefault((computer, channel), {})
        hour = time // HOUR
        known = hours.get(hour)
        if known is None or not known[0] <= time <= known[1]:
            first, last = known or (time, time)
            hours[hour] = min(first, time), max(last, time)

    def taken(self) -> list[Heard]:
        """The times that were noted; forgets them."""
        told, self._hours = self._hours, {}
        return [
            Heard(computer, channel, tuple(sorted({*firsts, *lasts})))
            for (computer, channel), hours in told.items()
            for firsts, lasts in (zip(*hours.values(), strict=True),)
        ]


class KnownLogs:
    """The logs that events came by, of all files of a source."""

    def __init__(self, computer: str) -> None:
        self._default = computer
        self._logs: set[Log] = set()
        self.names: set[bytes] = set()
        """The names of their computers."""
        self._whole = _WHOLE

    def learn(self, records: Iterable[Record]) -> None:
        if len(self._logs) < _MAX_LOGS:
            for log in {(r.computer, r.channel) for r in records if isinstance(r, Event)}:
                self._logs.add(log)
                self.names.add(log[0].encode("utf-8", "replace"))

    def are_heard(self, data: bytes, begin: int, end: int, hear: Hear) -> bool:
        """Hear the first and the last record of each log in a large piece of `data`; False where
        each line has to be read, as long as no event has shown a log."""
        self._whole -= end - begin
        if end - begin <= _SMALL or self._whole > 0 or not 0 < len(self._logs) <= _FEW_LOGS:
            return False
        return all(self._ends(data, begin, end, log, hear) for log in self._logs)

    def _ends(self, data: bytes, begin: int, end: int, log: Log, hear: Hear) -> bool:
        name = b"" if log[0] == self._default else log[0].encode("utf-8", "replace")
        first = last = None
        start, stop = begin, end
        for _ in range(_TRIES):
            at = data.find(name, start, end)
            if at < 0 or at >= end:
                return True
            line, start = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at, end) + 1 or end
            told = hear(line, start)
            if told is not None and told[0] == log:
                first = told[1]
                break
        for _ in range(_TRIES if first is not None else 0):
            at = data.rfind(name, begin, stop)
            line = data.rfind(b"\n", 0, at if name else stop - 1) + 1
            told = hear(line, data.find(b"\n", at, end) + 1 or end) if at >= 0 else None
            if told is not None and told[0] == log:
                last = told[1]
                break
            stop = line
        return first is not None and last is not None and abs(last - first) <= CLOSE
