import json
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support.eseutil_text import check, header


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A clean check of a database that the configuration watches."""
    path = tmp_path / "check.log"
    path.write_text(check() + header(bad="found (3)"), encoding="utf-8")
    return path


def test_report_shows_the_verification_by_eseutil(log: Path, tmp_path: Path) -> None:
    page, settings = tmp_path / "report.html", tmp_path / "esewatch.yml"
    settings.write_text("databases: [{match: '*\\priv*.edb'}]\n", encoding="utf-8")
    arguments = ["--config.file", str(settings), "--computer", "EX01", "-o", str(page)]
    assert main(["report", str(log), *arguments]) == 0
    text = page.read_text(encoding="utf-8")
    assert "eseutil /k" in text
    assert "Every page of every watched database was verified at least once." in text


def test_report_shows_the_bad_pages_that_eseutil_named(tmp_path: Path) -> None:
    log, page = tmp_path / "check.log", tmp_path / "report.html"
    log.write_text(check(bad=[4711]), encoding="utf-8")
    assert main(["report", str(log), "--computer", "EX01", "-o", str(page)]) == 1
    text = page.read_text(encoding="utf-8")
    assert "priv06 on ex01" in text
    assert "4711" in text.replace(",", "")


def test_without_the_computer_nothing_is_guessed(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(log), "-o", str(tmp_path / "report.html")]) == 2
    assert (
        f"esewatch: {log}: output of eseutil does not name the computer" in capsys.readouterr().err
    )


def test_output_of_eseutil_has_no_events_and_is_no_counter_log(
    log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["events", str(log), "--computer", "EX01"]) == 0
    assert main(["counters", str(log), "--computer", "EX01"]) == 2
    assert capsys.readouterr().out == ""


def test_bad_checksums_that_the_header_counts_are_a_finding_until_all_pages_are_verified(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "header.log"
    dump.write_text(header(bad="found (3)"), encoding="utf-8")
    settings = tmp_path / "esewatch.yml"
    settings.write_text("databases: [{match: '*\\priv*.edb'}]\n", encoding="utf-8")
    options = ["--config.file", str(settings), "--computer", "EX01", "--format", "json"]
    found = []
    for path in (dump, log):
        main(["advise", str(path), *options])
        (advice,) = map(json.loads, capsys.readouterr().out.splitlines())
        found.append([each["sentence"] for each in advice["findings"]])
    assert "3 bad checksums in its header" in found[0]
    assert "3 bad checksums in its header" not in found[1]


def test_as_many_bad_pages_are_reported_as_eseutil_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "check.log"
    log.write_text(check(bad=[1, 2], correctable=[3, 4, 5], named=False), encoding="utf-8")
    assert main(["advise", str(log), "--computer", "EX01", "--format", "json"]) == 1
    (advice,) = map(json.loads, capsys.readouterr().out.splitlines())
    (found,) = [each["sentence"] for each in advice["findings"] if each["finding"] == "investigate"]
    assert found.startswith("2 pages without a known number of priv06.edb are bad ")
    assert "; 3 pages without a known number of priv06.edb were corrected when read " in found
