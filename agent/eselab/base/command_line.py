"""Common parts of the command lines of the engine and the lab: usage errors, exit status."""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

FAILED: Final = 2
INTERRUPTED: Final = 130
"""As a shell has it of a process that Ctrl-C ended: before there was anything to be closed."""


class Parser(argparse.ArgumentParser):
    """Usage errors in one line, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the process."""
        self.exit(FAILED, f"{visible(f'{self.prog}: {message} (see {self.prog} --help)')}\n")


def done(
    parser: argparse.ArgumentParser,
    words: Sequence[str] | None,
    failed: Callable[[Exception], str | None],
) -> int:
    """Do the command that `words` name; the exit status.

    `failed`: the line for stderr that tells of an error, None: it is none of those to be told.
    """
    options = parser.parse_args(words)
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
    except Exception as error:
        line = failed(error)
        if line is None:
            raise
        sys.stderr.write(visible(" ".join(line.splitlines())) + "\n")
        return FAILED


def visible(text: str) -> str:
    """`text` for a terminal: what it would obey or cannot show as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
