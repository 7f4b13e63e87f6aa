"""`esewatch run`: the daemon."""

import argparse
import json
import logging
import sys
import time
from datetime import UTC, datetime
from functools import partial
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

from esewatch import __version__
from esewatch.cli.options import (
    add_config_option,
    add_storage_option,
    add_web_config_option,
    load_settings,
)
from esewatch.cli.run.signals import Reloads, SignalRequests, tell_signals_taken
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.server import DEFAULT_ADDRESS, HttpServer
from esewatch.journal import Journal
from esewatch.model import EsewatchError
from esewatch.sources.registry import build_sources
from esewatch.threads import Worker

if TYPE_CHECKING:
    from esewatch.expose.http.web import WebConfiguration

log = logging.getLogger("esewatch")

SWITCH_SECONDS = 0.001
"""The reading thread lets a scrape through so often: an answer takes dozens of turns."""

LOG_BYTES = 10 << 20
"""A log file that has grown to this is followed by a new one."""

STOP_SECONDS = 3.0
"""The process ends after this time, also when a source does not answer."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `run`."""
    parser = commands.add_parser(
        "run",
        help="the daemon: read the configured sources, serve metrics",
        description="Without a configuration it watches what this machine has.",
        epilog="example: esewatch run --config.file /etc/esewatch/esewatch.yml",
    )
    add_config_option(parser)
    add_storage_option(parser)
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"where to serve; default {DEFAULT_ADDRESS}, ':19703' is every interface",
    )
    add_web_config_option(parser)
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
        help="form of the log; default logfmt",
    )
    parser.add_argument(
        "--log.file",
        dest="log_file",
        metavar="F",
        help="log to this file, at most 5 old ones of 10 MiB are kept; default: standard error",
    )
    parser.add_argument(
        "--windows.service",
        dest="service",
        action="store_true",
        help="be the Windows service esewatch (deploy/windows); the service manager starts it",
    )
    parser.set_defaults(function=run)


def run(options: argparse.Namespace) -> int:
    """The daemon, by itself or as a Windows service."""
    set_up_logging(options.log_level, options.log_format, options.log_file)
    if not options.service:
        return _run(options)
    if sys.platform == "win32":
        from esewatch.cli.run.service import run_as_service  # noqa: PLC0415 - nowhere else
        from esewatch.cli.run.service_manager import WindowsManager  # noqa: PLC0415

        return run_as_service(WindowsManager(), lambda: _run(options))
    raise EsewatchError("--windows.service is for Windows: elsewhere `run` is enough")


def _run(options: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT; SIGHUP reloads the configuration."""
    sys.setswitchinterval(SWITCH_SECONDS)
    wishes = SignalRequests()
    tell_signals_taken()  # before the configuration is read: see there
    settings = load_settings(options, runs=True)
    web = _web_configuration(options.web_config) if options.web_config else None
    journal = Journal(Path(settings.journal))
    sources = build_sources(settings)
    daemon = Daemon(
        settings, journal, sources, load=lambda: load_settings(options, runs=True), web=web
    )
    server = HttpServer(App(daemon, web=web), options.listen, secure=web.tls if web else None)
    reader: Worker | None = None
    try:
        server.start()
        _say_where(server.address, web)
        log.info("the journal is %s", settings.journal)
        if not options.config:
            kinds = ", ".join(dict.fromkeys(source.type for source in settings.sources))
            log.info("no configuration: watching what this machine has (%s)", kinds)
        if not settings.sources:
            log.warning("no sources are configured, so nothing is watched: see `sources:`")
        reader = Worker(partial(_read, daemon, wishes))
        asked = _wait(daemon, wishes, reader)
    finally:
        end = time.monotonic() + STOP_SECONDS
        daemon.stop()
        server.stop()
        if reader is not None:
            reader.join(max(0.0, end - time.monotonic()))
        daemon.close(running=reader is not None and reader.running)
    log.info("stopped")
    return 0 if asked else 2


def _web_configuration(file: str) -> "WebConfiguration":
    """Loaded where it is asked for: what few have costs the others no memory."""
    from esewatch.expose.http.web import WebConfiguration  # noqa: PLC0415

    return WebConfiguration(file)


def _say_where(address: str, web: "WebConfiguration | None") -> None:
    secure = web is not None and web.secure
    scheme = "https" if secure else "http"
    log.info("esewatch %s serves %s://%s/metrics", __version__, scheme, address)
    if address.startswith(("127.", "[::1]")):
        log.info("only this machine can reach it; to open it: --web.listen-address :19703")
    elif web is not None and web.asks_for_passwords and not secure:
        log.warning("passwords go over the network as they are: set tls_server_config")


def _read(daemon: Daemon, wishes: SignalRequests) -> None:
    try:
        daemon.run()
    finally:
        wishes.ended()


def _wait(daemon: Daemon, wishes: SignalRequests, reader: Worker) -> bool:
    """Until the end is asked for; False when the reading thread has ended by itself."""
    reloads = Reloads(daemon)
    # One that found no memory to say so has ended too.
    while (wish := wishes.next()) == "reload" or (wish is None and reader.running):
        daemon.watch()
        if wish is not None:
            reloads.ask()
    return wish == "stop"


class _Formatter(logging.Formatter):
    """One line a record, `key=value` or JSON."""

    def __init__(self, form: str) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        fields = {
            "ts": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "msg": message,
        }
        if self._form == "json":
            return json.dumps(fields)
        return f"ts={fields['ts']} level={fields['level']} msg={json.dumps(message)}"


def set_up_logging(level: str, form: str, file: str | None = None) -> None:
    """Log to stderr, or to a file, in one-line records. Raises OSError for a file."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if file is not None:
        handler = RotatingFileHandler(file, maxBytes=LOG_BYTES, backupCount=5, encoding="utf-8")
    handler.setFormatter(_Formatter(form))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
