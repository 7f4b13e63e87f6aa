"""Pictures of the dashboards: `python -m tests.dashboards.grafana.pictures FOLDER`.

Grafana's own npm packages draw the panels in Chromium, from the answers of a Prometheus that has
the months of stories.py. Each panel is drawn in the story that panel_stories.yml names for it, so
the panels of one picture are about different databases. Packages are installed once, into
out/grafana.
"""

import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import yaml
from playwright.sync_api import Browser, Route
from playwright.sync_api import TimeoutError as TooLate

from tests.dashboards.asking import ask, offered
from tests.dashboards.boards import Json, Query, loaded, panels, span_of
from tests.dashboards.served import served_months
from tests.dashboards.stories import Story, stories
from tests.rules.expressions import ROOT
from tests.rules.quality.backfill import STEP
from tests.support.browser import chromium
from tests.support.tools import find

HERE = Path(__file__).parent
PANEL_STORIES = HERE.parent / "panel_stories.yml"
INSTALLED = ROOT / "out" / "grafana"
ICONS = "node_modules/@grafana/ui/dist/public/img/icons"
WIDTH = 1448
PATIENCE = 180.0
"""Seconds that a browser may take for a step, beside other work of the machine."""
PAGE = """<!DOCTYPE html><meta charset="utf-8"><link rel="stylesheet" href="page.css">
<body style="margin:0"><div id="root"></div><script src="page.js"></script>"""
BUNDLE = """
--bundle --minify --format=iife --outfile=page.js --log-level=error --define:global=window
--define:process.env.NODE_ENV="production" --alias:buffer=buffer
--alias:@grafana/ui=./node_modules/@grafana/ui/dist/cjs/index.cjs
--alias:@grafana/data=./node_modules/@grafana/data/dist/cjs/index.cjs
--loader:.svg=dataurl --loader:.woff=dataurl --loader:.woff2=dataurl --loader:.ttf=dataurl
"""
"""Options of esbuild."""
ALL_DRAWN = "window.seen().every(({state}) => state !== 'waiting')"


class NotInstalledError(Exception):
    """Packages that npm could not install; its text is the reason."""


class Seen(NamedTuple):
    """What a browser shows of one panel."""

    title: str
    type: str
    state: str
    """drawn, empty (a sentence in its place), not drawn, error, or waiting: nothing came."""
    text: str

    @property
    def is_broken(self) -> bool:
        """Whether it has neither a picture nor a sentence in its place."""
        return self.state in {"error", "waiting"}


class Drawn(NamedTuple):
    """A dashboard in the browser."""

    uid: str
    asked: list[Json]
    """Its panels with their answers."""
    seen: list[Seen]
    errors: list[str]
    """Of the page."""


def install(folder: Path) -> None:
    """The packages of package.json, unless they are there. Raises NotInstalledError."""
    wanted = (HERE / "package.json").read_text()
    kept = folder / "package.json"
    if kept.is_file() and kept.read_text() == wanted and (folder / "page.html").is_file():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise NotInstalledError("npm is not installed (apt-get install npm)")
    folder.mkdir(parents=True, exist_ok=True)
    kept.write_text(wanted)
    command = [npm, "install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    more = ["--legacy-peer-deps", "--fetch-retries=1", "--loglevel=error"]
    done = subprocess.run(
        [*command, *more], check=False, cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise NotInstalledError(f"npm cannot install Grafana's packages: {done.stderr.strip()}")
    (folder / "page.html").write_text(PAGE)


def build(folder: Path) -> None:
    """The page, bundled with the packages."""
    shutil.copy(HERE / "page.tsx", folder)
    esbuild = "node_modules/.bin/esbuild"
    subprocess.run([esbuild, "page.tsx", *BUNDLE.split()], cwd=folder, check=True)


def answers(url: str, board: Json, told: Sequence[Story]) -> list[Json]:
    """Each panel with what Prometheus answers in its story, as page.tsx reads it.

    Without a story (panels about the process of an agent) it is asked in the first one.
    """
    table = yaml.safe_load(PANEL_STORIES.read_text())[board["uid"]]
    by_name = {story.name: story for story in told}
    found: list[Json] = []
    for panel in panels(board):
        names = [name for name in table.get(panel["title"], {}).values() if name in by_name]
        story = by_name[names[0]] if names else told[0]
        span = span_of(board, panel, story.looked_at, STEP)
        chosen = {"computer": story.computers} if board["uid"] != "esewatch-fleet" else {}
        values = offered(url, board, span, chosen)
        asked = [
            {"target": each, "series": ask(url, Query(board, panel, each), span, values).series}
            for each in panel.get("targets", [])
        ]
        found.append({"panel": panel, "span": span[:3], "answers": asked})
    return found


def draw(
    browser: Browser, asked: list[Json], picture: Path, folder: Path
) -> tuple[list[Seen], list[str]]:
    """(what is seen of each panel, errors of the page) of one dashboard; a picture of the whole."""

    def serve(route: Route) -> None:
        path = urlsplit(route.request.url).path.lstrip("/")
        file = folder / path
        if "/img/icons/" in path:
            file = folder / ICONS / path.rpartition("/img/icons/")[2]
        if path == "answers.json":
            route.fulfill(json=asked)
        elif file.is_file():
            route.fulfill(path=file)
        else:
            route.fulfill(status=404)

    errors: list[str] = []
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    try:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.route("**/*", serve)
        page.set_default_timeout(1000 * PATIENCE)
        page.goto("http://localhost/page.html")
        page.wait_for_function("window.seen?.().length")
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": WIDTH, "height": height})
        with suppress(TooLate):  # What is waiting then is said by its state.
            page.wait_for_function(ALL_DRAWN, polling=500)
        found = [Seen(**each) for each in page.evaluate("window.seen()")]
        page.wait_for_load_state("networkidle")  # Icons are fetched one by one.
        page.screenshot(path=picture)
    finally:
        page.close()
    return found, errors


def drawn(folder: Path) -> Iterator[Drawn]:
    """All dashboards, with a picture of each in `folder`; packages must be installed."""
    build(INSTALLED)
    told = stories()
    with (
        tempfile.TemporaryDirectory() as scratch,
        served_months(Path(scratch), told) as server,
        chromium() as browser,
    ):
        for board in loaded():
            asked = answers(server.url, board, told)
            seen, errors = draw(browser, asked, folder / f"{board['uid']}.png", INSTALLED)
            yield Drawn(board["uid"], asked, seen, errors)


def main(folder: Path) -> int:
    """Write the pictures and say what is on them.

    Returns 1 where a panel has an error, and 2 where a program or a package is missing.
    """
    missing = [name for name in ("chromium", "prometheus", "promtool") if not find(name)]
    try:
        if missing:
            raise NotInstalledError(f"not installed (`make tools`): {', '.join(missing)}")
        install(INSTALLED)
    except NotInstalledError as error:
        print(error, file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for uid, _, seen, errors in drawn(folder):
        states = Counter(panel.state for panel in seen)
        print(f"{uid}: {', '.join(f'{count} {state}' for state, count in states.items())}")
        broken = [f"{panel.title}: {panel.text}" for panel in seen if panel.is_broken]
        for complaint in [*errors, *broken]:
            print(complaint, file=sys.stderr)
        failed |= bool(errors or broken)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if sys.argv[1:] else ROOT / "out" / "dashboards")))
