"""`make demo-stack`: real servers with the shipped rules beside the demo."""

import json
import os
import re
import subprocess
import time
import urllib.request
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from tests.dashboards import asking
from tests.dashboards.boards import Json, Query, Span, loaded, panels, seconds_of, span_of
from tests.rules.expressions import alerts as shipped
from tests.support.demo_run import (
    ROOT,
    Attended,
    children_of,
    demo_command,
    gone,
    listens,
    stand_in,
    wait_until,
)
from tests.support.demo_runs import PATIENCE, TITLES
from tests.support.demo_stack import BOARDS, SECONDS
from tests.support.tools import require

PAGE = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8")
EMPTY = re.findall(r"^\| (ESE: [^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE, re.M)
"""Title of board and panel, of those that docs/demo.md says to be empty."""
JUST_NOW = 900.0
"""Seconds: what happened in them may be too young for the steps of fourteen days."""

Alert = tuple[str, str, str, frozenset[str]]
"""Name, severity, `firing` or how long it holds before, and the databases."""


def ask(url: str) -> Any:
    """What the server says, None while it does not answer."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.loads(answer.read())
    except OSError:
        return None


@pytest.mark.minutes
@pytest.mark.e2e
def test_the_bad_page_reaches_prometheus_and_alertmanager_and_ctrl_c_stops_all(
    tmp_path: Path,
) -> None:
    require("prometheus")
    require("alertmanager")
    require("promtool")
    demo = Attended(stand_in("quick"), tmp_path / "demo", 40, 100, stack=True)
    try:
        screen = "\n".join(demo.wait_for("alertmanager http"))
        demo.type(b"d")
        demo.wait_for("[x] bad-page on MAIL02: a page is lost")
        found = dict(re.findall(r"^  (prometheus|alertmanager) +(http://\S+)/$", screen, re.M))

        def firing() -> bool:
            told = ask(f"{found['prometheus']}/api/v1/alerts")
            alerts = told["data"]["alerts"] if told else []
            return any(
                alert["labels"]["alertname"] == "EseKnownBadPage" and alert["state"] == "firing"
                for alert in alerts
            )

        def arrived() -> bool:
            alerts = ask(f"{found['alertmanager']}/api/v2/alerts") or []
            return "EseKnownBadPage" in {alert["labels"]["alertname"] for alert in alerts}

        assert wait_until("the alert fires", firing)
        assert wait_until("the alert is in Alertmanager", arrived)
        children = children_of(demo.process.pid, 7)
        assert len(children) == 7
        demo.type(b"\x03")
        assert demo.process.wait(PATIENCE) == 0
        assert gone(children)
        addresses = [demo.address, *(url.removeprefix("http://") for url in found.values())]
        assert [address for address in addresses if listens(address)] == []
    finally:
        demo.close()


def test_without_prometheus_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = subprocess.run(
        demo_command((), "--dir", str(tmp_path / "demo"), stack=True),
        cwd=ROOT,
        env={**os.environ, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "demo-stack: prometheus is not installed: `make tools` installs it on Debian\n"
    )
    assert list(tmp_path.iterdir()) == []


def of_the_page() -> set[Alert]:
    """The alerts that docs/demo.md names."""
    rows = re.findall(r"^\| \[(\w+)\]\(runbooks/\1\.md\) \|(.*)\|(.*)\|(.*)\|$", PAGE, re.M)
    found = set()
    for name, severity, databases, when in rows:
        hold = re.search(r"after (\d+) h", when)
        held = f"after {hold[1]}h" if hold else "firing"
        named = frozenset(re.findall(r"`([^`]+)`", databases))
        found.add((name, severity.strip(), held, named))
    return found


def of_prometheus(url: str) -> set[Alert]:
    """The alerts that fire, or are about to."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for alert in (ask(f"{url}/api/v1/alerts") or {"data": {"alerts": []}})["data"]["alerts"]:
        labels = alert["labels"]
        name, severity = labels["alertname"], labels["severity"]
        holds = [
            rule["for"]
            for rule in shipped()
            if (rule["alert"], rule.get("labels")) == (name, {"severity": severity})
            and "for" in rule
        ]
        state = "firing" if alert["state"] == "firing" else f"after {holds[0]}"
        named = found.setdefault((name, severity, state), set())
        if "database" in labels:
            named.add(PurePosixPath(labels["database"]).stem)
    return {(*alert, frozenset(databases)) for alert, databases in found.items()}


def without_data(url: str) -> set[tuple[str, str]]:
    """Title of board and panel, of those that are empty for fourteen days and for just now."""
    now = time.time()
    return {
        (board["title"], panel["title"])
        for board in loaded()
        if board["uid"] in BOARDS
        for panel in panels(board)
        if panel.get("targets") and not has_data(url, board, panel, now)
    }


def has_data(url: str, board: Json, panel: Json, now: float) -> bool:
    """Whether one of its queries has an answer."""
    every = seconds_of(SECONDS)
    spans = [span_of(board, panel, now, every), Span(now - JUST_NOW, now, every, every)]
    return any(
        asking.ask(url, Query(board, panel, target), span, {}).series
        for span in spans
        for target in panel["targets"]
    )


@pytest.mark.e2e
@pytest.mark.slow
def test_with_its_past_the_boards_have_data_and_the_alerts_of_the_page_fire(
    tmp_path: Path,
) -> None:
    require("prometheus")
    require("alertmanager")
    require("promtool")
    demo = Attended((), tmp_path / "demo", 60, 130, stack=True)
    try:
        seen = f"{len(TITLES)} of {len(TITLES)} stories seen"
        screen = "\n".join(demo.wait_for(seen, seconds=PATIENCE))
        found = dict(re.findall(r"^  (prometheus|alertmanager) +(http://\S+)/$", screen, re.M))
        url = found["prometheus"]

        def told() -> bool:
            demo.read()
            return of_prometheus(url) == of_the_page()

        wait_until("the alerts of the page", told, PATIENCE)

        def shown() -> bool:
            demo.read()
            return without_data(url) == set(EMPTY)

        wait_until(f"data in all panels but {EMPTY}", shown)

        def arrived() -> bool:
            demo.read()
            there = ask(f"{found['alertmanager']}/api/v2/alerts") or []
            names = {alert["labels"]["alertname"] for alert in there}
            return names == {name for name, _, state, _ in of_the_page() if state == "firing"}

        wait_until("those that fire are in Alertmanager", arrived)
        demo.type(b"q")
        assert demo.process.wait(PATIENCE) == 0
    finally:
        demo.close()
