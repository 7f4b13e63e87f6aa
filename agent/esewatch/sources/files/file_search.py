"""Finding files by path and glob while others rename them."""

import glob
import os
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from esefiles.base.globs import barring, base, search
from esefiles.base.names import reason_of
from esewatch.model import Unreadable
from esewatch.sources.files.raw_file import MovedError, RawFile, open_raw

STABLE_TRIES = 5

MAX_FILES = 50_000
"""Of one source: each costs about 2 kB of memory, and a position in the journal."""

NAMED = 3
"""Files and folders that are named where nothing can be read."""

Stat = tuple[int, int]
"""Size and mtime in nanoseconds."""


class Seen(msgspec.Struct, frozen=True, gc=False):
    """A file found by its path. `key` names the file itself: device and inode."""

    key: str
    path: str
    stat: Stat
    literal: bool


class Room:
    """Files that are followed: the known ones, and others up to MAX_FILES."""

    def __init__(self, known: Collection[str]) -> None:
        self._known = known
        self._left = MAX_FILES - len(known)

    def has(self, file: str) -> bool:
        """True if the file is one of them; to be asked once for each."""
        if file in self._known:
            return True
        self._left -= 1
        return self._left >= 0

    @property
    def lack(self) -> str:
        """Reason why not all are followed; empty when they are."""
        most = f"{MAX_FILES:,}"
        return "" if self._left >= 0 else f"more than {most} files, the others are not followed"


class FolderScan(msgspec.Struct, gc=False):
    seen: dict[str, Seen] = {}
    missing: list[str] = []
    """Paths without glob characters that lead to no regular file, and why."""
    troubles: dict[str, str] = {}
    """Path -> reason for files that cannot be examined, and for folders that bar the way."""
    gone: dict[str, str] = {}
    """See FoundFiles."""


class FoundFiles(NamedTuple):
    paths: dict[str, bool]
    """Path -> whether it was named itself, and not found by a pattern."""
    barred: dict[str, str]
    """Folder -> why it cannot be listed or passed, see `search`."""
    gone: dict[str, str]
    """Folder -> why there is none, of those that all of a pattern is below. Files come and go by
    their names, as when they are rotated; their folder stays."""


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
    paths: Sequence[str], path_of: Callable[[str], str | None], known: Collection[str] | None
) -> FolderScan:
    """Find the files of `paths`, of those that are not `known` (by key) as many as there is room.

    A file that is renamed between the listing of its folder and the stat of it would be missed, and
    a younger one read before it. So unless exactly the `known` files are there, the folders are
    listed again until two listings agree; not where `known` is None, which also means that none
    is known. `path_of` gives the path under which a file is known.
    """
    listing = listed(paths)
    for _ in range(STABLE_TRIES):
        room = Room(known or ())
        found = _look(listing, path_of, room)
        if room.lack:
            found.troubles[", ".join(paths)] = room.lack
        if known is None or found.seen.keys() == known:
            break
        again = listed(paths)
        if again == listing:
            break
        listing = again
    return found


def _look(listing: FoundFiles, path_of: Callable[[str], str | None], room: Room) -> FolderScan:
    found = FolderScan(troubles=dict(listing.barred), gone=listing.gone)
    for path, literal in listing.paths.items():
        try:
            state = os.stat(path)  # noqa: PTH116 - strings all the way
        except FileNotFoundError:
            state = None
        except OSError as error:
            # One line for a folder that is listed and may not be passed, not one for each file.
            found.troubles[path if literal else barring(path)] = reason_of(error)
            continue
        if state is None or not stat.S_ISREG(state.st_mode):
            if literal:
                found.missing.append(path)
            continue
        key = key_of(state, path)
        if path_of(key) == path or (key not in found.seen and (literal or room.has(key))):
            found.seen[key] = Seen(key, path, (state.st_size, state.st_mtime_ns), literal)
    return found


def listed(paths: Sequence[str]) -> FoundFiles:
    """Files that `paths` lead to. One with glob characters that is itself there is that file."""
    listing = FoundFiles({}, {}, {})
    for pattern in paths:
        if not glob.has_magic(pattern) or os.path.exists(pattern):  # noqa: PTH110 - never raises
            listing.paths[pattern] = True
            continue
        found = search(pattern)
        for path in found.paths:
            listing.paths.setdefault(path, False)
        listing.barred.update(found.barred)
        if not found.paths and not found.barred:
            try:
                os.scandir(base(pattern)).close()
            except OSError as error:
                listing.gone[base(pattern)] = reason_of(error)
    return listing


def all_unreadable(paths: Iterable[str], failed: dict[str, str], problems: list[Unreadable]) -> str:
    """`PATH: reason` of up to `NAMED` that failed, when none of `paths` can be opened; else empty.
    Those that it names are taken out of `problems`, so that each is in the log once. `failed` is
    what failed in this poll already, by path. A file that did not fail was perhaps not opened,
    having not changed: so it is tried here, up to the first that opens."""
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
    reasons = sorted(f"{path}: {reason}" for path, reason in failed.items())[:NAMED]
    problems[:] = [each for each in problems if str(each) not in reasons]
    return "; ".join(reasons)
