"""Reads of Linux that go past the page cache: O_DIRECT (open(2)), with its rules of alignment."""

import errno
import mmap
import os
import sys

ALIGNMENT = 4096
"""Bytes. Offset and length of a direct read are multiples of it: enough for disks with logical
blocks of 512 and of 4096 bytes."""


def open_direct(descriptor: int) -> int:
    """Open the file again, for direct reads; -1 where they are not supported."""
    if sys.platform != "linux":
        return -1
    # By /proc and not by its path: a path can lead to another file by now.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_DIRECT
    try:
        try:
            return os.open(f"/proc/self/fd/{descriptor}", flags | os.O_NOATIME)
        except PermissionError:
            return os.open(f"/proc/self/fd/{descriptor}", flags)
    except OSError:
        return -1


def fill(descriptor: int, buffer: memoryview, offset: int) -> int:
    """Read into `buffer` from `offset` on; the bytes read, fewer only at the end of the file.
    Raises OSError; with EINVAL where the file system or disk refuses direct reads."""
    done = _read(descriptor, buffer, offset)
    while 0 < done < len(buffer) and offset + done < os.fstat(descriptor).st_size:
        more = _read(descriptor, buffer[done:], offset + done)
        if not more:
            break
        done += more
    return done


def _read(descriptor: int, buffer: memoryview, offset: int) -> int:
    if not (offset | len(buffer)) % ALIGNMENT:
        try:
            return os.preadv(descriptor, [buffer], offset)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
    # Offset, length or memory is not aligned: the bytes around it, into memory that is.
    begin = offset - offset % ALIGNMENT
    end = -(-(offset + len(buffer)) // ALIGNMENT) * ALIGNMENT
    aligned = mmap.mmap(-1, end - begin)
    done = max(0, min(os.preadv(descriptor, [aligned], begin) - (offset - begin), len(buffer)))
    buffer[:done] = aligned[offset - begin : offset - begin + done]
    return done
