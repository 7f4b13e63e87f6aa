"""`config check|show|alertmanager|import-exchange`, `forget` and `ack`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from esefiles.base.names import visible
from esewatch.advice.alerts import ENDS
from esewatch.advice.base.finding import counted, listed
from esewatch.advice.history.surroundings import surroundings
from esewatch.cli.options import (
    NO_RUN,
    add_config_option,
    add_storage_option,
    add_web_config_option,
    load_settings,
    run_command,
    zone_name,
)
from esewatch.cli.output import tell
from esewatch.cli.run.local import add_address_options, post
from esewatch.config.calendar import time_intervals
from esewatch.config.exchange import from_exchange
from esewatch.config.files import dump
from esewatch.daemon.shared import folder_of, together
from esewatch.expose.http.web import WebConfiguration
from esewatch.fold.commands import Acknowledged, acknowledge, forget
from esewatch.fold.folder import Folder
from esewatch.journal import Journal, LockedError
from esewatch.model import ConfigError, EsewatchError, JournalError
from esewatch.sources.files.encodings import detect, to_utf8
from esewatch.sources.kafka.partition import every_journal

_HEADING = "# The maintenance windows of esewatch, by: esewatch config alertmanager\n"
_MAX_BYTES = 16 << 20
"""Of the databases of Exchange as JSON."""


def add_commands(commands: "argparse._SubParsersAction[Any]") -> None:
    config = commands.add_parser("config")
    actions = config.add_subparsers(
        title="commands",
        dest="action",
        required=True,
        metavar="check|show|alertmanager|import-exchange",
    )
    for name, function, text in (
        ("check", check_config, "validate; exit status 2 and one line when it is wrong"),
        ("show", show_config, "the effective settings, defaults included"),
        ("alertmanager", print_intervals, "the windows as time_intervals of Alertmanager, as YAML"),
    ):
        action = actions.add_parser(
            name,
            help=text,
            epilog=f"example: esewatch config {name} --config.file /etc/esewatch/esewatch.yml",
        )
        add_config_option(action)
        if name == "check":
            add_web_config_option(action)
        action.set_defaults(function=function)
    _add_import(actions)
    gone = commands.add_parser(
        "forget",
        epilog=r"example: esewatch forget --computer ex01 'e:\mdb06\priv06.edb'",
    )
    _add_database_options(gone)
    gone.set_defaults(function=forget_database, pages=[])
    ack = commands.add_parser(
        "ack",
        epilog=r"example: esewatch ack --computer ex01 'e:\mdb06\priv06.edb' 17 4711",
    )
    _add_database_options(ack)
    ack.add_argument(
        "pages",
        nargs="*",
        type=_page,
        default=[],
        metavar="PAGE",
        help="page numbers; default all bad pages",
    )
    ack.set_defaults(function=ack_pages)


def _page(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"not a page number: {text!r}")
    return int(text)


def _add_import(actions: "argparse._SubParsersAction[Any]") -> None:
    action = actions.add_parser(
        "import-exchange",
        help="windows and databases from Get-MailboxDatabase | ConvertTo-Json, as YAML",
        epilog="example: esewatch config import-exchange databases.json --timezone Europe/Berlin",
    )
    action.add_argument("path", nargs="?", default="-", metavar="FILE", help="default: stdin")
    action.add_argument(
        "--timezone",
        type=zone_name,
        help="time zone of the servers, in which the schedule is written; default UTC",
    )
    action.set_defaults(function=import_exchange)


def _add_database_options(parser: argparse.ArgumentParser) -> None:
    add_config_option(parser)
    add_storage_option(parser)
    parser.add_argument("database", metavar="DATABASE", help="value of its label `database`")
    parser.add_argument(
        "--computer", default="", help="its computer; needed when several have this database"
    )
    add_address_options(parser, default=None)


def check_config(options: argparse.Namespace) -> int:
    settings = load_settings(options)
    if options.web_config:
        WebConfiguration(options.web_config)
        print(f"{options.web_config}: valid")
    print(
        f"{options.config or 'no file: the defaults'}: valid: {len(settings.sources)} sources, "
        f"{len(settings.windows)} windows, {len(settings.databases)} database rules"
    )
    return 0


def show_config(options: argparse.Namespace) -> int:
    sys.stdout.write(dump(load_settings(options)))
    return 0


def print_intervals(options: argparse.Namespace) -> int:
    """`config alertmanager`: the YAML on stdout. Raises ConfigError."""
    settings = load_settings(options)
    if not settings.windows:
        tell(f"{options.config or 'no file'}: no windows")
    text = yaml.safe_dump(
        {"time_intervals": time_intervals(settings.windows)},
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=110,
    )
    sys.stdout.write(_HEADING + text)
    return 0


def import_exchange(options: argparse.Namespace) -> int:
    """`config import-exchange`: the YAML on stdout, the remarks on stderr. Raises ConfigError."""
    name = "stdin" if options.path == "-" else options.path
    try:
        imported = from_exchange(_exchange_text(options.path), options.timezone)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    sys.stdout.write(imported.text())
    for remark in imported.remarks:
        tell(f"{name}: {remark}")
    return 0


def _exchange_text(path: str) -> str:
    """The input as text: UTF-8, or UTF-16 as `>` of Windows PowerShell writes it."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(_MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}") from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"more than {_MAX_BYTES} bytes")
    try:
        return to_utf8(data, detect(data)[0]).decode()
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"byte {error.start} is not UTF-8: write the file with Out-File -Encoding utf8"
        ) from error


