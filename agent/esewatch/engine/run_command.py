"""`engine run`: a plan at work in a folder, in real or in virtual time."""

import argparse
import math
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

import msgspec
from tqdm import tqdm

from esewatch.engine.clock import RealClock, VirtualClock
from esewatch.engine.machine import Machine
from esewatch.engine.plan import DAY, Plan
from esewatch.engine.profiles import PROFILES

START: Final = "2007-06-18"
"""Where virtual time begins, a Monday. In a folder that has a run it goes on at its end."""
MONTH: Final = 30.0
LONGEST: Final = 36500.0
"""Days of one run."""


class PlanError(Exception):
    """A plan cannot be read: says where and why."""


def add_run(commands: Any) -> None:
    """Register `run`."""
    parser = commands.add_parser(
        "run",
        help="run databases and write the logs that a server would",
        description="Runs databases in a folder: DIR/events.jsonl, DIR/counters.csv, "
        "DIR/truth.json and a folder for each database. A run that was ended or killed goes on "
        "with the same command. Ctrl-C ends it.",
        epilog="example: esewatch engine run --dir /tmp/month --profile month --days 30",
    )
    parser.add_argument("--dir", required=True, type=Path, metavar="D", help="folder of the run")
    parser.add_argument(
        "--days", type=_days, metavar="N", help="length; default 30 virtual days, else no end"
    )
    parser.add_argument("--clock", choices=("virtual", "real"), default="virtual")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of all chance; default 1")
    parser.add_argument(
        "--profile", choices=sorted(PROFILES), default="month", help="a built-in plan"
    )
    parser.add_argument("--plan", type=Path, metavar="F", help="a plan of your own (JSON)")
    parser.add_argument("--computer", default="engine", help="the name in the logs")
    parser.add_argument("--start", type=_time, default=START, help="first day of virtual time")
    parser.add_argument("--until-eof", action="store_true", help="end when the standard input ends")
    parser.set_defaults(function=run)


def run(options: argparse.Namespace) -> int:
    """Run until the days are over, or a signal. Raises PlanError and what Machine does."""
    plan = read_plan(options.plan) if options.plan else PROFILES[options.profile]()
    real = options.clock == "real"
    clock = RealClock() if real else VirtualClock(options.start)
    folder = options.dir.absolute()
    machine = Machine(folder, plan, clock=clock, seed=options.seed, computer=options.computer)
    stopped = threading.Event()

    def stop(number: int = 0, frame: FrameType | None = None) -> None:
        stopped.set()
        machine.schedule.stop()

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    if options.until_eof:
        threading.Thread(target=_wait_for_eof, args=(stop,), daemon=True).start()
    machine.open()
    _say(f"{len(plan.databases)} databases at work in {folder}")
    if real:
        days = math.inf if options.days is None else options.days
        machine.run(machine.now() + days * DAY)
    else:
        _pass_days(machine, MONTH if options.days is None else options.days, stopped)
    machine.close()
    _say(f"closed; the logs and truth.json are in {folder}")
    return 0


def read_plan(path: Path) -> Plan:
    """The plan of a JSON file. Raises PlanError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except (OSError, msgspec.DecodeError) as error:
        raise PlanError(f"{path}: {error}") from error


def _pass_days(machine: Machine, days: float, stopped: threading.Event) -> None:
    """A day at a time, so that a terminal sees how it goes on."""
    start, done = machine.now(), 0.0
    with tqdm(total=days, unit="day", disable=not sys.stderr.isatty(), leave=False) as progress:
        while done < days and not stopped.is_set():
            step = min(1.0, days - done)
            done += step
            machine.run(start + done * DAY)
            progress.update(step)


def _wait_for_eof(stop: Callable[[], None]) -> None:
    # Whoever holds the other end of a pipe may be killed: it ends then, too.
    while os.read(sys.stdin.fileno(), 1 << 16):
        pass
    stop()


def _say(text: str) -> None:
    sys.stderr.write(f"esewatch engine: {text}\n")
    sys.stderr.flush()


def _days(text: str) -> float:
    days = float(text)
    if not 0 < days <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text}: more than 0 and at most {LONGEST:g} days")
    return days


def _time(text: str) -> float:
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
