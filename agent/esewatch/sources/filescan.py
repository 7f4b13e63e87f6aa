"""Finding files by path and glob while others rename them."""

import errno
import glob
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from esewatch.sources.globs import matches
from esewatch.sources.rawfile import RawFile, open_raw

STABLE_TRIES = 5

Stat = tuple[int, int]
"""Size and mtime in nanoseconds."""


class MovedError(Exception):
    """A path leads to another file than a moment ago: look again before reading on.

    Not an OSError: nothing is wrong with the file.
    """


class Seen(msgspec.Struct, frozen=True, gc=False):
    """A file found by its path. `key` names the file itself: device and inode."""

    key: str
    path: str
    stat: Stat
    literal: bool


class Scan(msgspec.Struct, gc=False):
    """What one look at the paths found."""

    seen: dict[str, Seen] = {}
    missing: list[str] = []
    """Paths without glob characters that lead to no regular file, and why."""
    troubles: list[tuple[str, str]] = []
    """(path, reason) of what cannot be looked at."""


def key_of(state: os.stat_result, path: str) -> str:
    """Device and inode; the path where the system has no inodes."""
    return f"{state.st_dev}:{state.st_ino or path}"


def open_known(path: str, key: str) -> RawFile:
    """Open `path` if it still leads to the file `key`. Raises OSError, MovedError."""
    try:
        raw = open_raw(path)
    except FileNotFoundError:
        raise MovedError(path) from None
    if key_of(raw.stat(), path) != key:
        raw.close()
        raise MovedError(path)
    return raw


def look(
    paths: Sequence[str], path_of: Callable[[str], str | None], expected: Callable[[set[str]], bool]
) -> Scan:
    """Find the files of `paths`.

    A file that is renamed between the listing of its folder and the look at it would be
    missed, and a younger one read before it. So unless exactly the files are there that
    were `expected`, the folders are listed again until two listings agree.
    `path_of` tells under which path a file is known.
    """
    listing = list(_expand(paths))
    for _ in range(STABLE_TRIES):
        found = _look(listing, path_of)
        if expected(set(found.seen)):
            break
        again = list(_expand(paths))
        if again == listing:
            break
        listing = again
    return found


def _look(listing: list[tuple[str, bool]], path_of: Callable[[str], str | None]) -> Scan:
    found = Scan()
    for path, literal in listing:
        try:
            state = os.stat(path)  # noqa: PTH116 - strings all the way
        except FileNotFoundError:
            if literal:
                found.missing.append(path)
            continue
        except OSError as error:
            found.troubles.append((path, reason_of(error)))
            continue
        if not stat.S_ISREG(state.st_mode):
            if literal:
                found.missing.append(path)
            continue
        key = key_of(state, path)
        if key not in found.seen or path_of(key) == path:
            found.seen[key] = Seen(key, path, (state.st_size, state.st_mtime_ns), literal)
    return found


def unreadable_folders(paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(folder, reason) of patterns whose folder cannot be listed: they match nothing, silently."""
    for pattern in paths:
        if glob.has_magic(pattern) and not os.path.exists(pattern):  # noqa: PTH110 - never raises
            folder = Path(pattern)
            while glob.has_magic(str(folder)):
                folder = folder.parent
            if reason := why_unlisted(str(folder)):
                yield str(folder), reason


def why_unlisted(folder: str) -> str:
    """Why a folder cannot be listed or passed; empty where it can, or where there is none."""
    try:
        with os.scandir(folder) as entries:
            next(entries, None)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        return reason_of(error)
    return "" if os.access(folder, os.R_OK | os.X_OK) else os.strerror(errno.EACCES)


def reason_of(error: OSError) -> str:
    """What the system says, without number and path."""
    return error.strerror or str(error)


def all_unreadable(paths: Iterable[str], failed: dict[str, str]) -> str:
    """`PATH: reason` of the first that failed, when none of `paths` can be opened; else empty.

    `failed` is what failed in this poll already, by path. A file that did not fail was
    perhaps not opened, having not changed: so it is tried here, up to the first that opens.
    """
    for path in paths:
        if path in failed:
            continue
        # Not opened where nothing failed: on Windows its writer could not rename it meanwhile.
        if not failed and os.access(path, os.R_OK):
            return ""
        try:
            open_raw(path).close()
        except FileNotFoundError:
            return ""
        except OSError as error:
            failed[path] = reason_of(error)
        else:
            return ""
    return next((f"{path}: {reason}" for path, reason in failed.items()), "")


def _expand(paths: Sequence[str]) -> Iterator[tuple[str, bool]]:
    for pattern in paths:
        if not glob.has_magic(pattern) or os.path.exists(pattern):  # noqa: PTH110 - never raises
            yield pattern, True
            continue
        for path in matches(pattern):
            yield path, False
