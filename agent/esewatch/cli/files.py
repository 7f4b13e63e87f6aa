"""`scan`, `check` and `header` of esefiles; the first two with the pools of the configuration."""

import argparse
from collections.abc import Callable
from typing import Any

from esefiles.commands.check import add_check, check_copies
from esefiles.commands.header import add_header
from esefiles.commands.scan import add_scan, scan_files
from esefiles.page_scan import Pools
from esewatch.cli.options import add_config_option, load_settings


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    _with_pools(add_scan(commands), scan_files)
    _with_pools(add_check(commands), check_copies)
    add_header(commands)


def _with_pools(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace, Pools], int]
) -> None:
    add_config_option(parser)
    parser.set_defaults(function=lambda options: run(options, load_settings(options).pools))
