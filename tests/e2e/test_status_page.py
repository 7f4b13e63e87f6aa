"""The pages of a running agent in a real browser, against what its interface says."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator

from esewatch.advice.judgement import TEXTS
from tests.e2e.harness import Agent, get, wait_for
from tests.support.browser import chromium
from tests.support.evtx_writer import EvtxWriter
from tests.support.farm_agent import farm_agent
from tests.support.looking import (
    Look,
    check_accessible,
    check_alone,
    check_by_keyboard,
    check_without_javascript,
)

pytestmark = pytest.mark.e2e

HOSTILE = "C:\\x\\<script>alert(1)</script>\"'&{{ 7*7 }}\u202ebde.exe"
PRIV06 = ("ex01", "e:\\mdb06\\priv06.edb")


def write_hostile(path: Path, now: datetime) -> None:
    """Three hours ago, a bad page of a database whose name is a script, with turned letters."""
    with EvtxWriter(path, "WS07.corp.example", "Application") as writer:
        head = ["Strange", "77", "<b>i</b>: ", HOSTILE]
        place = ["8192 (0x2000)", "8192 (0x2000)", "-1018 (0xfffffc06)"]
        sums = ["[00d50e7c2a1f3b44]", "[00d50e7c2a1f3b45]", "0 (0x0)"]
        at = now - timedelta(hours=3)
        writer.write(474, [*head, *place, *sums], provider="ESENT", time=at, level=2)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def agent(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """The farm and one more computer; started after the browser, which may be missing."""
    folder = tmp_path_factory.mktemp("farm")
    write_hostile(folder / "WS07.evtx", datetime.now(UTC))
    more = [{"type": "evtx", "path": str(folder / "WS07.evtx"), "name": "strange"}]
    with farm_agent(folder, more) as running:
        wait_for("five databases", lambda: len(told(running, "databases")) == 5)
        yield running


def told(agent: Agent, what: str) -> list[dict[str, Any]]:
    """What `/api/v1/databases` or `/api/v1/advice` says of each database."""
    found: list[dict[str, Any]] = json.loads(get(f"{agent.url}/api/v1/{what}"))[what]
    return found


def link(label: tuple[str, str]) -> str:
    return "/database?" + urlencode({"computer": label[0], "database": label[1]})


def check_at_one_moment(agent: Agent, check: Callable[[], None]) -> None:
    """`check` compares two answers: again, where new figures came between the two."""

    def moment() -> str:
        return str(json.loads(get(f"{agent.url}/api/v1/databases"))["time"])

    while True:
        before = moment()
        try:
            return check()
        except AssertionError:
            if moment() == before:
                raise


def label_of(row: dict[str, Any]) -> tuple[str, str]:
    return row["computer"], row["database"]


def pages(agent: Agent) -> list[str]:
    """Every kind of page, and that of each database."""
    paths = ["/", "/databases", "/computer", "/computer?name=ex01", "/computer?name=ws07"]
    paths += [link(label_of(row)) for row in told(agent, "databases")]
    paths += ["/runbooks/", "/runbooks/EseKnownBadPage"]
    return [agent.url + path for path in paths]


def moments(cell: Locator) -> list[str]:
    """The exact times in a cell, in order."""
    found = cell.locator("time").all()
    return [str(each.get_attribute("datetime")) for each in found]


def values(cell: Locator) -> list[float]:
    """The exact figures in a cell, in order."""
    return [float(each.get_attribute("value") or "nan") for each in cell.locator("data").all()]


def fact(section: Locator, name: str) -> Locator:
    """What stands beside `name` in the facts of a database."""
    return section.locator("dl.facts > dt", has_text=name).first.locator("xpath=./following::dd[1]")


def known_bad(figures: dict[str, Any]) -> int:
    """Its known bad pages that are not corrected."""
    known: dict[str, int] = figures["known_bad_pages"]
    return sum(known.values()) - known.get("corrected", 0)


def verdict_of(figures: dict[str, Any]) -> str:
    """Its verdict in words."""
    if figures["verdict"] != "bad_pages":
        words: str = TEXTS[figures["verdict"]].words
        return words
    return "bad pages" if known_bad(figures) else "damage"


def test_the_table_says_what_the_interface_says(browser: Browser, agent: Agent) -> None:
    check_at_one_moment(agent, lambda: check_table(browser, agent))


def check_table(browser: Browser, agent: Agent) -> None:
    with Look(browser, agent.url) as look:
        databases, advice = told(agent, "databases"), told(agent, "advice")
        forecasts = {label_of(each): each.get("forecast", {}) for each in advice}
        rows = look.page.locator("table").first.locator("tbody tr").all()
        assert len(rows) == len(databases) == 5
        for row, figures in zip(rows, databases, strict=True):
            verdict = row.locator('td[data-label="Verdict"]').inner_text()
            assert verdict.endswith(verdict_of(figures))
            assert row.locator("th a").get_attribute("href") == "." + link(label_of(figures))
            verified = sorted(figures["verified"].values(), reverse=True)
            assert moments(row.locator('td[data-label="Verified"]')) == verified[:1]
            forecast = forecasts[label_of(figures)]
            expected = [forecast[key] for key in ("p90", "deadline") if "p90" in forecast]
            assert moments(row.locator('td[data-label="Forecast"]')) == expected


def test_the_four_numbers_are_those_of_the_interface(browser: Browser, agent: Agent) -> None:
    check_at_one_moment(agent, lambda: check_four_numbers(browser, agent))


def check_four_numbers(browser: Browser, agent: Agent) -> None:
    fleet = json.loads(get(f"{agent.url}/api/v1/databases"))["fleet"]
    with Look(browser, agent.url) as look:
        shown = values(look.page.locator(".fleet"))
    expected = [fleet["bad"], fleet["unverified"], fleet["writes_at_risk"], len(fleet["blind"])]
    assert shown == expected
    assert shown[0] == 2


def test_each_page_has_the_figures_of_the_interface(browser: Browser, agent: Agent) -> None:
    check_at_one_moment(agent, lambda: check_pages(browser, agent))


def check_pages(browser: Browser, agent: Agent) -> None:
    advice = {label_of(each): each for each in told(agent, "advice")}
    for figures in told(agent, "databases"):
        with Look(browser, agent.url + link(label_of(figures))) as look:
            section = look.page.locator("main")
            assert values(fact(section, "Known bad pages"))[0] == known_bad(figures)
            standing = sum(figures["known_bad_pages"].values())
            label = "Last verified without a bad page" if standing else "All pages verified"
            verified = fact(section, label)
            assert moments(verified) == list(figures["verified"].values())
            deadline = figures.get("verification_deadline_seconds")
            assert values(verified) == ([deadline] if deadline is not None else [])
            last = figures.get("last_checksum_completed")
            assert moments(fact(section, "Last checksum"))[:1] == ([last] if last else [])
            if "ratio" in figures:
                ratio = figures["ratio"]
                known = ("value", "pages_read", "pages_freed")
                expected = [ratio[key] for key in known if key in ratio]
                assert values(fact(section, "Read : freed")) == expected
            check_advice(section, advice[label_of(figures)])


def check_advice(section: Locator, advice: dict[str, Any]) -> None:
    """The lengths, the evidence and the confidence of a window's advice."""
    if advice["action"] == "not_applicable":
        assert section.locator("dt", has_text="Window advice").count() == 0
        return
    lengths = [advice["configured_seconds"]]
    if advice["recommended_seconds"] != advice["configured_seconds"]:
        lengths.append(advice["recommended_seconds"])
    evidence = advice["evidence"]
    counted = [evidence["pages_read"], evidence["pages_freed"], evidence["ratio"]]
    expected = [*lengths, *counted, advice["confidence"]]
    assert values(fact(section, "Window advice")) == expected


