"""`engine`: the bundled reference engine, a program of its own that takes the place of this one."""

import argparse
import os
import subprocess
import sys
from typing import Any

_COMMAND = [sys.executable, "-m", "esewatch.engine"]


def add_commands(commands: Any) -> None:
    """Register `engine`. Its words are read by the engine itself."""
    parser = commands.add_parser(
        "engine",
        help="run, check or load the bundled reference engine",
        add_help=False,
        prefix_chars="\0",
    )
    parser.add_argument("words", nargs=argparse.REMAINDER)
    parser.set_defaults(function=become_engine)


def become_engine(options: argparse.Namespace) -> int:
    """Start the engine with the same words; its exit status.

    Where the system can, this process becomes it: who kills the one kills the other.
    """
    command = [*_COMMAND, *options.words]
    if sys.platform != "win32":
        sys.stdout.flush()
        sys.stderr.flush()
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode
