"""`report` and `advise` of errors whose instance has no database that an event names."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from tests.expose.html import Page

SG06 = ("MSExchangeIS", "1234", "SG06: ")
SG07 = ("MSExchangeIS", "1234", "SG07: ")
DATABASE = "e:\\MDB06\\priv06.edb"
RISKS = {
    413: ("-1808",),
    429: ("E:\\logs\\E01.log",),
    454: ("-501",),
    455: ("E:\\logs\\E01.log", "-1811"),
    492: ("E:\\logs\\",),
    104: ("0", "-510", ""),
    623: ("0", "512", "0x1", "0x0", "0x0", "0x0", "0"),
}


def log_of(folder: Path, *records: tuple[int, Sequence[str]], level: str = "Error") -> str:
    """A log of EX01 with these events, one a minute."""
    path = folder / "events.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for minute, (event_id, strings) in enumerate(records):
            record = {
                "TimeCreated": f"2007-06-20T03:{minute:02d}:00Z",
                "MachineName": "EX01",
                "ProviderName": "ESE",
                "LevelDisplayName": level,
                "Id": event_id,
                "Properties": [{"Value": each} for each in strings],
            }
            file.write(json.dumps(record) + "\n")
    return str(path)


def advised(path: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    status = main(["advise", "--format", "json", path])
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("known", [True, False], ids=["beside a database", "alone"])
@pytest.mark.parametrize("event_id", sorted(RISKS))
def test_an_instance_that_refuses_writes_needs_a_person(
    event_id: int, known: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = [(700, (*SG06, DATABASE))] if known else []
    path = log_of(tmp_path, *beside, (event_id, (*SG07, *RISKS[event_id])))

    status, found = advised(path, capsys)
    assert status == 1
    assert [each["ese_instance"] for each in found] == [*(["SG06"] if known else []), "SG07"]
    assert [each["finding"] for each in found[-1]["findings"]] == ["writes_at_risk"]

    output = tmp_path / "report.html"
    assert main(["report", path, "-o", str(output)]) == 1
    said = capsys.readouterr().out
    assert "; 1 instance without a known database reported errors" in said
    assert "SG07 on ex01: its instance logged that" in Page(output.read_text("utf-8")).text


def test_it_is_over_when_the_instance_came_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    came_up = (105, (*SG07, "0", "1"))
    path = log_of(tmp_path, (454, (*SG07, "-501")), came_up, level="Information")

    assert advised(path, capsys) == (2, [])


def test_damage_failed_writes_and_reports_need_a_person_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log_of(
        tmp_path,
        (569, SG07),
        (907, SG07),
        (482, (*SG07, "E:\\logs\\E01.log", "0", "4096", "-1022", "112", "", "1")),
    )

    status, found = advised(path, capsys)
    assert status == 1
    assert [each["finding"] for each in found[0]["findings"]] == ["investigate", "engine_failure"]


def test_an_error_that_no_rule_knows_is_told_and_asks_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = log_of(tmp_path, (908, SG07))

    status, found = advised(path, capsys)
    assert status == 0
    assert [each["finding"] for each in found[0]["findings"]] == ["unexplained_error"]
    assert found[0]["reasons"] == [
        "No event names a database of this instance; only its errors are known."
    ]


def test_the_service_of_another_program_that_did_not_start_is_no_risk_for_a_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_updates = ("wuaueng.dll", "1234", "SUS20ClientDataStore: ")
    path = log_of(tmp_path, (454, (*of_updates, "-543")), (412, of_updates))

    assert advised(path, capsys) == (2, [])


@pytest.mark.parametrize("tool_first", [True, False])
def test_a_tool_that_works_on_its_files_is_not_its_process(
    tool_first: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tool = (454, ("eseutil", "99", "SG07: ", "-501"))
    failed = [tool, (454, (*SG07, "-501"))]
    path = log_of(tmp_path, *(failed if tool_first else reversed(failed)))

    status, found = advised(path, capsys)
    assert (status, [each["ese_instance"] for each in found]) == (1, ["SG07"])
