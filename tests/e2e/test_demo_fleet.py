"""`make demo-fleet`: as one runs it, with a real broker and Prometheus."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.demo_fleet import EACH, ENGINES
from tests.support.kafka import needed_java
from tests.support.tools import find, skip

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tests.support.demo_fleet")


@pytest.mark.e2e
@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_every_event_is_counted_once(tmp_path: Path) -> None:
    needed_java()
    if find("prometheus") is None:
        skip("prometheus is not installed (make tools)", {"prometheus"})
    done = subprocess.run(
        [*COMMAND, "--dir", str(tmp_path / "fleet"), "--seconds", "0"],
        cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    shown = done.stdout
    assert (done.returncode, done.stderr) == (0, ""), shown + done.stderr
    ((sent, counted),) = re.findall(r"([\d,]+) events sent, ([\d,]+) counted", shown)
    assert sent == counted
    assert int(sent.replace(",", "")) > 50 * ENGINES * EACH
    lines = re.findall(r"worker A: (.+?); worker B: (.+?); .*knows \d+ databases", shown)
    assert [a == "not running" for a, _ in lines] == [False] * 4 + [True] * 4 + [False] * 4
    assert all(b.startswith("8 partitions, ") for _, b in lines[4:8])
    (known,) = re.findall(r"knows all (\d+) databases", shown)
    assert int(known) >= ENGINES * EACH


def test_without_prometheus_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--dir", str(tmp_path / "fleet")],
        cwd=ROOT, env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "demo-fleet: prometheus is not installed: `make tools` installs it on Debian\n"
    )
    assert list(tmp_path.iterdir()) == []
