"""A recorded series is there whenever another group looks at it."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, NamedTuple

import promql_parser as ql

from tests.rules.expressions import ALERT_FILES, RULE_FILES, document_of
from tests.rules.shapes import nodes
from tests.support.each import of_each

LOOKBACK = timedelta(minutes=5)
"""So old may a sample be that an instant vector finds (--query.lookback-delta)."""
INTERVAL = timedelta(minutes=1)
"""Of groups that name none (global.evaluation_interval)."""


class Written(NamedTuple):
    """Where a series is recorded."""

    group: str
    place: int
    interval: timedelta


def groups() -> list[dict[str, Any]]:
    return [group for path in (*RULE_FILES, *ALERT_FILES) for group in document_of(path)["groups"]]


def interval(group: dict[str, Any]) -> timedelta:
    return ql.parse_duration(group["interval"]) if "interval" in group else INTERVAL


WRITTEN = {
    rule["record"]: Written(group["name"], place, interval(group))
    for group in groups()
    for place, rule in enumerate(group["rules"])
    if "record" in rule
}


def instants(expression: str) -> set[str]:
    """Names of the series that an expression looks at as they are, not over a time."""
    found: Counter[str] = Counter()
    for node in nodes(ql.parse(expression)):
        if isinstance(node, ql.VectorSelector):
            found[str(node.name)] += 1
        elif isinstance(node, ql.MatrixSelector):
            found[str(node.vector_selector.name)] -= 1  # it is walked through, too
    return {name for name, number in found.items() if number}


def elsewhere(group: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(rule, series) of what a group looks at and has not recorded a moment before."""
    for place, rule in enumerate(group["rules"]):
        for name in sorted(instants(rule["expr"])):
            written = WRITTEN.get(name)
            if written and (written.group != group["name"] or written.place >= place):
                yield rule.get("record") or rule["alert"], name


@of_each(groups(), lambda group: group["name"])
def test_what_a_group_looks_at_is_recorded_twice_within_the_lookback(group: dict[str, Any]) -> None:
    """Groups have times of their own: with 5 minutes the last sample is too old now and then."""
    late = [each for each in elsewhere(group) if 2 * WRITTEN[each[1]].interval >= LOOKBACK]

    assert late == []


def test_a_series_that_is_recorded_too_seldom_is_found() -> None:
    name = "database:ese_finding:last15m"
    now = {"record": "now", "expr": f"max({name})"}
    over_a_time = {"record": "over_a_time", "expr": f"max(last_over_time({name}[15m]))"}

    assert list(elsewhere({"name": "other", "rules": [now, over_a_time]})) == [("now", name)]
    assert WRITTEN[name].interval == timedelta(minutes=2)
