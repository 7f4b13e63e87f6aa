"""Files by pattern, in folders that others may write to.

`**` does not go through links to folders: two links in a folder that lead back to it would be
followed endlessly. A link that leads to a file is a file, and one that the pattern names, or that
fits a single `*` of it, is followed: links to logs are common.

Python's glob does not report folders that it may not read, so the walk is implemented here. Each
folder is listed once; names are compared by fnmatch.
"""

import errno
import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

_QUIET = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""No log is there: gone, no folder, a link to itself, deeper than a path can say."""

Entries = list["os.DirEntry[str]"]


class GlobMatch(NamedTuple):
    paths: list[str]
    """The paths that fit, sorted, each once."""
    barred: dict[str, str]
    """Folder -> why it cannot be listed or passed, so that its content was not found."""


def search(pattern: str) -> GlobMatch:
    """The paths that fit `pattern`; `**` is any folders, hidden ones left out. Never raises."""
    walk = _Walk()
    paths = set() if "\0" in pattern else set(walk.below(*_taken_apart(pattern)))
    return GlobMatch(sorted(paths), walk.barred)


def matches(pattern: str) -> list[str]:
    return search(pattern).paths


def fits(path: str, pattern: str) -> bool:
    """Could a search for `pattern` find `path`? By the names alone: nothing is looked up."""
    anchor, parts = _taken_apart(pattern)
    start, names = _taken_apart(path)
    return anchor == start and _names_fit(names, parts)


def _names_fit(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_names_fit(names[skipped:], parts[1:]) for skipped in range(len(names) + 1))
    return bool(names) and (
        fnmatch.fnmatch(names[0], parts[0]) and _names_fit(names[1:], parts[1:])
    )


def base(pattern: str) -> str:
    """The folder that all of `pattern` is below: the part before its first glob character."""
    anchor, parts = _taken_apart(pattern)
    return _join(anchor, *_fixed(parts)) or "."


def barring(path: str) -> str:
    """The folder that prevents access to `path`; `path` itself where none does."""
    for place in (path, *map(str, Path(path).parents)):
        try:
            os.lstat(place)
        except PermissionError:
            continue
        except OSError:
            break
        return place
    return path


class _Walk:
    """One search. Paths are strings: pathlib parses a path each time."""

    def __init__(self) -> None:
        self.barred: dict[str, str] = {}

    def below(
        self, place: str, parts: Sequence[str], listed: Entries | None = None
    ) -> Iterator[str]:
        """The paths under `place` that fit `parts`, some perhaps twice. `listed`: the content of
        it."""
        if fixed := _fixed(parts):
            place, parts, listed = _join(place, *fixed), parts[len(fixed) :], None
        if not parts:
            if self._is_there(place):
                yield place
        elif parts[0] == "**":
            yield from self._anywhere(place, parts)
        else:
            for entry in _fitting(self._list(place) if listed is None else listed, parts[0]):
                path = _join(place, entry.name)
                if len(parts) == 1:
                    yield path
                elif self._is_folder(entry, path, links=True):
                    yield from self.below(path, parts[1:])

    def _anywhere(self, start: str, parts: Sequence[str]) -> Iterator[str]:
        """The paths that fit the rest after the `**` at the begin of `parts`, in each folder from
        `start` down."""
        while parts and parts[0] == "**":
            parts = parts[1:]
        waiting = [start]
        while waiting:
            place = waiting.pop()
            entries = self._list(place)
            shown = [(each, _join(place, each.name)) for each in _fitting(entries, "*")]
            if parts:
                yield from self.below(place, parts, entries)
            else:
                yield from (
                    path for each, path in shown if not self._is_folder(each, path, links=True)
                )
            waiting += [path for each, path in shown if self._is_folder(each, path, links=False)]

    def _list(self, folder: str) -> Entries:
        try:
            with os.scandir(folder or ".") as entries:
                return list(entries)
        except OSError as error:
            self._note(folder or ".", error)
            return []

    def _is_folder(self, entry: "os.DirEntry[str]", path: str, *, links: bool) -> bool:
        try:
            return entry.is_dir(follow_symlinks=links)
        except OSError as error:
            self._note(path, error)
            return False

    def _is_there(self, path: str) -> bool:
        try:
            os.lstat(path)
        except OSError as error:
            self._note(path, error)
            return False
        return True

    def _note(self, path: str, error: OSError) -> None:
        if error.errno in _QUIET:
            return
        path = barring(path)
        # Parts of an unreadable folder are not reported beside the folder.
        if os.path.dirname(path) not in self.barred:  # noqa: PTH120
            self.barred[path] = error.strerror or str(error)


def _taken_apart(pattern: str) -> tuple[str, Sequence[str]]:
    """The anchor (the root, a drive or a share, or nothing), and the parts."""
    path = Path(pattern)
    return path.anchor, path.parts[1 if path.anchor else 0 :]


def _fixed(parts: Sequence[str]) -> list[str]:
    return list(takewhile(lambda part: not glob.has_magic(part), parts))


def _fitting(entries: Entries, part: str) -> Entries:
    """The names that fit. A name that begins with a dot fits only a pattern that begins with
    one."""
    hidden = part.startswith(".")
    shown = {each.name: each for each in entries if hidden or not each.name.startswith(".")}
    return [shown[name] for name in fnmatch.filter(shown, part)]


def _join(place: str, *names: str) -> str:
    return os.path.join(place, *names)  # noqa: PTH118
