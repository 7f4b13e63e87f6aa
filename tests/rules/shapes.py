"""What the result of a PromQL expression looks like: its labels, what identifies an element,
and whether it is there only when something is the case."""

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import promql_parser as ql

from tests.rules.expressions import (
    ADDED_BY_PROMETHEUS,
    golden,
    made_of,
    recorded,
    recording_rules,
)

COMPARISONS = {"==", "!=", ">", "<", ">=", "<="}
SETS = {"and", "or", "unless"}
KEEP_ELEMENTS = {"topk", "bottomk", "limitk"}
ABSENCE = {"absent", "absent_over_time"}
OF_THE_SITE = "team"
"""A label that a site may give its targets: whatever rules do, it must be there in the end."""
KEYS = {
    "ese_database_info": frozenset({"job", "instance", "computer", "database"}),
    "ese_database_copies_info": frozenset({"job", "instance", "computer", "database"}),
    "ese_database_device_info": frozenset({"job", "instance", "computer", "database"}),
}
"""Metrics with traits as labels, and the labels that the traits depend on."""


EITHER = ("ese_finding", "database", "ese_instance")
"""A metric of which each element has one of these labels alone."""
PHASE_OF_LOGS = ("ese_io_latency_seconds", "file", "log", "phase")
"""Logs are written in one phase only and read in the other, so the operation says it all."""


class Shape(NamedTuple):
    """The elements of a result. A scalar has no labels and is no vector."""

    vector: bool
    certain: frozenset[str] = frozenset()
    """Labels that each element has."""
    possible: frozenset[str] = frozenset()
    """Labels that an element may have."""
    key: frozenset[str] = frozenset()
    """Labels that tell the elements apart."""


SCALAR = Shape(vector=False)


def bare(node: Any) -> Any:
    """The expression without the parentheses around it."""
    while isinstance(node, ql.ParenExpr):
        node = node.expr
    return node


def nodes(node: Any) -> Iterator[Any]:
    """Each node of a parsed expression, parents first."""
    found: list[Any] = []
    ql.walk(node, found.append)
    return iter(found)


def operator(node: Any) -> str:
    """`and`, `>`, `sum` ... of a binary expression or an aggregation."""
    return str(node.op)


def shape(node: Any) -> Shape:
    """Shape of a parsed expression. Raises KeyError where it names an unknown metric."""
    node = bare(node)
    if isinstance(node, ql.VectorSelector):
        return _selector(node)
    if isinstance(node, ql.MatrixSelector):
        return _selector(node.vector_selector)
    if isinstance(node, ql.SubqueryExpr | ql.UnaryExpr):
        return shape(node.expr)
    if isinstance(node, ql.AggregateExpr):
        return _aggregation(node)
    if isinstance(node, ql.Call):
        return _call(node)
    if isinstance(node, ql.BinaryExpr):
        return _binary(node)
    return SCALAR


@cache
def _labels_of(name: str) -> frozenset[str]:
    """Those that the recording rule itself gives."""
    return frozenset().union(
        *(r.get("labels", {}) for r in recording_rules() if r["record"] == name)
    )


def _selector(node: Any) -> Shape:
    fixed = {m.name: m.value for m in node.matchers.matchers if str(m.op).endswith(".Equal")}
    equal = {name for name, value in fixed.items() if value}
    if node.name in recorded():
        made = shape(made_of(node.name))
        added = _labels_of(node.name)
        certain, possible = made.certain | added, made.possible | added
        return Shape(True, certain, possible, (made.key | added) - equal)
    if node.name == "up":
        labels = frozenset({*ADDED_BY_PROMETHEUS, OF_THE_SITE})
    else:
        labels = golden()[node.name] | ADDED_BY_PROMETHEUS | {OF_THE_SITE}
    there = {m.name for m in node.matchers.matchers if str(m.op).endswith(".NotEqual")}
    if node.name == EITHER[0] and there & {*EITHER[1:]}:
        labels -= {*EITHER[1:]} - there
    key = KEYS.get(node.name, labels) - equal - {OF_THE_SITE}
    metric, label, value, told = PHASE_OF_LOGS
    if node.name == metric and (label, value) in {
        (m.name, m.value) for m in node.matchers.matchers
    }:
        key -= {told}
    return Shape(True, labels, labels, key)


