"""Schedule of snapshots: soon after news, and rarely enough to stay cheap."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

OLD_SECONDS = 60.0
"""A snapshot is made at least this often, for changes by time alone."""
PAUSE_SECONDS = 1.0
SHARE = 10.0
"""While records stream in, snapshots take at most one tenth of the time."""
NEVER = float("-inf")


class SnapshotSchedule:
    """Knows when the last snapshot was made and what it cost."""

    def __init__(self) -> None:
        self._made = NEVER
        self._cost = 0.0
        self._news = False

    def news(self) -> None:
        self._news = True

    def hurry(self) -> None:
        """Note a change that must be in a snapshot at once."""
        self._made = NEVER

    @property
    def due_in_a_stream(self) -> bool:
        """True if a snapshot is due while there is more to read."""
        return time.monotonic() - self._made >= max(PAUSE_SECONDS, SHARE * self._cost)

    def due(self, *, more: bool) -> bool:
        """True if a snapshot is due; `more`: there is more to read at once."""
        if self._news and (not more or self.due_in_a_stream):
            return True
        return time.monotonic() - self._made >= OLD_SECONDS

    @contextmanager
    def making(self) -> Iterator[None]:
        begin = time.monotonic()
        self._news = False
        yield
        self._made = time.monotonic()
        self._cost = self._made - begin
