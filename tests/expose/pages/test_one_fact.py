"""The sentences of a page agree with each other, over the situations and stories of the tests.

Each rule takes one page as a person reads it, and yields the sentences that cannot both be true.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from esewatch.advice.advise import advise
from esewatch.advice.base.finding import (
    Finding,
    cycles_torn,
    defrag_overdue,
    scan_off,
    scan_stalled,
)
from esewatch.config import default_settings
from esewatch.expose.pages.rendering import render_database
from esewatch.expose.pages.runbooks.runbook_files import Runbooks
from esewatch.fold.state.database_state import DatabaseKey
from tests.expose.examples import DAY, MBX, NOW, NTDS, example, told_of
from tests.expose.html import Page
from tests.expose.pages_of import pages_of as shown_pages
from tests.situations.asking import CONFIGURATION, ask, server_room
from tests.situations.cases import SITUATIONS
from tests.support.farm import build
from tests.support.made_once import value_made_once

Rule = Callable[[str], Iterator[tuple[str, str]]]


def first(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def pages_and_their_verification(text: str) -> Iterator[tuple[str, str]]:
    """All good beside known bad pages, or verified beside "no verification is known"."""
    good = first(r"All (?:[\d,]+ )?pages (?:last )?verified \d", text)
    bad = first(r"Known bad pages [1-9][\d,]*", text)
    if good and bad:
        yield good, bad
    never = first("[Nn]o verification is known", text)
    seen = first(r"verified \d{4}-\d\d-\d\d", text)
    if never and seen:
        yield never, seen


def counts_of_bad_pages(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence that counts known bad pages counts the same."""
    counts = [(found[0], found[1]) for found in re.finditer(r"([\d,]+) known bad pages?", text)]
    for said, number in counts[1:]:
        if number != counts[0][1]:
            yield counts[0][0], said
    total = re.search(r"Known bad pages ([\d,]+)", text)
    if total and counts and counts[0][1] != total[1]:
        yield counts[0][0], total[0]


def ratio(text: str) -> Iterator[tuple[str, str]]:
    """No ratio beside a ratio, and two ratios that differ."""
    shown = re.search(r"Read : freed ([\d.]+) : 1 (.{0,40})", text)
    none = first("there is no ratio|no verdict", text)
    if shown and none:
        yield shown[0], none
    said = re.search(r"read ([\d.,]+) pages for each one freed", text)
    if shown and said and abs(float(shown[1]) - float(said[1].replace(",", ""))) > 0.051:
        yield shown[0], said[0]
    judged = first("within the band|above the band|below the band", text)
    high, low = first("little is left to free", text), first("much is left to free", text)
    if (judged.startswith("within") and (high or low)) or (high and low):
        yield judged, high or low


def passes(text: str) -> Iterator[tuple[str, str]]:
    """No pass beside completed ones."""
    none = first("no completed pass and", text)
    done = first(r"Defrag [\d,]+ started, [1-9][\d,]* completed", text)
    whole = first(r"\d\d:\d\d \d{4}-\d\d-\d\d \d\d:\d\d defrag completed", text)
    if none and done and whole:
        yield none, whole
    unseen = first("No maintenance pass has been seen", text)
    if unseen and done:
        yield unseen, done


def window_advice(text: str) -> Iterator[tuple[str, str]]:
    """The advice of the sentence is that of the facts."""
    said = re.search(r"advice (shrink|grow|move|keep)(?: to ((?:\d+ \w+ ?)+))?", text)
    fact = re.search(
        r"Window advice (shrink|grow|move|keep)[^→.]{0,20}(?:→ ((?:\d+ \w+ ?)+))?", text
    )
    if said and fact and said[1] != fact[1]:
        yield said[0], fact[0]
    if said and fact and said[2] and fact[2] and not fact[2].startswith(said[2].strip()):
        yield said[0], fact[0]


def verdict(text: str) -> Iterator[tuple[str, str]]:
    """No known problem beside bad pages or an overdue verification."""
    none = first("● no known problem", text)
    for wrong in (
        first(r"Known bad pages [1-9][\d,]*:", text),
        first("overdue, the deadline", text),
    ):
        if none and wrong:
            yield none, wrong


