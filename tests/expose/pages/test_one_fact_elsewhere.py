"""The report, its last line and `advise` say the same of a database."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.expose.html import Page
from tests.expose.pages.test_one_fact import RULES, Rule, texts
from tests.situations.asking import CONFIGURATION, ask, server_room
from tests.situations.cases import SITUATIONS

NAMES = [each.name for each in SITUATIONS]


class Said(NamedTuple):
    """All that is said of one situation."""

    result: str
    """The last line of `report`."""
    report: str
    """The text of its page."""
    sections: tuple[str, ...]
    """Of each database in it."""
    details: dict[str, str]
    """The page of each database."""
    rows: tuple[dict[str, str], ...]
    """The table of `advise`."""


@cache
def said(name: str) -> Said:
    (situation,) = (each for each in SITUATIONS if each.name == name)
    told = situation.history()
    with server_room(told):
        configured = ("--config.file", CONFIGURATION) if told.configuration else ()
        report = ask("report", *configured, "logs/", "-o", "r.html", "--details", "details")
        advice = ask("advise", *configured, "logs/")
        html = Path("r.html").read_text(encoding="utf-8")
        articles = re.findall(r'<article class="database".*?</article>', html, re.DOTALL)
        return Said(
            report.out.splitlines()[-1],
            Page(html).text.partition("What to do The runb")[0],
            tuple(Page(each).text for each in articles),
            texts(Path("details")),
            tuple(rows(advice.out)),
        )


def rows(text: str) -> list[dict[str, str]]:
    """The rows of the table by its heads, none without a watched database."""
    if not text.startswith("DATABASE"):
        return []
    head, *lines = text.split("\n\n", maxsplit=1)[0].splitlines()
    starts = [found.start() for found in re.finditer(r"(?<!\S)\S", head)]
    ends = [*starts[1:], None]
    cut = [
        [line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in (head, *lines)
    ]
    return [dict(zip(cut[0], each, strict=True)) for each in cut[1:]]


def of(name: str, row: dict[str, str]) -> str:
    """The page of the database of a row of `advise`."""
    pages = said(name).details.values()
    (page,) = (each for each in pages if f"{row['DATABASE']} on {row['COMPUTER']}" in each[:400])
    return page


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", NAMES)
def test_no_two_sentences_of_a_section_of_the_report_contradict_each_other(
    name: str, rule: Rule
) -> None:
    found = said(name)
    assert found.sections
    assert [list(rule(text)) for text in found.sections if list(rule(text))] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_last_line_of_the_report_is_its_headline(name: str) -> None:
    found = said(name)
    number = re.search(r"(\d+) with (bad pages or damage|bad pages|damage)", found.result)
    if number is None:
        assert "No bad page is known" in found.report
        assert not re.search(r"Known bad pages [1-9]", found.report)
    else:
        headline = rf"\b{number[1]} of [\d,]+ databases? ha(s|ve) {number[2]}:"
        assert re.search(headline, found.report)
    if "every watched one is verified" in found.result:
        assert "never been fully verified" not in found.report
    if "never verified" in found.result:
        assert "was verified at least once" not in found.report


@pytest.mark.parametrize("name", NAMES)
def test_advise_and_the_page_of_a_database_agree_on_its_verification(name: str) -> None:
    for row in said(name).rows:
        page = of(name, row)
        if row["VERIFIED"] == "never":
            assert re.search("no verification is known|never seen", page), row
            assert not re.search(r"pages (last )?verified \d", page), row
        elif row["VERIFIED"] != "-":
            assert row["VERIFIED"][:10] in page, row


@pytest.mark.parametrize("name", NAMES)
def test_advise_and_the_page_of_a_database_agree_on_the_window(name: str) -> None:
    for row in said(name).rows:
        page, action = of(name, row), row["ACTION"]
        shown = re.search(r"Window advice (shrink|grow|move|keep)", page)
        assert (shown[1] if shown else "") == (action if shown else ""), row
        if action in ("shrink", "grow", "move", "keep"):
            assert shown, row
        if action == "insufficient_evidence":
            assert "not enough evidence yet" in page, row


def test_the_tables_are_read() -> None:
    head, row = "DATABASE  COMPUTER  ACTION  VERIFIED", "DB01      ex01      keep    never"
    assert rows(f"{head}\n{row}\n\nMore.") == [
        {"DATABASE": "DB01", "COMPUTER": "ex01", "ACTION": "keep", "VERIFIED": "never"}
    ]
    assert sum(len(said(name).rows) for name in NAMES) > 10
