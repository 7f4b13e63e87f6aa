"""Progress of a command on a terminal."""

import sys
from collections.abc import Iterable
from typing import Any

from tqdm import tqdm


def progress_bar(items: Iterable[Any] | None = None, **more: Any) -> "tqdm[Any]":
    """A bar on stderr that goes when it is done, none where that is no terminal.

    It passes the `items` on; `more` are parameters of tqdm.
    """
    more.setdefault("disable", not sys.stderr.isatty())
    return tqdm(items, file=sys.stderr, leave=False, **more)
