"""`scan`: reads and verifies every page of database files; `check` shares its options."""

import argparse
import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from esefiles import FileResult, ScanOptions, Watcher, scan
from esefiles.base.command import add_format_option
from esefiles.base.units import parse_duration, parse_size
from esefiles.commands.scan_run import Shown, Terminal, print_results
from esefiles.commands.scan_text import is_wrong, json_line, json_object, text_lines
from esefiles.page_scan import Pools, RunOptions
from esefiles.scans.position import default_folder
from esefiles.scans.results import MAX_LISTED

LISTED_IN_TEXT = 20

_READ_SIZES = (4 << 10, 64 << 20)
_SIZE_SUFFIXES = ("/s", "b", "i")


def add_scan_options(parser: argparse.ArgumentParser) -> None:
    _add_pace_options(parser)
    parser.add_argument(
        "--resume", action="store_true", help="go on where an unfinished scan stopped"
    )
    parser.add_argument(
        "--position-folder",
        type=Path,
        metavar="DIR",
        help="where positions are kept; default below XDG_STATE_HOME (LOCALAPPDATA on Windows)",
    )
    parser.add_argument(
        "--buffered",
        action="store_true",
        help="read through the page cache: faster for data in memory, but then memory is checked"
        " instead of the disk",
    )
    parser.add_argument(
        "--list",
        type=_listed,
        metavar="N",
        dest="listed",
        help=f"bad pages that are listed a file, at most {MAX_LISTED}; default all of these in"
        f" JSON, {LISTED_IN_TEXT} lines in text",
    )


def _add_pace_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--throttle-ms",
        type=_milliseconds,
        default=0,
        metavar="N",
        help="pause before each read, for a disk that others use",
    )
    parser.add_argument(
        "--rate",
        type=_size,
        metavar="R",
        help="bytes a second and device at most, such as 50M (K, M, G are powers of 1,024)",
    )
    parser.add_argument(
        "--read-size",
        type=_read_size,
        metavar="S",
        help="bytes of one read, 4K to 64M in steps of 4K, rounded down to whole pages; default 2M,"
        " 320K when throttled, up to 4M at a rate",
    )
    parser.add_argument(
        "--max-time",
        type=_duration,
        metavar="D",
        help="stop after this time (4h, 1h30m); --resume goes on from there",
    )


def _listed(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= MAX_LISTED:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {MAX_LISTED}")


def _milliseconds(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 60_000:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of milliseconds up to 60000")


def _size(text: str) -> int:
    number = text.lower()
    for suffix in _SIZE_SUFFIXES:
        number = number.removesuffix(suffix)
    with contextlib.suppress(ValueError):
        if size := parse_size(number):
            return size
    raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 512K or 50M")


def _read_size(text: str) -> int:
    size = _size(text)
    least, most = _READ_SIZES
    if not least <= size <= most or size % least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 4K to 64M in steps of 4K")
    return size


def _duration(text: str) -> float:
    with contextlib.suppress(ValueError):
        if seconds := parse_duration(text):
            return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a duration such as 4h or 1h30m")


def listed(options: argparse.Namespace) -> int:
    """Bad pages of a file that are printed at most."""
    default = MAX_LISTED if options.format == "json" else LISTED_IN_TEXT
    return default if options.listed is None else int(options.listed)


def run_arguments(
    options: argparse.Namespace, pools: Pools, stop: threading.Event, watcher: Watcher
) -> RunOptions:
    """The arguments of `esefiles.scan` and `check`, beside paths."""
    found = RunOptions(
        options=ScanOptions(
            read_size=options.read_size,
            throttle=options.throttle_ms / 1000,
            rate=options.rate,
            buffered=options.buffered,
        ),
        resume=options.resume,
        position_folder=options.position_folder or default_folder(),
        pools=pools,
        stop=stop,
        watcher=watcher,
    )
    if options.max_time is not None:
        found["max_time"] = options.max_time
    return found


def add_scan(commands: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        "scan",
        description="Reads every page, bypassing the page cache, and verifies it. Files on"
        " different devices are read at the same time, one file a device. Exit status: 0 all good"
        " (a dirty database is good), 1 a bad page, a damaged header or, of several, a path that"
        " cannot be scanned, 2 none could be scanned.",
        epilog="example: esewatch scan --throttle-ms 20 '/snap/*.edb'",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, directories or globs")
    add_format_option(parser)
    add_scan_options(parser)
    return parser


def scan_files(options: argparse.Namespace, pools: Pools) -> int:
    as_json, limit = options.format == "json", listed(options)

    def text(result: FileResult) -> str:
        if result.header is None:
            return ""
        if as_json:
            return json_line(json_object(result, limit))
        return "".join(f"{line}\n" for line in text_lines(result, limit))

    def results(stop: threading.Event, terminal: Terminal) -> Iterator[Shown]:
        for result in scan(options.paths, **run_arguments(options, pools, stop, terminal)):
            is_told = result.header is not None
            yield Shown(result, text(result), wrong=is_wrong(result), is_told=is_told)

    return print_results(results)
