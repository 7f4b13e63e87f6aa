"""The rules as a whole: valid, documented, tested, and about metrics that exist."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from esewatch.config.settings import Model, Tier
from esewatch.fold.state import BAD_KINDS
from esewatch.model import Task
from tests.rules.expressions import (
    ADDED_BY_PROMETHEUS,
    ALERT_FILES,
    ROOT,
    RULE_FILES,
    RUNBOOKS,
    alerts,
    golden,
    recorded,
    recording_rules,
    rules_of,
    unknown,
    uses,
)
from tests.support.tools import require

ALERTMANAGER = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
TESTS = sorted((ROOT / "tests" / "rules").glob("*_test.yml"))
SEVERITIES = {"critical", "warning", "info", "none"}
HEADINGS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
VOCABULARY = {
    "kind": set(BAD_KINDS),
    "task": set(get_args(Task)),
    "model": set(get_args(Model)),
    "tier": set(get_args(Tier)),
    "job": {"esewatch"},
}
WITHOUT_INSTANCE = {"EsewatchDown", "Watchdog"}
"""Alerts that can fire without the label `instance`: their link names the default address."""

HARMFUL = {
    "repair of a database": r"eseutil(\.exe)?\s+/p\b|esentutl(\.exe)?\s+/p\b",
    "soft recovery by hand": r"(eseutil|esentutl)(\.exe)?\s+/r",
    "offline defragmentation": r"(eseutil|esentutl)(\.exe)?\s+/d|offline.{0,3}defrag",
    "dismount": r"dismount",
    "reboot": r"\b(reboot|restart-computer|shutdown)\b",
    "removing log files": r"(remove-item|\bdel\b|\brm\b|\berase\b|delet\w+|purg\w+|remov\w+)"
    r"[^.\n]{0,40}\blogs?\b",
    "circular logging": r"circular.{0,3}logging",
    "checksum of a file without a throttle": r"(eseutil|esentutl)(\.exe)?\s+/k(?![^\n`]*\s/p\d)",
    "clearing the event log": r"clear-eventlog|wevtutil\s+cl\b",
}


def cases_of(section: str) -> Iterator[dict[str, Any]]:
    for path in TESTS:
        for case in yaml.safe_load(path.read_text())["tests"]:
            yield from case.get(section, ())


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=240, check=False
    )


@pytest.mark.parametrize("path", [*RULE_FILES, *ALERT_FILES], ids=lambda path: path.name)
def test_promtool_accepts_the_rules_with_all_lints(path: Path) -> None:
    done = run(require("promtool"), "check", "rules", "--lint=all", "--lint-fatal", path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"SUCCESS: {len(rules_of(path))} rules found", done.stdout + done.stderr)


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_promtool_cases_pass(path: Path) -> None:
    done = run(require("promtool"), "test", "rules", path)

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_rule_tests() -> None:
    assert len(TESTS) >= 5


def test_amtool_accepts_the_example_of_alertmanager() -> None:
    done = run(require("amtool"), "check-config", ALERTMANAGER)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("labels", "receiver"),
    [
        ({"alertname": "EseKnownBadPage", "severity": "critical"}, "page"),
        ({"alertname": "EsewatchDown", "severity": "critical"}, "page"),
        ({"alertname": "EseBadPageFoundInHistory", "severity": "warning"}, "ticket"),
        ({"alertname": "EseDefragRatioHigh", "severity": "info"}, "digest"),
        ({"alertname": "Watchdog", "severity": "none"}, "dead-man"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_example_of_alertmanager_routes_by_severity(
    labels: dict[str, str], receiver: str
) -> None:
    words = [f"{name}={value}" for name, value in labels.items()]
    done = run(
        require("amtool"), "config", "routes", "test", f"--config.file={ALERTMANAGER}", *words
    )

    assert done.stdout.split() == [receiver]


def test_integrity_alerts_are_grouped_by_database_and_sent_at_once() -> None:
    route = yaml.safe_load(ALERTMANAGER.read_text())["route"]
    integrity = {rule["alert"] for rule in alerts() if _is_integrity_page(rule)}
    routes = [child for child in route["routes"] if "EseKnownBadPage" in child["matchers"][0]]

    assert route["group_by"] == ["computer", "database"]
    assert len(routes) == 1
    assert routes[0]["group_wait"] == "0s"
    assert integrity == set(re.findall(r"Ese\w+", routes[0]["matchers"][0]))


def _is_integrity_page(rule: dict[str, Any]) -> bool:
    return "ese_known_bad_pages" in rule["expr"] and rule["labels"]["severity"] == "critical"


def test_integrity_alerts_are_inhibited_by_nothing_but_themselves() -> None:
    rules = yaml.safe_load(ALERTMANAGER.read_text())["inhibit_rules"]
    integrity = {rule["alert"] for rule in alerts() if "ese_known_bad_pages" in rule["expr"]}
    by_others = [rule for rule in rules if "alertname" not in rule["equal"]]
    targets = [matcher for rule in by_others for matcher in rule["target_matchers"]]

    assert len(integrity) == 5
    assert targets
    for target in targets:
        pattern = re.fullmatch(r'alertname=~"(.+)"', target)
        assert pattern
        assert not [name for name in integrity if re.fullmatch(pattern[1], name)]


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_each_alert_has_what_a_person_needs(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    host = (
        '{{ or $labels.instance "127.0.0.1:19703" }}'
        if rule["alert"] in WITHOUT_INSTANCE
        else "{{ $labels.instance }}"
    )

    assert set(notes) == {"summary", "description", "runbook_url", "dashboard_url"}
    assert rule["labels"]["severity"] in SEVERITIES
    assert notes["summary"].endswith(".")
    assert "{{" not in notes["summary"]
    assert notes["runbook_url"] == f"http://{host}/runbooks/{rule['alert']}"
    assert "/d/esewatch-maintenance" in notes["dashboard_url"]
    assert re.fullmatch(r"(Ese|Esewatch)[A-Z][A-Za-z]+|Watchdog", rule["alert"])


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_each_alert_names_its_subject_and_an_action(rule: dict[str, Any]) -> None:
    description = rule["annotations"]["description"]
    named = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))

    assert len(description.split()) >= 12
    assert "{{ $" in description or rule["alert"] == "Watchdog"
    everywhere = frozenset().union(*golden().values()) | ADDED_BY_PROMETHEUS
    assert named <= everywhere


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("*.md")}

    assert pages
    assert pages == {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("name", sorted({rule["alert"] for rule in alerts()}))
def test_each_runbook_has_its_four_parts_and_a_command(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text()
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)

    assert text.startswith(f"# {name}\n")
    assert parts[1::2] == HEADINGS
    assert all(len(part.split()) >= 8 for part in parts[2::2])
    assert re.search(r"^    \S", parts[6], flags=re.MULTILINE)


@pytest.mark.parametrize("name", sorted({rule["alert"] for rule in alerts()}))
@pytest.mark.parametrize("harm", HARMFUL)
def test_no_runbook_or_alert_advises_harm(name: str, harm: str) -> None:
    notes = [str(rule["annotations"]) for rule in alerts() if rule["alert"] == name]
    text = (RUNBOOKS / f"{name}.md").read_text() + "\n".join(notes)

    assert not re.search(HARMFUL[harm], text, flags=re.IGNORECASE)


@pytest.mark.parametrize(
    ("harm", "text"),
    [
        ("repair of a database", "run eseutil /p priv.edb"),
        ("offline defragmentation", "ESEUTIL /d priv.edb"),
        ("offline defragmentation", "an offline defrag helps"),
        ("soft recovery by hand", "eseutil /r E00"),
        ("dismount", "Dismount-Database DB06"),
        ("reboot", "then reboot the server"),
        ("removing log files", "delete the old logs"),
        ("removing log files", "Remove-Item E:\\log\\*.log"),
        ("circular logging", "turn on circular logging"),
        ("checksum of a file without a throttle", "eseutil /k priv.edb"),
        ("clearing the event log", "wevtutil cl Application"),
    ],
)
def test_the_search_for_harm_finds_it(harm: str, text: str) -> None:
    assert re.search(HARMFUL[harm], text, flags=re.IGNORECASE)


def test_a_throttled_checksum_is_not_harmful() -> None:
    pattern = HARMFUL["checksum of a file without a throttle"]

    assert not re.search(pattern, "`eseutil /k /p20 X:\\snap\\priv06.edb`", flags=re.IGNORECASE)


def commands() -> set[tuple[str, ...]]:
    """The esewatch commands that runbooks, and annotations of alerts, tell a person to run."""
    pages = [path.read_text() for path in RUNBOOKS.glob("*.md")]
    code = [line for page in pages for line in re.findall(r"^ {4,}(.*)$", page, re.MULTILINE)]
    notes = [str(rule["annotations"]) for rule in alerts()]
    found = re.findall(
        r"(?:^|: )esewatch (\w+)( check| show)?", "\n".join(code + notes), re.MULTILINE
    )
    return {tuple(word.strip() for word in words if word) for words in found}


def test_each_command_a_person_is_told_to_run_exists() -> None:
    assert {("ack",), ("events",), ("config", "check")} <= commands()
    for words in commands():
        done = run(sys.executable, "-m", "esewatch", *words, "--help")
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_each_alert_has_a_firing_and_a_silent_case(rule: dict[str, Any]) -> None:
    cases = [case for case in cases_of("alert_rule_test") if case["alertname"] == rule["alert"]]
    severity = rule["labels"]["severity"]
    fires = [
        alert
        for case in cases
        for alert in case["exp_alerts"]
        if alert["exp_labels"]["severity"] == severity
    ]
    silent = [
        case
        for case in cases
        if severity not in {alert["exp_labels"]["severity"] for alert in case["exp_alerts"]}
    ]

    assert fires
    assert silent or rule["alert"] == "Watchdog"


@pytest.mark.parametrize("rule", recording_rules(), ids=lambda rule: rule["record"])
def test_each_recorded_series_has_a_case_with_a_value(rule: dict[str, Any]) -> None:
    cases = [case for case in cases_of("promql_expr_test") if rule["record"] in case["expr"]]

    assert [case for case in cases if case["exp_samples"]]


@pytest.mark.parametrize(
    "rule", [*recording_rules(), *alerts()], ids=lambda rule: rule.get("record") or rule["alert"]
)
def test_each_rule_names_only_what_exists(rule: dict[str, Any]) -> None:
    assert list(unknown(rule["expr"])) == []


@pytest.mark.parametrize(
    "rule", [*recording_rules(), *alerts()], ids=lambda rule: rule.get("record") or rule["alert"]
)
def test_each_value_a_rule_matches_is_a_value_of_the_agent(rule: dict[str, Any]) -> None:
    for selector in uses(rule["expr"]).selectors:
        for label, value in selector.matchers:
            assert set(value.split("|")) <= VOCABULARY[label]


def test_recording_rules_are_named_level_metric_operations() -> None:
    for name in recorded():
        assert re.fullmatch(r"(ese_instance|database):[a-z_]+:[a-z_]*increase\d+d", name)


def test_the_search_for_unknown_names_finds_them() -> None:
    assert list(unknown("sum by (nobody) (ese_nothing_total)")) == [
        "metric 'ese_nothing_total'",
        "label 'nobody'",
    ]
    assert list(unknown('ese_known_bad_pages{task="x"}')) == ["label 'task' of ese_known_bad_pages"]
