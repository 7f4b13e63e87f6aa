"""The example of Alertmanager: who is told of which alert, and what silences what.

Routes are asked of amtool, inhibition of a running Alertmanager.
"""

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import Server, Webhook, get, start_alertmanager, wait_for
from tests.rules.expressions import ROOT, alerts
from tests.support.tools import require

EXAMPLE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
RECEIVERS = {"critical": "page", "warning": "ticket", "info": "digest", "none": "dead-man"}
ABOUT_PAGES = re.compile(r"Ese.*(Page|LostFlush|Corruption|Divergence).*")
KINDS = sorted({(rule["alert"], rule["labels"]["severity"]) for rule in alerts()})
NEW = [("EseNewlyMade", "critical"), ("EseNewBadPages", "critical"), ("EseNewThing", "warning")]


def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    return loaded


def amtool(*words: str | Path) -> str:
    done = subprocess.run(
        [require("amtool"), *(str(word) for word in words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def receivers(file: Path, **labels: str) -> list[str]:
    words = [f"{name}={value}" for name, value in labels.items()]
    return amtool("config", "routes", "test", f"--config.file={file}", *words).split()


def test_amtool_accepts_the_example() -> None:
    assert "SUCCESS" in amtool("check-config", EXAMPLE)


@pytest.mark.parametrize(("name", "severity"), [*KINDS, *NEW])
def test_each_alert_goes_where_its_severity_says(name: str, severity: str) -> None:
    found = receivers(EXAMPLE, alertname=name, severity=severity, computer="a", database="b")

    assert found == [RECEIVERS[severity]]


@pytest.mark.parametrize("severity", ["page-me", ""])
def test_an_alert_of_another_severity_is_a_ticket(severity: str) -> None:
    assert receivers(EXAMPLE, alertname="EseNew", severity=severity) == ["ticket"]


@pytest.mark.parametrize("name", sorted({name for name, severity in KINDS if severity != "none"}))
def test_only_critical_alerts_about_pages_are_sent_without_waiting(
    name: str, tmp_path: Path
) -> None:
    """Each route gets a receiver of its own, so that amtool names the route."""
    example = config()
    instant = example["route"]["routes"][1]
    assert instant["group_wait"] == "0s"
    instant["receiver"] = "instant"
    example["receivers"].append({"name": "instant"})
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(example), encoding="utf-8")

    found = receivers(file, alertname=name, severity="critical")

    assert found == (["instant"] if ABOUT_PAGES.fullmatch(name) else ["page"])
    assert receivers(file, alertname=name, severity="warning") == ["ticket"]


def test_integrity_alerts_are_known_by_their_names() -> None:
    integrity = [rule["alert"] for rule in alerts() if "ese_known_bad_pages" in rule["expr"]]

    assert len(integrity) >= 5
    assert [name for name in integrity if not ABOUT_PAGES.fullmatch(name)] == []


def test_damage_that_pages_is_known_by_its_name() -> None:
    damage = {
        rule["alert"]
        for rule in alerts()
        if "ese_known_damage" in rule["expr"] and rule["labels"]["severity"] == "critical"
    }

    assert damage == {"EseCopyDivergence", "EseLogicalCorruption"}
    assert [name for name in damage if not ABOUT_PAGES.fullmatch(name)] == []


def test_the_example_groups_by_computer_and_database() -> None:
    route = config()["route"]

    assert route["group_by"] == ["computer", "database"]
    assert "group_by" not in route["routes"][1]


@pytest.mark.parametrize("severity", ["critical", "warning"])
def test_only_alerts_of_latency_are_muted_in_the_window(severity: str) -> None:
    routes = [
        route
        for route in config()["route"]["routes"]
        if route["matchers"] == [f'severity="{severity}"']
    ]

    (muted,) = routes[0]["routes"]
    assert muted["mute_time_intervals"] == ["nightly"]
    assert muted["matchers"] == ['alertname=~"Ese.*Latency.*"']


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    webhook = Webhook()
    try:
        with start_alertmanager(tmp_path_factory.mktemp("alertmanager") / "a", webhook) as server:
            yield server
    finally:
        webhook.close()


def inhibits(server: Server, source: dict[str, str], target: dict[str, str]) -> bool:
    """Whether `source` inhibits `target`; `case` is theirs alone.

    A pair that certainly inhibits is sent behind them: once it does, they have been seen.
    """
    last = {"alertname": "EseLast", "computer": target["case"], "case": target["case"]}
    after = [{**last, "severity": "critical"}, {**last, "severity": "warning"}]
    body = json.dumps([{"labels": labels} for labels in (source, target, *after)]).encode()
    request = urllib.request.Request(
        f"{server.url}/api/v2/alerts", body, {"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=5).close()

    def inhibited_by(labels: dict[str, str]) -> list[str] | None:
        known = json.loads(get(f"{server.url}/api/v2/alerts"))
        return next(
            (each["status"]["inhibitedBy"] for each in known if each["labels"] == labels), None
        )

    wait_for("the last pair is seen", lambda: inhibited_by(after[1]))
    return bool(inhibited_by(target))


DB = {"instance": "ex01:19703", "computer": "ex01", "database": "x.edb"}
DOWN = {"alertname": "EsewatchDown", "severity": "critical", "instance": "ex01:19703"}
BAD = {"alertname": "EseKnownBadPage", "severity": "critical", **DB}
STALLED = {"alertname": "EseScanStalled", "severity": "warning", **DB}
CASES: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    "a critical alert, its warning": (
        {"alertname": "EseX", "severity": "critical", **DB},
        {"alertname": "EseX", "severity": "warning", **DB},
        True,
    ),
    "a warning, its note": (
        {"alertname": "EseX", "severity": "warning", **DB},
        {"alertname": "EseX", "severity": "info", **DB},
        True,
    ),
    "a critical alert, another's warning": (
        {"alertname": "EseX", "severity": "critical", **DB},
        {"alertname": "EseY", "severity": "warning", **DB},
        False,
    ),
    "a critical alert, the warning of another database": (
        {"alertname": "EseX", "severity": "critical", **DB},
        {"alertname": "EseX", "severity": "warning", **DB, "database": "y.edb"},
        False,
    ),
    "a critical alert, the warning of another instance without a database": (
        {"alertname": "EseX", "severity": "critical", "computer": "a", "ese_instance": "1"},
        {"alertname": "EseX", "severity": "warning", "computer": "a", "ese_instance": "2"},
        False,
    ),
    "an agent that is down, an alert of age": (
        DOWN,
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB},
        True,
    ),
    "an agent that is down, a backup that is missing": (
        DOWN,
        {"alertname": "EseBackupMissing", "severity": "warning", **DB},
        True,
    ),
    "an agent that is down, a check of SQL Server that is overdue": (
        DOWN,
        {"alertname": "SqlserverCheckdbOverdue", "severity": "warning", **DB},
        True,
    ),
    "an agent that is down, errors that a check of SQL Server found": (
        DOWN,
        {"alertname": "SqlserverCheckdbFailed", "severity": "warning", **DB},
        False,
    ),
    "an agent that is down, its silent source": (
        DOWN,
        {"alertname": "EsewatchSourceSilent", "severity": "warning", "instance": "ex01:19703"},
        True,
    ),
    "an agent that is down, an alert of age of another agent": (
        DOWN,
        {"alertname": "EseNeverVerified", "severity": "warning", **DB, "instance": "ex02:19703"},
        False,
    ),
    "no agent at all, an alert of age without an instance": (
        {"alertname": "EsewatchDown", "severity": "critical"},
        {"alertname": "EseNeverVerified", "severity": "warning", "computer": "ex01"},
        False,
    ),
    "an agent that is down, a bad page": (DOWN, BAD, False),
    "an agent that is down, an engine error": (
        DOWN,
        {"alertname": "EseIoError", "severity": "critical", **DB},
        False,
    ),
    "a bad page, a late scan": (
        BAD,
        {"alertname": "EseScanLate", "severity": "warning", **DB},
        True,
    ),
    "a bad page, a pass that failed": (
        BAD,
        {"alertname": "EseMaintenanceError", "severity": "warning", **DB, "task": "defrag"},
        True,
    ),
    "a bad page, a database that was never verified": (
        BAD,
        {"alertname": "EseNeverVerified", "severity": "warning", **DB},
        True,
    ),
    "a bad page, the late scan of another database": (
        BAD,
        {"alertname": "EseScanLate", "severity": "warning", **DB, "database": "y.edb"},
        False,
    ),
    "a scan that stands still, that it is late": (
        STALLED,
        {"alertname": "EseScanLate", "severity": "warning", **DB},
        True,
    ),
    "a scan that stands still, that it will be late": (
        STALLED,
        {"alertname": "EseScanWillMissDeadline", "severity": "warning", **DB, "task": "checksum"},
        True,
    ),
    "a scan that stands still, the late scan of another database": (
        STALLED,
        {"alertname": "EseScanLate", "severity": "warning", **DB, "database": "y.edb"},
        False,
    ),
    "a scan that stands still, that nothing verified the database": (
        STALLED,
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB},
        False,
    ),
    "scans that both lack a database": (
        {"alertname": "EseScanStalled", "severity": "warning", "computer": "ex01"},
        {"alertname": "EseScanLate", "severity": "warning", "computer": "ex01"},
        False,
    ),
    "an agent that is down, a scan that stands still": (DOWN, STALLED, True),
    "an agent that is down, a suspect copy": (
        DOWN,
        {"alertname": "EseCopySuspect", "severity": "warning", "kind": "suspect", **DB},
        False,
    ),
    "an agent that is down, an index out of date": (
        DOWN,
        {"alertname": "EseIndexOutOfDate", "severity": "warning", "kind": "index", **DB},
        False,
    ),
    "a bad page, a copy that diverged": (
        BAD,
        {"alertname": "EseCopyDivergence", "severity": "critical", "kind": "divergence", **DB},
        False,
    ),
    "a bad page and a late scan that both lack a database": (
        {"alertname": "EseKnownBadPage", "severity": "critical", "computer": "ex01"},
        {"alertname": "EseScanLate", "severity": "warning", "computer": "ex01"},
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_inhibits_what(name: str, running: Server) -> None:
    source, target, expected = CASES[name]
    case = {"case": name}
    # `case` keeps the alerts of two cases apart, it is in no list `equal`; what the
    # computer and the agent are called must differ, too, or one case inhibits another's.
    number = str(list(CASES).index(name))
    own = [
        {
            key: value + number if key in {"computer", "instance"} else value
            for key, value in labels.items()
        }
        for labels in (source, target)
    ]

    assert inhibits(running, {**own[0], **case}, {**own[1], **case}) == expected


@pytest.mark.parametrize("name", sorted({name for name, _ in KINDS if ABOUT_PAGES.fullmatch(name)}))
@pytest.mark.parametrize("by", ["EsewatchDown", "EseKnownBadPageOther", "itself"])
def test_no_alert_about_pages_is_inhibited(name: str, by: str, running: Server) -> None:
    where = {key: f"{value}-{name}-{by}" for key, value in DB.items()}
    source = {"alertname": name if by == "itself" else by, "severity": "critical", **where}
    target = {"alertname": name, "severity": "warning", **where, "case": name + by}

    assert not inhibits(running, {**source, "case": name + by}, target)
