"""Options that several commands share."""

import argparse
import datetime
from pathlib import Path

from esewatch.config import Settings, default_settings, load


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Add `--config.file`."""
    parser.add_argument(
        "--config.file", dest="config", metavar="F", help="configuration (YAML); default none"
    )


def add_web_config_option(parser: argparse.ArgumentParser) -> None:
    """Add `--web.config.file`."""
    parser.add_argument(
        "--web.config.file",
        dest="web_config",
        metavar="F",
        help="TLS and users of the HTTP side (YAML, docs/security.md); default none",
    )


def load_settings(options: argparse.Namespace) -> Settings:
    """The settings of `--config.file`, or the defaults. Raises ConfigError."""
    return load(Path(options.config)) if options.config else default_settings()


def add_input_options(parser: argparse.ArgumentParser, *, least: str = "+") -> None:
    """Add the paths, at least one unless `least` is `*`, and options for facts missing in
    the data.
    """
    parser.add_argument("paths", nargs=least, metavar="PATH", help="files, directories or globs")
    parser.add_argument(
        "--computer", default="", metavar="NAME", help="computer of records that name none"
    )
    parser.add_argument(
        "--timezone",
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


def add_format_option(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add `--format`, with `more` formats than text and json."""
    parser.add_argument(
        "--format",
        default="text",
        choices=("text", "json", *more),
        help="form of the output; json is one object a line; default text",
    )


def time_of(text: str) -> float:
    """An option's time as epoch seconds; without an offset it is UTC."""
    try:
        time = datetime.datetime.fromisoformat(text)
        return time.replace(tzinfo=time.tzinfo or datetime.UTC).timestamp()
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time such as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None
