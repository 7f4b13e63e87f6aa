"""The ways without root: pipx, and a wheel, in a home where nothing is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tools import skip

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("agent", "docs/runbooks", "pyproject.toml", "setup.py", "README.md", "LICENSE")
EVENTS = (
    '{"Event":{"System":{"Provider":{"#attributes":{"Name":"ESE"}},"EventID":703,"EventRecordID":1,'
    '"Channel":"Application","Computer":"ex01","TimeCreated":{"#attributes":{"SystemTime":'
    '"2026-01-02T03:00:00.000Z"}}},"EventData":{"Data":{"#text":'
    '["Store","1","","e:\\\\mdb06\\\\priv06.edb"]}}}}\n'
)


def run(home: Path, *words: str | Path, where: Path | None = None) -> str:
    """What a command writes in this home; fails with all of it when the command fails."""
    environment = {
        **{
            name: text
            for name, text in os.environ.items()
            if not name.startswith(("XDG_", "PYTHONPATH"))
        },
        "HOME": str(home),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }
    ended = subprocess.run(
        [str(word) for word in words],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False, env=environment, cwd=where or home,
    )  # fmt: skip
    assert ended.returncode == 0, f"{words}: {ended.stdout[-4000:]}"
    return ended.stdout


def sources(folder: Path) -> Path:
    """A copy of what is installed: pip builds where the sources are."""
    ignore = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    for part in PARTS:
        source, copy = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, copy, ignore=ignore)
        else:
            shutil.copyfile(source, copy)
    return folder


def test_pipx_installs_a_command_that_reports_on_ones_own_logs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    run(home, sys.executable, "-m", "venv", tmp_path / "tools")
    try:
        run(home, tmp_path / "tools/bin/python", "-m", "pip", "install", "--quiet", "pipx")
    except AssertionError as error:
        skip(f"pipx cannot be had: {str(error)[-200:]}", {"pipx"})

    run(home, tmp_path / "tools/bin/pipx", "install", sources(tmp_path / "sources"))
    command = home / ".local/bin/esewatch"
    (home / "events.jsonl").write_text(EVENTS, encoding="utf-8")
    run(home, command, "report", "events.jsonl", "-o", "report.html")

    assert run(home, command, "--version").startswith("esewatch ")
    assert "priv06.edb" in (home / "report.html").read_text(encoding="utf-8")
    run(home, tmp_path / "tools/bin/pipx", "uninstall", "esewatch")
    assert not command.exists()


def test_make_builds_one_file_that_pip_installs(tmp_path: Path) -> None:
    home, folder = tmp_path / "home", sources(tmp_path / "sources")
    home.mkdir()
    shutil.copyfile(ROOT / "Makefile", folder / "Makefile")
    try:
        run(home, "make", f"PYTHON={sys.executable}", "wheel", where=folder)
    except AssertionError as error:
        skip(f"pip cannot build: {str(error)[-200:]}", {"pipx"})
    [wheel] = (folder / "dist").iterdir()
    run(home, sys.executable, "-m", "venv", home / "esewatch")
    run(home, home / "esewatch/bin/pip", "install", "--quiet", wheel)
    shutil.rmtree(folder)
    (home / "events.jsonl").write_text(EVENTS, encoding="utf-8")
    said = run(home, home / "esewatch/bin/esewatch", "report", "events.jsonl", "-o", "r.html")

    assert [line for line in said.splitlines() if line.startswith("1 database:")]
    assert "priv06.edb" in (home / "r.html").read_text(encoding="utf-8")
    assert "EseKnownBadPage" in run(home, home / "esewatch/bin/esewatch", "runbook")
