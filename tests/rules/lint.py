"""Checks of parsed PromQL: each yields what is wrong with an expression, nothing when it is right.

They are the checks of `pint` (cloudflare/pint, docs/checks) that need no server.
"""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import promql_parser as ql

from tests.rules.expressions import GOLDEN, OF_SITES
from tests.rules.shapes import (
    ABSENCE,
    COMPARISONS,
    KEEP_ELEMENTS,
    OF_THE_SITE,
    SETS,
    Shape,
    bare,
    is_condition,
    is_join,
    matching,
    nodes,
    operator,
    shape,
)

SCRAPE_INTERVAL = timedelta(seconds=60)
GROWTH = {"rate", "increase", "irate"}
OF_COUNTERS = GROWTH | {"resets", "changes", "count_over_time", "present_over_time"}
"""Functions whose result does not depend on where a counter began."""

_TYPE = re.compile(r"# TYPE (\S+) (\w+)")
_BLOCK = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.DOTALL)
_PRINTS = re.compile(r"\{\{(?!-?\s*(?:if|with|range|else|end)\b).*?\}\}", re.DOTALL)
_LABEL = re.compile(r"\$labels\.(\w+)")
_ASKS = re.compile(r"(or|if|with)\s+\$labels\.")
_PRINTED = re.compile(r'(?:(\$\w+) := )?printf "((?:[^"\\]|\\.)*)"([^|}]*)(\| query)?')


@cache
def counters() -> frozenset[str]:
    """Names of the samples that only grow, from the types of the golden exposition."""
    found: set[str] = set()
    for name, kind in _TYPE.findall(GOLDEN.read_text()):
        if kind == "counter":
            found.add(name)
        elif kind == "histogram":
            found |= {f"{name}_bucket", f"{name}_count", f"{name}_sum"}
    assert found, "no counters in the golden exposition"
    return frozenset(found)


def wrong_ranges(expression: str) -> Iterator[str]:
    """promql/rate: growth over fewer than four scrapes, or of something that is no counter."""
    for node in nodes(ql.parse(expression)):
        if not isinstance(node, ql.Call) or node.func.name not in GROWTH:
            continue
        argument = bare(node.args[0])
        if not isinstance(argument, ql.MatrixSelector):
            yield f"{node.func.name}() of a subquery"
            continue
        name = argument.vector_selector.name
        if argument.range < 4 * SCRAPE_INTERVAL:
            yield f"{node.func.name}({name}[{ql.display_duration(argument.range)}])"
        if name not in counters():
            yield f"{node.func.name}() of {name}, which is no counter"


def raw_counters(expression: str) -> Iterator[str]:
    """promql/counter: a counter whose value, not its growth, is used.

    `x > 0 unless x offset d` is allowed: a counter that was born above 0. So is the difference of
    its last values in two ranges, where it is above 0: growth over a time without samples.
    """
    yield from _raw(ql.parse(expression))


def _raw(node: Any) -> Iterator[str]:
    node = bare(node)
    if isinstance(node, ql.VectorSelector):
        if node.name in counters():
            yield str(node.name)
    elif isinstance(node, ql.MatrixSelector):
        yield from _raw(node.vector_selector)
    elif isinstance(node, ql.Call):
        if node.func.name not in OF_COUNTERS | ABSENCE | {"timestamp"}:
            for argument in node.args:
                yield from _raw(argument)
    elif isinstance(node, ql.AggregateExpr):
        if operator(node) not in {"count", "group"}:
            yield from _raw(node.expr)
    elif isinstance(node, ql.BinaryExpr):
        if not _is_birth(node) and not _is_growth(node):
            yield from _raw(node.lhs)
            if operator(node) not in {"and", "unless"} or is_condition(node.rhs):
                yield from _raw(node.rhs)
    elif isinstance(node, ql.SubqueryExpr | ql.UnaryExpr):
        yield from _raw(node.expr)


