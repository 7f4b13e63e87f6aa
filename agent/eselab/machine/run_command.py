"""`engine run`: a plan at work in a folder, in real or in virtual time."""

import argparse
import contextlib
import math
import os
import re
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from eselab.base.clock import PacedClock, RealClock, VirtualClock
from eselab.base.plan import DAY, FaultPlan, Plan
from eselab.base.profiles import PROFILES
from eselab.logs.binary.evtx.evtx_log import DEFAULT
from eselab.machine.machine import Machine, OpenError
from eselab.storage.transaction_log.log import LogError
from esewatch.ese.dates import iso_time

if TYPE_CHECKING:
    from tqdm import tqdm

START: Final = "2007-06-18"
"""Start of virtual time, a Monday. In a folder that has a run it goes on at its end."""
MONTH: Final = 30.0
LONGEST: Final = 36500.0
"""Days of one run."""
FIRST: Final = datetime(1980, 1, 1, tzinfo=UTC)
LAST: Final = datetime(2150, 1, 1, tzinfo=UTC)
"""Virtual time is between these: a header has a byte for the years since 1900."""
LARGEST_PLAN: Final = 1 << 24
"""Bytes."""

_PlanT = TypeVar("_PlanT")
_COMPUTER: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")


class RunError(Exception):
    """A run cannot be as it is wanted, or not go on: says where and why."""


def add_run(commands: Any) -> None:
    parser = commands.add_parser(
        "run",
        help="run databases and write the logs that a server would",
        description="Runs databases in a folder: D/events.jsonl, D/counters.csv, D/truth.json and "
        "a folder for each database. The same command continues a run that was ended or killed. "
        "Ctrl-C and SIGTERM end it cleanly, with status 0.",
        epilog="example: esewatch engine run --dir /tmp/month --profile month --days 30",
    )
    parser.add_argument("--dir", required=True, type=Path, metavar="D", help="folder of the run")
    parser.add_argument(
        "--days",
        type=_days,
        metavar="N",
        help="length; default 30 days in virtual time, no end in real time",
    )
    parser.add_argument(
        "--clock",
        choices=("virtual", "paced", "real"),
        default="virtual",
        help="default virtual; paced: virtual time up to the present, then real time",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed; default 1")
    parser.add_argument(
        "--profile", choices=sorted(PROFILES), default="month", help="a built-in plan"
    )
    parser.add_argument("--plan", type=Path, metavar="F", help="a plan of your own (JSON)")
    parser.add_argument(
        "--computer", type=_name, default="engine", metavar="NAME", help="the name in the logs"
    )
    parser.add_argument(
        "--start", type=_time, default=START, metavar="DAY",
        help=f"first day of virtual time, UTC; default {START}",
    )  # fmt: skip
    parser.add_argument(
        "--binary-log", action="store_true", help="also write the counters as D/counters.blg"
    )
    parser.add_argument(
        "--event-log", type=_mebibytes, nargs="?", const=DEFAULT >> 20, metavar="MIB",
        help="also write the events as D/Application.evtx of at most MIB, by default 20; when it "
        "is full, it overwrites its oldest events",
    )  # fmt: skip
    parser.add_argument(
        "--until-eof", action="store_true",
        help="end when the standard input ends; with --clock paced each line of it is a fault as "
        "in a plan (JSON), caused at once when the present is reached",
    )  # fmt: skip
    parser.set_defaults(function=run)


def run(options: argparse.Namespace) -> int:
    """Run until the days are over, or a signal. Raises RunError, OSError, what Machine does."""
    plan = read_plan(options.plan, Plan) if options.plan else PROFILES[options.profile]()
    clock = _clock(options)
    folder = options.dir.absolute()
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise RunError(f"{folder}: the name of the folder is not UTF-8") from None
    try:
        machine = Machine(
            folder,
            plan,
            clock=clock,
            seed=options.seed,
            computer=options.computer,
            binary=options.binary_log,
            evtx=options.event_log and options.event_log << 20,
        )
        _work(machine, clock, options, f"{_databases(plan)} at work in {folder}")
    except OSError as error:
        if error.filename is not None:
            raise
        raise RunError(f"{folder}: {error.strerror or error}") from error
    _say(f"closed; the logs and truth.json are in {folder}")
    return 0


def _work(
    machine: Machine, clock: RealClock | VirtualClock, options: argparse.Namespace, greeting: str
) -> None:
    """Open, run, close. Raises RunError, OSError, OpenError, LogError."""
    days: float | None = options.days
    if options.clock == "virtual":
        days = MONTH if days is None else days
        if machine.now() + days * DAY > LAST.timestamp():
            raise RunError(f"the run would go on until after {LAST:%Y-%m-%d}")
    _end_on_signals(machine)
    if options.until_eof:
        # Not the agent's Worker, which bears with a machine short of memory: the engine is a
        # program of its own, and one that does not begin is ended and started again.
        threading.Thread(target=_wait_for_eof, args=(machine,), daemon=True).start()
    try:
        machine.open()
        _say(greeting)
        if options.clock == "virtual":
            assert days is not None
            _pass_days(machine, days)
        elif isinstance(clock, PacedClock):
            _pass_past(machine, clock)
            _say("the present is reached")
            machine.attend()
            machine.run(math.inf if days is None else options.start + days * DAY)
        else:
            machine.run(machine.now() + (math.inf if days is None else days * DAY))
        machine.close()
    except (LogError, OpenError):
        # What was printed of it so far. Not after an OSError: a log may end within a line then.
        machine.flush()
        raise


def read_plan(path: Path, kind: type[_PlanT]) -> _PlanT:
    """The plan of a JSON file. Raises RunError."""
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST_PLAN + 1)
        if len(text) > LARGEST_PLAN:
            raise RunError(f"{path}: a plan has at most {LARGEST_PLAN} bytes")
        return msgspec.json.decode(text, type=kind)
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from error
    except RecursionError as error:
        raise RunError(f"{path}: it is nested too deeply") from error
    except ValueError as error:
        raise RunError(f"{path}: {error}") from error


