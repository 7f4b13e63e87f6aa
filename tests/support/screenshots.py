"""Takes the pictures of docs/images of the demo: `python -m tests.support.screenshots`."""

import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser

from eselab.demo.stories import FORECAST, STORIES
from tests.support.browser import chromium
from tests.support.demo_run import Attended

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
MOST_BYTES = 250_000
PATIENCE = 1800.0
ADVISED = ("MAIL01", "shrink")
"""Computer and name of a database with advice on its window."""
BAD = ("MAIL02", "bad-page")


def main(folder: Path = IMAGES) -> None:
    """Write them all again, when every story was seen; the demo's screen goes to stdout."""
    folder.mkdir(parents=True, exist_ok=True)
    count = len(STORIES) + 1
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        demo = Attended((), Path(scratch) / "demo", 52, 110)
        try:
            screen = demo.wait_for(f"{count} of {count} stories seen", seconds=PATIENCE)
            assert any(FORECAST in line for line in screen)
            print("\n".join(screen))
            url = f"http://{demo.address}"
            page = f"{url}/database?{urlencode(_database(demo.folder, *ADVISED))}"
            bad = f"{url}/database?{urlencode(_database(demo.folder, *BAD))}"
            take(browser, bad, folder / "bad-page.png", 1280, 700)
            take(browser, page, folder / "database.png", 1280, 900)
            take(browser, page, folder / "database-phone.png", 390, 1500)
            take(browser, f"{url}/", folder / "status.png", 1280, 1100)
            take(browser, f"{url}/", folder / "status-phone.png", 390, 1500)
            report = _report(demo.folder).as_uri()
            take(browser, report, folder / "report.png", 1280, 1200)
            # It waits where nobody reads: the screens that it wrote while the pictures were taken.
            demo.rest()
            demo.type(b"q")
            demo.process.wait(PATIENCE)
        finally:
            demo.close()


def take(browser: Browser, url: str, file: Path, width: int, height: int) -> None:
    """The first `height` pixels of a page, in a file of at most 250 kB."""
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(url)
    page.screenshot(path=file)
    page.close()
    size = file.stat().st_size
    assert size <= MOST_BYTES, f"{file.name} has {size:,} bytes"
    print(f"{file.name}: {size:,} bytes", file=sys.stderr)


def _database(folder: Path, computer: str, name: str) -> dict[str, str]:
    return {
        "computer": computer.lower(),
        "database": str(folder / computer / name / f"{name}.edb"),
    }


def _report(folder: Path) -> Path:
    """The report on the logs so far."""
    page = folder / "report.html"
    logs = [*folder.rglob("events.jsonl"), *folder.rglob("counters.csv")]
    config = ["--config.file", str(folder / "esewatch.yml")]
    subprocess.run(
        [sys.executable, "-m", "esewatch", "report", *map(str, logs), *config, "-o", str(page)],
        check=False,
        capture_output=True,
    )
    return page


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
