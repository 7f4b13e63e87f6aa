"""The reading of inputs by a command: what a terminal shows of it."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from tests.support.ese_text import render


def test_a_terminal_shows_bytes_of_all_bytes_and_the_time_left(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    text = render(704, ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"])
    line = f"2007-06-21T03:14:15.123Z EX01 Information ESE 704 {text}\n"
    log.write_text(line * (6_000_000 // len(line)))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 200, 0, 0))
    program = [sys.executable, "-m", "esewatch", "report", str(log), "-o", str(tmp_path / "r.html")]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal by one
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)

    assert process.wait(600) == 0
    bars = re.findall(r"(\d+)%\|.*?\| ([\d.]+)M/6.00M \[\d\d:\d\d<(\S+),", shown.decode())
    percents = [int(percent) for percent, _, _ in bars]
    assert percents == sorted(percents)
    assert any(0 < percent < 100 for percent in percents)
    assert any(re.fullmatch(r"\d\d:\d\d", left) for _, _, left in bars)
