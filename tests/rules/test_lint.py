"""The rules keep to what pint asks for, as far as that needs no server (see lint.py)."""

import json
import re
from collections import Counter
from typing import Any

import promql_parser as ql
import pytest

from tests.rules import lint
from tests.rules.expressions import (
    ALERT_FILES,
    ROOT,
    RUNBOOKS,
    alerts,
    document_of,
    name_and_severity,
    recorded,
    recording_rules,
    severities_of,
    unknown,
    uses,
)
from tests.support.each import of_each

ALWAYS = {"Watchdog"}
"""Alerts that fire whatever the figures are, and are of no agent."""

LINKS = re.compile('with query "(?:site:esewatch_links:info|esewatch_web_info)"')

FUNCTIONS = {
    *("first", "humanize", "humanizeDuration", "humanizePercentage", "humanizeTimestamp", "label"),
    *("printf", "query", "reReplaceAll", "sortByLabel", "urlquery", "value"),
}
"""Those that Prometheus and vmalert 1.79 both have."""

LONGEST = 300
"""Characters of an expression that fits on a telephone. A longer one has a comment that begins with
`Long:` and says why."""

WORDS = 70
"""Of the longest that a description becomes, with one for each name: it is read on a phone."""

RULES = [*recording_rules(), *alerts()]


def name_of(rule: dict[str, Any]) -> str:
    return str(rule.get("record") or name_and_severity(rule))


each_rule = of_each(RULES, name_of)
each_alert = of_each(alerts(), name_of)


@pytest.mark.parametrize("check", lint.OF_EXPRESSIONS)
@each_rule
def test_each_expression_is_sound(rule: dict[str, Any], check: lint.Check) -> None:
    assert list(check(rule["expr"])) == []


@pytest.mark.parametrize("check", lint.OF_ALERTS)
@each_alert
def test_each_alert_is_sound(rule: dict[str, Any], check: lint.Check) -> None:
    found = list(check(rule["expr"]))

    if rule["alert"] in ALWAYS:
        assert check in (lint.fragile, lint.bound_to_an_agent) or found
    else:
        assert found == []


@each_alert
def test_each_hold_time_is_a_duration(rule: dict[str, Any]) -> None:
    assert list(lint.wrong_durations(rule)) == []


@each_alert
def test_each_template_names_labels_that_the_alert_has(rule: dict[str, Any]) -> None:
    for text in [*rule["annotations"].values(), *rule.get("labels", {}).values()]:
        assert list(lint.strange_labels(text, rule["expr"])) == []


@each_alert
def test_each_query_of_a_template_names_only_what_exists(rule: dict[str, Any]) -> None:
    text = "\n".join(rule["annotations"].values())
    found = lint.queries(text)

    assert len(found) == len(re.findall(r"\bquery\b", LINKS.sub("", text)))
    for query in found:
        assert list(unknown(query)) == []


@each_alert
def test_each_template_uses_functions_that_vmalert_has_too(rule: dict[str, Any]) -> None:
    text = "\n".join(rule["annotations"].values())
    assert set(re.findall(r"\|\s*([a-z]\w+)", text)) <= FUNCTIONS


@each_alert
def test_each_alert_says_one_thing_and_not_too_much(rule: dict[str, Any]) -> None:
    text = rule["annotations"]["description"]

    assert lint.longest(text) <= WORDS
    assert not re.search(r"\bTODO\b|\bFIXME\b", text)


@each_alert
def test_each_alert_has_no_label_but_its_severity(rule: dict[str, Any]) -> None:
    assert set(rule.get("labels", {})) <= {"severity"}
    assert severities_of(rule)


def test_no_two_rules_ask_the_same() -> None:
    seen = Counter(
        (rule.get("alert", ""), str(rule.get("for", "")), ql.parse(rule["expr"]).prettify())
        for rule in RULES
        if rule["expr"] != "vector(1)"
    )
    expressions = Counter(
        ql.parse(rule["expr"]).prettify()
        for rule in {(r.get("record") or r["alert"]): r for r in RULES}.values()
        if rule["expr"] != "vector(1)"
    )

    assert len(seen) > 20
    assert [key for key, count in seen.items() if count > 1] == []
    assert [key for key, count in expressions.items() if count > 1] == []


def test_no_two_rules_have_the_same_name_and_severity() -> None:
    """What is held of databases and of instances has rules of its own."""
    names = Counter(
        (name_of(rule), "" if "labels" in rule else rule["expr"].partition(":")[0])
        for rule in RULES
    )

    assert [name for name, count in names.items() if count > 1] == []


def used_by_rules() -> set[str]:
    """Metrics that rules name, those in the templates of alerts included."""
    expressions = [rule["expr"] for rule in RULES]
    for rule in alerts():
        expressions += lint.queries("\n".join(rule["annotations"].values()))
    return {
        selector.metric for expression in expressions for selector in uses(expression).selectors
    }


def test_each_recorded_series_is_of_use() -> None:
    boards = "\n".join(path.read_text() for path in (ROOT / "dashboards").glob("*.json"))
    pages = "\n".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    used = used_by_rules()
    texts = "\n".join(text for rule in alerts() for text in rule["annotations"].values())
    idle = [
        name
        for name in sorted(recorded())
        if name not in used
        and name not in texts
        and name not in json.dumps(boards)
        and name not in pages
    ]

    assert len(recorded()) >= 11
    assert idle == []


def dashboards() -> dict[str, set[str]]:
    """The variables of each dashboard, by its uid."""
    boards = [json.loads(path.read_text()) for path in (ROOT / "dashboards").glob("*.json")]
    return {
        board["uid"]: {entry["name"] for entry in board["templating"]["list"]} for board in boards
    }


@each_alert
def test_each_link_of_an_alert_leads_somewhere(rule: dict[str, Any]) -> None:
    board = re.search(r"/d/([\w-]+)(\?|$)", rule["annotations"]["dashboard_url"])
    page = rule["annotations"]["runbook_url"].rpartition("/")[2].partition("?")[0]

    assert board
    variables = set(re.findall(r"[?&]var-(\w+)=", rule["annotations"]["dashboard_url"]))
    assert variables <= dashboards()[board[1]]
    assert (RUNBOOKS / f"{page}.md").is_file()


def test_each_link_of_a_runbook_leads_somewhere() -> None:
    pages = sorted(RUNBOOKS.glob("*.md"))

    assert pages
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert target.startswith("https://") or (page.parent / target).is_file(), page.name
        for target in re.findall(r"\bdocs/[\w/.-]+\.(?:md|yml)", page.read_text()):
            assert (ROOT / target).is_file(), page.name


def test_an_expression_that_fits_no_telephone_has_its_reason_beside_it() -> None:
    missing: list[str] = []
    needless: list[str] = []
    for path in ALERT_FILES:
        rules = [rule for group in document_of(path)["groups"] for rule in group["rules"]]
        said = re.findall(r"((?: +#.*\n)*) +- alert: ", path.read_text())
        for rule, comment in zip(rules, said, strict=True):
            is_long, has_reason = len(rule["expr"]) > LONGEST, "# Long: " in comment
            (missing if is_long else needless).extend([rule["alert"]] * (is_long != has_reason))

    assert (missing, needless) == ([], [])
