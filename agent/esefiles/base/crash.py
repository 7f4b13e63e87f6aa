"""The end of a process that lacks memory or threads, or that lost a thread: one line, exit 70.

It would go on with a part missing. Its service manager starts it again, and the journal makes that
lossless (docs/operation.md, Stop).
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from traceback import extract_tb
from types import TracebackType
from typing import Any, NoReturn

STATUS = 70
"""EX_SOFTWARE of sysexits.h."""
WATCH_SECONDS = 2.0
"""A thread that has not begun after this time found no memory for its first line."""
ENDING_SECONDS = 60.0

SHORT = (
    "esewatch: there is too little memory, or no further thread, so the process ends (exit status "
    "70): allow it more, and start it again"
)
_SHORT_LINE = f"{SHORT}\n".encode()
"""Made before memory is short."""

_leave: Callable[[int], NoReturn] = os._exit
_also: Callable[[str], object] | None = None
_deadline = float("inf")


def end(line: str = SHORT) -> NoReturn:
    """Say why in one line, and end the process at once, from any thread."""
    try:
        os.write(2, _SHORT_LINE if line is SHORT else f"{line}\n".encode("utf-8", "replace"))
        if _also is not None:
            _also(line)
    finally:
        _leave(STATUS)


def if_short(error: BaseException | None) -> None:
    """End the process where this error is the want of memory or of a thread.

    For whoever catches every exception.
    """
    if isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    ):
        end()


def install() -> None:
    """Let every thread of this process end so; only where the process is ours."""
    sys.excepthook = _uncaught
    threading.excepthook = _in_a_thread
    sys.unraisablehook = _unraisable
    threading.Thread(target=_watch, daemon=True).start()


def tell_too(tell: Callable[[str], object]) -> None:
    """Hand the line to `tell`, too: nobody reads the standard error of a service of Windows."""
    global _also  # noqa: PLW0603 - there is one process
    _also = tell


def ending() -> None:
    """The process has begun to end: it may take a minute, no more."""
    global _deadline  # noqa: PLW0603
    _deadline = time.monotonic() + ENDING_SECONDS


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if_short(error)
    at = extract_tb(trace)[-1:]
    where = f" ({Path(at[0].filename).name}, line {at[0].lineno})" if at else ""
    what = " ".join(f"{kind.__name__}: {error}".split())
    end(
        f"esewatch: unexpected {what}{where}, so the process ends (exit status 70): start it "
        "again, and report this line"
    )


def _in_a_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and args.exc_type is not SystemExit:
        _uncaught(args.exc_type, args.exc_value, args.exc_traceback)


def _unraisable(args: Any) -> None:
    """A thread without memory for its first line ends here, as an error in a finalizer does."""
    if_short(args.exc_value)
    sys.__unraisablehook__(args)


def _watch() -> None:
    """Whoever starts a thread waits for its first line, also where there is no memory for it."""
    before: set[threading.Thread] = set()
    while True:
        time.sleep(WATCH_SECONDS)
        late = {thread for thread in threading.enumerate() if thread.ident is None}
        if late & before:
            end()
        if time.monotonic() > _deadline:
            end("esewatch: its end took more than a minute, so it ends at once (exit status 70)")
        before = late
