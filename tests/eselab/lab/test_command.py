"""`esewatch lab`."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from eselab.lab import experiments
from eselab.lab.__main__ import main
from tests.eselab.lab.examples import RESULT
from tests.support.patience import PATIENCE


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> None:
    """One experiment that takes no time, in the place of all."""
    monkeypatch.setitem(experiments.EXPERIMENTS, "example", RESULT.experiment)


def test_list_has_each_experiment_with_its_question(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(experiments.EXPERIMENTS)
    assert all(line.endswith("?") for line in lines)

    assert main(["list", "--format", "json"]) == 0
    found = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["experiment"] for each in found] == list(experiments.EXPERIMENTS)
    assert list(found[0]) == ["experiment", "question", "setup"]


@pytest.mark.usefixtures("example")
def test_what_is_not_as_published_is_a_result_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "lab.html"

    assert main(["run", "example", "-o", str(page)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("example: in part as published\n")
    assert told.err == f"esewatch: wrote {page}\n"
    assert "<h2>example: in part as published</h2>" in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("example")
def test_json_is_an_object_a_line_with_sorted_keys(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "example", "example", "--dir", str(tmp_path), "--format", "json"]

    assert main(words) == 0
    found = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["record"] for each in found] == ["row"] * 3 + ["comparison"] * 3 + ["experiment"]
    assert all(list(each) == sorted(each) for each in found)
    assert (tmp_path / "example").is_dir()


def test_a_name_that_there_is_not_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "old-ration"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("esewatch: old-ration: no experiment has this name: old-ratio,")
    assert error.count("\n") == 1


@pytest.mark.usefixtures("example")
def test_a_folder_that_is_in_use_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "example").mkdir()
    (tmp_path / "example" / "file").write_text("")

    assert main(["run", "example", "--dir", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "run"])
def test_each_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"example: esewatch lab {command}" in " ".join(capsys.readouterr().out.split())


def test_esewatch_becomes_the_lab() -> None:
    def ended(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "esewatch", "lab", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout, done.stderr

    status, out, error = ended("list", "--format", "json")
    assert (status, len(out.splitlines()), error) == (0, len(experiments.EXPERIMENTS), "")
    status, out, error = ended("run", "old-ration")
    assert (status, out) == (2, "")
    assert error.startswith("esewatch: old-ration: no experiment has this name: ")
    assert ended() == (
        2,
        "",
        "esewatch lab: the following arguments are required: COMMAND (see esewatch lab --help)\n",
    )
