r"""Volumes by their names, and the free space of them as a level.

A volume is a drive (`l:`), a mount point of Windows (`c:\mnt\sg06`), a share (`\\server\logs`) or
a mount point elsewhere (`/srv/logs`).
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from esewatch.model import Feed

FREE_BYTES: Final = "ese_volume_free_bytes"
"""Kept by the fold only for volumes that may hold logs; exposed as that of an instance's logs."""

NOT_KNOWN: Final = -1.0
"""Level of a volume that exists without a known free space; any below 0 says so."""

_WINDOWS = re.compile(r"[a-z]:(?:\\|$)|\\\\[^\\?.]")


@lru_cache(maxsize=4096)
def volume_label(path: str) -> str | None:
    r"""The volume or absolute path in one spelling, None for what is neither (`HarddiskVolume1`).

    Lower case with backslashes where it has a drive letter or UNC root, none at its end.
    """
    stripped = path.strip()
    if stripped.startswith("/"):
        return stripped.rstrip("/") or "/"
    windows = stripped.lower().replace("/", "\\")
    return windows.rstrip("\\") if _WINDOWS.match(windows) else None


def free_space(volume: str, scale: float = 1.0) -> Feed | None:
    """The series of a volume's free space; `scale`: bytes in one unit. None: not a volume."""
    label = volume_label(volume)
    if label is None:
        return None
    return Feed(metric=FREE_BYTES, owner="computer", labels=(label,), scale=scale)


def is_below(path: str, volume: str) -> bool:
    """True if a path lies on the volume, or on one that is mounted in it."""
    whole, mount = volume_label(path), volume_label(volume)
    if whole is None or mount is None:
        return False
    separator = "/" if mount.startswith("/") else "\\"
    return (whole + separator).startswith(mount.rstrip(separator) + separator)


def volume_of(path: str, volumes: Iterable[str]) -> str | None:
    """That of `volumes` which is the longest beginning of the path, None where none is."""
    return max((each for each in volumes if is_below(path, each)), key=len, default=None)
