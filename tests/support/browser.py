"""Chromium without a window, for pages as a person's browser shows them."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.support.tools import require


@contextmanager
def chromium() -> Iterator[Browser]:
    """The installed browser, as long as the block; skips the test where there is none."""
    program = require("chromium")
    with sync_playwright() as playwright:
        # Its sandbox does not work for root, as in most containers; it loads our pages alone.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
