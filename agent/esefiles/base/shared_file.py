"""A file opened to be read by one program while others write, rename or delete it."""

import os
import sys
from typing import Final

_GENERIC_READ: Final = 0x80000000
_SHARE_ALL: Final = 0x7
"""FILE_SHARE_READ, FILE_SHARE_WRITE and FILE_SHARE_DELETE of CreateFileW."""
_OPEN_EXISTING: Final = 3
_ATTRIBUTE_NORMAL: Final = 0x80


def open_shared(path: str, flags: int) -> int:
    """A descriptor of the file, by `flags` of os.open. Raises OSError, on Windows with `winerror`.

    On Windows os.open forbids all others to rename or delete the file until it is closed: a log
    could not be rotated, nor a copy removed, while it is read. It also calls a file that another
    program holds for itself "Permission denied".
    """
    if sys.platform != "win32":
        return os.open(path, flags)
    import ctypes  # noqa: PLC0415
    import msvcrt  # noqa: PLC0415
    from ctypes import wintypes  # noqa: PLC0415

    create = ctypes.WinDLL("kernel32", use_last_error=True).CreateFileW
    create.restype = wintypes.HANDLE
    handle = create(
        path, wintypes.DWORD(_GENERIC_READ), _SHARE_ALL, None, _OPEN_EXISTING, _ATTRIBUTE_NORMAL,
        None,
    )  # fmt: skip
    if handle == wintypes.HANDLE(-1).value:
        code = ctypes.get_last_error()
        raise OSError(None, ctypes.FormatError(code).rstrip(" ."), path, code)
    try:
        return msvcrt.open_osfhandle(handle, flags)
    except OSError:
        ctypes.WinDLL("kernel32").CloseHandle(wintypes.HANDLE(handle))
        raise
