"""The times at which a replay judges all databases: where something changes, and hourly.

A judgement costs milliseconds for each database, and much of it moves with time alone. So it is
made where a record, a deadline or a window changes something; otherwise an hour after the last.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from esewatch.advice.findings.details import InstanceKey
from esewatch.advice.findings.levels import LevelName, high_levels, level_ends, most_buckets
from esewatch.advice.judgement import Judgement
from esewatch.expose.replay.series_ends import database_ends
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import STATED_SECONDS
from esewatch.model import Reading, Record, VolumesSeen

HOUR = 3600.0
MINUTE = 60_000
"""Milliseconds. Records that follow each other faster are judged together, as by the daemon."""
REMEMBERED = round(1000 * (STATED_SECONDS + 3600))
"""Milliseconds. What was judged earlier is not seen: what is over is stated for a day, and it stood
at the judgement before."""
_METERED = (Reading, VolumesSeen)
"""Records that come all the time: of them it matters which levels are high."""


class JudgingTimes:
    """Knows the last judgement and what it was made of. `begin`: time of the first one, in
    milliseconds. `waits`: records came after the last that have not been judged yet."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.waits = False
        self._last: int | None = None
        self._high: dict[InstanceKey, tuple[LevelName, ...]] = {}
        self._most_buckets: Mapping[InstanceKey, int] = {}
        self._deadlines: Sequence[float] = ()

    def is_news(self, folder: Folder, records: Iterable[Record], time: int) -> bool:
        """True if these records, just folded at `time` (milliseconds), may change a finding."""
        if time < self.begin:
            return False
        if any(not isinstance(each, _METERED) for each in records):
            return True
        changed = (each[1:] for each in folder.changed if each[0] == "instance")
        now = time / 1000
        return any(self._high.get(key, ()) != self._levels(folder, key, now) for key in changed)

    def _levels(self, folder: Folder, key: InstanceKey, now: float) -> tuple[LevelName, ...]:
        instance = folder.state.instances.get(key)
        if instance is None:
            return ()
        return tuple(high_levels(instance, self._most_buckets.get(key), now))

    def put_off(self, time: int) -> int | None:
        """Note news of `time`; when they are judged (milliseconds), None for at once."""
        self.waits = True
        later = time if self._last is None else self._last + MINUTE
        return None if time >= later else later

    def judged(self, folder: Folder, judged: Iterable[Judgement], now: float) -> float:
        """Note a judgement as of `now`; the seconds since the one before."""
        before = now if self._last is None else self._last / 1000
        self._last, self.waits = round(now * 1000), False
        state = folder.state
        self._most_buckets = most_buckets(state.databases.values(), folder.settings)
        levels = {key: self._levels(folder, key, now) for key in state.instances}
        self._high = {key: names for key, names in levels.items() if names}
        times = (
            time
            for each in judged
            for time in (each.ledger.due, *(forecast.deadline for forecast in each.forecasts))
        )
        self._deadlines = [time for time in times if time is not None and time >= now]
        return now - before

    def ends(self, folder: Folder, now: float) -> Iterator[float]:
        """Times at which it is to be judged again without further records."""
        yield now + HOUR
        yield from self._deadlines
        for key in self._high:
            yield from level_ends(folder.state.instances[key])
        for database in folder.state.databases.values():
            yield from database_ends(folder, database, now)
