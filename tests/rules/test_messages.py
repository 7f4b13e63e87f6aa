"""What each alert says: its text as promtool fills it in, once an alert, as golden files.

The cases of `*_test.yml` ask for labels and times; here the first of them that fires is asked for
its words. Read the difference before you keep it: `make golden`.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import ROOT, alerts, document_of, kinds, severities_of
from tests.rules.promtool import TESTS, prepare, quick, run

LINKS = re.compile(r"site:esewatch_links:info|esewatch_web_info|ese_finding\{finding=%q")
"""What a link begins with, and who reports it: other words do not depend on it."""
GOLDEN = ROOT / "tests" / "golden" / "messages" / "alerts"
FILES = {path.stem: path for path in TESTS}
_GOT = re.compile(r"got:\[\s*(.*?)\n\s*\]", re.DOTALL)
_ALERT = re.compile(r"Labels:\{(.*?)\}\n\s*Annotations:\{(.*?)\}(?=,?\n|,?$)", re.DOTALL)
_BRANCH = re.compile(r"(if|with) (eq |ne )?\$labels(?!\.severity)")
_CONDITION = re.compile(r"\{\{-?\s*(?:else\s+)?(?:if|with|range)\s(.*?)\}\}", re.DOTALL)
_MORE = re.compile(r"\$value|\bquery\b")
_LABEL = re.compile(r"\$labels\.(\w+)")
_FIGURES = re.compile(r"[\d.]+([dhms%]|ms)?\b| ")
_REPORTERS = re.compile(r"Reported by( [\w.]+:\d+)*")
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


def firing(
    path: Path,
) -> Iterator[tuple[tuple[str, str], dict[str, str], dict[str, Any], dict[str, Any]]]:
    """((alert, severity), labels, group, case) of each alert of a case that fires."""
    for group in document_of(path)["tests"]:
        for case in group.get("alert_rule_test", ()):
            for alert in case["exp_alerts"]:
                labels = alert["exp_labels"]
                yield (case["alertname"], labels["severity"]), labels, group, case


Key = tuple[str, str]
SUBJECT = {"computer", "database", "database_name", "ese_instance", "instance", "source", "name"}
"""Labels whose values stand in descriptions."""
NOTES: dict[Key, list[str]] = {
    (name, severity): [
        str(rule["annotations"])
        for rule in alerts()
        if rule["alert"] == name and severity in severities_of(rule)
    ]
    for name, severity in kinds()
}
MANY_WORDED = {
    key for key, notes in NOTES.items() if len(notes) > 1 or any(map(_BRANCH.search, notes))
}
"""Those that say different things: of several rules, or as a label has it."""


@cache
def deciding(key: Key) -> set[str] | None:
    """The labels that alone decide which words come; None where something else decides, too."""
    notes = NOTES[key]
    found = [each for each in _CONDITION.findall(notes[0]) if not LINKS.search(each)]
    if len(notes) > 1 or any("$labels." not in each or _MORE.search(each) for each in found):
        return None
    return {label for each in found for label in _LABEL.findall(each)}


def chosen() -> dict[str, dict[Key, list[tuple[dict[str, Any], dict[str, Any]]]]]:
    """File -> (alert, severity) -> the first group and case of all files that fires.

    Of what is worded in more than one way, one for each way in which labels decide; one of each
    group where something else decides: which words come is not known before.
    """
    found: dict[str, dict[Key, list[tuple[dict[str, Any], dict[str, Any]]]]] = {}
    seen: set[tuple[object, ...]] = set()
    for path in TESTS:
        for key, labels, group, case in firing(path):
            said: tuple[object, ...] = (key,)
            if key in MANY_WORDED:
                names = deciding(key)
                said = (key, path, id(group))
                if names is not None:
                    said = (key, *(labels.get(name) for name in sorted(names)))
            if said not in seen:
                seen.add(said)
                cases = found.setdefault(path.stem, {}).setdefault(key, [])
                if all(case is not other for _, other in cases):
                    cases.append((group, case))
    return found


CHOSEN = chosen()


def test_each_alert_has_its_words_asserted() -> None:
    told = {key for keys in CHOSEN.values() for key in keys}

    assert told == NOTES.keys()


def test_no_stored_message_is_left_over() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {
        name.removesuffix("_test") for name in CHOSEN
    }


def test_each_rule_has_its_words_asserted() -> None:
    told = "\n".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt"))

    assert [rule["alert"] for rule in alerts() if rule["annotations"]["summary"] not in told] == []


def pairs(text: str) -> dict[str, str]:
    return {name: json.loads(value) for name, value in _PAIR.findall(text)}


def answers(
    name: str, wanted: Iterable[tuple[dict[str, Any], dict[str, Any]]], folder: Path
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """(labels, annotations) of all that fires in these groups and cases of a file."""
    cases: dict[int, dict[str, Any]] = {}
    for group, case in wanted:
        asked = cases.setdefault(
            id(group), {**group, "alert_rule_test": [], "promql_expr_test": []}
        )
        asked["alert_rule_test"].append({**case, "exp_alerts": []})
    groups = list(cases.values())
    done = run(prepare(FILES[name], folder, groups, texts=True))
    for block in _GOT.findall(done.stdout + done.stderr):
        for labels, annotations in _ALERT.findall(block):
            yield pairs(labels), pairs(annotations)


def wording(labels: dict[str, str], description: str) -> str:
    """The description without names and figures, and without those that report it."""
    description = _REPORTERS.sub("", description)
    named = [labels[name] for name in SUBJECT & labels.keys()]
    for value in sorted(named, key=len, reverse=True):
        description = description.replace(value, "")
    return _FIGURES.sub("", description)


def messages(name: str, folder: Path) -> str:
    """What the alerts say that are chosen from this file, sorted."""
    said: dict[Key, dict[str, str]] = {}
    wanted = [each for cases in CHOSEN[name].values() for each in cases]
    for labels, notes in answers(name, wanted, folder):
        key = labels["alertname"], labels["severity"]
        if key in CHOSEN[name]:
            texts = [f"  {title}: {text}" for title, text in notes.items()]
            told = "\n".join([" ".join(key), f"  {json.dumps(labels)}", *texts])
            said.setdefault(key, {}).setdefault(wording(labels, notes["description"]), told)
    assert said.keys() == CHOSEN[name].keys()
    return "\n\n".join(text for key in sorted(said) for text in said[key].values()) + "\n"


@pytest.mark.parametrize("name", sorted(CHOSEN))
def test_what_alerts_say_golden(name: str, tmp_path: Path) -> None:
    found = messages(name, tmp_path)
    golden = GOLDEN / f"{name.removesuffix('_test')}.txt"
    if os.environ.get("ESEWATCH_REWRITE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(found, encoding="utf-8")

    assert found == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        name if quick(path) else pytest.param(name, marks=pytest.mark.slow)
        for name, path in sorted(FILES.items())
        if name.startswith("latched_")
    ],
)
def test_what_outlives_its_agent_says_so(name: str, tmp_path: Path) -> None:
    group = document_of(FILES[name])["tests"][0]
    fires = [case for case in group["alert_rule_test"] if case["exp_alerts"]]
    before, after = fires[0], fires[3]

    found = [
        notes["description"]
        for _, notes in answers(name, [(group, before), (group, after)], tmp_path)
    ]
    told, kept = found[: len(found) // 2], found[len(found) // 2 :]

    assert [each for each in told if "Reported by ex01:19703." not in each] == []
    assert [each for each in kept if "Reported by no agent any more." not in each] == []
    assert [each for each in kept if re.search(r"\b0 |<no value>|  ", each)] == []
