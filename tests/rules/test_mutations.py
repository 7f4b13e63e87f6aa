"""Each rule is held by a test: a rule that is broken on purpose makes a promtool test fail.

A mutant is one rule with one change: its expression gone, a comparison or a set operator
turned round, a matcher inverted, an arithmetic operator changed, the hold time gone. The
test files that name the rule, its dependents included, must notice.
"""

import copy
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.rules.expressions import ALERT_FILES, RULE_FILES, uses
from tests.support.figures import record
from tests.support.tools import require

FOLDER = Path(__file__).parent
NEVER = "vector(1) < 0"
OPPOSITES = {
    ">=": "<",
    "<=": ">",
    "==": "!=",
    ">": "<=",
    "<": ">=",
    "unless": "and",
    "and": "unless",
    "or": "and",
    "-": "+",
    "/": "*",
    "*": "/",
    "=~": "!~",
    "!=": "=",
    "=": "!=",
}
TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w:])(?:unless|and|or)(?![\w:])|=~|!~|!=|>=|<=|==|[><=/*-]|[\w:.]+'
)


class Mutant(NamedTuple):
    """A changed rule and what was done to it."""

    path: Path
    rule: int
    name: str
    change: str
    changed: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.name}: {self.change}"


def rules_in(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [rule for group in document["groups"] for rule in group["rules"]]


def changed_expressions(expression: str) -> Iterator[tuple[str, str]]:
    """(what was done, the expression after it) for each place that can be turned round."""
    for found in TOKEN.finditer(expression):
        opposite = OPPOSITES.get(found[0])
        if opposite is None:
            continue
        line = expression.count("\n", 0, found.start()) + 1
        after = expression[: found.start()] + opposite + expression[found.end() :]
        yield f"{found[0]} to {opposite}, line {line}, column {found.start()}", after


def mutants_of(path: Path) -> Iterator[Mutant]:
    for index, rule in enumerate(rules_in(yaml.safe_load(path.read_text()))):
        name = rule.get("alert") or rule["record"]
        label = f"{name} ({rule['labels']['severity']})" if "alert" in rule else name
        yield Mutant(path, index, label, "expression gone", {**rule, "expr": NEVER})
        for change, expression in changed_expressions(rule["expr"]):
            yield Mutant(path, index, label, change, {**rule, "expr": expression})
        if "for" in rule:
            without = {key: value for key, value in rule.items() if key != "for"}
            yield Mutant(path, index, label, "hold time gone", without)


FILES = (*RULE_FILES, *ALERT_FILES)
MUTANTS = [mutant for path in FILES for mutant in mutants_of(path)]


def write_rules(mutant: Mutant, folder: Path) -> dict[str, Path]:
    """The rule files in `folder`, with the mutant in its place; by file name."""
    written: dict[str, Path] = {}
    for path in FILES:
        document = copy.deepcopy(yaml.safe_load(path.read_text()))
        if path == mutant.path:
            rule = rules_in(document)[mutant.rule]
            rule.clear()
            rule.update(mutant.changed)
        written[path.name] = folder / path.name
        written[path.name].write_text(yaml.safe_dump(document))
    return written


def dependents(name: str) -> set[str]:
    """Names of the rules that take the recorded series `name`, directly or not."""
    found = {name}
    grew = True
    while grew:
        grew = False
        for path in FILES:
            for rule in rules_in(yaml.safe_load(path.read_text())):
                own = rule.get("alert") or rule["record"]
                taken = {selector.metric for selector in uses(rule["expr"]).selectors}
                if own not in found and taken & found:
                    found.add(own)
                    grew = True
    return found


def cases_about(names: set[str], document: dict[str, Any]) -> list[dict[str, Any]]:
    """The cases of a test file that ask about one of the rules `names`."""
    found = []
    for case in document["tests"]:
        asked = {test["alertname"] for test in case.get("alert_rule_test", ())}
        expressions = " ".join(test["expr"] for test in case.get("promql_expr_test", ()))
        if asked & names or any(name in expressions for name in names):
            found.append(case)
    return found


def noticed(mutant: Mutant, folder: Path) -> bool:
    """Whether a promtool test fails on the mutant; cheap files first."""
    rules = write_rules(mutant, folder)
    names = dependents(mutant.changed.get("alert") or mutant.changed["record"])
    for path in sorted(FOLDER.glob("*_test.yml"), key=lambda path: path.stem != "recording_test"):
        document = yaml.safe_load(path.read_text())
        document["tests"] = cases_about(names, document)
        if not document["tests"]:
            continue
        document["rule_files"] = [str(rules[Path(name).name]) for name in document["rule_files"]]
        test = folder / path.name
        test.write_text(yaml.safe_dump(document))
        done = subprocess.run(
            [require("promtool"), "test", "rules", test],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            return True
    return False


def is_valid(mutant: Mutant, folder: Path) -> bool:
    file = write_rules(mutant, folder)[mutant.path.name]
    command = [require("promtool"), "check", "rules", "--lint=none", str(file)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    "name",
    ["EseKnownBadPage", "EseDefragRatioHigh", "EsewatchSourceSilent", "EsewatchRecordsMissed"],
)
def test_an_unbroken_alert_is_not_noticed(name: str, tmp_path: Path) -> None:
    ((path, index, rule),) = (
        (path, index, rule)
        for path in ALERT_FILES
        for index, rule in enumerate(rules_in(yaml.safe_load(path.read_text())))
        if rule["alert"] == name
    )

    assert not noticed(Mutant(path, index, name, "nothing", rule), tmp_path)


def test_an_unbroken_recording_rule_is_not_noticed(tmp_path: Path) -> None:
    rule = rules_in(yaml.safe_load(RULE_FILES[0].read_text()))[0]

    assert not noticed(Mutant(RULE_FILES[0], 0, rule["record"], "nothing", rule), tmp_path)


def test_there_are_mutants_of_each_rule() -> None:
    assert len(MUTANTS) > 100
    assert {(m.path, m.rule) for m in MUTANTS if m.change == "expression gone"} == {
        (path, index)
        for path in FILES
        for index, _ in enumerate(rules_in(yaml.safe_load(path.read_text())))
    }


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    counts: Counter[str] = Counter()
    yield counts
    if counts["noticed"]:
        figure = f"{counts['noticed']} mutants, all noticed ({counts['refused']} more do not load)"
        record("rules and alerts with an expression removed or a comparison turned", figure)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_broken_rule_is_noticed(mutant: Mutant, tmp_path: Path, tally: Counter[str]) -> None:
    if not is_valid(mutant, tmp_path):
        tally["refused"] += 1  # a mutant that Prometheus refuses to load needs no test
        return

    assert noticed(mutant, tmp_path)
    tally["noticed"] += 1
