"""The parser of a command line, and its usage errors: one line that says what was meant."""

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from esefiles.base.command import FAILED
from esefiles.base.names import visible

_CHOICE = re.compile(r"argument (.+): invalid choice: '(.*)' \(choose from (.+)\)", re.DOTALL)
_UNKNOWN = re.compile(r"unrecognized arguments: (\S+)")


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
            file.write(message)
            file.flush()
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
