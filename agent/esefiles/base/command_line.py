"""Command lines: usage errors in one line that says what was meant, and output that fails."""

import argparse
import difflib
import errno
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from esefiles.base.command import FAILED
from esefiles.base.names import visible

_CHOICE = re.compile(r"argument (.+): invalid choice: '(.*)' \(choose from (.+)\)", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")
_NO_ROOM: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class CommandParser(argparse.ArgumentParser):
    """Usage errors in one line, without the whole usage before it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.suggest_on_error = False  # of Python 3.14 and later, whose words `error` does not know
        self._words: list[str] = []

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As the original; the words are kept for the message of an error."""
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End with status 2 and one line."""
        said, asked = self._said(message)
        self.exit(FAILED, f"{visible(f'{said} (see {asked} --help)')}\n")

    def _print_message(self, message: str, file: Any = None) -> None:
        """As the original, which is silent when standard output takes nothing."""
        if file is sys.stdout:
            write_out(message)
        else:
            super()._print_message(message, file)

    def _said(self, message: str) -> tuple[str, str]:
        if (found := _CHOICE.match(message)) is not None:
            name, word, listed = found.groups()
            # In quotes or not, by the version of Python.
            choices = [choice.strip("'") for choice in listed.split(", ")]
            what = "command" if choices == list(commands_of(self)) else f"value of {name}"
            known = f"; there are {', '.join(choices)}" if not closest(word, choices) else ""
            return f"{self.prog}: {word} is not a {what}{known}{meant(word, choices)}", self.prog
        if (found := _UNKNOWN.match(message)) is not None:
            parser = self._chosen()
            word = found[1]
            guess = meant(word.partition("=")[0], options_of(parser))
            return f"{parser.prog}: {message}{guess}", parser.prog
        return f"{self.prog}: {message}", self.prog

    def _chosen(self) -> argparse.ArgumentParser:
        chosen: argparse.ArgumentParser = self
        for word in self._words:
            chosen = commands_of(chosen).get(word, chosen)
        return chosen


def commands_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= action.choices
    return found


def options_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1)), "")


def meant(word: str, known: Iterable[str]) -> str:
    """`: did you mean "events"?`, empty where no word is near."""
    guess = closest(word, known)
    return f': did you mean "{guess}"?' if guess else ""


class Option(NamedTuple):
    flag: str
    help: str
    choices: tuple[str, ...]
    takes_value: bool


class Command(NamedTuple):
    """One command; `words` is empty for the program itself."""

    words: str
    help: str
    below: tuple[str, ...]
    """The commands below it, or the words that its argument may be."""
    options: tuple[Option, ...]


def commands_in(
    parser: argparse.ArgumentParser, words: str = "", said: str = ""
) -> Iterator[Command]:
    """The command of this parser, and all below it."""
    below = commands_of(parser)
    helps = {
        each.dest: each.help or ""
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for each in action._choices_actions
    }
    named = [
        str(choice)
        for action in parser._actions
        if not action.option_strings and not below and action.choices
        for choice in action.choices
    ]
    options = (
        Option(
            flag,
            (action.help or "").split(";")[0] % {"prog": "esewatch"},
            tuple(map(str, action.choices or ())),
            action.nargs != 0,
        )
        for action in parser._actions
        for flag in action.option_strings
        if flag.startswith("--")
    )
    yield Command(words, said, (*below, *named), tuple(options))
    for name, each in below.items():
        yield from commands_in(each, f"{words} {name}".strip(), helps.get(name, ""))


def write_out(text: str) -> None:
    """Write to standard output at once. Raises OSError that names it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        error.filename = "standard output"
        drop_stdout()
        raise


def said_of(error: OSError) -> str:
    """Text of the system, behind what it is of: files, standard output, the working folder."""
    named = [str(name) for name in (error.filename, error.filename2) if name is not None]
    if _is_of_stdout(error):
        named = ["standard output"]
    elif not named and not _has_working_folder():
        named = ["the working folder"]
    return ": ".join([*named, error.strerror or str(error)])


def drop_stdout() -> None:
    """Throw away what standard output still holds: Python must not complain of it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_of_stdout(error: OSError) -> bool:
    """True if it is of standard output. What that still holds is thrown away then.

    It may hold nothing more; but whoever else finds no room to write names the file.
    """
    if error.filename is not None or sys.stdout is None:  # None: it was closed
        return False
    try:
        sys.stdout.flush()
    except OSError:
        drop_stdout()
        return True
    return error.errno in _NO_ROOM


def _has_working_folder() -> bool:
    """False when it was deleted: the system's error does not name it."""
    try:
        Path.cwd()
    except OSError:
        return False
    return True
