"""`python -m eselab`, or `esewatch engine`: run it, check its databases, load its drives.

Exit status: 0 done; 1 a check found faults; 2 could not do it, one line on stderr says why.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Final

from esefiles.base.command_line import CommandParser
from eselab.base.command_line import done
from eselab.check.check_command import add_check
from eselab.logs.truth import TruthError
from eselab.machine.disks_command import add_disks
from eselab.machine.machine import AheadError, InUseError, OpenError
from eselab.machine.run_command import RunError, add_run
from eselab.storage.transaction_log.log import LogError

SPEAKING: Final = (AheadError, InUseError, LogError, OpenError, RunError, TruthError)
"""Errors of a folder: each says what and where."""


def command_line() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="esewatch engine",
        description="The bundled reference engine: a small storage engine in the manner of ESE.",
        epilog="example: esewatch engine run --dir /tmp/month --profile month --days 30",
    )
    commands = parser.add_subparsers(
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=CommandParser,
    )
    add_run(commands)
    add_check(commands)
    add_disks(commands)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    return done(command_line(), words, "esewatch engine", SPEAKING)


if __name__ == "__main__":
    sys.exit(main())
