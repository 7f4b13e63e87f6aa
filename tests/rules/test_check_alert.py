"""A newcomer's alert: what is written for them, and what they have to write where."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from tests.rules import check_alert
from tests.rules.check_alert import broken, lacks
from tests.rules.expressions import ROOT, alerts, document_of
from tests.rules.new_alert import write
from tests.rules.promtool import TESTS


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The parts of a checkout that an alert is in."""
    shutil.copytree(ROOT / "alerts", tmp_path / "alerts")
    for name in ("docs/reference", "docs/runbooks", "tests/rules", "tests/golden/messages/alerts"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(ROOT / "docs/reference/alerts.md", tmp_path / "docs/reference")
    return tmp_path


def test_no_alert_of_ours_lacks_anything() -> None:
    found = {
        rule["alert"]: lacks(rule["alert"]) for rule in alerts() if rule["alert"] != "Watchdog"
    }
    assert len(found) > 20
    assert not any(found.values()), found


def test_an_alert_that_is_not_there_is_told_how_it_comes_to_be() -> None:
    (line,) = lacks("EseFullMoon")
    assert "make new-alert NAME=EseFullMoon" in line


def test_a_new_alert_is_valid_yaml_and_every_part_to_write_is_named(root: Path) -> None:
    files = write("EseFullMoon", "storage", "warning", root)
    assert files == [
        "alerts/storage.yml",
        "docs/runbooks/EseFullMoon.md",
        "tests/rules/ese_full_moon_test.yml",
    ]
    rules = yaml.safe_load((root / files[0]).read_text())["groups"][-1]["rules"]
    assert rules[-1]["alert"] == "EseFullMoon"
    assert set(rules[-1]["annotations"]) == set(rules[-2]["annotations"])
    found = lacks("EseFullMoon", root, [root / files[2]])
    assert [line for line in found if "'WRITE:'" in line] == [
        "alerts/storage.yml: replace the text after 'WRITE:'",
        "docs/runbooks/EseFullMoon.md: replace the text after 'WRITE:'",
        "tests/rules/ese_full_moon_test.yml: replace the text after 'WRITE:'",
    ]
    assert any(line.endswith("make docs") for line in found)
    assert any("make golden" in line for line in found)


def test_without_cases_each_moment_that_is_missing_is_named(root: Path) -> None:
    write("EseFullMoon", "storage", "warning", root)
    found = [line for line in lacks("EseFullMoon", root, []) if line.startswith("tests/rules/:")]
    assert [line.split(": ")[1] for line in found] == [
        "no case of EseFullMoon fires with severity warning",
        "no case is silent before EseFullMoon (warning) fires",
        "no case is silent after EseFullMoon (warning) fired",
    ]


def test_the_cases_that_are_written_pass_once_the_rule_has_its_expression(root: Path) -> None:
    files = [root / each for each in write("EseFullMoon", "storage", "warning", root)]
    rules = files[0].read_text()
    (line,) = [each for each in rules.splitlines() if each.startswith("          WRITE:")]
    for expr, passes in (("max without (instance) (ese_database_info) == 1", True), ("up", False)):
        files[0].write_text(rules.replace(line, f"          {expr}"))
        document_of.cache_clear()
        said = broken("EseFullMoon", [files[2]])
        assert (said == "") is passes, said
    assert "exp" in said


@pytest.mark.parametrize(
    ("name", "file", "severity", "said"),
    [
        ("FullMoon", "storage", "warning", "begins with Ese"),
        ("EseFullMoon", "moons", "warning", "a subject is one of agent, "),
        ("EseFullMoon", "storage", "loud", "a severity is one of critical"),
    ],
)
def test_what_cannot_be_an_alert_is_refused_and_nothing_is_written(
    name: str, file: str, severity: str, said: str, root: Path
) -> None:
    before = (root / "alerts" / "storage.yml").read_text()
    with pytest.raises(ValueError, match=said):
        write(name, file, severity, root)
    assert (root / "alerts" / "storage.yml").read_text() == before
    assert list((root / "docs" / "runbooks").iterdir()) == []


def test_an_alert_is_not_written_twice(root: Path) -> None:
    write("EseFullMoon", "storage", "warning", root)
    with pytest.raises(ValueError, match="make check-alert"):
        write("EseFullMoon", "storage", "warning", root)


def test_cases_of_an_alert_are_evaluated_as_often_as_their_files_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[str, str]] = []

    def noted(files: Sequence[Path]) -> subprocess.CompletedProcess[str]:
        told.extend((each.stem, document_of(each)["evaluation_interval"]) for each in files)
        return subprocess.CompletedProcess([], 0, "", "")

    monkeypatch.setattr(check_alert, "run", noted)
    assert broken("EseLatencyHigh") == ""
    said = {path.stem: document_of(path)["evaluation_interval"] for path in TESTS}
    assert "1m" in {said[stem] for stem, _ in told}
    assert [(stem, often) for stem, often in told if often != said[stem]] == []
