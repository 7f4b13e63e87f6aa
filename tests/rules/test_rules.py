"""The rules as a whole: valid, documented, tested, and about metrics that exist."""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import promql_parser
import pytest

from esewatch.advice.alerts import (
    FRESH,
    HELD,
    LEVELS,
    MORE,
    Level,
    fresh_expression,
    held,
    held_expression,
)
from esewatch.advice.base.finding import DETAILS, FINDINGS
from esewatch.advice.checkdb import CHECK_FINDINGS
from esewatch.advice.judgement import VERDICTS
from esewatch.advice.window.window import ACTIONS
from esewatch.cli import main
from esewatch.config import Model, Tier
from esewatch.fold.instances.backups import BACKUP_EVENTS
from esewatch.fold.state.damage import EXPOSED_KINDS
from esewatch.fold.state.state import BAD_KINDS, ENGINE_ERROR_KINDS, PAGE_ERROR_KINDS
from esewatch.model import Task
from tests.rules.check_alert import runbook_end
from tests.rules.expressions import (
    ADDED_BY_PROMETHEUS,
    ALERT_FILES,
    ROOT,
    RULE_FILES,
    RUNBOOKS,
    alerts,
    document_of,
    golden,
    kinds,
    made_labels,
    name_and_severity,
    recorded,
    recording_rules,
    rules_of,
    severities_of,
    subject,
    unknown,
    uses,
)
from tests.rules.mutants import Mutant, rule_texts
from tests.rules.needed import FILES, needed
from tests.rules.promtool import QUICK, TESTS, prepare, step
from tests.rules.promtool import run as ask_promtool
from tests.support.each import of_each
from tests.support.patience import PATIENCE
from tests.support.tools import newest, require

SEVERITIES = {"critical", "warning", "info", "none"}
HEADINGS = ["Do first", "Meaning", "Impact", "Diagnosis", "Mitigation"]
VOCABULARY = {
    "kind": {*BAD_KINDS, *ENGINE_ERROR_KINDS, *EXPOSED_KINDS, *PAGE_ERROR_KINDS},
    "task": set(get_args(Task)),
    "model": set(get_args(Model)),
    "tier": set(get_args(Tier)),
    "finding": {*FINDINGS, *DETAILS, *CHECK_FINDINGS},
    "verdict": set(VERDICTS),
    "confidence": {"p50", "p90"},
    "action": set(ACTIONS),
    "file": {"database", "log"},
    "operation": {"read", "write"},
    "phase": {"attached", "recovery", "all"},
    "role": {"active", "passive"},
    "process": {"Information Store.*", "Microsoft.Exchange.Store.Worker.*"},
    "provider": {"ESE"},
    "event_id": set(map(str, BACKUP_EVENTS)),
    "job": {"esewatch"},
    "alertname": {rule["alert"] for rule in alerts()},
    "alertstate": {"firing"},
    "ese_instance": {""},
    "database": {""},
    "site": {""},
    "severity": {"critical", "warning", "info"},
    "physical_only": {"false", "true"},
}
LINK = (
    '{{{{ with query "site:esewatch_links:info" }}}}{{{{ . | first | label "{}" }}}}'
    "{{{{ else }}}}{}{{{{ end }}}}"
)
RUNBOOK_BASE = LINK.format(
    "runbooks",
    '{{ with query "esewatch_web_info" }}{{ . | sortByLabel "instance" | first | label'
    ' "external_url" }}{{ else }}https://esewatch.example.com{{ end }}/runbooks',
)
"""The site's, else those of an agent that lives."""
BOARD_BASE = LINK.format("grafana", "http://localhost:3000")

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


FIRE_WITHOUT_SERIES = {"EsewatchDown", "EsewatchGone"}
"""Alerts whose point is that their series is gone."""


ALERTS = sorted({rule["alert"] for rule in alerts()})
TIMED = [(name, severity) for name, severity in kinds() if name != "Watchdog"]
"""Alerts that begin and end."""


