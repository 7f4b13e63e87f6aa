"""What a PromQL expression asks for: the metrics and the labels it names."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import yaml

from esewatch.advice.alerts import HELD, held_expression, severities

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "rules" / "examples"
"""Rules that nobody loads as they are."""
RULE_FILES = tuple(
    sorted(path for path in (ROOT / "rules").rglob("*.yml") if path.parent != EXAMPLES)
)
ALERT_FILES = tuple(sorted((ROOT / "alerts").glob("*.yml")))
RUNBOOKS = ROOT / "docs" / "runbooks"
GOLDEN = ROOT / "tests" / "golden" / "exposition.prom"
ADDED_BY_PROMETHEUS = {"job", "instance"}
OF_SITES = {"site"}
"""Labels that targets may have, and rules keep apart what differs by them."""
OF_ALERTS = {"alertname", "alertstate", "alertgroup", "severity"}
"""Labels that the series ALERTS has beside those of the alert; vmalert adds the group."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')


class Selector(NamedTuple):
    """One selector of an expression."""

    metric: str
    matchers: tuple[tuple[str, str], ...]
    """(label, value or regular expression)."""


class Uses(NamedTuple):
    """All that one expression names."""

    selectors: tuple[Selector, ...]
    labels: frozenset[str]
    """Labels of groupings and of vector matching; those of matchers are in `selectors`."""


def uses(expression: str) -> Uses:
    """Parse `expression`; raises ValueError where it is no PromQL."""
    selectors: list[Selector] = []
    labels: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector):
            matchers = node.matchers.matchers
            selectors.append(Selector(node.name or "", tuple((m.name, m.value) for m in matchers)))
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier:
            labels.update(node.modifier.labels)
        elif isinstance(node, promql_parser.BinaryExpr) and node.modifier:
            matching = node.modifier.matching
            labels.update(matching.labels if matching else ())

    promql_parser.walk(promql_parser.parse(expression), visit)
    return Uses(tuple(dict.fromkeys(selectors)), frozenset(labels))


@cache
def document_of(path: Path) -> dict[str, Any]:
    """A parsed YAML file; whoever wants to change it copies it first."""
    found: dict[str, Any] = yaml.load(path.read_text(), _LOADER)
    return found


@cache
def rules_of(path: Path) -> tuple[dict[str, Any], ...]:
    """The rules of a rule file, in order. Fails on a file without rules."""
    found = tuple(rule for group in document_of(path)["groups"] for rule in group["rules"])
    assert found, f"no rules in {path}"
    return found


def recording_rules() -> list[dict[str, Any]]:
    """Those of all files."""
    return [rule for path in RULE_FILES for rule in rules_of(path)]


def alerts() -> list[dict[str, Any]]:
    """The alerting rules of all files; an alert with two severities is two of them."""
    return [rule for path in ALERT_FILES for rule in rules_of(path)]


def severities_of(rule: dict[str, Any]) -> list[str]:
    """Those that an alert may have: its own, else those of the findings that it carries."""
    if own := rule.get("labels", {}).get("severity"):
        return [own]
    carried = [of for of in HELD[rule["alert"]] if held_expression(of) == rule["expr"].strip()]
    return sorted({each for of in carried for name in of.findings for each in severities(name)})


def name_and_severity(rule: dict[str, Any]) -> str:
    """Of an alert, for the name of a test."""
    return f"{rule['alert']}-{'-'.join(severities_of(rule))}"


def kinds() -> list[tuple[str, str]]:
    """Each alert with each of its severities."""
    return sorted({(rule["alert"], each) for rule in alerts() for each in severities_of(rule)})


def recorded() -> set[str]:
    """Names of the recorded series."""
    return {rule["record"] for rule in recording_rules()}


@cache
def made_of(name: str) -> Any:
    """The parsed expression of a recorded series; without the parts in which it goes on by itself.

    Raises KeyError where no rule records it.
    """
    node = promql_parser.parse({r["record"]: r["expr"] for r in recording_rules()}[name])
    while isinstance(node, promql_parser.BinaryExpr) and str(node.op) == "or":
        if name not in {selector.metric for selector in uses(str(node.rhs)).selectors}:
            break
        node = node.lhs
    return node


def subject(expression: str) -> set[str]:
    """The metrics that an expression begins with, in each of its alternatives.

    Recorded series are followed to the metrics that they are made of.
    """
    made = recorded()

    def first(node: Any) -> set[str]:
        if isinstance(node, promql_parser.BinaryExpr):
            left = first(node.lhs)
            return left | first(node.rhs) if str(node.op) == "or" or not left else left
        if isinstance(node, promql_parser.VectorSelector):
            return first(made_of(node.name)) if node.name in made else {str(node.name)}
        if isinstance(node, promql_parser.MatrixSelector):
            return first(node.vector_selector)
        if isinstance(node, promql_parser.Call):
            return set().union(*(first(part) for part in node.args))
        return first(node.expr) if hasattr(node, "expr") else set()

    return first(promql_parser.parse(expression))


@cache
def golden() -> dict[str, frozenset[str]]:
    """Metric -> its labels, from the golden exposition."""
    found: dict[str, frozenset[str]] = {}
    for line in GOLDEN.read_text().splitlines():
        sample = _SAMPLE.fullmatch(line)
        if sample and not line.startswith("#"):
            names = frozenset(name for name, _ in _LABEL.findall(sample[2] or ""))
            found[sample[1]] = found.get(sample[1], frozenset()) | names
    assert found, "the golden exposition is empty"
    return found


def made_labels(expression: str) -> frozenset[str]:
    """Labels that the expression itself gives."""
    found: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.Call) and node.func.name == "label_replace":
            found.add(node.args[1].val)

    promql_parser.walk(promql_parser.parse(expression), visit)
    return frozenset(found)


def unknown(expression: str) -> Iterator[str]:
    """What `expression` names and neither the agent, Prometheus nor a rule provides."""
    known = golden()
    wanted = uses(expression)
    for selector in wanted.selectors:
        if selector.metric in {"up", "ALERTS", "ALERTS_FOR_STATE"}:
            continue
        if selector.metric in recorded():
            allowed = frozenset().union(*known.values())
        elif selector.metric in known:
            allowed = known[selector.metric]
        else:
            yield f"metric {selector.metric!r}"
            continue
        for label, _ in selector.matchers:
            if label not in allowed | ADDED_BY_PROMETHEUS | OF_SITES:
                yield f"label {label!r} of {selector.metric}"
    everywhere = frozenset().union(*known.values()) | ADDED_BY_PROMETHEUS | OF_ALERTS
    everywhere |= made_labels(expression) | OF_SITES
    for label in wanted.labels - everywhere:
        yield f"label {label!r}"
