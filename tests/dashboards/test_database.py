"""The dashboard of one database: what only it has to keep to."""

import json
import re
from typing import Any

from dashboards.advice import REASONS
from dashboards.board import build
from dashboards.build import render
from dashboards.database import ACTION, DATABASE_BOARD
from dashboards.fleet import RANKS, VERDICTS
from esewatch.advice import judgement
from esewatch.advice.window.window import ACTIONS
from esewatch.advice.window.window_rules import RULES
from tests.dashboards.boards import panels
from tests.rules.expressions import alerts
from tests.support.each import of_each

BOARD = json.loads(render(DATABASE_BOARD))
LEADING_HERE = sorted(
    {
        rule["alert"]
        for rule in alerts()
        if f"/d/{BOARD['uid']}?" in rule["annotations"].get("dashboard_url", "")
    }
)


def panel(title: str) -> dict[str, Any]:
    (found,) = [each for each in panels(BOARD) if each["title"] == title]
    return found


def mapped(options: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Value -> word and colour of value mappings."""
    return {
        value: (shown["text"], shown["color"])
        for each in options
        for value, shown in each["options"].items()
    }


@of_each(LEADING_HERE)
def test_an_alert_that_leads_here_finds_its_runbook(alert: str) -> None:
    links = [
        link["url"]
        for each in panels(BOARD)
        for link in each["fieldConfig"]["defaults"].get("links", [])
    ]

    assert any(link.endswith(f"/runbooks/{alert}") for link in links)


def test_each_row_of_the_nights_has_its_own_words_and_colour() -> None:
    (gaps, *overrides) = panel("The nights")["fieldConfig"]["overrides"]
    shown = [mapped(each["properties"][0]["value"])["1"] for each in overrides]

    assert gaps["properties"] == [{"id": "noValue"}]
    assert [each["matcher"]["options"] for each in overrides] == list("ABCDEF")
    assert [text for text, _ in shown] == [
        "window open",
        "backup",
        "defragmentation",
        "scan",
        "interrupted",
        "not read",
    ]
    assert len({colour for _, colour in shown}) == len(shown)


def test_verdicts_have_words_and_a_colour_of_their_own() -> None:
    assert set(VERDICTS) == {*judgement.VERDICTS, "none"}
    assert len({words for words, _ in RANKS.values()}) == len(VERDICTS)
    judged = [VERDICTS[each][2] for each in judgement.VERDICTS]
    assert len(set(judged)) == len(judged)


def test_the_verdict_and_key_figures_are_columns_and_the_sentence_one_click_away() -> None:
    figures = panel("Verdict and key figures")
    text = json.dumps(figures)

    assert figures["type"] == "table"
    assert [each["legendFormat"] for each in figures["targets"]] == [
        "Verdict",
        "Known bad pages",
        "Verified ago",
        "Deadline",
        "Window",
        "Recommended",
    ]
    assert "/database?computer=" in text
    assert max(len(each["expr"]) for each in figures["targets"]) < 1000


def test_actions_and_reasons_of_the_advice_have_words() -> None:
    assert set(ACTION) == {*ACTIONS} - {"not_applicable"}
    assert list(REASONS) == [name for name, _ in RULES]


def test_the_reason_of_the_advice_is_shown_in_words() -> None:
    renamed = [each["options"] for each in panel("Reason of the advice")["transformations"]]
    found = {
        name: [
            re.sub(each["regex"], each["renamePattern"].replace("$1", r"\1"), f"{name} ex01 e:")
            for each in renamed
            if re.fullmatch(each["regex"], f"{name} ex01 e:")
        ]
        for name in REASONS
    }

    assert found == {name: [f"ex01 e:: {shown}"] for name, shown in REASONS.items()}


def test_the_window_comes_last_and_folded() -> None:
    rows = [each for each in BOARD["panels"] if each["type"] == "row"]

    assert rows[0]["title"] == "At a glance"
    assert rows[-1]["title"] == "Maintenance window"
    assert [row["collapsed"] for row in rows] == [False] * (len(rows) - 1) + [True]
    assert build(DATABASE_BOARD).uid == "esewatch-database"
