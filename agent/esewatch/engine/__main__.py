"""`python -m esewatch.engine`, or `esewatch engine`: run the engine, check its databases.

Exit status: 0 done; 1 a check found faults; 2 could not do it, one line on stderr says why.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from esewatch.engine.btree import TreeError
from esewatch.engine.check_command import add_check
from esewatch.engine.checkpoint import CheckpointError
from esewatch.engine.header import HeaderError
from esewatch.engine.log import LogError
from esewatch.engine.machine import InUseError
from esewatch.engine.pages import PageError
from esewatch.engine.recovery import RecoveryError
from esewatch.engine.run_command import PlanError, add_run
from esewatch.engine.truth import TruthError

FAILED: Final = 2
SPEAKING = (
    CheckpointError, HeaderError, InUseError, LogError, OSError, PageError, PlanError,
    RecoveryError, TreeError, TruthError,
)  # fmt: skip
"""What may be wrong with a folder: each says what and where."""


class _Parser(argparse.ArgumentParser):
    """Usage errors in one line, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(words: Sequence[str] | None = None) -> int:
    """Do one command; returns the exit status."""
    parser = _Parser(
        prog="esewatch engine",
        description="The bundled reference engine: a small storage engine in the manner of ESE.",
    )
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", parser_class=_Parser
    )
    add_run(commands)
    add_check(commands)
    options = parser.parse_args(words)
    try:
        status: int = options.function(options)
    except SPEAKING as error:
        sys.stderr.write(f"esewatch engine: {error}\n")
        return FAILED
    return status


if __name__ == "__main__":
    sys.exit(main())
