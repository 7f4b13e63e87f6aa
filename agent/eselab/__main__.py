"""`python -m esewatch.engine`, or `esewatch engine`: run it, check its databases, load its drives.

Exit status: 0 done; 1 a check found faults; 2 could not do it, one line on stderr says why.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from eselab.check.check_command import add_check
from eselab.logs.truth import TruthError
from eselab.machine.disks_command import add_disks
from eselab.machine.machine import AheadError, InUseError, OpenError
from eselab.machine.run_command import RunError, add_run
from eselab.storage.log import LogError

FAILED: Final = 2
INTERRUPTED: Final = 130
"""As a shell has it of a process that Ctrl-C ended: before there was anything to be closed."""
SPEAKING: Final = (AheadError, InUseError, LogError, OpenError, RunError, TruthError)
"""Errors of a folder: each says what and where."""


class _Parser(argparse.ArgumentParser):
    """Usage errors in one line, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.prog}: {message} (see {self.prog} --help)\n")


def command_line() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = _Parser(
        prog="esewatch engine",
        description="The bundled reference engine: a small storage engine in the manner of ESE.",
        epilog="example: esewatch engine run --dir /tmp/month --profile month --days 30",
    )
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=_Parser,
    )
    add_run(commands)
    add_check(commands)
    add_disks(commands)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Do one command; returns the exit status."""
    options = command_line().parse_args(words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Paths are printed whatever the terminal's locale is.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        status: int = options.function(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _failed(sentence(error))
    except SPEAKING as error:
        return _failed(str(error))


def sentence(error: OSError) -> str:
    """What the system says, after the name of the file if it has one."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def _failed(why: str) -> int:
    line = " ".join(why.splitlines())
    sys.stderr.write(f"esewatch engine: {line}\n")
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
