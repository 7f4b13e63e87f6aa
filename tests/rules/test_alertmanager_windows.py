"""The printed windows in Alertmanager: accepted, and obeyed by one that runs."""

import datetime
import json
import subprocess
import urllib.request
import zoneinfo
from pathlib import Path
from typing import Any

import pytest
import yaml

from esewatch.cli import main
from esewatch.config import DAYS
from tests.e2e.harness import Server, Webhook, ended, wait_for
from tests.rules.expressions import ROOT
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.tools import require

EXAMPLE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
GUIDE = ROOT / "docs" / "alertmanager.md"
NIGHTLY = """\
windows:
  nightly: {start: "01:00", duration: 4h, days: [mon, tue, wed, thu, fri], timezone: Europe/Berlin}
"""


def printed(windows: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    file = folder / "esewatch.yml"
    file.write_text(windows, encoding="utf-8")
    assert main(["config", "alertmanager", "--config.file", str(file)]) == 0
    return capsys.readouterr().out


def check_config(file: Path) -> None:
    done = subprocess.run(
        [require("amtool"), "check-config", str(file)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_windows_of_the_guide_are_those_that_the_command_prints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(NIGHTLY, tmp_path, capsys) in GUIDE.read_text(encoding="utf-8")


def test_no_window_is_an_empty_list_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "alertmanager"]) == 0

    said = capsys.readouterr()
    assert yaml.safe_load(said.out) == {"time_intervals": []}
    assert said.err == "esewatch: no file: no windows\n"


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Nuuk", "Africa/Casablanca"])
def test_amtool_accepts_what_is_printed_in_the_example(
    zone: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    windows = f'windows: {{\'"no": - #☺\': {{start: "22:30", duration: 6h, timezone: {zone}}}}}'
    text = printed(windows + "\n", tmp_path, capsys)
    assert "&id" not in text
    example = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    example["time_intervals"] += yaml.safe_load(text)["time_intervals"]
    example["templates"] = []
    example["route"]["routes"].append(
        {"matchers": ['database="x"'], "mute_time_intervals": ['"no": - #☺']}
    )
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(example), encoding="utf-8")

    check_config(file)


def test_a_running_alertmanager_mutes_in_the_open_windows_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Windows of several zones around now; those that are not open send their alert."""
    windows, is_open = {}, {}
    now = datetime.datetime.now(datetime.UTC)
    for zone in ("UTC", "Asia/Kolkata", "America/Santiago", "Africa/Casablanca"):
        for hours, expected in ((-2, True), (-6, False), (2, False), (-23, True)):
            offset = datetime.timedelta(hours=hours)
            start = now.astimezone(zoneinfo.ZoneInfo(zone)) + offset
            name = f"{zone}{hours}"
            windows[name] = {
                "start": f"{start:%H:%M}",
                "duration": "24h" if hours == -23 else "4h",
                "days": [DAYS[start.weekday()]],
                "timezone": zone,
            }
            is_open[name] = expected
    text = printed(yaml.safe_dump({"windows": windows}), tmp_path, capsys)
    webhook = Webhook()
    try:
        server = _alertmanager(tmp_path, yaml.safe_load(text), webhook.url)
        with ended(server):
            server.wait_until_ready("/-/ready")
            _post(server, [{"labels": {"alertname": name}} for name in windows])
            wait_for("the last alert", lambda: webhook.alerts("last"))
            sent = {alert["labels"]["alertname"] for alert in webhook.alerts()}
    finally:
        webhook.close()

    assert sent == {name for name, muted in is_open.items() if not muted} | {"last"}


def _alertmanager(folder: Path, intervals: dict[str, Any], hook: str) -> Server:
    """Each alert has the window of its own name; `last` waits until the others are through."""
    routes: list[dict[str, Any]] = [
        {"matchers": [f'alertname="{each["name"]}"'], "mute_time_intervals": [each["name"]]}
        for each in intervals["time_intervals"]
    ]
    config = {
        "route": {
            "receiver": "hook",
            "group_by": ["alertname"],
            "group_wait": "0s",
            "routes": [*routes, {"matchers": ['alertname="last"'], "group_wait": "2s"}],
        },
        "receivers": [{"name": "hook", "webhook_configs": [{"url": hook}]}],
        **intervals,
    }
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    port = free_port()
    command: list[str | Path] = [
        *(require("alertmanager"), f"--config.file={file}", f"--storage.path={folder / 'data'}"),
        *(f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="),
    ]
    return Server(command, f"http://127.0.0.1:{port}", folder / "alertmanager.log")


def _post(server: Server, alerts: list[dict[str, Any]]) -> None:
    body = json.dumps([*alerts, {"labels": {"alertname": "last"}}]).encode()
    request = urllib.request.Request(
        f"{server.url}/api/v2/alerts", body, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=PATIENCE).close()
