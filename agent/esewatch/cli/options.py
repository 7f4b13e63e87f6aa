"""Options that several commands share."""

import argparse
import datetime
import difflib
import os
import shlex
import sys
import zoneinfo
from pathlib import Path

import msgspec

from esewatch.config import (
    Settings,
    default_journal,
    default_settings,
)
from esewatch.config.files import load
from esewatch.config.units import parse_zone
from esewatch.ese.dates import iso_time


def _name(text: str) -> str:
    """An empty name is that of an unset variable: the defaults would hold in silence."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def _add_named(
    parser: argparse.ArgumentParser, flag: str, dest: str, metavar: str, text: str
) -> None:
    parser.add_argument(flag, dest=dest, type=_name, metavar=metavar, help=text)


def add_config_option(parser: argparse.ArgumentParser) -> None:
    _add_named(parser, "--config.file", "config", "F", "configuration (YAML); default none")


NO_RUN = "there is no journal: no agent has run with this configuration yet"


def run_command(options: argparse.Namespace) -> str:
    """The command that runs an agent with the configuration and the folder of these options.

    Empty where no configuration is named.
    """
    if not options.config:
        return ""
    storage = getattr(options, "storage", None)
    words = ["--config.file", options.config, *(["--storage.path", storage] if storage else [])]
    return f"esewatch run {shlex.join(words)}"


def add_web_config_option(parser: argparse.ArgumentParser) -> None:
    text = "TLS and users of the HTTP side (YAML, docs/security.md); default none"
    _add_named(parser, "--web.config.file", "web_config", "F", text)


def add_storage_option(parser: argparse.ArgumentParser) -> None:
    text = (
        "folder of the journal; default: that of `journal` in the configuration, else "
        "/var/lib/esewatch where this account may write, else below XDG_STATE_HOME"
    )
    _add_named(parser, "--storage.path", "storage", "DIR", text)


def load_settings(options: argparse.Namespace, *, runs: bool = False) -> Settings:
    """The settings of `--config.file`, or the defaults, with the journal of this account.

    `runs`: for the daemon, which writes the journal. Raises ConfigError.
    """
    settings = load(Path(options.config)) if options.config else default_settings()
    journal = settings.journal
    if getattr(options, "storage", None):
        journal = str(Path(options.storage).absolute() / Path(journal).name)
    elif journal == default_journal():
        journal = str(_own_journal(Path(journal), runs=runs))
    return msgspec.structs.replace(settings, journal=journal)


def _own_journal(journal: Path, *, runs: bool) -> Path:
    """The journal of the system, or of this account where it may not write that one.

    Other commands than the daemon mean the one that is there.
    """
    if sys.platform == "win32" or _writable(journal.parent):
        return journal
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        own = Path(state).expanduser() / "esewatch" / journal.name
    except RuntimeError:  # an account without a home folder
        return journal
    # A home that may not be entered has none: os.path.exists never raises.
    is_there = os.path.exists(own)  # noqa: PTH110
    return own if runs or is_there or not journal.parent.is_dir() else journal


def _writable(folder: Path) -> bool:
    place = folder if folder.exists() else folder.parent
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


def add_input_options(parser: argparse.ArgumentParser, *, least: str = "+") -> None:
    """Add the paths, one or more unless `least` is `*`, and options for facts that inputs lack."""
    parser.add_argument(
        "paths",
        nargs=least,
        metavar="PATH",
        help="files, directories or globs; - is standard input",
    )
    parser.add_argument(
        "--computer", default="", metavar="NAME", help="computer of records that name none"
    )
    parser.add_argument(
        "--timezone",
        type=zone_name,
        metavar="ZONE",
        help="time zone of times without an offset, such as Europe/Berlin",
    )
    parser.add_argument(
        "--date-order", choices=("mdy", "dmy", "ymd"), help="order of numeric dates"
    )
    parser.add_argument(
        "--provider",
        action="append",
        default=[],
        metavar="NAME",
        help="additional event provider to treat as ESE; may be repeated",
    )


def zone_name(text: str) -> str:
    """An option's time zone, by the name that zoneinfo has for it."""
    try:
        return parse_zone(text)
    except ValueError:
        known = {zone.lower(): zone for zone in zoneinfo.available_timezones()}
        near = difflib.get_close_matches(text.lower(), known, n=1, cutoff=0.75)
        meant = f"did you mean {known[near[0]]}?" if near else "a name is such as Europe/Berlin"
        raise argparse.ArgumentTypeError(f"time zone {text!r} is not known here: {meant}") from None


def time_of(text: str) -> float:
    """An option's time as epoch seconds; without an offset it is UTC."""
    try:
        time = iso_time(text)
        return time.replace(tzinfo=time.tzinfo or datetime.UTC).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None
