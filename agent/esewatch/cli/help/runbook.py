"""`runbook`: the runbook of an alert, at the prompt."""

import argparse
import sys
from typing import Any

from esefiles.base.command_line import closest
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.model import EsewatchError


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "runbook",
        epilog="example: esewatch runbook EseKnownBadPage",
    )
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="name of the alert; upper and lower case are alike"
    )
    parser.set_defaults(function=print_runbook)


def print_runbook(options: argparse.Namespace) -> int:
    """`runbook`: exit status 2 where there is none of this name."""
    runbooks = Runbooks()
    names = {name.lower(): name for name in runbooks.names()}
    if options.name is None:
        sys.stdout.writelines(f"{name}\n" for name in names.values())
        return 0
    name = names.get(options.name.lower())
    text = runbooks.text(name) if name is not None else None
    if text is None:
        near = closest(options.name.lower(), names)
        guess = f'did you mean "{names[near]}"?' if near else "esewatch runbook lists the names"
        raise EsewatchError(f"{options.name}: no alert has this name: {guess}")
    sys.stdout.write(text)
    return 0
