"""`report` and `advise` of logs of NTBACKUP alone: sets, their throughput, and jobs that slow."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.expose.html import Page, assert_self_contained
from tests.support.ntbackup_text import AFTER, BEFORE, job
from tests.support.records import event

SLOWS = "in 3 of the last 3 backup jobs the last set ran at less than half the throughput"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three nights that slow."""
    nights = [datetime(2007, 6, 18, 1) + timedelta(days=day) for day in range(3)]
    path = tmp_path / "backup01.log"
    path.write_text("\n".join(job(BEFORE, night) for night in nights), encoding="utf-16")
    return path


def test_the_report_shows_each_set_and_what_slows(log: Path, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    assert main(["report", str(log), "-o", str(output)]) == 0
    page = Page(output.read_text(encoding="utf-8"))
    assert_self_contained(page)

    told = "These logs record backups of 4 storage groups; no event names a database."
    assert told in page.text
    assert SLOWS in page.text
    assert page.text.count("First Storage Group ex01 NTBACKUP 2007-06-") == 3
    assert "Backup sets of each computer, newest first Instance Computer" in page.text
    assert "2 h 25 min 82.4 GiB 10.2" in page.text


def test_jobs_that_do_not_slow_are_shown_without_a_finding(tmp_path: Path) -> None:
    log, output = tmp_path / "backup01.log", tmp_path / "report.html"
    log.write_text(job(AFTER, datetime(2007, 6, 18, 1)), encoding="utf-16")
    assert main(["report", str(log), "-o", str(output)]) == 0
    text = Page(output.read_text(encoding="utf-8")).text
    assert "Fourth Storage Group ex01 NTBACKUP" in text
    assert "backup jobs" not in text


def test_advise_has_an_object_for_each_instance(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["advise", "--format", "json", str(log)]) == 0
    out, err = capsys.readouterr()
    found = [json.loads(line) for line in out.splitlines()]

    assert [each["ese_instance"] for each in found] == [
        f"{name} Storage Group" for name in ("First", "Fourth", "Second", "Third")
    ]
    first = found[0]
    assert "database" not in first
    assert (first["computer"], first["action"]) == ("ex01", "insufficient_evidence")
    assert [each["finding"] for each in first["findings"]] == ["backup_slows"]
    assert SLOWS in first["findings"][0]["sentence"]
    assert first["backup_sets"][0] == {
        "kind": "ntbackup",
        "started": "2007-06-18T01:00:00.000Z",
        "seconds": 8711.0,
        "bytes": 88464866402,
        "bytes_per_second": 10155535,
    }
    assert "as of its last record, 2007-06-20" in err


def test_people_get_the_sets_and_what_slows(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(log)]) == 0
    out = capsys.readouterr().out
    assert "First Storage Group (ex01)\n" in out
    assert f"  ! backup_slows: {SLOWS}" in out
    assert "  2007-06-18 01:00 UTC: 88.5 GB in 2 h 25 min, 10.2 MB/s\n" in out
    assert "nothing is advised" not in out


def test_an_instance_with_a_database_keeps_its_one_object(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strings = ["MSExchangeIS", "1", "First Storage Group: ", event(700, 0).database]
    known = {
        "TimeCreated": "2007-06-20T03:00:00Z",
        "MachineName": "EX01",
        "ProviderName": "ESE",
        "Id": 700,
        "Properties": [{"Value": each} for each in strings],
    }
    events = tmp_path / "events.jsonl"
    events.write_text(json.dumps(known) + "\n", encoding="utf-8")
    main(["advise", "--format", "json", str(log), str(events)])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    names = [each["ese_instance"] for each in found]
    assert sorted(names) == sorted(set(names)) and len(names) == 4
    assert found[0]["database"] == event(700, 0).database.lower()
    assert [each["finding"] for each in found[0]["findings"]].count("backup_slows") == 1
