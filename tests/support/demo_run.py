"""The demo run for tests: without a terminal, or on one that the test holds the other end of."""

import codecs
import fcntl
import os
import pty
import re
import select
import shlex
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import psutil

from tests.support.patience import PATIENCE
from tests.support.ports import free_address

ROOT = Path(__file__).resolve().parents[2]
ANSI = re.compile(r"\x1b\[[?\d;]*[A-Za-z]")

T = TypeVar("T")

_START = """\
import sys
from eselab.demo import run
from eselab.demo.__main__ import main
run.ENGINE = tuple({engine!r}) or run.ENGINE
if {fast!r}:
    import time
    from tests.support import fast_demo_engine
    begin = str(time.time() + 20)
    run.ENGINE = (sys.executable, "-m", fast_demo_engine.__name__, begin, *run.ENGINE[3:])
    run.NIGHTS, run.LEAD_SECONDS = fast_demo_engine.NIGHTS, -600.0
    run.FLIP_AFTER, run.DAMAGE_AFTER = 1.0, 10.0
if {stack!r}:
    from tests.support import demo_stack
    main = demo_stack.main
sys.exit(main(sys.argv[1:]))
"""


def stand_in(mode: str) -> list[str]:
    """Command of `tests.support.demo_engine`, which takes the place of the engines."""
    return [sys.executable, "-m", "tests.support.demo_engine", mode]


def demo_command(
    engine: Sequence[str] = (), *options: str, stack: bool = False, fast: bool = False
) -> list[str]:
    """Command of the demo with `engine` in the place of its own; run it in ROOT.

    `stack`: that of `make demo-stack`. `fast`: its engines have the nights and the clock of
    fast_demo_engine.py.
    """
    start = _START.format(engine=list(engine), stack=stack, fast=fast)
    return [sys.executable, "-c", start, *options]


def listens(address: str) -> bool:
    """Whether somebody takes a connection at `address`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError:
        return False
    return True


def wait_until(what: str, ask: Callable[[], T], seconds: float = PATIENCE) -> T:
    """The first answer of `ask` that is true; fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        if answer := ask():
            return answer
        assert not late, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


def children_of(pid: int, least: int) -> list[psutil.Process]:
    """The processes below `pid`; none while there are fewer than `least`."""
    found = psutil.Process(pid).children(recursive=True)
    return found if len(found) >= least else []


def gone(processes: Sequence[psutil.Process]) -> bool:
    """Whether none of them runs; what is dead and not yet collected does not run."""
    return not any(map(_runs, processes))


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # collected between the two questions
        return False


class Attended:
    """The demo on a terminal; the test types and reads what is on the screen."""

    def __init__(
        self, engine: Sequence[str], folder: Path, rows: int, columns: int, *, stack: bool = False
    ) -> None:
        self.folder = folder
        self.address = free_address()
        self._output = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._terminal, inner = pty.openpty()
        self.resize(rows, columns)
        options = ("--dir", str(folder), "--web.listen-address", self.address)
        command = demo_command(engine, *options, stack=stack)
        environment = {**os.environ, "TERM": "xterm"}
        for name in ("COLUMNS", "LINES"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            # A terminal of its own, which it has to open itself to be the one it is ruled by.
            # A run of the tests under nohup ignores a hang-up; this one must not.
            [
                "env",
                "--default-signal=HUP",
                "sh",
                "-c",
                f"exec {shlex.join(command)} <>{os.ttyname(inner)} >&0 2>&0",
            ],
            cwd=ROOT,
            env=environment,
            start_new_session=True,
        )
        os.close(inner)

    def resize(self, rows: int, columns: int) -> None:
        """Make the terminal another size."""
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self._terminal, keys)

    def hang_up(self) -> None:
        """Take the terminal away."""
        os.close(self._terminal)
        self._terminal = -1

    def wait_for(
        self,
        text: str,
        also: Callable[[list[str]], bool] = lambda lines: True,
        seconds: float = PATIENCE,
    ) -> list[str]:
        """The lines of the first screen with `text` in it and for which `also` holds."""

        def look() -> list[str]:
            self.read()
            lines = self._screen()
            return lines if any(text in line for line in lines) and also(lines) else []

        return wait_until(f"{text!r} on the screen", look, seconds)

    def read(self) -> bool:
        """Take what it wrote since, whether there was any: it waits where nobody reads."""
        ready, _, _ = select.select([self._terminal], [], [], 0.1)
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # nobody is at the other end any more
            return False
        self._output += self._decoder.decode(data)
        return bool(data)

    def rest(self) -> str:
        """All that it wrote, to its end."""
        while self.read():
            pass
        return self._output

    def close(self) -> None:
        """End it and let go of the terminal."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE)
        if self._terminal >= 0:
            os.close(self._terminal)

    def _screen(self) -> list[str]:
        """The last whole one."""
        end = self._output.rfind("\x1b[J")
        start = self._output.rfind("\x1b[H", 0, max(0, end))
        if start < 0:
            return []
        return ANSI.sub("", self._output[start:end].removeprefix("\x1b[H")).split("\r\n")
