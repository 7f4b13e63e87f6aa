"""Pictures of dashboards without npm: what is missing is said, and nothing is drawn."""

import json
from pathlib import Path

import pytest

from tests.dashboards.grafana import pictures
from tests.dashboards.grafana.pictures import NotInstalledError, Seen


@pytest.fixture(autouse=True)
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with no program."""
    found = tmp_path / "bin"
    found.mkdir()
    monkeypatch.setenv("PATH", str(found))
    monkeypatch.setattr(pictures, "INSTALLED", tmp_path / "installed")
    return found


def test_what_is_not_installed_is_said(
    tmp_path: Path, empty_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pictures"
    assert pictures.main(folder) == 2
    for name in ("chromium", "prometheus", "promtool"):
        (empty_path / name).touch(0o755)
    assert pictures.main(folder) == 2

    assert capsys.readouterr().err.splitlines() == [
        "not installed (`make tools`): chromium, prometheus, promtool",
        "npm is not installed (apt-get install npm)",
    ]
    assert not folder.exists()


def test_packages_that_npm_cannot_install_are_an_error_with_its_words(
    tmp_path: Path, empty_path: Path
) -> None:
    npm = empty_path / "npm"
    npm.write_text("#!/bin/sh\necho 'npm error no registry' >&2\nexit 1\n")
    npm.chmod(0o755)

    with pytest.raises(NotInstalledError, match="cannot install Grafana's packages: npm error no"):
        pictures.install(tmp_path / "grafana")
    with pytest.raises(NotInstalledError):  # It is not taken for installed by now.
        pictures.install(tmp_path / "grafana")


def test_packages_that_are_there_are_not_installed_again(tmp_path: Path, empty_path: Path) -> None:
    npm = empty_path / "npm"
    npm.write_text("#!/bin/sh\necho once >>calls\n")
    npm.chmod(0o755)

    pictures.install(tmp_path)
    pictures.install(tmp_path)

    assert (tmp_path / "calls").read_text() == "once\n"


def test_every_package_has_one_version() -> None:
    wanted = json.loads((pictures.HERE / "package.json").read_text())["dependencies"]

    assert [each for each in wanted.values() if not each.replace(".", "").isdigit()] == []


def test_a_panel_without_picture_and_sentence_is_broken() -> None:
    states = ["drawn", "empty", "not drawn", "waiting", "error"]

    assert [Seen("", "stat", state, "").is_broken for state in states] == [False] * 3 + [True] * 2
