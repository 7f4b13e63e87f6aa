"""Common parts of the command lines of engine, lab and demo: usage errors, exit status."""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from esefiles.base.names import visible

FAILED: Final = 2
INTERRUPTED: Final = 130
"""As a shell has it of a process that Ctrl-C ended: before there was anything to be closed."""


class Parser(argparse.ArgumentParser):
    """Usage errors in one line, without the whole usage before it."""

    def error(self, message: str) -> NoReturn:
        """Ends the process."""
        self.exit(FAILED, f"{visible(f'{self.prog}: {message} (see {self.prog} --help)')}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """As the original, which is silent when standard output takes nothing."""
        if file is sys.stdout:
            write_out(message)
        else:
            super()._print_message(message, file)


def write_out(text: str) -> None:
    """Write to standard output at once. Raises OSError that names it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        error.filename = "standard output"
        _drop_stdout()
        raise


def _drop_stdout() -> None:
    """Python must not complain at exit of what is left."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def sentence(error: OSError) -> str:
    """Text of the system, after the name of the file if it has one."""
    said = error.strerror or str(error)
    return said if error.filename is None else f"{error.filename}: {said}"


def done(
    parser: argparse.ArgumentParser,
    words: Sequence[str] | None,
    name: str,
    speaking: tuple[type[Exception], ...],
) -> int:
    """Do the command that `words` name; the exit status.

    Errors of the system and those of `speaking` are a line on stderr that begins with `name`.
    """
    told: tuple[type[Exception], ...] = (OSError, *speaking)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Paths are printed whatever the terminal's locale is.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        options = parser.parse_args(words)
        status: int = options.function(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        _drop_stdout()  # the reader (head, less) has seen enough
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except told as error:
        said = sentence(error) if isinstance(error, OSError) else str(error)
        sys.stderr.write(visible(" ".join(f"{name}: {said}".splitlines())) + "\n")
        return FAILED
