"""The scan of a shipped copy: the one of a passive copy, with its state in the file's header.

So does the published engine: the tables of a copy are those of the active one (ese-facts 3.4 and
4.3). The header has the times in milliseconds, and not when a late pass was last logged.
"""

from typing import TypeVar

import msgspec

from eselab.base.clock import Clock
from eselab.logs.reports_current import THRESHOLD
from eselab.maintenance.background_scan import BackgroundState
from eselab.storage.transaction_log.log_replay import LogReplay

_State = TypeVar("_State", bound=msgspec.Struct)


class ScannedCopy:
    """A copy as a scan knows it (see Maintained). `day`: seconds of what counts as one."""

    def __init__(self, replay: LogReplay, clock: Clock, *, day: float) -> None:
        self.store = replay
        self._clock = clock
        self._day = day

    def state(self, name: str, type: type[_State]) -> _State | None:
        """State of the scan in the header, whatever the name."""
        header = self.store.header
        state = BackgroundState(
            is_open=bool(header.scan_started),
            started=header.scan_started,
            page=header.scan_page + 1,
            pages_seen=header.scan_page,
            completed=header.scan_finished,
            told_late=self._told_late(header.scan_started),
        )
        return msgspec.convert(state, type, from_attributes=True)

    def keep_state(self, name: str, kept: msgspec.Struct) -> None:
        """Write it into the header, durably. Raises OSError."""
        assert isinstance(kept, BackgroundState)
        started, page = (kept.started, kept.page - 1) if kept.is_open else (0.0, 0)
        self.store.keep_scan(finished=kept.completed, started=started, page=page)

    def _told_late(self, started: float) -> float:
        """Last time at which the late pass was to be logged: each day from the eighth on."""
        late = started + THRESHOLD * self._day
        passed = (self._clock.now() - late) // self._day
        return late + passed * self._day if started and passed >= 0 else 0.0
