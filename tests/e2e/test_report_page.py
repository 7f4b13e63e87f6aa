"""The file that `report` writes in a real browser: the same pictures, and nothing but the file."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser

from tests.e2e.test_status_page import fact, values, write_hostile
from tests.support.browser import chromium
from tests.support.farm_agent import farm_report
from tests.support.looking import (
    Look,
    check_accessible,
    check_alone,
    check_by_keyboard,
    check_without_javascript,
)

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the file; written after the browser was found."""
    folder = tmp_path_factory.mktemp("report")
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
    yesterday = noon - timedelta(days=1)
    write_hostile(folder / "WS07.evtx", yesterday)
    return farm_report(folder, yesterday, [folder / "WS07.evtx"]).as_uri()


def test_it_asks_for_nothing_and_says_nothing(browser: Browser, report: str) -> None:
    check_alone(browser, report)


def test_it_is_accessible_light_and_dark_narrow_and_wide(browser: Browser, report: str) -> None:
    check_accessible(browser, report)


def test_it_is_whole_without_javascript(browser: Browser, report: str) -> None:
    check_without_javascript(browser, report)


def test_all_of_it_can_be_reached_by_keyboard(browser: Browser, report: str) -> None:
    check_by_keyboard(browser, report)


def test_it_leads_with_four_numbers_and_each_row_with_its_section(
    browser: Browser, report: str
) -> None:
    with Look(browser, report) as look:
        assert values(look.page.locator(".fleet")) == [2, 0, 0, 0]
        rows = look.page.locator("table").first.locator("tbody th a").all()
        assert len(rows) == 4
        for row in rows:
            section = look.page.locator(str(row.get_attribute("href")))
            assert row.inner_text() in section.locator("h3").inner_text()
            sentence = section.locator("p.sentence").inner_text()
            assert re.search(
                r"verified|no verification is known|is bad \(", sentence, re.IGNORECASE
            )


def test_a_section_has_the_pictures_and_the_figures_of_the_logs(
    browser: Browser, report: str
) -> None:
    with Look(browser, report) as look:
        section = look.page.locator("article", has=look.page.locator("h3", has_text="SG06"))
        assert section.locator("figure.picture").count() == 4
        assert section.locator("svg[role=img]").count() >= 4
        # Nights of two hours at 800 pages read and 5.6 freed a second, sampled every 5 minutes.
        # Of the 35 nights the advice judges the last 28 (semantics.md 7), from a noon (between two
        # nights) on; and the page says so.
        ratio = fact(section, "Read : freed")
        assert values(ratio) == pytest.approx([800 / 5.6, 800 * 7200 * 28, 5.6 * 7200 * 28])
        assert "freed in the 28 d " in ratio.inner_text()


def test_a_database_named_as_a_script_is_just_a_name(browser: Browser, report: str) -> None:
    with Look(browser, report) as look:
        assert look.page.locator("script").count() == 0
        assert "<script>alert(1)</script>" in look.page.inner_text("main")
