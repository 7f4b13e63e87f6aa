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
        for place, names in _folders(start):
            if "**" in rest:
                yield from matches(str(Path(glob.escape(place), *rest)))
                continue
            if rest:
                found = glob.iglob(str(Path(*rest)), root_dir=place)  # noqa: PTH207
            else:
                found = (name for name in names if not name.startswith("."))
            yield from (_join(place, name) for name in found)


def _folders(start: str) -> Iterator[tuple[str, list[str]]]:
    """Each folder from `start` down, with the names in it that are no folders."""
    waiting = [start]
    while waiting:
        place = waiting.pop()
        # One level at a time: os.walk calls itself for each, and a thousand end it.
        _, folders, names = next(os.walk(place), ("", [], []))
        yield place, names
        below = [_join(place, name) for name in folders if not name.startswith(".")]
        # pathlib's raises where the path is too long.
        waiting += [folder for folder in below if not os.path.islink(folder)]  # noqa: PTH114


def _join(place: str, name: str) -> str:
    # pathlib takes a path to pieces each time: seconds, where folders are deep.
    return name if place == "." else os.path.join(place, name)  # noqa: PTH118
