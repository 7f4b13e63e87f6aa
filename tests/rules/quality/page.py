"""docs/reference/alerts.md: all alerts, and how they did on months of logs.

The first part is made of alerts/*.yml. The second is made of the verdicts that the long test
wrote; where there are none it stays as it is.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from esewatch.advice.alerts import FRESH, HELD
from esewatch.advice.base.finding import DETAILS, FINDINGS
from esewatch.advice.checkdb import CHECK_FINDINGS
from tests.rules.expressions import ALERT_FILES, alerts, severities_of
from tests.rules.quality.month import DAYS
from tests.rules.quality.trial import trial_part
from tests.rules.quality.verdict import Verdict
from tests.support import campaign
from tests.support.figures import VARIABLE

NAME = "verdicts.jsonl"
"""Beside the file of the figures."""

INTRODUCTION = """\
# Alerts

Generated from `alerts/*.yml` and from the long tests; do not edit.

`critical` wakes somebody, `warning` is a ticket, `info` is for a dashboard and the weekly digest.
Of two severities one holds at a time, or in Alertmanager the critical one inhibits the warning,
but for pages, corruption, divergence, a failed recovery and a halted log.
Some critical alerts outlive their agent. For both see [alertmanager](../alertmanager.md).

"Findings" are those that a rule carries, by the label `finding` of `ese_finding`.
"""

QUALITY = "## Quality"
STATED = re.compile(r'\bese_finding\{finding="(\w+)"')
"""A finding of which a rule asks by itself."""


def alerts_part() -> str:
    """All alerts, a section for each file."""
    parts = [INTRODUCTION]
    for path in ALERT_FILES:
        lines = ["| alert | severity | for | findings | what |", "| --- | --- | --- | --- | --- |"]
        for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]:
            for rule in group["rules"]:
                link = f"[{rule['alert']}](../runbooks/{rule['alert']}.md)"
                what = rule["annotations"]["summary"].replace("|", "\\|")
                hold = rule.get("for", "–")
                severity = ", ".join(severities_of(rule))
                found = _in_code(findings_of(rule)) or "–"
                lines.append(f"| {link} | {severity} | {hold} | {found} | {what} |")
        parts.append(f"## {path.stem.capitalize()}\n\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, _without_alert()])


def findings_of(rule: dict[str, Any]) -> list[str]:
    """The findings that a rule carries, in the order of their names."""
    name, expression = rule["alert"], rule["expr"]
    carried = [*HELD.get(name, ()), *([FRESH[name]] if name in FRESH else ())]
    names = {it for of in carried if f"{of.level}:ese_finding:" in expression for it in of.findings}
    return sorted(names.union(STATED.findall(expression)))


def _without_alert() -> str:
    known: set[str] = {*FINDINGS, *DETAILS, *CHECK_FINDINGS}
    told = sorted(known.difference(*map(findings_of, alerts())))
    return f"## Findings without an alert\n\nThe pages and `advise` tell them: {_in_code(told)}.\n"


def _in_code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def quality_part(verdicts: Sequence[Verdict]) -> str:
    """The tables of healthy and of faulty months."""
    healthy = [each for each in verdicts if not each.alert]
    faulty = [each for each in verdicts if each.alert]
    return f"""\
{QUALITY}

Measured by `make test-campaign` (tests/rules/test_quality.py): logs of {DAYS} days are replayed
(`esewatch replay`); Prometheus evaluates recorded series and alerts every five minutes.
The months of Exchange 2007 come from the bundled engine, with backups added. It does not produce
domain controllers, background scans of Exchange 2013 and later, or Windows Search: the tests write
those logs, without counters. "Allowed within" is the bound that the test checks.

{len(healthy)} healthy database-months: {_count(healthy)} warnings or criticals.

| month | months | warnings, criticals | infos |
| --- | --- | --- | --- |
{_lines(_healthy(healthy))}
{len(faulty)} months with one fault each. "Others" are the other warnings and criticals.

| fault | months | alert | allowed within | fired after, at most | others | infos |
| --- | --- | --- | --- | --- | --- | --- |
{_lines(_faulty(faulty))}"""


def _count(verdicts: Iterable[Verdict]) -> int:
    return sum(len(each.others) for each in verdicts)


def _lines(rows: Iterable[Sequence[object]]) -> str:
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def _healthy(verdicts: Sequence[Verdict]) -> Iterator[Sequence[object]]:
    for kind in dict.fromkeys(each.kind for each in verdicts):
        of_kind = [each for each in verdicts if each.kind == kind]
        yield kind, len(of_kind), _names(of_kind, "others"), _names(of_kind, "infos")


def _faulty(verdicts: Sequence[Verdict]) -> Iterator[Sequence[object]]:
    for fault in dict.fromkeys(each.fault for each in verdicts):
        of_fault = [each for each in verdicts if each.fault == fault]
        after = [each.after for each in of_fault]
        slowest = "never" if None in after else span(max(each or 0.0 for each in after))
        bound, alert = of_fault[0].bound, of_fault[0].alert
        others, infos = _names(of_fault, "others"), _names(of_fault, "infos")
        yield fault, len(of_fault), alert, span(bound), slowest, others, infos


def _names(verdicts: Sequence[Verdict], field: str) -> str:
    """Each name with the number of months that it fired in."""
    all_names = [name for each in verdicts for name in getattr(each, field)]
    return ", ".join(f"{name} ({all_names.count(name)})" for name in sorted(set(all_names))) or "–"


def span(seconds: float) -> str:
    """`25 min`, `8.7 h`, `3.2 days`."""
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


def write(verdicts: Sequence[Verdict]) -> None:
    """Keep the verdicts for the page, where `make test-campaign` asks for figures: those of a
    part of the months would take the place of all.
    """
    file = _kept()
    if file and campaign.WHOLE:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{json.dumps(each)}\n" for each in verdicts), encoding="utf-8")


def _kept() -> Path | None:
    figures = os.environ.get(VARIABLE)
    return Path(figures).with_name(NAME) if figures else None


def read() -> list[Verdict]:
    """What `write` kept."""
    file = _kept()
    if file is None or not file.exists():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        kind, fault, alert, bound, after, others, infos = json.loads(line)
        found.append(Verdict(kind, fault, alert, bound, after, tuple(others), tuple(infos)))
    return found


def written_anew(old: str) -> str:
    """The page; without kept verdicts its second part is that of the old one."""
    verdicts = read()
    quality = quality_part(verdicts) if verdicts else "".join(old.partition(QUALITY)[1:])
    return f"{alerts_part()}\n{trial_part()}\n{quality}"
