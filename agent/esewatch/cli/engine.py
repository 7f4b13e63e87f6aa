"""`engine`: the bundled reference engine, a program of its own that takes the place of this one."""

import argparse
import os
import sys
from typing import Any

from esewatch.model import EsewatchError

NOT_FOR_WINDOWS = "the engine is not for Windows: it needs flock and positioned reads"

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
    """Become the engine, with the same words: who kills the one kills the other.

    Raises EsewatchError on Windows.
    """
    if sys.platform == "win32":
        raise EsewatchError(NOT_FOR_WINDOWS)
    command = [*_COMMAND, *options.words]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command[0], command)