def _end_on_signals(machine: Machine) -> None:
    """Let the signals that ask a process to end it end the run, after the step in hand."""

    def stop(number: int, frame: FrameType | None) -> None:
        machine.schedule.stop()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        found = getattr(signal, name, None)
        # Who started it with nohup wants it to outlive the terminal.
        if found is not None and not (
            name == "SIGHUP" and signal.getsignal(found) is signal.SIG_IGN
        ):
            signal.signal(found, stop)


def _clock(options: argparse.Namespace) -> RealClock | VirtualClock:
    if options.clock == "real":
        return RealClock()
    return (PacedClock if options.clock == "paced" else VirtualClock)(options.start)


class _Unseen:
    """In the place of a bar where there is no terminal."""

    def __enter__(self) -> "_Unseen":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is to be taken away."""

    def update(self, days: float) -> None:
        """Nobody looks."""


def _bar(days: float) -> "tqdm[Any] | _Unseen":
    """A bar of so many days on stderr, where that is a terminal."""
    if not sys.stderr.isatty():
        return _Unseen()
    # A third of the start of a process that nobody watches.
    from tqdm import tqdm  # noqa: PLC0415

    return tqdm(total=days, unit="day", leave=False)


def _pass_days(machine: Machine, days: float) -> None:
    """A day at a time: a terminal sees how it goes on, and a kill takes no more from the logs."""
    start, done = machine.now(), 0.0
    with _bar(days) as progress:
        while done < days and not machine.schedule.stopped:
            step = min(1.0, days - done)
            done += step
            machine.run(start + done * DAY)
            machine.flush()
            progress.update(step)


def _pass_past(machine: Machine, clock: PacedClock) -> None:
    """Days until the present, a line on stderr for each where that is no terminal."""
    past = clock.behind() / DAY
    with _bar(past) as progress:
        while (behind := clock.behind()) >= 1.0 and not machine.schedule.stopped:
            step = min(DAY, behind)
            machine.run(machine.now() + step)
            machine.flush()
            progress.update(step / DAY)
            if isinstance(progress, _Unseen):
                _say(f"{past - clock.behind() / DAY:.1f} of {past:.1f} days")


def _wait_for_eof(machine: Machine) -> None:
    # Whoever holds the other end of a pipe may be killed: it ends then, too. Where it was closed
    # from the start, its number may be that of another file now.
    if sys.stdin is not None:
        rest = b""
        # Not by its buffer, whose lock the end of the process would wait for.
        with contextlib.suppress(OSError):
            while read := os.read(sys.stdin.fileno(), 1 << 16):
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    _wish(machine, line)
    machine.schedule.stop()


def _wish(machine: Machine, line: bytes) -> None:
    """One more fault, at once; an unknown one is reported and ignored."""
    try:
        fault = msgspec.json.decode(line, type=FaultPlan)
    except ValueError as error:
        _say(f"a line of the standard input is no fault: {error}")
        return
    if fault.database not in machine.instances:
        _say(f"a line of the standard input: there is no database {fault.database}")
        return
    machine.requested_faults.put(fault)


def _databases(plan: Plan) -> str:
    count = len(plan.databases)
    return f"{count} database{'s' * (count > 1)}"


def _say(text: str) -> None:
    sys.stderr.write(f"esewatch engine: {text}\n")
    sys.stderr.flush()


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not 0 < days <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 and at most {LONGEST:g} days")
    return days


def _mebibytes(text: str) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= 4096):
        raise argparse.ArgumentTypeError(f"{text}: 1 to 4096 MiB")
    return int(text)


def _name(text: str) -> str:
    if not _COMPUTER.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: letters, digits, dots, dashes and underscores")
    return text


def _time(text: str) -> float:
    try:
        time = iso_time(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: no day like {START}") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    if not FIRST <= time < LAST:
        raise argparse.ArgumentTypeError(f"{text}: from {FIRST.year} to {LAST.year - 1}")
    return time.timestamp()
