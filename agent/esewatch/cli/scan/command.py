"""`scan`: reads and verifies every page of database files, and writes nothing to them."""

import argparse
from typing import Any

from esewatch.cli.inputs.reader import HEALTHY, WRONG
from esewatch.cli.options import add_format_option
from esewatch.cli.scan.scan_options import add_scan_options, listed, run_scan
from esewatch.cli.scan.scan_paths import find_databases
from esewatch.cli.scan.scan_run import Reported
from esewatch.cli.scan.scan_text import is_wrong, json_line, json_object, text_lines
from esewatch.scan.results import FileResult


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `scan`."""
    scan = commands.add_parser(
        "scan",
        help="verify the page checksums of database files, read-only",
        description="Reads every page, bypassing the page cache, and verifies it. Files on"
        " different devices are read at the same time, one file a device. Exit status: 0 all good"
        " (a dirty database is good), 1 a bad page, a damaged header or, of several, a path that"
        " cannot be scanned, 2 none could be scanned.",
        epilog="example: esewatch scan --throttle-ms 20 '/snap/*.edb'",
    )
    scan.add_argument("paths", nargs="+", metavar="PATH", help="files, directories or globs")
    add_format_option(scan)
    add_scan_options(scan)
    scan.set_defaults(function=scan_files)


def scan_files(options: argparse.Namespace) -> int:
    """`scan`: see its help for the exit status."""
    as_json, limit = options.format == "json", listed(options)

    def report(result: FileResult) -> Reported:
        status = WRONG if is_wrong(result) else HEALTHY
        if result.header is None:
            return Reported("", status)
        if as_json:
            return Reported(json_line(json_object(result, limit)), status)
        return Reported("".join(f"{line}\n" for line in text_lines(result, limit)), status)

    return run_scan(options, find_databases(options.paths), report)