def cases_of(section: str) -> Iterator[dict[str, Any]]:
    for path in TESTS:
        for case in document_of(path)["tests"]:
            yield from case.get(section, ())


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("path", [*RULE_FILES, *ALERT_FILES], ids=lambda path: path.name)
def test_promtool_accepts_the_rules_with_all_lints(path: Path) -> None:
    done = run(require("promtool"), "check", "rules", "--lint=all", "--lint-fatal", path)

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"SUCCESS: {len(rules_of(path))} rules found", done.stdout + done.stderr)


@of_each(sorted({*HELD, *FRESH}))
def test_an_alert_that_carries_a_finding_judges_nothing(alert: str) -> None:
    found = [rule for rule in alerts() if rule["alert"] == alert]

    assert found
    if alert in FRESH:
        for rule in found:
            severity = rule["labels"]["severity"]
            fresh = fresh_expression(FRESH[alert], severity)
            if alert in MORE:
                assert fresh.partition(",severity")[0] in rule["expr"]
            else:
                assert rule["expr"].strip() == fresh
    elif alert in MORE:
        for rule in found:
            carried = f"{HELD[alert][0].level}:ese_finding:held"
            assert rule["labels"]["severity"] == "critical" or carried in rule["expr"]
    else:
        assert [each for rule in found for each in rule if each in ("for", "labels")] == []
        expected = map(held_expression, HELD[alert])
        assert sorted(rule["expr"].strip() for rule in found) == sorted(expected)


@of_each(LEVELS)
def test_what_is_held_is_what_the_alerts_carry(level: Level) -> None:
    (found,) = [rule for rule in recording_rules() if rule["record"] == f"{level}:ese_finding:held"]

    assert f'ese_finding{{{level}!="",finding=~"{"|".join(held(level))}"}}' in found["expr"]


@pytest.mark.parametrize("path", QUICK, ids=lambda path: path.stem)
def test_promtool_cases_pass(path: Path, tmp_path: Path) -> None:
    done = ask_promtool(prepare(path, tmp_path))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_promtool_cases_pass_with_the_newest_prometheus(path: Path, tmp_path: Path) -> None:
    done = ask_promtool(prepare(path, tmp_path), newest("promtool"))

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("path", [*RULE_FILES, *ALERT_FILES], ids=lambda path: path.name)
def test_the_newest_promtool_accepts_the_rules(path: Path) -> None:
    done = run(newest("promtool"), "check", "rules", path)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("evaluated", "times", "expected"),
    [
        ("1m", ["5m", "40m"], "300s"),
        ("1m", ["5m", "41m"], "60s"),
        ("30s", ["150s", "10m"], "150s"),
        ("1m", ["90s"], "60s"),
        ("10m", ["15m"], "600s"),
    ],
)
def test_rules_are_evaluated_at_each_time_asked_or_as_the_file_says(
    evaluated: str, times: list[str], expected: str
) -> None:
    cases = [{"eval_time": time} for time in times]
    asked = {"alert_rule_test": cases[:1], "promql_expr_test": cases[1:]}

    assert step(evaluated, asked) == expected


@pytest.mark.slow
@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_promtool_cases_pass_beside_all_rules_of_their_files(path: Path, tmp_path: Path) -> None:
    done = ask_promtool(prepare(path, tmp_path, whole=True))

    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_rule_tests() -> None:
    assert len(TESTS) >= 5


def check_dashboard(address: str) -> None:
    """It leads to a dashboard that is there, and sets variables that this one has."""
    found = re.search(r"/d/([\w-]+)(?:\?(.*))?$", address)
    assert found
    board = json.loads((ROOT / "dashboards" / f"{found[1]}.json").read_text())
    variables = {entry["name"] for entry in board["templating"]["list"]}
    for part in (found[2] or "").split("&"):
        assert not part or part.split("=")[0].removeprefix("var-") in variables


@of_each(alerts(), name_and_severity)
def test_each_alert_has_what_a_person_needs(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]

    assert set(notes) == {"summary", "description", "runbook_url", "dashboard_url"}
    assert {*severities_of(rule)} <= SEVERITIES
    assert notes["summary"].endswith(".")
    assert "{{" not in notes["summary"]
    assert notes["runbook_url"] == RUNBOOK_BASE + runbook_end(rule["alert"], notes["dashboard_url"])
    assert notes["dashboard_url"].startswith(f"{BOARD_BASE}/d/")
    check_dashboard(notes["dashboard_url"])
    assert re.fullmatch(r"(Ese|Esewatch|Sqlserver)[A-Z][A-Za-z]+|Watchdog", rule["alert"])


