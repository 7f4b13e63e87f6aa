"""`engine check`: read-only consistency check of the engine's databases."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, get_args

import msgspec

from esefiles.base.command_line import write_out
from eselab.base.programs import ENDINGS, ProgramName, file_name
from eselab.check.check import CheckedDatabase, check
from eselab.disk.disk import RealDisk
from eselab.machine.machine import LOCK, locked

SOUND: Final = 0
FAULTY: Final = 1
FAILED: Final = 2


def add_check(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="check databases of the engine: pages, trees, space",
        description="Walks every page, tree and space map of the engine's databases and changes "
        "nothing; where one was not shut down, its log is redone in memory. Not while an engine "
        "runs there. Exit status 1: a fault was found; 2: could not look.",
        epilog="example: esewatch engine check /tmp/month",
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a run's folder, or a database file"
    )
    parser.add_argument("--format", default="text", choices=("text", "json"), help="text or json")
    parser.set_defaults(function=check_all)


def check_all(options: argparse.Namespace) -> int:
    """Check each database, worst exit status. Raises InUseError, OSError."""
    write = _json if options.format == "json" else _text
    status = SOUND
    for given in options.paths:
        files = list(_databases(given))
        if not files:
            sys.stderr.write(f"esewatch engine: {given}: no database of the engine is there\n")
            status = FAILED
        for file in files:
            with ExitStack() as held:
                _keep_engines_out(file.absolute(), held)
                found = check(RealDisk(file.parent), file.name)
            write_out(write(file, found))
            status = max(status, FAULTY if found.faults else SOUND)
    return status


def _databases(path: Path) -> Iterator[Path]:
    """The file, or those of a run or of one of its databases, sorted. Raises OSError.

    Passive copies are in the folder of their computer, which has a lock as that of the run.
    """
    if not path.is_dir():
        if path.exists():
            yield path
        return
    for entry in sorted(path.iterdir()):
        # One that is being made is in a folder NAME.new: a kill may leave it as it is.
        files = [entry]
        if entry.is_dir():
            files = [entry / file_name(program, entry.name) for program in get_args(ProgramName)]
        found = [file for file in files if file.suffix in ENDINGS and file.is_file()]
        if found:
            yield from found
        elif (entry / LOCK).is_file():
            yield from _databases(entry)


def _keep_engines_out(file: Path, held: ExitStack) -> None:
    """Hold the lock of the run that the database is of, where there is one."""
    folder = file.parent.parent
    if (folder / LOCK).exists():
        held.callback(os.close, locked(folder, shared=True))


def _json(path: Path, found: CheckedDatabase) -> str:
    return msgspec.json.encode({"path": str(path), **msgspec.to_builtins(found)}).decode() + "\n"


def _text(path: Path, found: CheckedDatabase) -> str:
    count = len(found.faults)
    verdict = "sound" if not count else f"{count} fault{'s' * (count > 1)}"
    lines = [
        f"{path}: {verdict}: {found.pages:,} pages, {found.free:,} free, "
        f"{found.records:,} records in {len(found.tables)} tables"
    ]
    return "".join(f"{line}\n" for line in [*lines, *(f"  {fault}" for fault in found.faults)])