def forget_database(options: argparse.Namespace) -> int:
    """`forget`: through the daemon while it runs or is named, else in the journal."""
    journals = _journals(options)
    if not journals:
        body = {"computer": options.computer, "database": options.database}
        known = bool(post(options, "forget", body, _meant(options)).get("forgotten", True))
    else:
        with _Edit(journals, options) as folders:
            folder = folder_of(folders, options.computer, options.database)
            known = forget(folder, options.computer, options.database, ENDS)
    name = visible(options.database)
    print(f"forgot {name}" if known else _unknown(name))
    return 0


def ack_pages(options: argparse.Namespace) -> int:
    """`ack`: through the daemon while it runs or is named, else in the journal."""
    journals = _journals(options)
    if not journals:
        body = {"computer": options.computer, "database": options.database, "pages": options.pages}
        answer = post(options, "ack", body, _meant(options))
        done = Acknowledged(
            int(answer["acknowledged"]),
            int(answer.get("damage", 0)),
            int(answer.get("errors", 0)),
            unknown=bool(answer.get("unknown", False)),
            others=bool(answer.get("others", False)),
        )
    else:
        with _Edit(journals, options) as folders:
            folder = folder_of(folders, options.computer, options.database)
            told = surroundings(together([each.state for each in folders]), folder.settings)
            meant = (options.computer, options.database, options.pages)
            done = acknowledge(folder, *meant, told, ends=ENDS)
    print(_said(done, visible(options.database)))
    return 0


def _said(done: Acknowledged, database: str) -> str:
    if done.unknown:
        return _unknown(database)
    parts = [
        counted(done.pages, "bad page") if done.pages else "",
        counted(done.damage, "report of damage", "reports of damage") if done.damage else "",
        counted(done.errors, "open error of its instance", "open errors of its instance")
        if done.errors
        else "",
        "all other errors and notices" if done.others else "",
    ]
    what = listed([part for part in parts if part])
    return f"acknowledged {what} of {database}" if what else f"nothing of {database} was open"


def _unknown(database: str) -> str:
    return f"nothing is known of {database}: for 24 hours it is stated that nothing of it stands"


def _journals(options: argparse.Namespace) -> list[Journal]:
    """The journal and those of partitions, none while a daemon has them or one is named."""
    if options.address is not None:
        return []
    settings = load_settings(options)
    path = Path(settings.journal)
    if not path.exists():
        if run := run_command(options):
            raise EsewatchError(f"{path}: {NO_RUN}; start {run}")
        raise EsewatchError(f"{path}: there is no journal; name the configuration: --config.file F")
    opened: list[Journal] = []
    try:
        for each in every_journal(settings):
            opened.append(Journal(each, mend=False))
    except JournalError as error:
        for journal in opened:
            journal.close()
        if not isinstance(error, LockedError):
            raise
        return []
    return opened


def _meant(options: argparse.Namespace) -> Path | None:
    """The journal that is to be changed; an address alone means the one of its daemon."""
    if options.address is not None and not (options.config or options.storage):
        return None
    return Path(load_settings(options).journal)


class _Edit:
    """The journals' states as folders; their changes are committed at the end."""

    def __init__(self, journals: Sequence[Journal], options: argparse.Namespace) -> None:
        self._journals = journals
        settings = load_settings(options)
        self._folders = [Folder(each.load()[0], settings) for each in journals]

    def __enter__(self) -> Sequence[Folder]:
        return self._folders

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for journal, folder in zip(self._journals, self._folders, strict=True):
            if kind is None:
                journal.commit(folder.state, folder.changed, {})
            journal.close()
