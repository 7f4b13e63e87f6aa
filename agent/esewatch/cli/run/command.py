"""`esewatch run`: the daemon and its log."""

import argparse
import json
import logging
import re
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from esefiles.base.names import reason_of
from esewatch.cli.options import add_config_option, add_storage_option, add_web_config_option
from esewatch.config.files import refuse_named_pipe
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.model import EsewatchError

LOG_BYTES = 10 << 20
"""A log file that has grown to this is followed by a new one."""
OLD_FILES = 5


class _Formatter(logging.Formatter):
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


class _LogFile(RotatingFileHandler):
    """A file; while it takes no lines they go to standard error, with one that says why."""

    def __init__(self, file: str) -> None:
        refuse_named_pipe(file)
        super().__init__(file, maxBytes=LOG_BYTES, backupCount=OLD_FILES, encoding="utf-8")
        self._instead = logging.StreamHandler(sys.stderr)
        self._full_told = ""
        self._failed = False
        self._told = ""

    def setFormatter(self, fmt: logging.Formatter | None) -> None:  # noqa: N802 - its name there
        super().setFormatter(fmt)
        self._instead.setFormatter(fmt)

    def doRollover(self) -> None:  # noqa: N802 - its name there
        """The full file gets its new name first: where that is refused, as while another program
        has it open on Windows, the older ones stay, and the file grows, to the size of all of them.
        """
        waiting = Path(f"{self.baseFilename}.full")
        if self.stream:
            self.stream.close()
            self.stream = None
        try:
            Path(self.baseFilename).replace(waiting)
        except OSError as error:
            self.stream = self._open()
            if self.stream.tell() > OLD_FILES * self.maxBytes:
                raise
            reason = reason_of(error)
            if reason != self._full_told:
                self._full_told = reason
                text = f"{self.baseFilename}: cannot be renamed, so it grows: {reason}"
                told = logging.makeLogRecord({"levelname": "WARNING", "msg": text})
                self.stream.write(self.format(told) + self.terminator)
            return
        self._full_told = ""
        super().doRollover()
        waiting.replace(f"{self.baseFilename}.1")

    def emit(self, record: logging.LogRecord) -> None:
        self._failed = False
        super().emit(record)
        if not self._failed:
            self._told = ""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name there
        """Called by `emit` where the system refuses the line, or a new file in place of a full."""
        self._failed = True
        error = sys.exc_info()[1]
        reason = reason_of(error) if isinstance(error, Exception) else ""
        if reason != self._told:
            self._told = reason
            text = f"{self.baseFilename}: {reason}: the log goes to standard error meanwhile"
            self._instead.emit(logging.makeLogRecord({"levelname": "ERROR", "msg": text}))
        self._instead.emit(record)


def set_up_logging(level: str, form: str, file: str | None = None) -> None:
    """Log to stderr, or to a file, in one-line records. Raises OSError for a file."""
    # What standard error does not take is lost: there is no other place to say so.
    logging.raiseExceptions = False
    handler = logging.StreamHandler(sys.stderr) if file is None else _LogFile(file)
    handler.setFormatter(_Formatter(form))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    parser = commands.add_parser(
        "run",
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
