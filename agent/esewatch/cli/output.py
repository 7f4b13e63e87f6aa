"""Output that cannot be written: which one, in one line."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_NO_ROOM: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Adds the file to an OSError of writing it: that of a full disk names none."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def drop_stdout() -> None:
    """Throw away what standard output still holds: Python must not complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def of_stdout(error: OSError) -> bool:
    """True if it is of standard output. What that still holds is thrown away then.

    It may hold nothing more; but whoever else finds no room to write names the file.
    """
    if error.filename is not None or sys.stdout is None:  # None: it was closed
        return False
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()
        return True
    return error.errno in _NO_ROOM
