"""The names that others hold on to, against the list of those that were there before.

`ESEWATCH_REWRITE_GOLDEN=1` writes the list anew; a line that goes is a breaking change
(docs/compatibility.md).
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import esefiles
from esewatch.advice.base.finding import FINDINGS
from esewatch.advice.judgement import VERDICTS
from esewatch.cli import command_line
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from esewatch.journal import SCHEMA_VERSION
from scripts.configuration_page import TABLES
from tests.rules.expressions import alerts, recording_rules

RECORDED = Path(__file__).with_name("golden") / "outside_names.txt"


def names() -> list[str]:
    found = [
        f"journal schema {SCHEMA_VERSION}",
        *(f"esefiles.{name}" for name in esefiles.__all__),
        *(f"finding {name}" for name in FINDINGS),
        *(f"verdict {name}" for name in VERDICTS),
        *(f"metric {row.name}{{{', '.join(row.labels)}}} {row.type}" for row in CATALOGUE.values()),
        *(f"alert {each['alert']}" for each in alerts()),
        *(f"recording {each['record']}" for each in recording_rules()),
        *(
            f"key {heading}: {key}"
            for heading, struct in TABLES.items()
            for key in struct.__struct_encode_fields__
        ),
        *_of_parser(command_line(), "esewatch"),
    ]
    return sorted(set(found))


def _of_parser(parser: argparse.ArgumentParser, command: str) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield f"command {command} {name}"
                yield from _of_parser(below, f"{command} {name}")
        else:
            yield from (f"option {command} {option}" for option in action.option_strings)


def test_no_name_that_others_hold_on_to_goes_or_comes_without_being_recorded() -> None:
    now = names()
    if os.environ.get("ESEWATCH_REWRITE_GOLDEN"):
        RECORDED.write_text("".join(f"{name}\n" for name in now), encoding="utf-8")
    recorded = RECORDED.read_text(encoding="utf-8").splitlines()

    assert sorted(set(recorded) - set(now)) == [], "gone: a breaking change"
    assert sorted(set(now) - set(recorded)) == [], "new: record it"
    assert len(now) > 500
