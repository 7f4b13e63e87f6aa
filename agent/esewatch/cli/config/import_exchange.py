"""`config import-exchange`: windows and databases from `Get-MailboxDatabase | ConvertTo-Json`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from esewatch.config.exchange import from_exchange
from esewatch.model import ConfigError
from esewatch.sources.files.encodings import detect, to_utf8

MAX_BYTES = 16 << 20


def add_command(actions: "argparse._SubParsersAction[Any]") -> None:
    """Add `import-exchange` to the actions of `config`."""
    action = actions.add_parser(
        "import-exchange",
        help="windows and databases from Get-MailboxDatabase | ConvertTo-Json, as YAML",
        epilog="example: esewatch config import-exchange databases.json --timezone Europe/Berlin",
    )
    action.add_argument("path", nargs="?", default="-", metavar="FILE", help="default: stdin")
    action.add_argument(
        "--timezone", help="time zone of the servers, in which the schedule is written; default UTC"
    )
    action.set_defaults(function=import_exchange)


def import_exchange(options: argparse.Namespace) -> int:
    """Print the YAML on stdout and the remarks on stderr. Raises ConfigError."""
    name = "stdin" if options.path == "-" else options.path
    try:
        imported = from_exchange(_text(options.path), options.timezone)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    sys.stdout.write(imported.text())
    for remark in imported.remarks:
        print(f"esewatch: {name}: {remark}", file=sys.stderr)
    return 0


def _text(path: str) -> str:
    """The input as text: UTF-8, or UTF-16 as `>` of Windows PowerShell writes it."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"more than {MAX_BYTES} bytes")
    try:
        return to_utf8(data, detect(data)[0]).decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"byte {error.start} is not UTF-8: write the file with Out-File -Encoding utf8"
        ) from error
