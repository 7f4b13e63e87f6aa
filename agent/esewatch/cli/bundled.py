"""`demo`, `engine` and `lab`: programs of their own, which take the place of this one."""

import argparse
import os
import subprocess
import sys
from typing import Any

import msgspec

from esefiles.base.command_line import Command
from esewatch.model import EsewatchError

PROGRAMS = {"demo": "eselab.demo", "engine": "eselab", "lab": "eselab.lab"}
"""Command -> the module that is run."""


def add_commands(commands: Any) -> None:
    """Register all three. Their words are read by the programs themselves."""
    for name in PROGRAMS:
        parser = commands.add_parser(name, add_help=False, prefix_chars="\0")
        parser.add_argument("words", nargs=argparse.REMAINDER)
        parser.set_defaults(function=become)


def become(options: argparse.Namespace) -> int:
    """Become the program, with the same words: who kills the one kills the other. Raises
    EsewatchError for the engine, and the demo of engines, on Windows."""
    command = [sys.executable, "-m", PROGRAMS[options.command], *options.words]
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.platform != "win32":
        _pass_on_streams()
        os.execv(command[0], command)
    if options.command != "lab":
        raise EsewatchError(
            "the engine does not run on Windows: it needs flock and positioned reads"
        )
    # There a process cannot be taken over: the shell would not wait for the other one.
    return subprocess.call(command)


def ask_for_commands(module: str) -> "subprocess.Popen[bytes]":
    """Ask a program for its commands and their options; `told_commands` has the answer."""
    command = [sys.executable, "-m", module, "--commands"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def told_commands(asked: "subprocess.Popen[bytes]", known: Command) -> list[Command]:
    """The commands of a program that stands below ours; `known` alone where it does not run."""
    answer, _ = asked.communicate()
    if asked.returncode:
        return [known]
    own, *below = msgspec.json.decode(answer, type=list[Command])
    first = own._replace(words=known.words, help=known.help)
    return [first, *(each._replace(words=f"{known.words} {each.words}") for each in below)]


def _pass_on_streams() -> None:
    """Open what the caller has closed (`>&-`): the program is to find all three streams, and that
    nobody gets its data."""
    for number in range(3):
        try:
            if os.get_inheritable(number):
                continue
        except OSError:
            pass  # it is closed; what this process has opened in its place ends with it
        null = os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY)
        if null != number:
            os.dup2(null, number)
        os.set_inheritable(number, True)
