"""Lines beside the data, and output that cannot be written: which one, in one line."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from tqdm import tqdm

from esefiles.base.names import visible


def tell(what: str) -> None:
    """One line on standard error; a progress bar makes room for it."""
    tqdm.write(visible(f"esewatch: {what}"), file=sys.stderr)


@contextlib.contextmanager
def naming(path: Path, *, beside: bool = False) -> Iterator[None]:
    """Adds the file to an OSError of writing it: that of a full disk names none.

    `beside`: also in the place of a temporary file or folder beside it, which nobody named.
    """
    try:
        yield
    except OSError as error:
        if beside:
            error.filename, error.filename2 = str(path), None
        elif error.filename is None:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the process in order, as Ctrl-C does: what is temporary is removed.

    The exit status is that of a shell. A signal that comes again ends it at once; one that is
    ignored, by `nohup`, stays so.
    """

    def end(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        print(f"esewatch: ended by {signal.Signals(number).name}", file=sys.stderr)
        raise SystemExit(128 + number)

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                before[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