def _call(node: Any) -> Shape:
    name = node.func.name
    arguments = [shape(argument) for argument in node.args]
    if name in ABSENCE:
        selector = next(n for n in nodes(node) if isinstance(n, ql.VectorSelector))
        matchers = selector.matchers.matchers
        labels = frozenset(m.name for m in matchers if str(m.op).endswith(".Equal"))
        return Shape(True, labels, labels)
    if name == "vector":
        return Shape(True)
    if not str(node.func.return_type).endswith(".Vector"):
        return SCALAR
    found = next((argument for argument in arguments if argument.vector), Shape(True))
    if name in {"label_replace", "label_join"}:
        added = {bare(node.args[1]).val}
        return found._replace(certain=found.certain | added, possible=found.possible | added)
    if name == "histogram_quantile":
        return _without(found, {"le"})
    return found


def _without(found: Shape, gone: set[str]) -> Shape:
    return Shape(True, found.certain - gone, found.possible - gone, found.key - gone)


def _aggregation(node: Any) -> Shape:
    found = shape(node.expr)
    if operator(node) in KEEP_ELEMENTS:
        kept = _grouped(node, found).key
        return found._replace(key=kept) if _is_one(node.param) else found
    made = _grouped(node, found)
    if operator(node) != "count_values":
        return made
    added = {bare(node.param).val}
    # One element for each value: of a single one there is a single value.
    key = made.key if found.key <= made.key else made.key | added
    return Shape(True, made.certain | added, made.possible | added, key)


def _is_one(parameter: Any) -> bool:
    parameter = bare(parameter)
    return isinstance(parameter, ql.NumberLiteral) and parameter.val == 1


def _grouped(node: Any, found: Shape) -> Shape:
    """What is left of the labels."""
    if node.modifier is None:
        return Shape(True)
    named = set(node.modifier.labels)
    if str(node.modifier.type).endswith(".By"):
        kept = frozenset(named)
        key = found.key if found.key <= kept else kept & found.possible
        return Shape(True, found.certain & kept, found.possible & kept, key)
    if found.key & named:
        return _without(found._replace(key=found.possible), named)
    return _without(found, named)


def _binary(node: Any) -> Shape:
    left, right = shape(node.lhs), shape(node.rhs)
    name = operator(node)
    if not (left.vector and right.vector):
        return left if left.vector else right
    if name == "or":
        certain, possible = left.certain & right.certain, left.possible | right.possible
        return Shape(True, certain, possible, left.key | right.key)
    if name in SETS:
        return left
    on, ignored = matching(node)
    many, one = left, right
    grouped = str(node.modifier.card) if node.modifier else ""
    if grouped.endswith("OneToMany"):
        many, one = right, left
    if grouped.endswith(("ManyToOne", "OneToMany")):
        added = frozenset(node.modifier.group_labels or ())
        return many._replace(
            certain=many.certain | (added & one.certain), possible=many.possible | added
        )
    if on is not None:
        key = left.key if left.key <= on else on & left.possible
        return Shape(True, left.certain & on, left.possible & on, key)
    return _without(left, set(ignored))


def matching(node: Any) -> tuple[frozenset[str] | None, frozenset[str]]:
    """(labels of `on`, None without; labels of `ignoring`) of a binary expression."""
    named = node.modifier.matching if node.modifier else None
    if named is None:
        return None, frozenset()
    if str(named.type).endswith(".Include"):
        return frozenset(named.labels), frozenset()
    return None, frozenset(named.labels)


def is_join(node: Any) -> bool:
    """Whether a node combines the elements of two vectors."""
    return isinstance(node, ql.BinaryExpr) and shape(node.lhs).vector and shape(node.rhs).vector


def is_condition(node: Any) -> bool:
    """Whether an expression has a result only when something is the case.

    That is a comparison that filters, or an absence.
    """
    node = bare(node)
    if isinstance(node, ql.VectorSelector):
        return node.name in recorded() and is_condition(made_of(node.name))
    if isinstance(node, ql.MatrixSelector):
        return is_condition(node.vector_selector)
    if isinstance(node, ql.Call):
        return node.func.name in ABSENCE or any(is_condition(part) for part in node.args)
    if isinstance(node, ql.AggregateExpr | ql.UnaryExpr | ql.SubqueryExpr):
        return is_condition(node.expr)
    if not isinstance(node, ql.BinaryExpr):
        return False
    name = operator(node)
    left, right = is_condition(node.lhs), is_condition(node.rhs)
    if name in COMPARISONS:
        return not (node.modifier and node.modifier.return_bool) or left
    if name == "or":
        return left and right
    if name == "unless":
        return left or _says_only_that_it_is_there(node.lhs)
    return left or right


def _says_only_that_it_is_there(node: Any) -> bool:
    names = [str(n.name).split(":") for n in nodes(node) if isinstance(n, ql.VectorSelector)]
    return bool(names) and names[0][len(names[0]) // 2].endswith(("_info", "_up"))
