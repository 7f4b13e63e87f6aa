"""Promtool cases without the texts of the alerts: those are asserted once, in test_messages.py.

The cases in `*_test.yml` name labels and times. promtool compares annotations, too, so it is given
the rules without them.
"""

import atexit
import copy
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.rules import stories
from tests.rules.expressions import document_of
from tests.rules.needed import name_of, named, needed, seconds
from tests.support.patience import PATIENCE
from tests.support.tools import require

MEMORY = {"GOGC": "off", "GOMEMLIMIT": "256MiB"}
"""promtool lives for seconds: until it has taken that much, it frees nothing."""
LOOKBACK = 300
"""Seconds between two evaluations at the most, where a file has them more often: for as long
Prometheus finds the last sample of a series."""

AT_THE_TIMES_ASKED = ("copies_of_test", "repaired_days_test")
"""Files whose alerts look back on samples alone, and hold for no time between those asked about."""

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def without_texts(document: dict[str, Any]) -> dict[str, Any]:
    """The rule file without annotations."""
    found = copy.deepcopy(document)
    for group in found["groups"]:
        for rule in group["rules"]:
            rule.pop("annotations", None)
    return found


def only(document: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The rule file with the rules `names` alone: fewer are evaluated."""
    found = copy.deepcopy(document)
    for group in found["groups"]:
        group["rules"] = [rule for rule in group["rules"] if name_of(rule) in names]
    return found


def asked(group: dict[str, Any]) -> frozenset[str]:
    """The alerts and series that the cases of a group ask about."""
    alerts = {case["alertname"] for case in group.get("alert_rule_test", ())}
    return frozenset(alerts).union(
        *(named(case["expr"]) for case in group.get("promql_expr_test", ()))
    )


def step(evaluated: str, group: dict[str, Any], least: int = LOOKBACK) -> str:
    """How often rules are evaluated for the cases of a group: at each time that is asked.

    Not more often than `evaluated`, as the file says, and at least each `least` seconds; 0: no
    more often than is asked.
    """
    cases = [*group.get("alert_rule_test", ()), *group.get("promql_expr_test", ())]
    times = {int(seconds(case["eval_time"])) for case in cases}
    return f"{max(int(seconds(evaluated)), math.gcd(least, *times))}s"


def write(document: dict[str, Any], file: Path) -> None:
    """As YAML."""
    file.write_text(str(yaml.dump(document, Dumper=_DUMPER, sort_keys=False)))


def _made() -> tuple[Path, ...]:
    """Files with the cases that a table makes, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="esewatch-cases-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    files = []
    for name, document in stories.documents():
        files.append(folder / f"{name}_test.yml")
        write(document, files[-1])
    return tuple(files)


FOLDER = Path(__file__).parent
TESTS = (*sorted(FOLDER.glob("*_test.yml")), *_made())
"""All files with cases."""


def quick(path: Path) -> bool:
    """Whether `make test` runs its cases: of those that a table makes some stand for all."""
    made, _, alert = path.stem.removesuffix("_test").partition("_")
    return made not in ("fresh", "latched") or alert in stories.stand_for_all()


QUICK = [path if quick(path) else pytest.param(path, marks=pytest.mark.slow) for path in TESTS]


def prepare(
    path: Path,
    folder: Path,
    groups: Sequence[dict[str, Any]] | None = None,
    *,
    texts: bool = False,
    whole: bool = False,
    exact: bool = False,
) -> list[Path]:
    """Test files in `folder`, ready for promtool: the cases of one ask about the same rules.

    `groups` are other groups in the place of those of the file. Each test file comes with the
    rules that are needed for its cases, evaluated as often as these need, or as it says where that
    is `exact`. Where it is `whole` it comes with all rules of its rule files, as often as it says.
    """
    parts: dict[tuple[frozenset[str], str], list[dict[str, Any]]] = {}
    evaluated = document_of(path)["evaluation_interval"]
    least = 0 if groups is None and path.stem in AT_THE_TIMES_ASKED else LOOKBACK
    for group in document_of(path)["tests"] if groups is None else groups:
        often = evaluated if whole or exact else step(evaluated, group, least)
        parts.setdefault((frozenset[str]() if whole else asked(group), often), []).append(group)
    files = []
    for number, ((names, often), part) in enumerate(parts.items()):
        (folder / f"{number}").mkdir()
        files.append(folder / f"{number}" / path.name)
        document = {**document_of(path), "tests": part, "rule_files": []}
        document["evaluation_interval"] = often
        for name in document_of(path)["rule_files"]:
            rules = document_of((path.parent / name).resolve())
            rules = rules if whole else only(rules, needed(names))
            write(rules if texts else without_texts(rules), files[-1].with_name(Path(name).name))
            document["rule_files"].append(Path(name).name)
        write(document, files[-1])
    return files


def run(files: Sequence[Path], program: str = "") -> subprocess.CompletedProcess[str]:
    """What promtool says of prepared test files: the installed one, or `program`."""
    return subprocess.run(
        [program or require("promtool"), "test", "rules", *map(str, files)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env={**os.environ, **MEMORY},
    )
