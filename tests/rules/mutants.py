"""Rules with one change each, and whether a promtool case notices it.

A mutant is one rule with its expression gone, a comparison or a set operator turned round, a
matcher inverted, an arithmetic operator changed, a number doubled or halved, its hold time
halved, or its `keep_firing_for` gone. (A case that notices half the hold time is silent between
half and the whole, so it notices a missing one too.)

promtool is given the changed rule with what it takes and what takes it, and the cases that ask
about these: the other rules of the files cannot change the answer.
"""

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser as ql
import yaml

from tests.rules.expressions import document_of, severities_of
from tests.rules.needed import FILES, dependents, name_of, needed, rules_in, seconds
from tests.rules.promtool import TESTS, run, without_texts

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
BY_ONE = re.compile(
    r"\s*(?:on|ignoring) \([^)]*\) group_left \([^)]*\)\s*"
    r"(?:(?:topk by \([^)]*\) \(1,\s+)?\w+_info\b|database:ese_database_info:alone\b)"
    r"|\s*(?:ese_database_verdict|group by)\b"
)
"""A join with what is 1, or a group: to divide by it is the same, as it is for 0."""
SAID = re.compile(r"time\(\) |(?s:.*)ese_window_advice\{[^}]*\}\n\s*\)\n\s*")
"""Before a sign that makes the value which an alert tells, and not whether it fires: the value is
held by tests/golden/messages."""
NUMBER = re.compile(r"\d+(?:\.\d+)?")
LONG = 150
"""Evaluations of all rules, for what a case is a long one: each costs about the same."""
REFUSED = "could not parse"
"""What promtool says of a rule that Prometheus would not load."""

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Mutant(NamedTuple):
    """A changed rule and what was done to it."""

    path: Path
    rule: int
    name: str
    change: str
    changed: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.name}: {self.change}"


def changed_expressions(expression: str) -> Iterator[tuple[str, str]]:
    """(what was done, the expression after it) for each place that can be changed."""
    before = ""
    for found in TOKEN.finditer(expression):
        token = found[0]
        changes = [OPPOSITES[token]] if token in OPPOSITES else []
        if token == "*" and (before == "0" or BY_ONE.match(expression, found.end())):
            continue
        if SAID.fullmatch(expression[: found.start()]):
            continue
        # The value of what always fires means nothing.
        if NUMBER.fullmatch(token) and before not in {"*", "vector"}:
            changes = _other_numbers(token)
        line = expression.count("\n", 0, found.start()) + 1
        for change in changes:
            after = expression[: found.start()] + change + expression[found.end() :]
            yield f"{token} to {change}, line {line}, column {found.start()}", after
        before = token


def _other_numbers(text: str) -> list[str]:
    """Twice and half of it. 0 has none; half of 1 is the same to what is counted."""
    value = float(text)
    factors = [2.0] if value == 1 else [2.0, 0.5] if value else []
    return [f"{value * factor:g}" for factor in factors]


def half(duration: str) -> str:
    """Half of a duration, as Prometheus writes it."""
    return ql.display_duration(ql.parse_duration(duration) / 2)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of the rules of a file."""
    for index, rule in enumerate(rules_in(document_of(path))):
        label = name_of(rule)
        if "alert" in rule:
            label = f"{label} ({', '.join(severities_of(rule))})"
        yield Mutant(path, index, label, "expression gone", {**rule, "expr": NEVER})
        for change, expression in changed_expressions(rule["expr"]):
            yield Mutant(path, index, label, change, {**rule, "expr": expression})
        if "for" in rule:
            yield Mutant(path, index, label, "hold time halved", {**rule, "for": half(rule["for"])})
        if "keep_firing_for" in rule:
            without = {key: value for key, value in rule.items() if key != "keep_firing_for"}
            yield Mutant(path, index, label, "keep_firing_for gone", without)


def rule_texts(mutant: Mutant, names: frozenset[str]) -> dict[str, str]:
    """The rule files with the rules `names` alone, the mutant in its place; by file name."""
    texts: dict[str, str] = {}
    for path in FILES:
        document = copy.deepcopy(document_of(path))
        if path == mutant.path:
            rule = rules_in(document)[mutant.rule]
            rule.clear()
            rule.update(mutant.changed)
        for group in document["groups"]:
            group["rules"] = [rule for rule in group["rules"] if name_of(rule) in names]
        document["groups"] = [group for group in document["groups"] if group["rules"]]
        texts[path.name] = yaml.dump(without_texts(document), Dumper=_DUMPER)
    return texts


@cache
def cases_about(names: frozenset[str], path: Path, *, long: bool) -> str | None:
    """The cases of a test file that ask about one of the rules `names`; None without any.

    The `long` ones, or the others.
    """
    document = copy.deepcopy(document_of(path))
    cases = []
    for case in document["tests"]:
        if (_steps(document, case) > LONG) != long:
            continue
        alerts = [test for test in case.get("alert_rule_test", ()) if test["alertname"] in names]
        series = [
            test
            for test in case.get("promql_expr_test", ())
            if any(name in test["expr"] for name in names)
        ]
        if alerts or series:
            cases.append({**case, "alert_rule_test": alerts, "promql_expr_test": series})
    if not cases:
        return None
    document["tests"] = cases
    document["rule_files"] = [Path(name).name for name in document["rule_files"]]
    return str(yaml.dump(document, Dumper=_DUMPER))


def _steps(document: dict[str, Any], case: dict[str, Any]) -> float:
    """How often all rules are evaluated up to the end of a case."""
    asked = [*case.get("alert_rule_test", ()), *case.get("promql_expr_test", ())]
    return max(map(seconds, (each["eval_time"] for each in asked)), default=0.0) / seconds(
        document["evaluation_interval"]
    )


def noticed(mutant: Mutant, folder: Path) -> bool | None:
    """Whether a promtool case fails on the mutant; None when Prometheus would not load it.

    Short cases come first: most mutants are noticed by one of them.
    """
    names = dependents(name_of(mutant.changed))
    for name, text in rule_texts(mutant, needed(names)).items():
        (folder / name).write_text(text)
    asked = False
    paths = sorted(TESTS, key=lambda path: path.stat().st_size)
    for path, long in ((path, long) for long in (False, True) for path in paths):
        cases = cases_about(names, path, long=long)
        if cases is None:
            continue
        asked = True
        (folder / path.name).write_text(cases)
        done = run([folder / path.name])
        if done.returncode != 0:
            return None if REFUSED in done.stdout + done.stderr else True
    assert asked, f"no case asks about {names}"
    return False
