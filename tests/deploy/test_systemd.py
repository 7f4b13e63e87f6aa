"""The unit of the service: valid, sandboxed, and with what the agent needs."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from esewatch.config.files import load
from tests.support.tools import skip

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "systemd" / "esewatch.service"
TEMPLATE = UNIT.with_name("esewatch@.service")
EXPOSURE = 20
"""In tenths: the least that `systemd-analyze security` has to give is below 2.0."""


def setting(name: str) -> list[str]:
    """Values of a setting of the unit, in order."""
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    return [line.partition("=")[2] for line in lines if line.startswith(f"{name}=")]


def analyze(*words: str | Path) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        skip("systemd-analyze is not installed", {"systemd-analyze"})
    return subprocess.run(
        [program, "--no-pager", *map(str, words)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("unit", "started_as"), [(UNIT, UNIT.name), (TEMPLATE, "esewatch@b.service")]
)
def test_a_unit_is_valid(unit: Path, started_as: str, tmp_path: Path) -> None:
    copy = tmp_path / unit.name
    copy.write_text(unit.read_text().replace("/usr/bin/esewatch", sys.executable))

    ended = analyze("verify", "--man=no", "--recursive-errors=yes", tmp_path / started_as)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_unknown_setting_would_be_found(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    text = UNIT.read_text().replace("/usr/bin/esewatch", sys.executable)
    copy.write_text(text.replace("ProtectHome=", "ProtectHomes="))

    ended = analyze("verify", "--man=no", "--recursive-errors=yes", copy)

    assert ended.returncode != 0
    assert "ProtectHomes" in ended.stderr


def test_the_exposure_of_the_service_is_below_two() -> None:
    ended = analyze("security", "--offline=true", f"--threshold={EXPOSURE - 1}", UNIT)

    assert ended.returncode == 0, ended.stdout


def test_one_of_several_is_the_service_but_for_what_it_has_for_itself() -> None:
    pairs = zip(UNIT.read_text().splitlines(), TEMPLATE.read_text().splitlines(), strict=True)

    assert [several for one, several in pairs if several != one] == [
        "Description=esewatch, monitoring of ESE databases: %i",
        "EnvironmentFile=-/etc/default/esewatch-%i",
        "ExecStart=/usr/bin/esewatch run --config.file /etc/esewatch/%i.yml $ARGS",
        "StateDirectory=esewatch/%i",
        "WorkingDirectory=/var/lib/esewatch/%i",
    ]


def test_the_service_writes_to_its_state_folder_only() -> None:
    assert setting("StateDirectory") == ["esewatch"]
    assert setting("ProtectSystem") == ["strict"]
    assert setting("ReadWritePaths") == setting("CacheDirectory") == setting("LogsDirectory") == []


def test_the_service_reaches_networks_and_local_sockets_and_no_other_family() -> None:
    assert setting("RestrictAddressFamilies") == ["AF_INET AF_INET6 AF_UNIX"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Type", "notify"),
        ("Restart", "always"),
        ("RestartSec", "10"),
        ("RestartPreventExitStatus", "2"),
        ("ExecReload", '/bin/sh -c "kill -HUP $MAINPID"'),
        ("EnvironmentFile", "-/etc/default/esewatch"),
        ("ExecStart", "/usr/bin/esewatch run --config.file /etc/esewatch/esewatch.yml $ARGS"),
        ("User", "esewatch"),
    ],
)
def test_the_service_is_what_the_documentation_says(name: str, value: str) -> None:
    assert setting(name) == [value]
    assert "StartLimit" not in UNIT.read_text(encoding="utf-8")


def test_the_example_configuration_is_valid_and_keeps_its_journal_in_the_state_folder() -> None:
    settings = load(ROOT / "deploy" / "esewatch.yml")

    assert settings.journal == "/var/lib/esewatch/journal.db"
    assert [source.type for source in settings.sources] == [
        "disks",
        "evtx",
        "event_stream",
        "perfmon_csv",
        "perfmon_blg",
    ]