@of_each(alerts(), name_and_severity)
def test_each_alert_names_its_subject_and_an_action(rule: dict[str, Any]) -> None:
    description = rule["annotations"]["description"]
    named = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))

    assert len(description.split()) >= 12
    assert "$labels." in description or rule["alert"] == "Watchdog"
    everywhere = frozenset().union(*golden().values()) | ADDED_BY_PROMETHEUS
    assert named <= everywhere | made_labels(rule["expr"])


def test_each_alert_has_a_runbook_and_each_runbook_an_alert() -> None:
    pages = {path.stem for path in RUNBOOKS.glob("*.md")}

    assert pages
    assert pages == {rule["alert"] for rule in alerts()}


@of_each(ALERTS)
def test_each_runbook_has_its_four_parts_and_a_command(name: str) -> None:
    text = (RUNBOOKS / f"{name}.md").read_text()
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)

    assert text.startswith(f"# {name}\n")
    assert parts[1::2] == HEADINGS
    assert all(len(part.split()) >= 8 for part in parts[2::2])
    assert re.search(r"^    \S", parts[8], flags=re.MULTILINE)


@pytest.mark.parametrize("harm", HARMFUL)
@of_each(ALERTS)
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


def test_each_command_a_person_is_told_to_run_exists(capsys: pytest.CaptureFixture[str]) -> None:
    assert {("ack",), ("events",), ("config", "check")} <= commands()
    for words in commands():
        with pytest.raises(SystemExit) as ended:
            main([*words, "--help"])
        assert ended.value.code == 0
        assert f"usage: esewatch {' '.join(words)}" in capsys.readouterr().out


@of_each(kinds(), "-".join)
def test_each_alert_has_a_firing_and_a_silent_case(kind: tuple[str, str]) -> None:
    name, severity = kind
    cases = [case for case in cases_of("alert_rule_test") if case["alertname"] == name]
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
    assert silent or name == "Watchdog"


def groups_about(name: str) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """The groups of promtool cases that ask about an alert: (the group, its cases of the alert)."""
    for path in TESTS:
        for group in document_of(path)["tests"]:
            cases = [c for c in group.get("alert_rule_test", ()) if c["alertname"] == name]
            if cases:
                yield group, sorted(cases, key=lambda case: seconds(case["eval_time"]))


def seconds(duration: str) -> float:
    parts = re.findall(r"\d+[a-z]+", str(duration))
    return sum(promql_parser.parse_duration(p).total_seconds() for p in parts if int(p[:-1]))


def severities(case: dict[str, Any]) -> set[str]:
    return {alert["exp_labels"]["severity"] for alert in case["exp_alerts"]}


@of_each(TIMED, "-".join)
def test_each_alert_has_a_case_that_ends(kind: tuple[str, str]) -> None:
    name, severity = kind
    ends = [
        group["name"]
        for group, cases in groups_about(name)
        for before, after in pairwise(cases)
        if severity in severities(before) and severity not in severities(after)
    ]

    assert ends


@of_each(TIMED, "-".join)
def test_each_alert_has_a_case_that_is_silent_before_it_fires(kind: tuple[str, str]) -> None:
    name, severity = kind
    begins = [
        group["name"]
        for group, cases in groups_about(name)
        for before, after in pairwise(cases)
        if severity not in severities(before) and severity in severities(after)
    ]

    assert begins


each_timed = pytest.mark.parametrize("name", sorted({name for name, _ in TIMED}))


@each_timed
def test_no_alert_fires_without_its_series(name: str, tmp_path: Path) -> None:
    """Tried in the shortest case that fires, one of each severity."""
    shortest: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {}
    for group, cases in sorted(firing_groups(name), key=lambda found: length(found[1])):
        for severity in set[str]().union(*map(severities, cases)):
            shortest.setdefault(severity, (group, cases))
    check_silent_without_series(name, shortest.values(), tmp_path)


