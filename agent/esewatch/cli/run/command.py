"""`esewatch run`: the daemon."""

import argparse
import re
import sys
from typing import Any

from esewatch.cli.options import add_config_option, add_storage_option, add_web_config_option
from esewatch.cli.run.log_output import set_up_logging
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.model import EsewatchError


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "run",
        help="run the daemon: read the configured sources, serve metrics",
        description="Without a configuration it watches what this machine has.",
        epilog="example: esewatch run --config.file /etc/esewatch/esewatch.yml",
    )
    add_config_option(parser)
    add_storage_option(parser)
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        action="append",
        metavar="HOST:PORT",
        help=f"where to serve, may be given more than once; default {DEFAULT_ADDRESS}, ':19703' is "
        "every interface",
    )
    parser.add_argument(
        "--web.systemd-socket",
        dest="systemd_socket",
        action="store_true",
        help="serve on the sockets that systemd passes, in the place of addresses (Linux)",
    )
    parser.add_argument(
        "--web.external-url",
        dest="external_url",
        type=_url,
        metavar="URL",
        help="under which people reach this agent, also through a proxy: links of alerts lead "
        "there; default the address",
    )
    parser.add_argument(
        "--web.route-prefix",
        dest="route_prefix",
        metavar="PATH",
        help="serve everything below this path; default the path of --web.external-url, '/' where "
        "a proxy takes that away",
    )
    add_web_config_option(parser)
    _add_log_options(parser)
    parser.add_argument(
        "--windows.service",
        dest="service",
        action="store_true",
        help="run as the Windows service esewatch (deploy/windows), started by the service manager",
    )
    parser.set_defaults(function=run)


def _add_log_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log.level",
        dest="log_level",
        default="info",
        choices=("debug", "info", "warning", "error"),
        help="least severe messages that are logged; default info",
    )
    parser.add_argument(
        "--log.format",
        dest="log_format",
        default="logfmt",
        choices=("logfmt", "json"),
        help="format of the log; default logfmt",
    )
    parser.add_argument(
        "--log.file",
        dest="log_file",
        metavar="F",
        help="log to this file, at most 5 old ones of 10 MiB are kept; default: standard error",
    )


def _url(text: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#]+[^\s?#]*", text):
        raise argparse.ArgumentTypeError(f"not an address such as https://esewatch:19703: {text!r}")
    return text.rstrip("/")


def run(options: argparse.Namespace) -> int:
    """The daemon, by itself or as a Windows service."""
    if not options.service:
        return _run(options)
    if sys.platform == "win32":
        from esewatch.cli.run.service import run_as_service  # noqa: PLC0415 - nowhere else
        from esewatch.cli.run.service_manager import WindowsManager  # noqa: PLC0415

        return run_as_service(WindowsManager(), lambda: _run(options))
    raise EsewatchError("--windows.service works on Windows only: elsewhere use `run` alone")


def _run(options: argparse.Namespace) -> int:
    """Loads what the daemon is made of first: a service answers its manager before that. It does so
    before its log is opened, too: why that fails is an event of Windows then."""
    set_up_logging(options.log_level, options.log_format, options.log_file)
    from esewatch.cli.run.process import run_daemon  # noqa: PLC0415

    return run_daemon(options)
