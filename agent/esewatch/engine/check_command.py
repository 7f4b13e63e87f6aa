"""`engine check`: whether the engine's databases are sound; nothing is changed."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from esewatch.engine.check import CheckedDatabase, check
from esewatch.engine.disk import RealDisk

SOUND: Final = 0
FAULTY: Final = 1
FAILED: Final = 2


def add_check(commands: Any) -> None:
    """Register `check`."""
    parser = commands.add_parser(
        "check",
        help="check databases of the engine: pages, trees, space",
        description="Walks every page, tree and space map of the engine's databases and changes "
        "nothing; where one was not shut down, its log is redone in memory. "
        "Exit status 1: a fault was found.",
        epilog="example: esewatch engine check /tmp/month",
    )
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help="a run's folder, or a database file"
    )
    parser.add_argument("--format", default="text", choices=("text", "json"))
    parser.set_defaults(function=check_all)


def check_all(options: argparse.Namespace) -> int:
    """Check each database, worst exit status. Raises OSError."""
    status = SOUND
    for given in options.paths:
        files = list(_databases(given))
        if not files:
            sys.stderr.write(f"esewatch engine: {given}: no database of the engine is there\n")
            status = FAILED
        for file in files:
            found = check(RealDisk(file.parent), file.name)
            write = _json if options.format == "json" else _text
            sys.stdout.write(write(file, found))
            status = max(status, FAULTY if found.faults else SOUND)
    return status


def _databases(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted([*path.glob("*.edb"), *path.glob("*/*.edb")])
    elif path.exists():
        yield path


def _json(path: Path, found: CheckedDatabase) -> str:
    return msgspec.json.encode({"path": str(path), **msgspec.to_builtins(found)}).decode() + "\n"


def _text(path: Path, found: CheckedDatabase) -> str:
    verdict = "sound" if not found.faults else f"{len(found.faults)} faults"
    lines = [
        f"{path}: {verdict}: {found.pages:,} pages, {found.free:,} free, "
        f"{found.records:,} records in {len(found.tables)} tables"
    ]
    return "".join(f"{line}\n" for line in [*lines, *(f"  {fault}" for fault in found.faults)])
