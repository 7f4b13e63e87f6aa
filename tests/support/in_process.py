"""A command in the process of the tests, where its signals, streams and exit are not the point."""

import contextlib
import io
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

_HANDLED = ("SIGINT", "SIGTERM", "SIGHUP")


class Said(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str


def run(main: Callable[[Sequence[str]], int], *words: str | Path) -> Said:
    """What `main` does with these words; its handlers of signals are gone afterwards."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {
        number: signal.getsignal(number)
        for name in _HANDLED
        if (number := getattr(signal, name, None)) is not None
    }
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(word) for word in words])
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Said(status, out.getvalue(), err.getvalue())
