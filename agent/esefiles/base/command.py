"""Common to all commands: their error, exit statuses, the option `--format`."""

import argparse

HEALTHY, WRONG, FAILED = 0, 1, 2


class CommandError(Exception):
    """A command cannot do it; the text says why, in one line (FAILED)."""


def exit_status(*, any_read: bool, unreadable: bool, wrong: bool) -> int:
    """Exit status of a command over several inputs; `unreadable`: some could not be read."""
    if unreadable and not any_read:
        return FAILED
    return WRONG if wrong or unreadable else HEALTHY


def add_format_option(parser: argparse.ArgumentParser, *more: str) -> None:
    """Add `--format`, with `more` formats than text and json."""
    parser.add_argument(
        "--format",
        default="text",
        choices=("text", "json", *more),
        help="output format; json is one object a line; default text",
    )
