"""Options that several commands share."""

import argparse
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
    parser.add_argument("--computer", default="", help="computer, where the data names none")
    parser.add_argument("--timezone", help="of times without an offset, such as Europe/Berlin")
    parser.add_argument("--date-order", choices=("mdy", "dmy", "ymd"), help="of numeric dates")
    parser.add_argument(
        "--provider", action="append", default=[], help="a further event source of ESE"
    )


def add_format_option(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add `--format`, with `more` formats than text and json."""
    parser.add_argument("--format", default="text", choices=("text", "json", *more))