def at_work(text: str) -> Iterator[tuple[str, str]]:
    """What should run is not said to run beside the finding that it does not."""
    missing = first(
        "shows no scan for|its scan has stalled|online defragmentation (?:has not completed|was)",
        text,
    )
    runs = first(
        "engine scans|garbage collection defragments|database collects garbage|no cadence", text
    )
    if missing and runs:
        yield missing, runs


RULES: tuple[Rule, ...] = (
    pages_and_their_verification,
    counts_of_bad_pages,
    ratio,
    passes,
    window_advice,
    verdict,
    at_work,
)


@cache
def pages_of(name: str) -> dict[str, str]:
    """The text of the page of each database of a situation, without its runbooks."""
    (situation,) = (each for each in SITUATIONS if each.name == name)
    told = situation.history()
    with server_room(told):
        configured = ("--config.file", CONFIGURATION) if told.configuration else ()
        ask("report", *configured, "logs/", "-o", "report.html", "--details", "details")
        return texts(Path("details"))


def texts(folder: Path) -> dict[str, str]:
    return {
        each.name: Page(each.read_text(encoding="utf-8")).text.partition("What to do The runb")[0]
        for each in sorted(folder.iterdir())
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("name", [each.name for each in SITUATIONS])
def test_no_two_sentences_of_a_page_contradict_each_other(name: str, rule: Rule) -> None:
    found = {file: list(rule(text)) for file, text in pages_of(name).items()}
    assert found
    assert not any(found.values()), found


def pages_of_a_farm() -> dict[str, str]:
    """As `pages_of`, of a farm with counters and bad pages."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        build(folder / "logs", datetime(2007, 6, 21, 12, tzinfo=UTC))
        page = str(folder / "report.html")
        ask("report", str(folder / "logs"), "-o", page, "--details", str(folder / "details"))
        return texts(folder / "details")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_nor_do_those_of_a_farm_with_counters_and_bad_pages(rule: Rule) -> None:
    told = value_made_once("pages of a farm", pages_of_a_farm)
    found = {file: list(rule(text)) for file, text in told.items()}
    assert len(found) > 2
    assert not any(found.values()), found


@pytest.mark.parametrize(
    ("database", "finding"),
    [
        (MBX, scan_off(70 * DAY, None)),
        (MBX, scan_stalled(NOW - 3 * DAY, 3 * DAY, None, None)),
        (NTDS, defrag_overdue(NOW - 6 * DAY, 6 * DAY, 1.5 * DAY)),
        (NTDS, cycles_torn(3)),
    ],
    ids=["off", "stalled", "overdue", "torn"],
)
def test_nor_do_those_of_a_database_whose_maintenance_does_not_run(
    database: DatabaseKey, finding: Finding
) -> None:
    state, settings = example(), default_settings()
    told = [
        told_of(each, finding, verdict="look")
        for each in advise(state, settings, NOW)
        if (each.computer, each.database) == database
    ]
    page = shown_pages(state, settings, NOW, told).database(state, *database)
    assert page is not None
    text = Page(render_database(page, Runbooks())).text
    assert finding.sentence in text
    assert [list(rule(text)) for rule in RULES if list(rule(text))] == []


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (pages_and_their_verification, "All 81 pages verified 3 May. Known bad pages 1: 1 lost"),
        (counts_of_bad_pages, "2 known bad pages; ... 3 known bad pages"),
        (ratio, "there is no ratio. Read : freed 59.7 : 1 within the band 50 to 100"),
        (ratio, "It read 143.2 pages for each one freed. Read : freed 59.7 : 1 within the band"),
        (window_advice, "advice shrink to 2 h, because. Window advice shrink 4 h → 3 h"),
        (verdict, "● no known problem DB01 Known bad pages 2: 2 bad"),
        (at_work, "no window: its engine scans day and night. Its log shows no scan for 69 d"),
    ],
)
def test_the_rules_find_what_was_seen(rule: Rule, text: str) -> None:
    assert list(rule(text))
