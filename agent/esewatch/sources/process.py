"""A program and its output, read in the background into a bounded buffer."""

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from esefiles.base.names import reason_of
from esewatch.model import SourceError

_BUFFER_BYTES: Final = 4 << 20
_BLOCK_BYTES: Final = 1 << 16
_COMPLAINT_BYTES: Final = 4096
_END_SECONDS: Final = 5.0
_LONGEST_PAUSE: Final = 300.0


class Child:
    """A running program. A full buffer blocks it until `read` makes room. `program` is its name (or
    a path, or an interpreter and a script), `arguments` go to it as they are, without a shell.
    `given` is what its standard input begins with; that stays open then until `close`, or until
    this process ends, however it does. Raises SourceError when it cannot be started."""

    def __init__(
        self, program: Sequence[str], arguments: Sequence[str], given: bytes | None = None
    ) -> None:
        self._process = _started(program, arguments, with_input=given is not None)
        self._buffer = bytearray()
        self._room = threading.Condition()
        self._closed = False
        self._complaint = bytearray()
        if given is not None:
            threading.Thread(target=self._write_input, args=(given,), daemon=True).start()
        self._readers = [
            threading.Thread(target=read, daemon=True)
            for read in (self._read_output, self._read_complaint)
        ]
        for reader in self._readers:
            reader.start()

    def read(self) -> bytes:
        """The output since the last call; never waits."""
        with self._room:
            data = bytes(self._buffer)
            self._buffer.clear()
            self._room.notify()
        return data

    @property
    def ended(self) -> bool:
        if self._process.poll() is None or any(reader.is_alive() for reader in self._readers):
            return False
        return not self._buffer

    @property
    def status(self) -> int | None:
        """Exit status, None while it runs. Programs of Windows return an error code of Windows."""
        return self._process.poll()

    @property
    def complaint(self) -> str:
        return " ".join(bytes(self._complaint).decode("utf-8", "replace").split())

    def close(self) -> None:
        """End it, if it still runs, and close its output."""
        with self._room:
            self._closed = True
            self._room.notify()
        self._process.kill()
        # One that hangs in a read of a disk ends later; its readers are left behind.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
            for reader in self._readers:
                # A child of the child may hold the pipe; its reader is then left behind.
                reader.join(_END_SECONDS)
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not any(reader.is_alive() for reader in self._readers):  # they close what they read
            _pipe(self._process.stdout).close()
            _pipe(self._process.stderr).close()

    def _write_input(self, given: bytes) -> None:
        pipe, rest = _pipe(self._process.stdin), memoryview(given)
        # A program that has ended reads no more.
        with contextlib.suppress(OSError, ValueError):
            while rest:
                rest = rest[pipe.write(rest) :]

    def _read_output(self) -> None:
        with _pipe(self._process.stdout) as pipe:
            while block := os.read(pipe.fileno(), _BLOCK_BYTES):
                with self._room:
                    self._room.wait_for(lambda: self._closed or len(self._buffer) < _BUFFER_BYTES)
                    if self._closed:
                        return
                    self._buffer += block

    def _read_complaint(self) -> None:
        with _pipe(self._process.stderr) as pipe:
            while block := os.read(pipe.fileno(), _BLOCK_BYTES):
                self._complaint += block[: _COMPLAINT_BYTES - len(self._complaint)]


def pause(interval: float, failures: int) -> float:
    """Seconds to wait after the `failures`-th failure in a row: twice as long each time
    (backoff)."""
    return min(interval * 2.0 ** min(failures, 10), max(_LONGEST_PAUSE, interval))


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise AssertionError("started without pipes")
    return pipe


def _started(
    program: Sequence[str], arguments: Sequence[str], *, with_input: bool
) -> subprocess.Popen[bytes]:
    path = _path(program[0])
    try:
        return subprocess.Popen(
            [path, *program[1:], *arguments],
            stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: cannot be started: {reason_of(error)}") from None


def _path(name: str) -> str:
    """Path of a program; on Windows its own, never one of that name in the current folder."""
    if sys.platform == "win32" and not Path(name).parent.parts:
        name = str(Path(os.environ.get("SYSTEMROOT", "C:\\Windows"), "System32", f"{name}.exe"))
    found = shutil.which(name)
    if found is None and Path(name).parent.parts:
        raise SourceError(f"{name}: no program that this account may run")
    if found is None:
        raise SourceError(f"{name}: no such program: it is a part of Windows, and only there")
    return found
