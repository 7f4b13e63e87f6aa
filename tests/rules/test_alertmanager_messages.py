"""The messages that Alertmanager makes of alerts, as amtool renders them, are golden files."""

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.rules.expressions import ROOT, alerts, kinds
from tests.rules.phone import critical, markdown, render

GOLDEN = ROOT / "tests" / "golden" / "messages"
PARTS = ("subject", "text")


def alert(
    name: str, severity: str = "critical", status: str = "firing", **labels: str
) -> dict[str, Any]:
    """An alert of `name` as Alertmanager hands it to a template, with its shipped summary."""
    rules = [rule for rule in alerts() if rule["alert"] == name]
    summary = rules[0]["annotations"]["summary"] if rules else f"Summary of {name}."
    subject = labels.get("database", "the agent")
    return {
        "status": status,
        "labels": {"alertname": name, "severity": severity, "instance": "ex01:19703", **labels},
        "annotations": {
            "summary": summary,
            "description": f"What {name} found in {subject}, with figures. Then one action.",
            "runbook_url": f"https://esewatch.example.com/runbooks/{name}",
        },
        "startsAt": "2026-11-21T02:00:00Z",
        "endsAt": "2026-11-21T03:00:00Z",
    }


def database(number: int) -> dict[str, str]:
    return {"computer": "ex01", "database": rf"e:\mdb0{number}\priv0{number}.edb"}


MESSAGES: dict[str, list[dict[str, Any]]] = {
    "one-critical": [alert("EseKnownBadPage", kind="uncorrectable", **database(6))],
    "five-databases": [
        alert("EseKnownBadPage", "warning", kind="no_data", **database(1)),
        alert("EseKnownBadPage", kind="uncorrectable", **database(2)),
        alert("EseDefragRatioDrift", "info", **database(3)),
        alert("EseKnownBadPage", kind="lost_flush", **database(4)),
        alert("EseCorrectedPage", "warning", kind="corrected", **database(4)),
        alert("EseKnownBadPage", kind="wrong_page", **database(5)),
    ],
    "resolved": [
        alert("EseKnownBadPage", status="resolved", **database(6)),
        alert("EsewatchDown", "warning", status="resolved", job="esewatch"),
    ],
    "info-digest": [
        alert("EseWindowAdviceChanged", "info", **database(2)),
        alert("EseDefragRatioDrift", "info", **database(1)),
        alert("EseDefragRatioDrift", "info", **database(3)),
    ],
    "some-resolved": [
        alert("EseKnownBadPage", status="resolved", **database(6)),
        alert("EsewatchRecordsMissed", "warning", source="evtx-1"),
    ],
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_are_the_golden_ones(name: str, tmp_path: Path) -> None:
    subject, text = (render(part, MESSAGES[name], tmp_path) for part in PARTS)
    message = f"Subject: {subject}\n\n{text.strip()}\n"
    file = GOLDEN / f"{name}.txt"
    if "ESEWATCH_REWRITE_GOLDEN" in os.environ:
        file.parent.mkdir(exist_ok=True)
        file.write_text(message, encoding="utf-8")

    assert message == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", MESSAGES)
def test_the_first_lines_fit_a_phone(name: str, tmp_path: Path) -> None:
    assert 0 < len(render("subject", MESSAGES[name], tmp_path)) <= 78


@pytest.mark.parametrize(
    ("name", "color"),
    [("one-critical", "danger"), ("resolved", "good"), ("info-digest", "warning")],
)
def test_the_colour_in_chat_is_that_of_the_worst(name: str, color: str, tmp_path: Path) -> None:
    assert render("color", MESSAGES[name], tmp_path) == color


@pytest.mark.parametrize("status", ["firing", "resolved"])
def test_the_watchdog_says_nothing(status: str, tmp_path: Path) -> None:
    watchdog = [alert("Watchdog", "none", status=status)]

    assert [render(part, watchdog, tmp_path).strip() for part in PARTS] == ["", ""]


@pytest.mark.parametrize("severity", ["", "page-me", "notice", "crit"])
def test_an_alert_of_another_severity_is_not_lost(severity: str, tmp_path: Path) -> None:
    other = [alert("EseOther", severity), alert("Watchdog", "none")]

    assert "EseOther" in render("subject", other, tmp_path)
    assert render("text", other, tmp_path).count("Summary of EseOther.") == 1


HOSTILE = 'a<script>alert(1)</script>\r\nBcc: x@example.com\n<!channel> & "q"\u2028\x1b[31m.edb'


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("status", ["firing", "resolved"])
def test_a_hostile_name_is_only_text_on_one_line(part: str, status: str, tmp_path: Path) -> None:
    plain = [alert("EseKnownBadPage", status=status, computer="ex01", database="x.edb")]
    hostile = [alert("EseKnownBadPage", status=status, computer="ex01", database=HOSTILE)]

    found = render(part, hostile, tmp_path)

    assert len(found.splitlines()) == len(render(part, plain, tmp_path).splitlines())
    assert not re.search(r"[<>\x00-\x09\x0b-\x1f\u2028]", found)
    assert "edb" in found


def test_a_hostile_name_is_escaped_in_html(tmp_path: Path) -> None:
    hostile = [alert("EseKnownBadPage", computer="ex01", database=HOSTILE)]

    page = render("html", hostile, tmp_path, "html")

    assert set(re.findall(r"<\W?(\w+)", page)) == {"DOCTYPE", "html", "head", "meta", "body"}
    assert "&amp; &#34;q&#34;" in page


def test_the_page_of_messages_has_each_critical_alert() -> None:
    found = markdown()
    told = {each["labels"]["alertname"] for each in critical()}

    assert all(f"## [{name}]" in found for name in told)
    assert told == {name for name, severity in kinds() if severity == "critical"}


@pytest.mark.parametrize("alert", list(critical()), ids=lambda each: each["labels"]["alertname"])
def test_the_subject_of_each_critical_alert_fits_a_phone(
    alert: dict[str, Any], tmp_path: Path
) -> None:
    assert 0 < len(render("subject", [alert], tmp_path)) <= 78
