"""`config alertmanager`: the maintenance windows as `time_intervals` of Alertmanager."""

import argparse
import datetime
import sys
from typing import Any

import yaml

from esewatch.cli.options import add_config_option, load_settings
from esewatch.config.mute import time_intervals

HEADING = "# The maintenance windows of esewatch, by: esewatch config alertmanager\n"


class _Dumper(yaml.SafeDumper):
    """Without anchors: each interval can be read by itself."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def add_command(actions: "argparse._SubParsersAction[Any]") -> None:
    """Add `alertmanager` to the actions of `config`."""
    action = actions.add_parser(
        "alertmanager",
        help="the windows as time_intervals of Alertmanager, as YAML",
        epilog="example: esewatch config alertmanager --config.file /etc/esewatch/esewatch.yml",
    )
    add_config_option(action)
    action.set_defaults(function=print_intervals)


def print_intervals(options: argparse.Namespace) -> int:
    """Print the YAML on stdout. Raises ConfigError."""
    settings = load_settings(options)
    if not settings.windows:
        print(f"esewatch: {options.config or 'no file'}: no windows", file=sys.stderr)
    intervals = time_intervals(settings.windows, datetime.datetime.now(datetime.UTC).year)
    text = yaml.dump(
        {"time_intervals": intervals},
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=110,
    )
    sys.stdout.write(HEADING + text)
    return 0
