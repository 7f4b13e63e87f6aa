"""The log of the daemon: lines of logfmt or JSON, on standard error or in a file that rotates."""

import json
import logging
import sys
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from esefiles.base.names import reason_of
from esewatch.config.files import refuse_named_pipe

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
