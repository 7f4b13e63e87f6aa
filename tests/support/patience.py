"""How long a test waits: so long that none judges by the clock of a busy machine.

`make test-slow` runs the tests marked `timed` once more, alone and with ESEWATCH_ALONE: by their
true limits.
"""

import os

PATIENCE = 600.0
"""Seconds for a server, a process or a thread to do what it must."""

_BUSY = 20.0
_ALONE = bool(os.environ.get("ESEWATCH_ALONE"))


def at_most(seconds: float) -> float:
    """The limit of what takes at most so long on a quiet machine, here and now."""
    return seconds if _ALONE else min(PATIENCE, seconds * _BUSY)
