"""What the threads that run are at."""

import sys
from types import CodeType, FrameType


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
