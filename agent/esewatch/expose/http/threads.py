"""Work that a thread does for the event loop."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_a_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """The result of `work`, of a thread of its own. No end of the process waits for it, as it would
    for those of an executor: bcrypt may take seconds, a page as long as a source."""
    made: Future[T] = Future()
    made.set_running_or_notify_cancel()

    def run() -> None:
        try:
            made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return asyncio.wrap_future(made)