def _is_birth(node: Any) -> bool:
    """Whether a node is `x > 0 unless x offset d`."""
    first = bare(node.lhs)
    if operator(node) != "unless" or not isinstance(first, ql.BinaryExpr):
        return False
    limit = bare(first.rhs)
    earlier = [n for n in nodes(node.rhs) if isinstance(n, ql.VectorSelector)]
    now = [n for n in nodes(first.lhs) if isinstance(n, ql.VectorSelector)]
    return (
        operator(first) == ">"
        and isinstance(limit, ql.NumberLiteral)
        and limit.val == 0
        and len(now) == len(earlier) == 1
        and now[0].name == earlier[0].name
        and earlier[0].offset is not None
    )


def _is_growth(node: Any) -> bool:
    """Whether a node is `last_over_time(x[a]) - last_over_time(x[b] offset d) > 0`."""
    difference, limit = bare(node.lhs), bare(node.rhs)
    if operator(node) != ">" or not isinstance(difference, ql.BinaryExpr):
        return False
    sides = [bare(difference.lhs), bare(difference.rhs)]
    read = [n for n in nodes(difference) if isinstance(n, ql.VectorSelector)]
    return (
        isinstance(limit, ql.NumberLiteral)
        and limit.val == 0
        and operator(difference) == "-"
        and all(isinstance(n, ql.Call) and n.func.name == "last_over_time" for n in sides)
        and len({n.name for n in read}) == 1
        and [n.offset is None for n in read] == [True, False]
    )


def wrong_joins(expression: str) -> Iterator[str]:
    """promql/vector_matching: a join that matches nothing, too much, or by chance."""
    for node in nodes(ql.parse(expression)):
        if is_join(node) and operator(node) != "or":
            yield from _wrong_join(node, shape(node.lhs), shape(node.rhs))


def _wrong_join(node: Any, left: Shape, right: Shape) -> Iterator[str]:
    name = operator(node)
    on, ignored = matching(node)
    if on is None:
        if left.possible - ignored != right.possible - ignored:
            yield f"{name} without on between {_names(left)} and {_names(right)}"
        return
    for side, found in (("left", left), ("right", right)):
        if missing := on - found.certain - OF_SITES:
            yield f"{name} on {', '.join(sorted(missing))}, which the {side} side lacks"
    if name in SETS:
        return
    card = str(node.modifier.card)
    added = frozenset(node.modifier.group_labels or ())
    sides = {"left": left, "right": right}
    if card.endswith("ManyToOne"):
        del sides["left"]
    elif card.endswith("OneToMany"):
        del sides["right"]
    for side, found in sides.items():
        if more := found.key - on:
            yield f"{name}: many on the {side} side, told apart by {', '.join(sorted(more))}"
    many, one = (right, left) if card.endswith("OneToMany") else (left, right)
    if not card.endswith("OneToOne"):
        if many.possible - {OF_THE_SITE} <= on and not added:
            yield f"{name} with group_{'right' if many is right else 'left'} that adds nothing"
        if missing := added - one.certain:
            yield f"{name} takes over {', '.join(sorted(missing))}, which is not there"


def _names(found: Shape) -> str:
    return f"({', '.join(sorted(found.possible))})"


def fragile(expression: str) -> Iterator[str]:
    """promql/fragile: a choice of elements that wavers."""
    for node in nodes(ql.parse(expression)):
        if isinstance(node, ql.AggregateExpr) and operator(node) in KEEP_ELEMENTS:
            yield f"{operator(node)} picks other elements from time to time"


def lost_origin(expression: str) -> Iterator[str]:
    """promql/aggregate: a label that the site gave its targets is not in the result."""
    parsed = bare(ql.parse(expression))
    if any(isinstance(n, ql.Call) and n.func.name in ABSENCE for n in nodes(parsed)):
        return
    for label in ("job", OF_THE_SITE):
        if label not in shape(parsed).certain:
            yield f"no {label}"


