"""`scan`: reads and verifies every page of database files; `check` shares options and run."""

import argparse
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from esefiles.base.command import HEALTHY, WRONG, add_format_option
from esefiles.base.units import parse_duration, parse_size
from esefiles.commands.scan_paths import FoundDatabases, find_databases
from esefiles.commands.scan_run import Report, Reported, ScanRun, complain
from esefiles.commands.scan_text import is_wrong, json_line, json_object, text_lines
from esefiles.scan.devices.topology import Topology
from esefiles.scan.pace import yield_the_disk
from esefiles.scan.plan import ScanTarget, plan
from esefiles.scan.position import Positions, default_folder
from esefiles.scan.results import MAX_LISTED, FileResult
from esefiles.scan.verify.file_scan import ScanOptions

LISTED_IN_TEXT = 20

Pools = Mapping[str, Sequence[str]]
"""See `plan`."""

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


def run_scan(
    options: argparse.Namespace,
    pools: Pools,
    found: FoundDatabases,
    report: Report,
    *,
    before: Callable[[threading.Event], None] = lambda _: None,
    all_needed: bool = False,
) -> int:
    """Scan what was found; the exit status. `before` is done first, and ends when it is stopped.

    `all_needed`: see ScanRun.
    """
    deadline = None if options.max_time is None else time.monotonic() + options.max_time
    for sentence in (*found.errors, *found.notes):
        complain(sentence)
    positions = Positions(options.position_folder or default_folder(), complain)
    targets = [
        ScanTarget(path=path, size=_size_of(path), verified=positions.completed(path))
        for path in found.files
    ]
    lanes = plan(targets, Topology(), pools)
    yield_the_disk()
    with _signals() as interrupt:
        before(interrupt.stop)
        run = ScanRun(
            ScanOptions(
                read_size=options.read_size,
                throttle=options.throttle_ms / 1000,
                rate=options.rate,
                buffered=options.buffered,
            ),
            positions,
            report,
            resume=options.resume,
            unreadable=bool(found.errors),
            all_needed=all_needed,
            expected=found.expected,
        )
        status = run.run(lanes, deadline, interrupt.stop)
    if interrupt.signal:
        complain(f"ended by {signal.Signals(interrupt.signal).name}")
        return 128 + interrupt.signal
    return status


def _size_of(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


class _Interrupt:
    """Signal that ended the scan; `stop` is set then."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.signal = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        if not self.signal:
            self.signal = number
            self.stop.set()
        else:
            # Asked twice: whatever hangs, this ends it.
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


@contextlib.contextmanager
def _signals() -> Iterator[_Interrupt]:
    interrupt = _Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {
        number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield interrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def add_scan(commands: "argparse._SubParsersAction[Any]") -> argparse.ArgumentParser:
    scan: argparse.ArgumentParser = commands.add_parser(
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
    return scan


def scan_files(options: argparse.Namespace, pools: Pools) -> int:
    as_json, limit = options.format == "json", listed(options)

    def report(result: FileResult) -> Reported:
        status = WRONG if is_wrong(result) else HEALTHY
        if result.header is None:
            return Reported("", status, result.reason)
        if as_json:
            return Reported(json_line(json_object(result, limit)), status)
        return Reported("".join(f"{line}\n" for line in text_lines(result, limit)), status)

    return run_scan(options, pools, find_databases(options.paths), report)
