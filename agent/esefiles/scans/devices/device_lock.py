r"""One scan a device, over all threads and processes of a machine.

On Linux the lock is an abstract unix socket (unix(7)) whose name has the device's identity:

- the kernel frees it when its process ends, however that ends; nothing is left behind;
- every user can take it: a file in a shared folder cannot be opened for creation by another
  user, not even by root, where `fs.protected_regular` is set, and a service with `PrivateTmp`
  sees another folder. A lock on the device file itself wants permission to open it, and makes
  udev pass over the disk's events for hours;
- it tells who holds it: `ss -xlp` shows the name, `holder` the process.

It holds within one network namespace: a container with a network of its own does not see the
locks of its host. Any user of the machine can take the name of a device and so keep scans of it
waiting, as with a file that all may lock. Elsewhere than on Linux, or where sockets are forbidden,
the lock holds within this process only.
"""

import errno
import hashlib
import logging
import socket
import struct
import sys
import threading

log = logging.getLogger(__name__)

_PREFIX = b"\0esewatch-scan:"
_LONGEST = 80
"""Bytes of an identity that the name of a socket (108 bytes) has room for."""
_BACKLOG = 128
_CREDENTIALS = struct.Struct("3i")
"""pid, uid, gid of SO_PEERCRED."""

_here: set[str] = set()
_guard = threading.Lock()


class DeviceLock:
    """The right to scan one device, named by its identity. Not shared between threads."""

    def __init__(self, device: str) -> None:
        self.device = device
        self._held = False
        self._socket: socket.socket | None = None

    def acquire(self) -> bool:
        """Take the lock if it is free, without waiting; returns whether it was."""
        with _guard:
            if self.device in _here:
                return False
            _here.add(self.device)
        if sys.platform == "linux" and not self._bind():
            self._leave()
            return False
        self._held = True
        return True

    def release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._held:
            self._held = False
            self._leave()

    def holder(self) -> int | None:
        """Process that holds the lock; None where there is none or the system does not say."""
        if sys.platform != "linux":
            return None
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.setblocking(False)
                asking.connect(_name(self.device))
                found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except OSError:
            return None
        # 0: a process of another process namespace.
        pid: int = _CREDENTIALS.unpack(found)[0]
        return pid or None

    def _bind(self) -> bool:
        try:
            taken = socket.socket(socket.AF_UNIX)
            try:
                taken.bind(_name(self.device))
                taken.listen(_BACKLOG)
            except BaseException:
                taken.close()
                raise
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            log.warning(
                "device %s: other processes cannot be kept off it while it is scanned: %s",
                self.device or "(unknown)",
                error,
            )
            return True
        self._socket = taken
        return True

    def _leave(self) -> None:
        with _guard:
            _here.discard(self.device)


def _name(device: str) -> bytes:
    text = device.encode("utf-8", "surrogateescape")
    if len(text) > _LONGEST:
        # The digest keeps apart what begins alike.
        text = text[: _LONGEST // 2] + b"#" + hashlib.sha256(text).hexdigest()[:32].encode()
    return _PREFIX + text