def bound_to_an_agent(expression: str) -> Iterator[str]:
    """A join or a grouping by `instance`: it breaks when an agent moves."""
    for node in nodes(ql.parse(expression)):
        if isinstance(node, ql.BinaryExpr) and "instance" in (matching(node)[0] or ()):
            yield f"{operator(node)} on instance"
        elif isinstance(node, ql.AggregateExpr) and node.modifier is not None:
            by = str(node.modifier.type).endswith(".By")
            if by and "instance" in node.modifier.labels:
                yield f"{operator(node)} by instance"


def impossible(expression: str) -> Iterator[str]:
    """promql/impossible: a comparison of numbers alone, the same whatever is measured."""
    for node in nodes(ql.parse(expression)):
        if not isinstance(node, ql.BinaryExpr) or operator(node) not in COMPARISONS:
            continue
        if not shape(node.lhs).vector and not shape(node.rhs).vector:
            yield f"{operator(node)} between numbers"


def no_condition(expression: str) -> Iterator[str]:
    """alerts/comparison: the expression has a result whatever the figures are."""
    if not is_condition(ql.parse(expression)):
        yield "no comparison"


def wrong_durations(rule: dict[str, Any]) -> Iterator[str]:
    """alerts/for: a hold time that is none."""
    for field in ("for", "keep_firing_for"):
        if field in rule:
            try:
                good = ql.parse_duration(str(rule[field])) > timedelta()
            except ValueError:
                good = False
            if not good:
                yield f"{field}: {rule[field]}"


def strange_labels(text: str, expression: str) -> Iterator[str]:
    """alerts/template: labels that a template names and the expression's result lacks.

    A label that the template asks for first (`or`, `if`, `with`) need only be possible.
    """
    found = shape(ql.parse(expression))
    open_blocks: list[bool] = []
    for block in _BLOCK.findall(text):
        asks = _ASKS.match(block) is not None
        allowed = found.possible if asks or any(open_blocks) else found.certain
        yield from (label for label in _LABEL.findall(block) if label not in allowed)
        word = block.split()[0]
        if word in {"if", "with", "range"}:
            open_blocks.append(asks)
        elif word == "end":
            open_blocks.pop()


def longest(text: str) -> int:
    """Words of the longest of the texts that a template becomes."""
    counts = [[0, 0]]
    for part in re.split(r"(\{\{.*?\}\})", _PRINTS.sub("x", text), flags=re.DOTALL):
        block = _BLOCK.fullmatch(part)
        word = block[1].split()[0] if block else ""
        if word in {"if", "with", "range"}:
            counts.append([0, 0])
        elif word == "else":
            counts[-1] = [0, max(counts[-1])]
        elif word == "end":
            inner = max(counts.pop())
            counts[-1][0] += inner
        elif not block:
            counts[-1][0] += len(part.split())
    return counts[0][0]


def queries(text: str) -> list[str]:
    """Expressions that a template asks for, with nothing in the place of each label value."""
    made: dict[str, str] = {}
    found = []
    for variable, form, arguments, query in _PRINTED.findall(text):
        filled = json.loads(f'"{form}"')
        for argument in re.findall(r"\$[\w.]+", arguments):
            if verb := re.search("%[qs]", filled):
                value = '""' if verb[0] == "%q" else made.get(argument, "")
                filled = filled[: verb.start()] + value + filled[verb.end() :]
        if variable:
            made[variable] = filled
        if query:
            found.append(filled)
    return found


Check = Callable[[str], Iterator[str]]
OF_EXPRESSIONS: tuple[Check, ...] = (wrong_ranges, raw_counters, wrong_joins, impossible)
"""What holds for each rule."""
OF_ALERTS: tuple[Check, ...] = (fragile, lost_origin, bound_to_an_agent, no_condition)
"""What holds for each alert besides."""
