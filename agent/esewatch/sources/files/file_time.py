"""Records of a file that are later than the file itself (semantics.md 5a)."""

import time

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
