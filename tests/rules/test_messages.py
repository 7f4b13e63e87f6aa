"""What each alert says: its text as promtool fills it in, once an alert, as golden files.

The cases of `*_test.yml` ask for labels and times; here the first of them that fires is asked for
its words. Read the difference before you keep it: `make golden`.
"""

import copy
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import ROOT, alerts, document_of
from tests.rules.promtool import TESTS, prepare, run, write

GOLDEN = ROOT / "tests" / "golden" / "messages" / "alerts"
FILES = {path.stem: path for path in TESTS}
_GOT = re.compile(r"got:\[\s*(.*?)\n\s*\]", re.DOTALL)
_ALERT = re.compile(r"Labels:\{(.*?)\}\n\s*Annotations:\{(.*?)\}(?=,?\n|,?$)", re.DOTALL)
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


def firing(path: Path) -> Iterator[tuple[tuple[str, str], dict[str, Any], dict[str, Any]]]:
    """((alert, severity), group, case) of each case that fires."""
    for group in document_of(path)["tests"]:
        for case in group.get("alert_rule_test", ()):
            for alert in case["exp_alerts"]:
                yield (case["alertname"], alert["exp_labels"]["severity"]), group, case


def chosen() -> dict[str, dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]]:
    """File -> (alert, severity) -> the first group and case of all files that fires."""
    found: dict[str, dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]]] = {}
    seen: set[tuple[str, str]] = set()
    for path in TESTS:
        for key, group, case in firing(path):
            if key not in seen:
                seen.add(key)
                found.setdefault(path.stem, {})[key] = group, case
    return found


CHOSEN = chosen()


def test_each_alert_has_its_words_asserted() -> None:
    told = {key for keys in CHOSEN.values() for key in keys}

    assert told == {(rule["alert"], rule["labels"]["severity"]) for rule in alerts()}


def pairs(text: str) -> dict[str, str]:
    return {name: json.loads(value) for name, value in _PAIR.findall(text)}


def messages(name: str, folder: Path) -> str:
    """What the alerts say that are chosen from this file, sorted."""
    file = prepare(FILES[name], folder, texts=True)
    document = copy.deepcopy(document_of(FILES[name]))
    document["rule_files"] = [Path(rules).name for rules in document["rule_files"]]
    document["tests"] = [
        {**group, "alert_rule_test": [{**case, "exp_alerts": []}], "promql_expr_test": []}
        for group, case in CHOSEN[name].values()
    ]
    write(document, file)
    said = {}
    done = run(file)
    for block in _GOT.findall(done.stdout + done.stderr):
        for labels, annotations in _ALERT.findall(block):
            found, notes = pairs(labels), pairs(annotations)
            key = found["alertname"], found["severity"]
            if key in CHOSEN[name] and key not in said:
                lines = [" ".join(key), *(f"  {text}" for text in notes.values())]
                said[key] = "\n".join(lines)
    assert said.keys() == CHOSEN[name].keys()
    return "\n\n".join(said[key] for key in sorted(said)) + "\n"


@pytest.mark.parametrize("name", sorted(CHOSEN))
def test_what_alerts_say_golden(name: str, tmp_path: Path) -> None:
    found = messages(name, tmp_path)
    golden = GOLDEN / f"{name.removesuffix('_test')}.txt"
    if os.environ.get("ESEWATCH_REWRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")

    assert found == golden.read_text(encoding="utf-8")
