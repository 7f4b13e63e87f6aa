"""Takes the pictures of docs/images: `python -m tests.support.screenshots`."""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from tests.support.browser import chromium
from tests.support.farm_agent import farm_agent, farm_report

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 250_000


def main(folder: Path = IMAGES) -> None:
    """Write them all anew."""
    folder.mkdir(parents=True, exist_ok=True)
    database = urlencode({"computer": "ex01", "database": "e:\\mdb06\\priv06.edb"})
    with (
        tempfile.TemporaryDirectory() as scratch,
        chromium() as browser,
        farm_agent(Path(scratch)) as agent,
    ):
        report = farm_report(Path(scratch)).as_uri()
        take(browser, f"{agent.url}/", folder / "status.png", 1280, 1300)
        take(browser, f"{agent.url}/database?{database}", folder / "database.png", 1280, 1300)
        take(browser, report, folder / "report.png", 1280, 1300)
        take(browser, f"{agent.url}/", folder / "status-phone.png", 390, 1500)


def take(browser: Browser, url: str, file: Path, width: int, height: int) -> None:
    """The first `height` pixels of a page, in a file of at most 250 kB."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(url)
    page.screenshot(path=file)
    page.close()
    size = file.stat().st_size
    assert size <= MOST_BYTES, f"{file.name} has {size:,} bytes"
    print(f"{file.name}: {size:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
