"""The scripts to try the MSI with and to scan in a shadow copy, read: they were never run."""

import re
from pathlib import Path

import pytest
import yaml

from esewatch.cli import command_line
from esewatch.config.files import load
from esewatch.expose.metrics.metric_catalogue import CATALOGUE
from scripts import windows_msi

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = ROOT / "deploy" / "windows"


def script(name: str) -> str:
    return (WINDOWS / name).read_text(encoding="ascii")


def test_the_smoke_test_is_twenty_checks_from_the_installation_to_its_end() -> None:
    checks = re.findall(r"^Test-That '(.+?)' \{", script("smoke.ps1"), re.MULTILINE)

    assert len(checks) == len(set(checks)) == 20
    assert (checks[0], checks[-1]) == ("installs silently", "uninstalling leaves nothing")


def test_the_smoke_test_touches_no_installation_that_is_there() -> None:
    text = script("smoke.ps1")

    refusal = text.index('{ throw "$Name is installed here: try the MSI elsewhere" }')
    assert refusal < text.index("Test-That 'installs silently'")


def test_the_smoke_test_looks_for_what_the_msi_makes_and_the_agent_says() -> None:
    text, msi = script("smoke.ps1"), windows_msi.WXS.read_text(encoding="utf-8")
    sources = {source.name for source in load(WINDOWS / "esewatch.yml").sources}

    assert set(re.findall(r"esewatch_\w+", text)) <= set(CATALOGUE)
    assert set(re.findall(r'source="(\w+)"', text)) < sources
    for command in re.findall(r"Invoke-Esewatch '(\w+)'", text):
        assert command_line(command).parse_args([command, "x"]).command == command
    for value in ("127.0.0.1:19703", r"NT SERVICE\esewatch"):
        assert value in msi
        assert value.replace("esewatch", "$Name") in text
    assert r"$Services\EventLog\Application\$Name" in text
    assert r"SYSTEM\CurrentControlSet\Services\EventLog\Application\esewatch" in msi


def test_the_workflow_runs_the_smoke_test_and_says_that_it_was_not_run() -> None:
    text = (ROOT / ".github" / "workflows" / "windows.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]

    assert jobs["smoke"]["runs-on"] == "windows-latest"
    assert r".\deploy\windows\smoke.ps1 $msi" in jobs["smoke"]["steps"][-1]["run"]
    assert "written\n# where it could not be run" in text


def test_a_shadow_copy_is_removed_however_the_scan_ends() -> None:
    text = script("scan-shadow.ps1")
    before, _, scanned = text.partition("\ntry {")
    body, _, end = scanned.partition("\nfinally {")

    assert "vssadmin.exe create shadow" in before
    assert "& $program @words scan (Join-Path $link" in body
    assert "@('-B', '-m', 'esewatch')" in before
    assert "vssadmin.exe delete shadows" in end
    assert "rmdir $link" in end
    assert before.index("ShouldProcess(") < before.index("create shadow")


@pytest.mark.parametrize("told", ["diskshadow", "begin backup"])
def test_no_writer_hears_of_the_shadow_copy_so_no_log_is_truncated(told: str) -> None:
    assert told not in script("scan-shadow.ps1")