def test_no_page_says_anything_or_asks_anybody_else(browser: Browser, agent: Agent) -> None:
    for url in pages(agent):
        check_alone(browser, url)


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_every_page_is_accessible_light_and_dark_narrow_and_wide(
    browser: Browser, agent: Agent, step: int
) -> None:
    """Every third in the quick run: an audit takes seconds."""
    for url in pages(agent)[::step]:
        check_accessible(browser, url)


def test_every_page_is_whole_without_javascript(browser: Browser, agent: Agent) -> None:
    for url in pages(agent):
        check_without_javascript(browser, url)


def test_all_of_a_page_can_be_reached_by_keyboard(browser: Browser, agent: Agent) -> None:
    for path in ("/", link(PRIV06), "/computer?name=ex01"):
        check_by_keyboard(browser, agent.url + path)


def test_enter_opens_the_database_and_the_way_back(browser: Browser, agent: Agent) -> None:
    with Look(browser, agent.url, java_script_enabled=False) as look:
        look.page.locator("tbody th a").first.press("Enter")
        look.page.wait_for_url("**/database?**")
        assert "SG08" in look.page.inner_text("h1") or "script" in look.page.inner_text("h1")
        look.page.locator("nav a", has_text="Status").press("Enter")
        look.page.wait_for_url(f"{agent.url}/")
        advice = look.page.locator("summary", has_text="3 windows")
        advice.press("Enter")
        assert look.page.get_by_text("Windows that should change come first").is_visible()


def test_a_database_named_as_a_script_is_just_a_name(browser: Browser, agent: Agent) -> None:
    label = next(label_of(row) for row in told(agent, "databases") if row["computer"] == "ws07")
    computer = "/computer?name=ws07"
    shown = {"/": "<b>i</b>", link(label): "<script>", computer: "<b>i</b>"}
    shown[link(("ws07", '"><script>alert(1)</script>'))] = "<script>"
    for path, words in shown.items():
        with Look(browser, agent.url + path) as look:
            assert look.page.locator("script").count() == 0
            assert words in look.page.inner_text("main")
            assert "\u202e" not in look.page.content()
    with Look(browser, agent.url + computer) as look:
        look.page.locator("tbody th a").click()
        look.page.wait_for_url("**/database?**")
        assert "<script>alert(1)</script>" in look.page.inner_text("main")


def test_an_unknown_database_is_one_sentence(browser: Browser, agent: Agent) -> None:
    url = agent.url + link(("ex01", "e:\\gone.edb"))
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url, timeout=10)
    assert refused.value.code == 404
    refused.value.close()
    with Look(browser, url) as look:
        assert look.page.inner_text("main p").startswith(
            "No database e:\\gone.edb on ex01 is known"
        )