@pytest.mark.slow
@each_timed
def test_no_alert_fires_without_its_series_in_any_case(name: str, tmp_path: Path) -> None:
    check_silent_without_series(name, firing_groups(name), tmp_path)


def firing_groups(name: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Those in whose cases it fires."""
    return [
        (group, cases)
        for group, cases in groups_about(name)
        if any(case["exp_alerts"] for case in cases)
    ]


def length(cases: list[dict[str, Any]]) -> float:
    """Seconds up to the last of them."""
    return max(seconds(case["eval_time"]) for case in cases)


def check_silent_without_series(
    name: str, firing: Iterable[tuple[dict[str, Any], list[dict[str, Any]]]], folder: Path
) -> None:
    """What fires in a case is silent when the metrics that its expression begins with are gone."""
    subjects = {
        metric for rule in alerts() if rule["alert"] == name for metric in subject(rule["expr"])
    }
    groups = [without_series(group, cases, subjects) for group, cases in firing]

    assert subjects
    assert groups
    assert all(len(group["input_series"]) < before for group, before in groups)
    if name not in FIRE_WITHOUT_SERIES:
        check_promtool_passes(name, [group for group, _ in groups], folder)


def without_series(
    group: dict[str, Any], cases: list[dict[str, Any]], gone: set[str]
) -> tuple[dict[str, Any], int]:
    """The group without the series of the metrics `gone`, all silent; and how many it had."""
    left = [e for e in group["input_series"] if e["series"].partition("{")[0] not in gone]
    silent = [{**case, "exp_alerts": []} for case in cases]
    changed = {"name": group["name"], "input_series": left, "alert_rule_test": silent}
    return {"interval": group["interval"], **changed}, len(group["input_series"])


def check_promtool_passes(name: str, groups: list[dict[str, Any]], folder: Path) -> None:
    """Run cases of one alert with the rules that it takes."""
    intact = Mutant(FILES[0], 0, name, "nothing", rules_of(FILES[0])[0])
    texts = rule_texts(intact, needed(frozenset({name})))
    for file, text in texts.items():
        (folder / file).write_text(text)
    case = folder / "cases.yml"
    longest = max(length(group["alert_rule_test"]) for group in groups)
    interval = "1h" if longest > 4 * 86400 else "10m"
    document = {"rule_files": list(texts), "evaluation_interval": interval, "tests": groups}
    case.write_text(json.dumps(document))
    done = run(require("promtool"), "test", "rules", case)

    assert done.returncode == 0, done.stdout + done.stderr


@of_each(recording_rules(), lambda rule: rule["record"])
def test_each_recorded_series_has_a_case_with_a_value(rule: dict[str, Any]) -> None:
    cases = [case for case in cases_of("promql_expr_test") if rule["record"] in case["expr"]]

    assert [case for case in cases if case["exp_samples"]]


@of_each([*recording_rules(), *alerts()], lambda rule: rule.get("record") or rule["alert"])
def test_each_rule_names_only_what_exists(rule: dict[str, Any]) -> None:
    assert list(unknown(rule["expr"])) == []


@of_each([*recording_rules(), *alerts()], lambda rule: rule.get("record") or rule["alert"])
def test_each_value_a_rule_matches_is_a_value_of_the_agent(rule: dict[str, Any]) -> None:
    for selector in uses(rule["expr"]).selectors:
        for label, value in selector.matchers:
            assert set(value.split("|")) <= VOCABULARY[label]


def test_recording_rules_are_named_level_metric_operations() -> None:
    for name in recorded():
        assert re.fullmatch(
            r"(ese_instance|database|computer|device|instance|site):[a-z_]+:[a-z][a-z0-9_]*", name
        )


def test_the_search_for_unknown_names_finds_them() -> None:
    assert list(unknown("sum by (nobody) (ese_nothing_total)")) == [
        "metric 'ese_nothing_total'",
        "label 'nobody'",
    ]
    assert list(unknown('ese_known_bad_pages{task="x"}')) == ["label 'task' of ese_known_bad_pages"]
