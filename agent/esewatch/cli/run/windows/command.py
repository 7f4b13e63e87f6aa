"""`esewatch windows prepare` and `restore`: called by the MSI, by install.ps1 and uninstall.ps1."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from esewatch.cli.run.windows.prepare import (
    NO_RULE,
    VIRTUAL_ACCOUNT,
    ServiceSettings,
    WindowsServer,
    prepare,
    restore,
)
from esewatch.model import EsewatchError

PURGE_SECONDS = 60.0
"""Time in which a stopping service closes its files."""
PURGE_PAUSE = 0.5
TEMPLATE = Path(sys.prefix).parent / "esewatch.yml"
"""The MSI lays it beside the folder of its Python."""
NOT_HERE = "this works on Windows only: elsewhere the package or the unit file does it"


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser("windows")
    steps = parser.add_subparsers(
        title="commands", dest="action", required=True, metavar="prepare|restore"
    )
    given = steps.add_parser(
        "prepare",
        help="folders, rights, hidden counters, firewall",
        epilog="example: esewatch windows prepare --firewall 10.0.0.5",
    )
    given.add_argument(
        "--listen-address",
        default=":19703",
        metavar="HOST:PORT",
        help="where the agent listens; the firewall rule is for this port",
    )
    given.add_argument(
        "--firewall",
        default=NO_RULE,
        metavar="ADDRESSES",
        help=f"who may reach the port, as netsh says it (10.0.0.5, LocalSubnet); default {NO_RULE}",
    )
    given.add_argument(
        "--counters",
        default="show",
        choices=("show", "leave"),
        help="show the hidden counters of ESE, or leave the registry as it is",
    )
    given.add_argument(
        "--template",
        type=Path,
        default=TEMPLATE,
        metavar="FILE",
        help="the first configuration, where there is none; default: that of the MSI",
    )
    back = steps.add_parser(
        "restore",
        help="take back what prepare did",
        epilog="example: esewatch windows restore --purge",
    )
    back.add_argument(
        "--purge", action="store_true", help="delete configuration, state and logs, too"
    )
    for step in (given, back):
        step.add_argument("--account", default=VIRTUAL_ACCOUNT, help="account of the service")
        step.set_defaults(function=run)


def run(options: argparse.Namespace) -> int:
    """Do the step; 0, or the error of Windows. Raises EsewatchError elsewhere."""
    if sys.platform == "win32":
        from esewatch.cli.run.windows.this_server import ThisServer  # noqa: PLC0415 - nowhere else

        data = Path(os.environ["PROGRAMDATA"], "esewatch")
        return change(ThisServer(), data, options)
    raise EsewatchError(NOT_HERE)


def change(server: WindowsServer, data: Path, options: argparse.Namespace) -> int:
    said: list[str] = []
    try:
        if options.action == "restore":
            restore(server, data, options.account, said.append)
            # What a command of an administrator compiled is not among the files that the MSI knows.
            for folder in (
                (TEMPLATE.parent / "app").rglob("__pycache__") if TEMPLATE.exists() else ()
            ):
                shutil.rmtree(folder, ignore_errors=True)
        else:
            settings = ServiceSettings(
                account=options.account,
                port=_port(options.listen_address),
                firewall=options.firewall,
                show_counters=options.counters == "show",
            )
            prepare(server, data, options.template, settings, said.append)
    except ValueError as error:
        raise EsewatchError(str(error)) from error
    finally:
        _tell(said, data / "logs" / "install.log")
    if options.action == "restore" and options.purge:
        _purge(data)
    return 0


def _purge(folder: Path) -> None:
    """Delete it. Raises EsewatchError where that takes longer than PURGE_SECONDS."""
    end = time.monotonic() + PURGE_SECONDS
    while folder.exists():
        try:
            shutil.rmtree(folder)
        except OSError as error:
            if time.monotonic() > end:
                raise EsewatchError(f"{folder} was not deleted: {error.strerror}") from error
            time.sleep(PURGE_PAUSE)


def _tell(said: list[str], log: Path) -> None:
    """Print the lines; nobody sees what an MSI's program prints, so they are in a file, too."""
    for line in said:
        print(line)
    if log.parent.is_dir():
        with log.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in said)


def _port(address: str) -> int:
    port = address.rpartition(":")[2]
    if not port.isdecimal():
        raise EsewatchError(f"{address}: not HOST:PORT")
    return int(port)
