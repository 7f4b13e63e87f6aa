"""Rate limit for log lines: a storm of bad input does not fill the log."""

import logging
import time
from collections.abc import Callable

LINES = 20
PER_SECONDS = 60.0


class LogLimiter:
    """Rate limit for warnings: `LINES` a minute and name are written, the others are counted."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._counts: dict[str, tuple[float, int]] = {}
        """Name -> (start of its minute, lines in it)."""
        self._said: dict[str, list[str]] = {}
        """Name -> lines written in its minute."""

    def warning(self, name: str, text: str) -> None:
        """Write `name: text`, unless `name` has used up its lines of this minute."""
        now = self._clock()
        begin, count = self._counts.get(name, (now, 0))
        if now - begin >= PER_SECONDS:
            if count > LINES:
                self._log.warning("%s: %d more of these lines were left out", name, count - LINES)
            begin, count = now, 0
        if not count:
            self._said[name] = []
        self._counts[name] = (begin, count + 1)
        if count < LINES:
            self._log.warning("%s: %s", name, text)
            self._said[name].append(text)
        if count + 1 == LINES:
            self._log.warning("%s: further lines are left out for a minute, and counted", name)

    def error(self, name: str, reason: str) -> None:
        """Write `name: reason`, unless a warning of the last minute already ended with it."""
        begin, _ = self._counts.get(name, (0.0, 0))
        said = self._said.get(name, []) if self._clock() - begin < PER_SECONDS else []
        if not any(text.endswith(reason) for text in said):
            self._log.error("%s: %s", name, reason)
