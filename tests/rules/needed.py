"""Which rules take which: what a case about some needs, and what a change of one reaches."""

import re
from functools import cache
from typing import Any

import promql_parser as ql

from tests.rules.expressions import ALERT_FILES, RULE_FILES, document_of, uses

FILES = (*RULE_FILES, *ALERT_FILES)


def rules_in(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Its rules, in order."""
    return [rule for group in document["groups"] for rule in group["rules"]]


def name_of(rule: dict[str, Any]) -> str:
    """Of an alert or a recorded series."""
    return str(rule.get("alert") or rule["record"])


def named(expression: str) -> frozenset[str]:
    """The series of an expression, and the alerts whose ALERTS it asks for."""
    return frozenset(
        name
        for selector in uses(expression).selectors
        for name in (
            selector.metric,
            *(value for label, value in selector.matchers if label == "alertname"),
        )
    )


@cache
def dependents(name: str) -> frozenset[str]:
    """Names of the rules that take the series `name`, directly or not, itself included."""
    found = {name}
    while more := {own for own, taken in _taken().items() if taken & found} - found:
        found |= more
    return frozenset(found)


@cache
def needed(names: frozenset[str]) -> frozenset[str]:
    """`names` and the rules that they take, directly or not."""
    found = set(names)
    taken = _taken()
    while more := {each for own in found for each in taken.get(own, ()) if each in taken} - found:
        found |= more
    return frozenset(found)


@cache
def _taken() -> dict[str, frozenset[str]]:
    """What each rule takes: metrics of its expression, and of the queries of its templates."""
    found: dict[str, frozenset[str]] = {}
    for path in FILES:
        for rule in rules_in(document_of(path)):
            notes = str(rule.get("annotations", ""))
            names = named(rule["expr"]) | {name for name in _recorded() if name in notes}
            found[name_of(rule)] = found.get(name_of(rule), frozenset()) | names
    return found


@cache
def _recorded() -> frozenset[str]:
    return frozenset(
        rule["record"] for path in FILES for rule in rules_in(document_of(path)) if "record" in rule
    )


def seconds(duration: str) -> float:
    """Of a duration as promtool takes it."""
    units = re.findall(r"\d+[a-z]+", str(duration))
    return sum(ql.parse_duration(unit).total_seconds() for unit in units if int(unit[:-1]))
