"""Ends of the process, as they are seen without one: an exception that nothing catches."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from esefiles.base import crash


class Crashed(BaseException):
    """In the place of `os._exit(70)`."""


@contextmanager
def crashing() -> Iterator[list[int]]:
    """The statuses with which the process would have ended in the block; it goes on."""
    ends: list[int] = []

    def leave(status: int) -> None:
        ends.append(status)
        raise Crashed

    def quietly(args: threading.ExceptHookArgs) -> None:
        if args.exc_type is not Crashed:
            threading.__excepthook__(args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crash, "_leave", leave)
        patch.setattr(threading, "excepthook", quietly)
        yield ends
