"""Print esewatch(1), made of the parser of the command line and of esewatch.1.in.

The date is that of SOURCE_DATE_EPOCH, so that the same sources give the same bytes.
"""

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from argparse_manpage.manpage import Manpage

from esefiles import __version__
from eselab.__main__ import command_line as engine_command_line
from eselab.demo.__main__ import command_line as demo_command_line
from eselab.lab.__main__ import command_line as lab_command_line
from esewatch.cli import command_line

SECTIONS = Path(__file__).with_name("esewatch.1.in")
COLUMNS = 10_000
"""No line is broken here: that is left to who shows the page."""

UNBROKEN = ".nh\n.ad l"
"""Neither hyphens nor wide blanks in commands."""

PLAIN = {"'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
"""What troff makes typographic, which a shell would not understand."""


def whole() -> argparse.ArgumentParser:
    """The parser of all commands, those of the bundled programs with parsers of their own."""
    parser = command_line()
    _commands(parser).update(
        demo=demo_command_line(), engine=engine_command_line(), lab=lab_command_line()
    )
    return parser


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found: dict[str, argparse.ArgumentParser] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found = action.choices
    return found


def examples(parser: argparse.ArgumentParser) -> Iterator[str]:
    """What stands behind `example:` at the end of the help of each command."""
    if parser.epilog:
        yield parser.epilog.partition("example: ")[2]
    for command in _commands(parser).values():
        yield from examples(command)


def page() -> str:
    """The page as troff."""
    os.environ["COLUMNS"] = str(COLUMNS)
    parser = whole()
    shown = "\n".join(dict.fromkeys(examples(parser)))
    described, parser.description, parser.epilog = parser.description, None, None
    made = Manpage(parser, format="single-commands-section")
    made.description = "monitoring of ESE databases"
    made.manual, made.source = "User Commands", f"esewatch {__version__}"
    made.parse_include(SECTIONS)
    made.add_section("description", "<", f"{described}\n")
    made.add_section("examples", ">", "\n" + shown.replace("\\", r"\e").replace("-", r"\-"))
    title, _, text = re.sub("['`^~]", lambda found: PLAIN[found[0]], str(made)).partition("\n")
    return f"{title}\n{UNBROKEN}\n{text}"


if __name__ == "__main__":
    sys.stdout.write(page())
