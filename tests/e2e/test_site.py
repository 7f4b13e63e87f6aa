"""The site of the guide: built without a warning, searched from the file system, asking nobody."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.browser import chromium
from tests.support.looking import Look

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    lock, tools = str(ROOT / "requirements" / "site.lock"), str(folder / "tools")
    for command in (
        [sys.executable, "-m", "venv", tools],
        [f"{tools}/bin/pip", "install", "--quiet", "--require-hashes", "--requirement", lock],
        [f"{tools}/bin/mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder / "site")],
    ):
        subprocess.run(command, check=True, cwd=ROOT)
    return folder / "site"


@pytest.mark.slow
def test_the_site_is_searched_from_the_file_system_and_asks_nobody(site: Path) -> None:
    with chromium() as browser, Look(browser, (site / "index.html").as_uri()) as look:
        page = look.page
        field = page.locator(".md-search__input")
        # The index is read when the field is entered; what is typed before it is there is lost.
        field.click()
        page.get_by_text("Type to start searching").wait_for(state="attached")
        field.press_sequentially("forwarded")
        page.get_by_text("matching document").first.wait_for()
        found = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")

    assert any("/active-directory.html" in link for link in found)
    assert (look.said, look.hosts - {""}) == ([], set())
