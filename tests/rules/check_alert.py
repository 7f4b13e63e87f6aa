"""What an alert lacks, each with the file to write it in, and what promtool says of its cases:
`make check-alert NAME=EseFullMoon`."""

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import promql_parser

from esewatch.advice.alerts import HELD
from tests.rules.expressions import ROOT, document_of, severities_of
from tests.rules.promtool import TESTS, asked, prepare, run

HEADINGS = ["Do first", "Meaning", "Impact", "Diagnosis", "Mitigation"]
SEVERITIES = ("critical", "warning", "info")
SUBJECTS = {
    "agent": "esewatch itself",
    "checkdb": "SQL Server",
    "copies": "copies and backups",
    "engine": "engine",
    "integrity": "pages",
    "storage": "storage",
    "verification": "verification",
    "window": "maintenance window",
}
"""File of alerts -> its name for people, in the list of runbooks."""
OF_DATABASE = (
    "?computer={{ $labels.computer | urlquery }}&database={{ $labels.database | urlquery }}"
)
"""Ends the link of a runbook: opened at the agent of that database, its commands name it."""
OPEN = "WRITE:"
"""Begins what `make new-alert` leaves to a person."""


def lacks(name: str, root: Path = ROOT, cases: Iterable[Path] = TESTS) -> list[str]:
    """One line for each thing that is missing: where, what, and what belongs there."""
    rules = [
        (path, rule)
        for path in sorted((root / "alerts").glob("*.yml"))
        for group in document_of(path)["groups"]
        for rule in group["rules"]
        if rule.get("alert") == name
    ]
    if not rules:
        return [
            f"alerts/: no rule is called {name}: make new-alert NAME={name} FILE=storage"
            " (or another subject) writes what there is to fill in"
        ]
    found = []
    for path, rule in rules:
        found += [f"alerts/{path.name}: {what}" for what in _of_rule(name, rule)]
    severities = {each for _, rule in rules for each in _severities(rule)}
    found += [
        f"docs/runbooks/{name}.md: {what}"
        for what in _of_runbook(name, [head_line(severities, path.stem) for path, _ in rules], root)
    ]
    paths = list(cases)
    found += [
        f"tests/rules/{path.name}: replace the text after {OPEN!r}"
        for path in paths
        if OPEN in (text := path.read_text(encoding="utf-8")) and name in text
    ]
    documents = [document_of(path) for path in paths]
    for _, rule in rules:
        found += [f"tests/rules/: {what}" for what in _of_cases(rule, documents)]
    return found + list(_of_generated(name, root))


def _of_rule(name: str, rule: dict[str, Any]) -> Iterator[str]:
    if OPEN in str(rule):
        yield f"replace the text after {OPEN!r}"
    if not {*_severities(rule)} <= {*SEVERITIES}:
        yield f"labels: severity is one of {', '.join(SEVERITIES)}"
    notes = rule.get("annotations", {})
    for key in ("summary", "description", "runbook_url", "dashboard_url"):
        if not notes.get(key):
            yield f"annotations: {key} is missing; the rules beside it show its form"
    summary, description = notes.get("summary", ""), notes.get("description", "")
    if summary and ("{{" in summary or not summary.endswith(".")):
        yield "annotations: summary is one sentence with a full stop and without {{ }}"
    if description and (len(description.split()) < 12 or "$labels." not in description):
        yield "annotations: description names its subject by {{ $labels... }} and says what to do"
    end = runbook_end(name, notes.get("dashboard_url", ""))
    if notes.get("runbook_url") and not notes["runbook_url"].endswith(end):
        yield f"annotations: runbook_url ends with {end}"
    if "expr" in rule and OPEN not in rule["expr"]:
        try:
            promql_parser.parse(rule["expr"])
        except ValueError as error:
            yield f"expr: not PromQL: {error}"


def runbook_end(name: str, dashboard: str) -> str:
    """The end of the `runbook_url` of an alert: it names the database that its dashboard shows.

    Agents know no databases of SQL Server.
    """
    of_one = "$labels.computer" in dashboard and "$labels.database" in dashboard
    return f"/{name}{OF_DATABASE}" if of_one and not name.startswith("Sqlserver") else f"/{name}"


def head_line(severities: Iterable[str | None], file: str) -> str:
    """The line below the title of a runbook."""
    said = " or ".join(each for each in SEVERITIES if each in severities)
    return f"Severity: {said}. Subject: {SUBJECTS.get(file, file)}."


