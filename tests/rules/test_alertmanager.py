"""The example of Alertmanager: who receives which alert, and what silences what.

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

from esewatch.advice.alerts import HELD
from tests.e2e.harness import Server, Webhook, get, start_alertmanager, wait_for
from tests.rules.expressions import ROOT, kinds
from tests.support.each import of_each
from tests.support.patience import PATIENCE
from tests.support.tools import require

EXAMPLE = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
RECEIVERS = {"critical": "page", "warning": "ticket", "info": "digest", "none": "dead-man"}
ABOUT_PAGES = re.compile(r"Ese.*(Page|Corruption|Divergence).*")
NEVER_INHIBITED = re.compile(ABOUT_PAGES.pattern + "|Ese(RecoveryFailed|LogSequenceHalted)")
KINDS = kinds()
NEW = [("EseNewlyMade", "critical"), ("EseNewBadPages", "critical"), ("EseNewThing", "warning")]


def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    return loaded


def amtool(*words: str | Path) -> str:
    done = subprocess.run(
        [require("amtool"), *(str(word) for word in words)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def receivers(file: Path, **labels: str) -> list[str]:
    words = [f"{name}={value}" for name, value in labels.items()]
    return amtool("config", "routes", "test", f"--config.file={file}", *words).split()


def test_amtool_accepts_the_example() -> None:
    assert "SUCCESS" in amtool("check-config", EXAMPLE)


@of_each([*KINDS, *NEW])
def test_each_alert_goes_where_its_severity_says(kind: tuple[str, str]) -> None:
    name, severity = kind
    found = receivers(EXAMPLE, alertname=name, severity=severity, computer="a", database="b")

    assert found == [RECEIVERS[severity]]


def test_the_parent_route_of_the_page_takes_every_alert(tmp_path: Path) -> None:
    """For an Alertmanager that has routes of its own."""
    page = (ROOT / "docs" / "alertmanager.md").read_text(encoding="utf-8")
    (matchers,) = re.findall(r"a parent with `(matchers: .*)`", page)
    parent = {"receiver": "ours", **yaml.safe_load(matchers)}
    text = {
        "route": {"receiver": "theirs", "routes": [parent]},
        "receivers": [{"name": "ours"}, {"name": "theirs"}],
    }
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(text), encoding="utf-8")

    names = sorted({name for name, _ in KINDS})
    assert len(names) > 40
    assert {name: receivers(file, alertname=name) for name in names} == {
        name: ["ours"] for name in names
    }
    assert receivers(file, alertname="NodeDown") == ["theirs"]


@pytest.mark.parametrize("severity", ["page-me", ""])
def test_an_alert_of_another_severity_is_a_ticket(severity: str) -> None:
    assert receivers(EXAMPLE, alertname="EseNew", severity=severity) == ["ticket"]


@of_each(sorted({name for name, severity in KINDS if severity != "none"}))
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


def test_alerts_about_pages_and_copies_are_known_by_their_names() -> None:
    about = {"known_bad_page", "corrected_page", "logical_damage", "copy_divergence"}
    carried = {
        alert
        for alert, rules in HELD.items()
        for of in rules
        if of.level == "database" and not about.isdisjoint(of.findings)
    }

    assert len(carried) == len(about)
    assert [name for name in carried if not ABOUT_PAGES.fullmatch(name)] == []


def test_damage_is_a_message_a_database_all_else_one_a_computer() -> None:
    route = config()["route"]
    groups = {str(each["matchers"]): each.get("group_by") for each in route["routes"]}

    assert route["group_by"] == ["job", "site", "computer", "database"]
    assert route["routes"][1].get("group_by") is None
    assert groups["['severity=\"critical\"']"] == ["job", "site", "computer"]
    assert groups["['severity=\"warning\"']"] == ["job", "site", "computer"]
    assert [group for matchers, group in groups.items() if "Esewatch.*" in matchers] == [
        ["job", "site"]
    ] * 2


def test_nothing_is_muted_at_any_time() -> None:
    """A window of one server would silence another one without any; the rules know whose it is."""
    text = EXAMPLE.read_text(encoding="utf-8")

    assert "mute_time_intervals" not in text


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
    urllib.request.urlopen(request, timeout=PATIENCE).close()

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
GONE = {"alertname": "EsewatchGone", "severity": "warning", "computer": "ex01"}
IO = {"alertname": "EseIoError", "severity": "critical", "computer": "ex01", "ese_instance": "SG06"}
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
    "slow reads that page, slow writes to the log of the same instance": (
        {**IO, "alertname": "EseLatencyHigh", "file": "database", "operation": "read"},
        {
            **IO,
            "alertname": "EseLatencyHigh",
            "severity": "warning",
            "file": "log",
            "operation": "write",
        },
        False,
    ),
    "a computer that no agent tells of, an alert of age": (
        GONE,
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB},
        True,
    ),
    "a computer that no agent tells of, a backup that is missing": (
        GONE,
        {"alertname": "EseBackupMissing", "severity": "warning", **DB},
        True,
    ),
    "a computer that no agent tells of, a check of SQL Server that is overdue": (
        GONE,
        {"alertname": "SqlserverCheckdbOverdue", "severity": "warning", **DB},
        True,
    ),
    "a computer that no agent tells of, a scan at risk": (
        GONE,
        {"alertname": "EseVerificationAtRisk", "severity": "warning", **DB},
        True,
    ),
    "a computer that no agent tells of, errors that a check of SQL Server found": (
        GONE,
        {"alertname": "SqlserverCheckdbFailed", "severity": "warning", **DB},
        False,
    ),
    "a computer that no agent tells of, an alert of age of another": (
        GONE,
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB, "computer": "ex02"},
        False,
    ),
    "a computer that no agent tells of, a bad page": (GONE, BAD, False),
    "a computer that no agent tells of, an engine error": (GONE, IO, False),
    "failed writes, hung requests of the computer that page": (
        IO,
        {"alertname": "EseHungIo", "severity": "critical", **DB},
        False,
    ),
    "failed writes, a few hung requests of the computer": (
        IO,
        {"alertname": "EseHungIo", "severity": "warning", **DB},
        False,
    ),
    "failed writes, hung requests of the same instance that page": (
        IO,
        {"alertname": "EseHungIo", "severity": "critical", **DB, "ese_instance": "SG06"},
        False,
    ),
    "hung requests that page, slow reads of the same instance that page": (
        {"alertname": "EseHungIo", "severity": "critical", **DB, "ese_instance": "SG06"},
        {**IO, "alertname": "EseLatencyHigh"},
        False,
    ),
    "failed writes, slow reads": (
        IO,
        {**IO, "alertname": "EseLatencyHigh"},
        False,
    ),
    "failed writes, a pass that failed": (
        IO,
        {"alertname": "EseMaintenanceError", "severity": "warning", **DB, "task": "checksum"},
        False,
    ),
    "failed writes, a recovery that failed": (
        IO,
        {"alertname": "EseRecoveryFailed", "severity": "warning", "computer": "ex01"},
        False,
    ),
    "failed writes, a log that was halted": (
        IO,
        {"alertname": "EseLogSequenceHalted", "severity": "critical", "computer": "ex01"},
        False,
    ),
    "failed writes, a bad page": (IO, BAD, False),
    "a full disk, that it is nearly full": (
        {**IO, "alertname": "EseDiskFull"},
        {"alertname": "EseLogDiskLow", "severity": "warning", "computer": "ex01"},
        False,
    ),
    "hung requests, slow ones of the same computer in another site": (
        {"alertname": "EseHungIo", "severity": "critical", **DB, "site": "north"},
        {"alertname": "EseSlowIo", "severity": "warning", **DB, "site": "south"},
        False,
    ),
    "a critical alert, its warning in another site": (
        {"alertname": "EseX", "severity": "critical", **DB, "site": "north"},
        {"alertname": "EseX", "severity": "warning", **DB, "site": "south"},
        False,
    ),
    "a computer that no agent tells of, an alert of age of its name in another job": (
        {**GONE, "job": "north"},
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB, "job": "south"},
        False,
    ),
    "hung requests, slow ones of another database": (
        {"alertname": "EseHungIo", "severity": "critical", **DB},
        {"alertname": "EseSlowIo", "severity": "warning", **DB, "database": "y.edb"},
        False,
    ),
    "hung requests, slow ones": (
        {"alertname": "EseHungIo", "severity": "warning", **DB},
        {"alertname": "EseSlowIo", "severity": "warning", **DB},
        True,
    ),
    "a bad page, a late scan": (
        BAD,
        {"alertname": "EseVerificationAtRisk", "severity": "warning", **DB},
        False,
    ),
    "a bad page, a pass that failed": (
        BAD,
        {"alertname": "EseMaintenanceError", "severity": "warning", **DB, "task": "defrag"},
        False,
    ),
    "a bad page, a database that was never verified": (
        BAD,
        {"alertname": "EseVerificationOverdue", "severity": "warning", **DB},
        False,
    ),
    "a computer that no agent tells of, a suspect copy": (
        GONE,
        {"alertname": "EseCopyDivergence", "severity": "warning", "finding": "copy_suspect", **DB},
        False,
    ),
    "a computer that no agent tells of, an index out of date": (
        GONE,
        {"alertname": "EseEngineFailure", "severity": "warning", **DB},
        False,
    ),
    "a bad page, a copy that diverged": (
        BAD,
        {"alertname": "EseCopyDivergence", "severity": "critical", "kind": "divergence", **DB},
        False,
    ),
}


@of_each(CASES)
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


def test_no_page_is_silenced() -> None:
    """An alert that is held for weeks would silence what is new (semantics 7)."""
    for rule in config()["inhibit_rules"]:
        assert {"job", "site"} <= set(rule["equal"])
        severities = [each for each in rule["target_matchers"] if each.startswith("severity")]
        assert not any("critical" in each for each in severities)
        if not severities:
            (names,) = [each for each in rule["target_matchers"] if "alertname" in each]
            pattern = re.compile(re.split("=~?", names, maxsplit=1)[1].strip('"'))
            found = {severity for name, severity in KINDS if pattern.fullmatch(name)}
            assert found
            assert "critical" not in found, rule


@pytest.mark.parametrize(
    "name", sorted({name for name, _ in KINDS if NEVER_INHIBITED.fullmatch(name)})
)
@pytest.mark.parametrize("by", ["EsewatchGone", "EseIoError", "EseKnownBadPageOther", "itself"])
def test_no_alert_about_damage_recovery_or_a_halted_log_is_inhibited(
    name: str, by: str, running: Server
) -> None:
    where = {key: f"{value}-{name}-{by}" for key, value in DB.items()}
    source = {"alertname": name if by == "itself" else by, "severity": "critical", **where}
    target = {"alertname": name, "severity": "warning", **where, "case": name + by}

    assert not inhibits(running, {**source, "case": name + by}, target)
