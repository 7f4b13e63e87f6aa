"""The processes of the demo: started together, stopped together, none left behind.

Each is the leader of a process group, so that Ctrl-C on the terminal reaches the demo alone
and the demo stops them in good order. On Linux the kernel ends them when the demo is killed.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

STOP_SECONDS = 6.0
"""For all of them together; then they are killed."""

LAST_LINES = 3
_TAIL_BYTES = 8192
_PR_SET_PDEATHSIG = 1


class DemoProcess:
    """A process of the demo. Its output goes to `log`."""

    def __init__(self, name: str, command: Sequence[str], log: Path, *, fed: bool) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if fed else subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                process_group=0,
                preexec_fn=_end_with_parent(),  # noqa: PLW1509 - the demo has one thread
            )

    def feed(self, line: bytes) -> None:
        """Write a line to its standard input; nothing where it has ended."""
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(line + b"\n")
                self.process.stdin.flush()

    def said(self) -> list[str]:
        return self.log.read_text(encoding="utf-8", errors="replace").splitlines()

    def last_words(self) -> str:
        """The last lines it wrote, in one line; empty when it wrote none."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
        return " | ".join([line.strip() for line in lines if line.strip()][-LAST_LINES:])

    def end(self, name: signal.Signals) -> None:
        """Send a signal to it and to the processes that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, name)


class Processes:
    """All of them; leaving the `with` block stops them, however it is left."""

    def __init__(self) -> None:
        self._children: list[DemoProcess] = []

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(
        self, name: str, command: Sequence[str], log: Path, *, fed: bool = False
    ) -> DemoProcess:
        """Start one more; `fed`: it gets input by `DemoProcess.feed`. Raises OSError."""
        child = DemoProcess(name, command, log, fed=fed)
        self._children.append(child)
        return child

    def stop_one(self, child: DemoProcess) -> None:
        """Stop this one, which is then none of them any more."""
        self._children.remove(child)
        _stop([child])

    def ended(self) -> DemoProcess | None:
        """A process that has ended without being asked to."""
        return next((each for each in self._children if each.process.poll() is not None), None)

    def stop(self) -> None:
        """Stop all of them, last started first; returns when none runs any more."""
        _stop([each for each in reversed(self._children) if each.process.poll() is None])
        self._children.clear()


def _stop(running: Sequence[DemoProcess]) -> None:
    for child in running:
        child.end(signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    for child in running:
        try:
            child.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.end(signal.SIGKILL)
            child.process.wait()


def _end_with_parent() -> Callable[[], None] | None:
    """Run first in a new process, on Linux: ask the kernel to be killed with its parent."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:  # killed before it was asked
            os._exit(1)

    return ask
