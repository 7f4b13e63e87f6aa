"""`make demo-stack`: real servers with the shipped rules beside the demo."""

import json
import os
import re
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

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
from tests.support.tools import require


def ask(url: str) -> Any:
    """What the server says, None while it does not answer."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.loads(answer.read())
    except OSError:
        return None


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
        assert demo.process.wait(60) == 0
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
