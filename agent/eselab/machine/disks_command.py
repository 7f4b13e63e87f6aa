"""`engine disks`: requests on a LUN of modelled drives, without a database."""

import argparse
from pathlib import Path
from typing import Any

import msgspec

from esefiles.base.command_line import write_out
from eselab.disk.load import LoadError, LoadPlan, run_load
from eselab.machine.run_command import RunError, read_plan


def add_disks(commands: Any) -> None:
    parser = commands.add_parser(
        "disks",
        help="how long requests take on modelled drives",
        description="Does streams of requests on a LUN of modelled drives, in no time, and prints "
        "a JSON object for each: requests, seconds, bytes a second, latencies.",
        epilog="example: esewatch engine disks load.json",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="LUN and workloads (JSON)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="random seed; default 1")
    parser.set_defaults(function=print_figures)


def print_figures(options: argparse.Namespace) -> int:
    """Do them, print a line for each. Raises RunError."""
    plan = read_plan(options.file, LoadPlan)
    try:
        found = run_load(plan, options.seed)
    except LoadError as error:
        raise RunError(f"{options.file}: {error}") from error
    for figures in found:
        write_out(msgspec.json.encode(figures).decode() + "\n")
    return 0
