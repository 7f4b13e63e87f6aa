"""`esewatch run`: the daemon."""

import argparse
import json
import logging
import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from esewatch import __version__
from esewatch.cli.options import add_config_option, load_settings
from esewatch.daemon import Daemon
from esewatch.expose.http import App
from esewatch.expose.server import DEFAULT_ADDRESS, HttpServer
from esewatch.journal import Journal
from esewatch.sources.configured import build_sources

log = logging.getLogger("esewatch")


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    """Add `run`."""
    parser = commands.add_parser(
        "run",
        help="the daemon: read the configured sources, serve metrics",
        epilog="example: esewatch run --config.file /etc/esewatch/esewatch.yml",
    )
    add_config_option(parser)
    parser.add_argument(
        "--web.listen-address",
        dest="listen",
        default=DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"where to serve; default {DEFAULT_ADDRESS}, ':19703' is every interface",
    )
    parser.add_argument(
        "--log.level",
        dest="log_level",
        default="info",
        choices=("debug", "info", "warning", "error"),
    )
    parser.add_argument(
        "--log.format", dest="log_format", default="logfmt", choices=("logfmt", "json")
    )
    parser.set_defaults(function=run)


def run(options: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT."""
    set_up_logging(options.log_level, options.log_format)
    settings = load_settings(options)
    journal = Journal(Path(settings.journal))
    if journal.set_aside is not None:
        log.error("the journal was damaged and is set aside as %s", journal.set_aside)
    daemon = Daemon(settings, journal, build_sources(settings))
    server = HttpServer(App(daemon), options.listen)
    try:
        server.start()
        log.info("esewatch %s serves http://%s/metrics", __version__, server.address)
        if server.address.startswith(("127.", "[::1]")):
            log.info("only this machine can reach it; to open it: --web.listen-address :19703")
        if not settings.sources:
            log.warning("no sources are configured, so nothing is watched: see `sources:`")
        _run_until_signalled(daemon)
    finally:
        server.stop()
        daemon.close()
    log.info("stopped")
    return 0


def _run_until_signalled(daemon: Daemon) -> None:
    ended = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        daemon.stop()

    def work() -> None:
        try:
            daemon.run()
        finally:
            ended.set()

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, stop)
    thread = threading.Thread(target=work, name="fold")
    thread.start()
    while not ended.wait(1.0):
        pass
    thread.join()


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


def set_up_logging(level: str, form: str) -> None:
    """Log to stderr in one-line records."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(form))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
