"""Errors on opening a file for a scan, in a sentence: what, where, what to do."""

import errno

_GONE = {
    getattr(errno, name)
    for name in ("ESTALE", "ENODEV", "ENXIO", "EBADF", "ENOTCONN", "ENOMEDIUM", "ESHUTDOWN")
    if hasattr(errno, name)
}
_IN_USE = {32, 33}
"""Windows: sharing violation, lock violation."""


def is_gone(error: OSError) -> bool:
    """True if the file or its device is gone, so that no other page can be read."""
    return error.errno in _GONE


def may_be_good(error: OSError) -> bool:
    """True if the file was not read at all: no permission, in use, or no resources for it."""
    return (
        isinstance(error, PermissionError)
        or is_gone(error)
        or error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
        or getattr(error, "winerror", None) in _IN_USE
    )


def why_not_opened(path: str, error: Exception) -> str:
    """Reason why `path` cannot be opened, and the remedy."""
    what = getattr(error, "strerror", None) or str(error)
    if getattr(error, "winerror", None) in _IN_USE:
        return f"{path}: in use by another program: scan a snapshot of it"
    if isinstance(error, FileNotFoundError):
        return f"{path}: no such file: is the path right, and its volume mounted?"
    if isinstance(error, PermissionError):
        return f"{path}: no permission to read it: run this as a user who may (it is never written)"
    return f"{path}: cannot be opened: {what}"


def why_not_read(path: str, error: OSError) -> str:
    """Reason why the rest of `path` cannot be read."""
    if isinstance(error, FileNotFoundError | PermissionError):
        return why_not_opened(path, error)
    what = error.strerror or str(error)
    if is_gone(error):
        return f"{path}: disappeared while it was read ({what}): is its volume still there?"
    return f"{path}: cannot be read: {what}: look for errors of the disk in the system's log"
