"""Limits are drawn beside what they are held against, and those of alerts are the alerts'."""

import re

import pytest

from dashboards.alerted import drawn
from dashboards.limits import DEFAULTS, IN_RULES
from tests.rules.expressions import ALERT_FILES, RULE_FILES


def test_a_line_is_there_only_beside_what_it_is_held_against() -> None:
    assert drawn("ratioLow", "some", "limit").expression == "vector($ratioLow) and on () (some)"


def test_what_is_not_set_as_shipped_is_there_only_where_a_site_sets_it() -> None:
    assert drawn("cacheBytes", "some").expression == "vector($cacheBytes) > 0 and on () (some)"


@pytest.mark.parametrize("name", IN_RULES)
def test_a_limit_of_an_alert_stands_in_the_rules(name: str) -> None:
    before, behind = IN_RULES[name]
    limit = re.compile(f"(?:{before}){DEFAULTS[name]:g}(?![\\d.]){behind}", re.MULTILINE)
    text = "".join(file.read_text() for file in (*RULE_FILES, *ALERT_FILES))

    assert len(limit.findall(text)) == (2 if name == "readLatencyCriticalSeconds" else 1)
