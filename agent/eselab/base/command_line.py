"""The way in of engine, lab and demo: their words, their errors, their exit status."""

import argparse
import io
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from esefiles.base import crash
from esefiles.base.command import FAILED
from esefiles.base.command_line import commands_in, drop_stdout, said_of, write_out
from esefiles.base.names import visible

COMMANDS: Final = "--commands"
"""Asks for the commands and options as JSON: `esewatch completion` does."""
INTERRUPTED: Final = 130
"""As a shell has it of a process that Ctrl-C ended: before there was anything to be closed."""


def done(
    parser: argparse.ArgumentParser,
    words: Sequence[str] | None,
    name: str,
    speaking: tuple[type[Exception], ...],
) -> int:
    """Do the command that `words` name; the exit status.

    Errors of the system and those of `speaking` are a line on stderr that begins with `name`; any
    other one ends the process (`crash`), which is ours where no words are given.
    """
    told: tuple[type[Exception], ...] = (OSError, *speaking)
    if words is None:
        crash.install()
        words = sys.argv[1:]
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Paths are printed whatever the terminal's locale is.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        if list(words) == [COMMANDS]:
            write_out(msgspec.json.encode(list(commands_in(parser))).decode())
            return 0
        options = parser.parse_args(words)
        status: int = options.function(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        drop_stdout()  # the reader (head, less) has seen enough
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except told as error:
        said = said_of(error) if isinstance(error, OSError) else str(error)
        sys.stderr.write(visible(" ".join(f"{name}: {said}".splitlines())) + "\n")
        return FAILED
