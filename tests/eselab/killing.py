"""A program of the tests that is killed where it stands, and what it had said until then."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def killed(
    module: str, *arguments: object, says: Sequence[bytes], moment: Callable[[], object]
) -> bytes:
    """Run `python -m module`, wait for the lines that it says first, then `moment`, and kill it.

    What it said after these lines. It must not have complained.
    """
    command = [sys.executable, "-m", module, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            for line in says:
                assert process.stdout.readline() == line
            moment()
        finally:
            process.kill()
        told, errors = process.communicate(timeout=600)
    assert errors == b""
    return told
