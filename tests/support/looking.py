"""What a page does in a browser besides being shown: what it asks for, says, and leaves out."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

WIDTHS = (1280, 390)
SCHEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
AUDITED = {("light", 1280), ("dark", 390)}
"""Each scheme and each width once: an audit takes seconds."""

_FOCUSED = """() => {
  const found = document.activeElement;
  if (found === document.body || found === null) return null;
  const box = found.getBoundingClientRect();
  const all = [...document.querySelectorAll('*')];
  const style = getComputedStyle(found);
  return {
    index: all.indexOf(found),
    seen: box.width > 0 && box.height > 0,
    outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
  };
}"""
_FOCUSABLE = """() => [...document.querySelectorAll('a[href], summary, [tabindex="0"]')]
  .filter(each => each.checkVisibility()).length"""


class Look:
    """A page opened in a tab of its own; notes every request and every word on the console."""

    def __init__(self, browser: Browser, url: str, **context: Any) -> None:
        self._context = browser.new_context(**context)
        self.page: Page = self._context.new_page()
        self.said: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("requestfailed", lambda request: self.said.append(request.url))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        self.page.goto(url)

    def __enter__(self) -> "Look":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._context.close()


_LONG_NAMES = """
for (const each of document.querySelectorAll('main p, main li, main dd, main td, main summary'))
    if (!each.closest('figure')) each.append(' ' + 'E:\\\\Mailbox\\\\'.repeat(12));
"""
"""A long path without a space in every sentence; the words of a picture have none."""


def check_accessible(browser: Browser, url: str) -> None:
    """axe-core finds nothing, in either colour scheme, wide and narrow; nothing sticks out."""
    with Look(browser, url) as look:
        look.page.evaluate(
            "for (const each of document.querySelectorAll('details')) each.open = true"
        )
        for sight in _sights(look.page):
            assert _width(look.page) <= sight[1], f"{url} {sight}"
            if sight in AUDITED:
                found = Axe().run(look.page, options={"resultTypes": ["violations"]})
                assert found.violations_count == 0, f"{url} {sight}: {found.generate_report()}"
        look.page.evaluate(_LONG_NAMES)
        for sight in _sights(look.page):
            assert _width(look.page) <= sight[1], f"{url} {sight}"


def _sights(page: Page) -> Iterator[tuple[str, int]]:
    """The page in each scheme and each width, one after the other."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            yield scheme, width


def _width(page: Page) -> int:
    found: int = page.evaluate("document.documentElement.scrollWidth")
    return found


def check_alone(browser: Browser, url: str) -> None:
    """It says nothing on the console and asks nobody but the place it comes from."""
    with Look(browser, url) as look:
        assert look.said == [], url
        assert look.hosts == {urlsplit(url).netloc}, url


def check_without_javascript(browser: Browser, url: str) -> None:
    """It shows the same words where JavaScript is switched off.

    A page tells the time: what was loaded without lies between two that were loaded with it.
    """

    def words(*, switched_on: bool) -> str:
        with Look(browser, url, java_script_enabled=switched_on) as look:
            return look.page.inner_text("body")

    before, without = words(switched_on=True), words(switched_on=False)
    assert without == before or without == words(switched_on=True), url


def check_by_keyboard(browser: Browser, url: str) -> None:
    """Tab reaches all that can be followed, opened or scrolled, in order, and it is seen."""
    with Look(browser, url) as look:
        reached: list[int] = []
        expected = look.page.evaluate(_FOCUSABLE)
        for _ in range(expected):
            look.page.keyboard.press("Tab")
            focused = look.page.evaluate(_FOCUSED)
            assert focused is not None, f"{url}: only {len(reached)} of {expected}"
            assert focused["seen"], url
            assert focused["outlined"], url
            reached.append(focused["index"])
        assert len(set(reached)) == expected, url
        assert reached == sorted(reached), url
