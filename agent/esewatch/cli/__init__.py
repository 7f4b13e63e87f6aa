"""The command line: `esewatch COMMAND`.

Data goes to stdout, all else to stderr. Exit status: 0 done and healthy, 1 done
and something is wrong with the data, 2 could not do it (one line says why), 70 see `crash`.
"""

from esewatch.cli import block_sighup  # noqa: F401 - before what takes time

# isort: split

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any

from esefiles import __version__
from esefiles.base import crash
from esefiles.base.command import FAILED, CommandError
from esefiles.base.command_line import CommandParser, drop_stdout, said_of
from esefiles.base.names import visible
from esefiles.pages import kernels
from esewatch.model import EsewatchError

COMMANDS = {
    "run": ("run.command", "run the daemon: read the configured sources, serve metrics"),
    "demo": ("bundled", "watch a month of simulated servers; needs no configuration and no root"),
    "engine": ("bundled", "run, check or load the bundled reference engine"),
    "lab": ("bundled", "run experiments that compare our figures with published ones"),
    "events": ("inputs.command", "decode ESE events of any supported input"),
    "counters": ("inputs.command", "decode counter samples"),
    "report": ("inputs.report", "write one self-contained page about the databases in these logs"),
    "scan": ("files", "verify the page checksums of database files, read-only"),
    "check": ("files", "check whether a copy of a database would mount"),
    "header": ("files", "show the header of a database, transaction log, checkpoint or flush map"),
    "advise": ("advise.command", "give advice on windows and verification, with the evidence"),
    "doctor": ("doctor.command", "explain missing data and print the command that fixes it"),
    "replay": ("replay", "write history as OpenMetrics with original times, one file a month"),
    "config": ("config", "validate, show or make the configuration"),
    "forget": ("config", "drop a database that is gone"),
    "ack": ("config", "acknowledge bad pages (all pages of the database if none are given)"),
    "runbook": ("help.runbook", "print the runbook of an alert; without a name the names"),
    "completion": ("help.completion", "print the completion script of a shell"),
    "windows": (
        "run.windows.command",
        "give the service on this Windows server its rights, or take them back",
    ),
}
"""Command -> the module of this package that has it, and its line of help."""


class _Commands(argparse._SubParsersAction):  # type: ignore[type-arg]
    """The commands, each with its line of help."""

    def add_parser(self, name: str, **settings: Any) -> Any:
        """As the original."""
        return super().add_parser(name, help=COMMANDS[name][1], **settings)


def command_line(command: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands. With a word of the command line, of that command alone: no more
    is imported than it needs; where it is no command, the names without their options."""
    parser = CommandParser(
        prog="esewatch",
        description="Watches the online maintenance of ESE databases "
        "(Exchange, Active Directory, ESENT).",
        epilog="example: esewatch report Application.evtx counters.csv -o report.html",
    )
    version = f"esewatch {__version__} ({kernels.NAME} kernel)"
    parser.add_argument("--version", action="version", version=version)
    parser.set_defaults(command_line=command_line)
    commands = parser.add_subparsers(
        action=_Commands,
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=CommandParser,
    )
    if command is not None and command not in COMMANDS:
        for name in COMMANDS:
            commands.add_parser(name)
        return parser
    wanted = COMMANDS if command is None else [command]
    for module in dict.fromkeys(COMMANDS[name][0] for name in wanted):
        importlib.import_module(f"esewatch.cli.{module}").add_commands(commands)
    return parser


def _prepare_streams() -> None:
    """Open those that the caller has closed (`>&-`): writing data to standard output fails, as it
    would where it was not closed but cannot be written. Paths and names of the data are printed
    whatever the terminal's locale is."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
        if name != "stdin" and isinstance(stream := getattr(sys, name), io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _failed(error: Exception | str) -> int:
    for line in f"esewatch: {error}".split("\n"):
        print(visible(line), file=sys.stderr)
    return FAILED


def main(arguments: Sequence[str] | None = None) -> int:
    _prepare_streams()
    if arguments is None:
        crash.install()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        options = command_line(words[0] if words else "").parse_args(words)
        status: int = options.function(options)
        sys.stdout.flush()
        return status
    except (EsewatchError, CommandError) as error:
        return _failed(error)
    except BrokenPipeError:
        drop_stdout()  # the reader (head, less) has seen enough
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        return _failed(said_of(error))
    except (MemoryError, RuntimeError) as error:
        crash.if_short(error)
        raise
