"""Files by pattern, in folders where others may put what they like.

`**` does not go through links to folders: two links in a folder that lead back to it would
be followed for ever. A link that leads to a file is a file, and one that the pattern names, or
that fits a single `*` of it, is followed: links to logs are common.
"""

import glob
import os
from collections.abc import Iterator
from pathlib import Path


def matches(pattern: str) -> list[str]:
    """The paths that fit, sorted; `**` is any folders, hidden ones left out."""
    parts = Path(pattern).parts
    if "**" not in parts:
        return sorted(glob.iglob(pattern))  # noqa: PTH207 - strings all the way
    return sorted(set(_below(parts)))


def _below(parts: tuple[str, ...]) -> Iterator[str]:
    at = parts.index("**")
    rest = parts[at:]
    while rest[:1] == ("**",):
        rest = rest[1:]
    for start in matches(str(Path(*parts[:at]))):
        for place, folders, names in os.walk(start):
            folders[:] = [name for name in folders if not name.startswith(".")]
            if rest:
                yield from matches(str(Path(glob.escape(place), *rest)))
            else:
                yield from (str(Path(place, name)) for name in names if not name.startswith("."))
