"""The runbook of an alert opens at an agent with the database of the alert in its commands."""

import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from esewatch.expose.pages.runbooks.runbook_files import Runbooks, Subject, filled
from tests.rules import promtool
from tests.rules.expressions import ROOT

AGENT = "http://127.0.0.1:19703/runbooks"
_LINK = re.compile(r'runbook_url=("(?:[^"\\]|\\.)*")')


def link(folder: Path, computer: str, database: str) -> str:
    """The `runbook_url` of a bad page, as Prometheus makes it for a site with this agent."""
    site = yaml.safe_load((ROOT / "rules" / "site" / "site.rules.yml").read_text())
    site["groups"][0]["rules"][0]["labels"]["runbooks"] = AGENT
    promtool.write(site, folder / "site.yml")
    labels = {"computer": computer, "database": database, "finding": "known_bad_page"}
    labels |= {"severity": "critical"}
    target = {**labels, "instance": "ex01:19703", "job": "esewatch"}
    series = ",".join(f"{name}={json.dumps(value)}" for name, value in target.items())
    case = {"eval_time": "20m", "alertname": "EseKnownBadPage", "exp_alerts": []}
    asked = {
        "interval": "1m",
        "input_series": [{"series": f"ese_finding{{{series}}}", "values": "1x30"}],
        "alert_rule_test": [case],
    }
    rules = [ROOT / "rules" / "findings.rules.yml", ROOT / "alerts" / "integrity.yml"]
    document: dict[str, Any] = {"rule_files": [str(folder / "site.yml"), *map(str, rules)]}
    document |= {"evaluation_interval": "1m", "tests": [asked]}
    promtool.write(document, folder / "link_test.yml")
    done = promtool.run([folder / "link_test.yml"])
    (found,) = _LINK.findall(done.stdout + done.stderr)
    return str(json.loads(found))


@pytest.mark.parametrize(
    "database",
    [
        r"e:\mdb06\priv06.edb",
        r"e:\mail box & 100%\priv+06=?#.edb",
        r"e:\dépôt\{{ 1 }}\$(rm)'`.edb",
    ],
)
def test_the_link_of_an_alert_leads_to_commands_for_its_database(
    database: str, tmp_path: Path
) -> None:
    found = urlsplit(link(tmp_path, "ex01", database))
    runbook = Runbooks().text(found.path.rpartition("/")[2])

    assert f"{found.scheme}://{found.netloc}{found.path}" == f"{AGENT}/EseKnownBadPage"
    assert parse_qs(found.query) == {"computer": ["ex01"], "database": [database]}
    assert runbook is not None
    subject = Subject("ex01", parse_qs(found.query)["database"][0], database)
    assert f"esewatch ack --computer ex01 {shlex.quote(database)}" in filled(runbook, subject)
