"""Threads that find no memory, and what those that run are at."""

import _thread
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import pytest


@contextmanager
def no_first_line(after: int = 0) -> Iterator[None]:
    """Each further thread ends before its first line, for the block; the first `after` do not."""
    start, begun = _thread.start_new_thread, 0

    def end_at_once(*given: Any) -> int:
        nonlocal begun
        begun += 1
        return start(*given) if begun <= after else 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", end_at_once)
        yield


def codes_of_threads() -> list[set[CodeType]]:
    """For each thread the functions that it is in."""
    found: list[set[CodeType]] = []
    for frame in sys._current_frames().values():
        codes: set[CodeType] = set()
        at: FrameType | None = frame
        while at is not None:
            codes.add(at.f_code)
            at = at.f_back
        found.append(codes)
    return found
