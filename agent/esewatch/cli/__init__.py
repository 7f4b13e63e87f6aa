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

from esefiles import __version__
from esefiles.base import crash
from esefiles.base.command import FAILED, CommandError
from esefiles.base.command_line import CommandParser, drop_stdout, said_of
from esefiles.base.names import visible
from esefiles.pages import kernels
from esewatch.model import EsewatchError

MODULES = {
    "run": "run.command",
    "demo": "bundled",
    "engine": "bundled",
    "lab": "bundled",
    "events": "inputs.command",
    "counters": "inputs.command",
    "report": "inputs.report",
    "scan": "files",
    "check": "files",
    "header": "files",
    "advise": "advise.command",
    "doctor": "doctor.command",
    "replay": "replay",
    "config": "config",
    "forget": "config",
    "ack": "config",
    "runbook": "help.runbook",
    "completion": "help.completion",
    "windows": "run.windows.command",
}
"""Command -> the module of this package that has it."""


def command_line(command: str = "") -> argparse.ArgumentParser:
    """The parser of one command, of all where it is none: the daemon needs no report."""
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
        title="commands",
        dest="command",
        required=True,
        metavar="COMMAND",
        parser_class=CommandParser,
    )
    names = [MODULES[command]] if command in MODULES else list(dict.fromkeys(MODULES.values()))
    if command == "--version":  # asked by scripts: a second less
        names = []
    for name in names:
        importlib.import_module(f"esewatch.cli.{name}").add_commands(commands)
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