def _of_runbook(name: str, heads: list[str], root: Path) -> Iterator[str]:
    path = root / "docs" / "runbooks" / f"{name}.md"
    if not path.is_file():
        yield f"is missing: '# {name}', then '## ' and each of {', '.join(HEADINGS)}"
        return
    text = path.read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    if OPEN in text:
        yield f"replace the text after {OPEN!r}"
    if not text.startswith(f"# {name}\n"):
        yield f"begins with '# {name}'"
    if not {*heads} & {*text.splitlines()[:3]}:
        yield f"says below its title: {heads[0]}"
    if parts[1::2] != HEADINGS:
        yield f"has the headings {', '.join(HEADINGS)}, in this order"
    elif not re.search(r"^    \S", parts[8], flags=re.MULTILINE):
        yield "Diagnosis has a command, indented by four spaces"
    for heading, part in zip(parts[1::2], parts[2::2], strict=True):
        if len(part.split()) < 8:
            yield f"{heading} has a whole sentence or more"


def _of_cases(rule: dict[str, Any], documents: Iterable[dict[str, Any]]) -> Iterator[str]:
    for severity in _severities(rule):
        yield from _of_severity(rule["alert"], severity, documents)


def _severities(rule: dict[str, Any]) -> list[str | None]:
    """None where it has none and carries no finding."""
    known = rule.get("labels") or rule.get("alert") not in HELD
    return [rule.get("labels", {}).get("severity")] if known else [*severities_of(rule)]


def _of_severity(
    name: str, severity: str | None, documents: Iterable[dict[str, Any]]
) -> Iterator[str]:
    groups = [
        [_fires(case, severity) for case in sorted(cases, key=_seconds)]
        for document in documents
        for group in document["tests"]
        if (cases := [c for c in group.get("alert_rule_test", ()) if c["alertname"] == name])
    ]
    turns = {turn for group in groups for turn in pairwise(group)}
    if not any(any(group) for group in groups):
        yield f"no case of {name} fires with severity {severity}: add series and exp_alerts"
    if (False, True) not in turns:
        yield f"no case is silent before {name} ({severity}) fires: add an earlier eval_time, []"
    if (True, False) not in turns:
        yield f"no case is silent after {name} ({severity}) fired: add a later eval_time, []"


def _fires(case: dict[str, Any], severity: str | None) -> bool:
    return any(each["exp_labels"].get("severity") == severity for each in case["exp_alerts"])


def _seconds(case: dict[str, Any]) -> float:
    parts = re.findall(r"\d+[a-z]+", str(case["eval_time"]))
    return sum(
        promql_parser.parse_duration(part).total_seconds() for part in parts if int(part[:-1])
    )


def _of_generated(name: str, root: Path) -> Iterator[str]:
    if f"runbooks/{name}.md)" not in (root / "docs/reference/alerts.md").read_text(
        encoding="utf-8"
    ):
        yield "docs/reference/alerts.md: has no row for it: run make docs"
    golden = (root / "tests" / "golden" / "messages" / "alerts").glob("*.txt")
    if not any(name in path.read_text(encoding="utf-8") for path in golden):
        yield (
            "tests/golden/messages/: has no text of it: run"
            " make golden TESTS=tests/rules/test_messages.py, and read the difference"
        )


def broken(name: str, cases: Iterable[Path] = TESTS) -> str:
    """What promtool says against the cases that ask about an alert; empty where they pass."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, path in enumerate(each for each in cases if name in each.read_text("utf-8")):
            groups = [group for group in document_of(path)["tests"] if name in asked(group)]
            (Path(folder) / str(number)).mkdir()
            files += prepare(path, Path(folder) / str(number), groups, exact=True)
        done = run(files)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def main(name: str) -> int:
    """Print what is missing, else what promtool says; 1 where something is wrong."""
    found = lacks(name)
    if any(OPEN in line for line in found) or any(line.startswith("alerts/:") for line in found):
        print("\n".join(found))
        return 1
    if shutil.which("promtool") is None:
        found.append("promtool is not installed, so the cases were not run: make tools")
    elif said := broken(name):
        found.append(f"tests/rules/: a case fails. promtool says:\n{said.strip()}")
    print("\n".join(found) or f"{name}: nothing is missing, and its cases pass. Now: make test")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
