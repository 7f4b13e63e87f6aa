"""Internal errors: each costs one part of the daemon, is logged and counted, and is retried. A part
that fails again and again is retried at longer and longer intervals (backoff)."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from esefiles.base import crash
from esewatch.daemon.agent_health import Part
from esewatch.sources.process import pause

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
"""Seconds after the first failure; each further one in a row waits twice as long."""


class InternalErrors:
    """Counts internal errors by the part that failed, in `counts`."""

    def __init__(self, counts: dict[Part, int]) -> None:
        self.counts = counts
        self._told: dict[Part, str] = {}
        self._in_a_row: dict[Part, int] = {}
        self._again: dict[Part, float] = {}
        self._left_out: dict[Part, dict[tuple[str, str], str]] = {}

    def note(self, part: Part, error: Exception) -> None:
        """Count a failure; the first of several equal ones is logged, with its traceback."""
        crash.if_short(error)
        self.counts[part] += 1
        self._in_a_row[part] = self._in_a_row.get(part, 0) + 1
        self._again[part] = time.monotonic() + pause(FIRST_PAUSE, self._in_a_row[part] - 1)
        reason = f"unexpected {type(error).__name__}: {error}"
        if self._told.get(part) != reason:
            self._told[part] = reason
            log.error("%s: %s", part, reason)
            log.debug("%s", part, exc_info=error)

    def left_out(self, part: Part, odd: Mapping[tuple[str, str], Exception]) -> None:
        """Count the databases that the part was made without; each is logged once."""
        told = self._left_out.get(part, {})
        now = {key: f"unexpected {type(error).__name__}: {error}" for key, error in odd.items()}
        self._left_out[part] = now
        self.counts[part] += len(odd)
        for key, reason in now.items():
            if told.get(key) != reason:
                log.error("%s: without %s of %s: %s", part, key[1], key[0], reason)
                log.debug("%s", part, exc_info=odd[key])

    def waits(self, part: Part) -> bool:
        return time.monotonic() < self._again.get(part, 0.0)

    @contextmanager
    def held(self, part: Part) -> Iterator[None]:
        """Context manager around code that may fail: no exception leaves it."""
        try:
            yield
        except Exception as error:
            self.note(part, error)
        else:
            self._in_a_row.pop(part, None)
            self._again.pop(part, None)
            self._told.pop(part, None)
