"""Timeout for checks that may never end (a dead share, a pipe): a thread each, one deadline."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from esefiles.base import crash

Found = TypeVar("Found")


class Looks(NamedTuple):
    """Results of the looks: by name the ones that ended and the ones that did not."""

    ended: dict[str, object]
    hanging: list[str]


def look_all(looks: Mapping[str, Callable[[], object]], seconds: float) -> Looks:
    """Do all of them at once, for at most `seconds`. One that hangs is left behind. What a look
    raises is among `ended` as the exception. The threads do not outlive the process."""
    ended: dict[str, object] = {}

    def run(name: str, look: Callable[[], object]) -> None:
        try:
            found = look()
        except Exception as error:
            crash.if_short(error)
            found = error
        ended[name] = found

    workers = [threading.Thread(target=run, args=each, daemon=True) for each in looks.items()]
    for worker in workers:
        worker.start()
    end = time.monotonic() + seconds
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
    done = {name: ended[name] for name in looks if name in ended}
    return Looks(done, [name for name in looks if name not in done])


def within(seconds: float, look: Callable[[], Found]) -> Found:
    """Return the result of `look`, or raise its error; TimeoutError when it takes longer."""
    found: list[Found] = []
    done = look_all({"": lambda: found.append(look())}, seconds)
    if done.hanging:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(error := done.ended[""], Exception):
        raise error
    return found[0]
