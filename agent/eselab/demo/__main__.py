"""`python -m eselab.demo`, or `esewatch demo`.

Exit status: 0 ended by who looks on, or all stories were seen; 1 a story was missing, or a process
ended by itself; 2 it could not be started, one line on stderr says why.
"""

import argparse
import sys
from collections.abc import Sequence

from esefiles.base.command_line import CommandParser
from eselab.base.command_line import done
from eselab.demo.agent import DEFAULT_ADDRESS, DemoError
from eselab.demo.run import UNATTENDED_SECONDS, run


def command_line() -> argparse.ArgumentParser:
    parser = CommandParser(prog="esewatch demo", epilog="example: esewatch demo")
    parser.add_argument(
        "--dir", metavar="D", help="empty or new folder; default a fresh temporary one, left there"
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of the engine; default 1"
    )
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        metavar="HOST:PORT",
        help=f"address of the agent; default {DEFAULT_ADDRESS}, or another port if that is in use",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        help="end N seconds after the first page; default "
        f"{UNATTENDED_SECONDS:g} where stdout is not a terminal",
    )
    parser.set_defaults(function=run)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    return done(command_line(), words, "esewatch", (DemoError,))


if __name__ == "__main__":
    sys.exit(main())
