import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.reliability.test_inputs import append
from tests.reliability.test_names import log_events
from tests.support.edb import write_edb
from tests.support.evtx_writer import chunk_start, flip_bit
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="other systems allow no such file names"
)

NAMES = {"no text": b"b\xff", "a terminal obeys it": b"e\x1b[31m\x07\r"}
SHOWN = {"no text": "b\\udcff", "a terminal obeys it": "e\\x1b[31m\\x07\\r"}


def check_lines(text: str) -> None:
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines), lines


@pytest.fixture
def said(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., str]:
    """What a command prints, all of which can be printed."""

    def of(*words: str) -> str:
        assert main(words) in {0, 1, 2}
        text = b"".join(capfdbinary.readouterr()).decode()
        check_lines(text)
        return text

    return of


@pytest.mark.parametrize("which", NAMES)
@pytest.mark.parametrize(
    "command", ["advise", "events", "counters", "scan", "header", "report", "replay"]
)
def test_a_hostile_file_name_is_shown_escaped(
    tmp_path: Path, which: str, command: str, said: Callable[..., str]
) -> None:
    output = ["-o", str(tmp_path / "out")] if command in {"report", "replay"} else []
    base = tmp_path / os.fsdecode(NAMES[which])
    log_events(base.with_name(base.name + ".evtx"), 1, 3)
    flip_bit(base.with_name(base.name + ".evtx"), chunk_start(0) + 600)
    append(base.with_name(base.name + ".ndjson"), 3)
    base.with_name(base.name + ".bin").write_bytes(bytes(range(256)) * 8)
    write_edb(base.with_name(base.name + ".edb"), pages=20)
    shown = [said(command, *output, str(path)) for path in tmp_path.glob(f"{base.name[0]}*")]
    assert len(shown) == 4
    assert command == "header" or SHOWN[which] in "".join(shown)


def test_a_hostile_word_of_the_command_line_is_shown_escaped() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "esewatch", "advise", "--no-such-\x1b[31m"],
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == 2
    assert "\\x1b[31m" in text
    check_lines(text)
