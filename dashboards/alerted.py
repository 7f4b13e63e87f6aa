"""Limits that only an alert knows, drawn where its value is drawn.

They are read from the alert's own expression, or that of a series recorded for it, when the
dashboards are built, so each is written down once: a limit that is changed in alerts/ or rules/
makes the committed dashboards out of date.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser
import yaml
from grafana_foundation_sdk.builders import timeseries

from dashboards.links import Link
from dashboards.parts import REFERENCES, Query, Words, finish, limits, lines

ROOT = Path(__file__).resolve().parents[1]


@cache
def _rules() -> tuple[dict[str, Any], ...]:
    groups = [
        group
        for file in sorted([*ROOT.glob("alerts/*.yml"), *ROOT.glob("rules/*.yml")])
        for group in yaml.safe_load(file.read_text())["groups"]
    ]
    return tuple(rule for group in groups for rule in group["rules"])


def limit_of(alert: str, severity: str = "", part: str = "") -> float:
    """The first number in the expression of an alert or a recorded series: what it compares or
    multiplies with.

    `severity` is needed where alerts of one name differ by it, and where an alert compares several
    series a `part` of the text of the one that is meant. Raises ValueError where not exactly one
    alert fits, or it has no such number.
    """
    found = [
        rule["expr"]
        for rule in _rules()
        if alert in {rule.get("alert"), rule.get("record")}
        and severity in {"", rule.get("labels", {}).get("severity")}
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} alerts {alert} {severity}")
    numbers: list[float] = []

    def visit(node: object) -> None:
        if part and isinstance(node, promql_parser.BinaryExpr):
            limit = node.rhs
            if isinstance(limit, promql_parser.NumberLiteral) and part in str(node.lhs):
                numbers.append(limit.val)
        elif not part and isinstance(node, promql_parser.NumberLiteral):
            numbers.append(node.val)

    promql_parser.walk(promql_parser.parse(found[0]), visit)
    if not numbers:
        raise ValueError(f"no number in {alert} {severity} {part}")
    return numbers[0]


def drawn(value: float, beside: str, name: str = "limit of the alert") -> Query:
    """A level line, there only where `beside` has something: else the panel is empty."""
    return Query(f"vector({value:.6g}) and on () ({beside})", name)


def against(
    words: Words, queries: Sequence[Query], lines_of: Sequence[Query], links: Sequence[Link]
) -> timeseries.Panel:
    """Lines with what they are held against, dashed."""
    panel: timeseries.Panel = finish(lines(), words, [*queries, *lines_of], links)
    for reference in REFERENCES[len(queries) : len(queries) + len(lines_of)]:
        limits(panel, reference)
    return panel
