"""What work costs, counted in calls of functions: the same on every machine, however busy."""

import sys
import threading
from collections.abc import Callable
from types import FrameType


class Calls:
    """Counts calls of functions, in Python and C, in this thread and in those begun meanwhile."""

    def __init__(self) -> None:
        self._count = 0

    def _profile(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            self._count += 1

    def __enter__(self) -> "Calls":
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def of(self, work: Callable[[], object]) -> int:
        """How many there are while `work` is done."""
        before = self._count
        work()
        return self._count - before
