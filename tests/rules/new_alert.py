"""The files of a new alert, with what a person has to write: `make new-alert NAME=... FILE=...`."""

import re
import sys
from pathlib import Path

from tests.rules.check_alert import OF_DATABASE, OPEN, SEVERITIES, head_line
from tests.rules.expressions import ROOT

_RUNBOOKS = (
    """{{ with query "esewatch_web_info" }}{{ . | sortByLabel "instance" | first"""
    """ | label "external_url" }}{{ else }}https://esewatch.example.com{{ end }}/runbooks"""
)
_LINK = (
    """'{{{{ with query "site:esewatch_links:info" }}}}{{{{ . | first | label "{label}" }}}}"""
    """{{{{ else }}}}{base}{{{{ end }}}}"""
)
_RULE = """\
      - alert: {name}
        expr: |
          {open} what is wrong, as PromQL without the label instance
        for: 15m
        labels:
          severity: {severity}
        annotations:
          summary: {open} what is wrong, one sentence.
          description: >-
            {open} what is wrong with {{{{ $labels.database }}}} on {{{{ $labels.computer }}}},
            what it means, and what to do first.
          runbook_url: {runbooks}/{name}{subject}'
          dashboard_url: {boards}/d/{board}'
"""
_RUNBOOK = """\
# {name}

{head}

## Do first

{open} what somebody who is called does now, before reading on.

## Meaning

{open} what was seen, and by which event or counter.

## Impact

{open} what is at risk, for whom, and how soon somebody must act.

## Diagnosis

{open} what to look at, and the command that shows it:

    esewatch advise --config.file /etc/esewatch/esewatch.yml --explain

## Mitigation

1. {open} the first thing to do. Nothing that could lose data.
"""
_SERIES = (
    r'ese_database_info{computer="ex01",database="e:\\mdb06\\priv06.edb",'
    'instance="ex01:19703",job="esewatch",tier="watched"}'
)
_LABELS = (
    r"{{severity: {severity}, computer: ex01, database: 'e:\mdb06\priv06.edb',"
    " job: esewatch, tier: watched}}"
)
_TEST = """\
# {open} what this alert watches, and what must not make it fire.
rule_files:
  - ../../alerts/{file}.yml

evaluation_interval: 1m

tests:
  - name: "{open} it is silent, fires, and ends"
    interval: 1m
    input_series:
      # {open} the series that the rule reads. This one is 0 for 20 minutes, 1 for an hour, then 0.
      - series: '{series}'
        values: '0x19 1x59 0x60'
    alert_rule_test:
      - eval_time: 10m
        alertname: {name}
        exp_alerts: []
      - eval_time: 60m
        alertname: {name}
        exp_alerts:
          # {open} severity, and the labels that the expression leaves: never instance.
          - exp_labels: {labels}
      - eval_time: 130m
        alertname: {name}
        exp_alerts: []
"""


def write(name: str, file: str, severity: str, root: Path = ROOT) -> list[str]:
    """Write the files; returns their names. Raises ValueError for what cannot be an alert."""
    rules = root / "alerts" / f"{file}.yml"
    runbook = root / "docs" / "runbooks" / f"{name}.md"
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    test = root / "tests" / "rules" / f"{snake}_test.yml"
    if not re.fullmatch(r"(Ese|Esewatch|Sqlserver)[A-Z][A-Za-z]+", name):
        raise ValueError(f"{name}: a name begins with Ese, Esewatch or Sqlserver: EseFullMoon")
    if severity not in SEVERITIES:
        raise ValueError(f"{severity}: a severity is one of {', '.join(SEVERITIES)}")
    if not rules.is_file():
        subjects = sorted(path.stem for path in rules.parent.glob("*.yml"))
        raise ValueError(f"{file}: a subject is one of {', '.join(subjects)}")
    if runbook.exists() or test.exists():
        raise ValueError(f"{name}: exists; make check-alert NAME={name} says what is missing")
    told = {
        "name": name,
        "file": file,
        "severity": severity,
        "head": head_line([severity], file),
        "open": OPEN,
        "runbooks": _LINK.format(label="runbooks", base=_RUNBOOKS),
        "series": _SERIES,
        "labels": _LABELS.format(severity=severity),
        "board": "esewatch-database?var-computer={{ $labels.computer | urlquery }}"
        "&var-database={{ $labels.database | urlquery }}",
        "subject": "" if name.startswith("Sqlserver") else OF_DATABASE,
        "boards": _LINK.format(label="grafana", base="http://localhost:3000"),
    }
    with rules.open("a", encoding="utf-8") as stream:
        stream.write(_quoted(_RULE).format(**told))
    runbook.write_text(_RUNBOOK.format(**told), encoding="utf-8")
    test.write_text(_TEST.format(**told), encoding="utf-8")
    return [str(path.relative_to(root)) for path in (rules, runbook, test)]


def _quoted(rule: str) -> str:
    """A colon and a blank would end a plain YAML text."""
    return re.sub(r"(summary: )(.*)", r'\1"\2"', rule)


def main(name: str, file: str, severity: str) -> int:
    """Write the files and name them; 2 where there cannot be such an alert."""
    try:
        files = write(name, file, severity)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"{each}: replace each text after {OPEN}" for each in files))
    print(f"Then see what is missing: make check-alert NAME={name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
