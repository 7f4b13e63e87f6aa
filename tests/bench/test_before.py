"""The bench beside an earlier commit: what it takes out of git."""

import subprocess
from pathlib import Path

import pytest

from bench import before


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One with a commit of two files, of which one is of the agent and changed since."""
    root = tmp_path / "repository"
    program = root / "agent" / "esewatch.py"
    program.parent.mkdir(parents=True)
    program.write_text("earlier")
    (root / "notes.txt").write_text("other")
    git(root, "init")
    git(root, "add", "-A")
    git(root, "commit", "-m", "one")
    program.write_text("now")
    monkeypatch.setattr(before, "ROOT", root)
    return root


def test_the_agent_of_a_commit_is_taken_out_as_it_was(repository: Path, tmp_path: Path) -> None:
    before.take_out("HEAD", tmp_path / "out")
    files = [each for each in (tmp_path / "out").rglob("*") if each.is_file()]
    assert [each.relative_to(tmp_path / "out") for each in files] == [Path("agent/esewatch.py")]
    assert files[0].read_text() == "earlier"
    assert (repository / "agent/esewatch.py").read_text() == "now"


@pytest.mark.usefixtures("repository")
def test_a_clone_without_the_commit_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="a whole clone is needed"):
        before.take_out(before.BEFORE, tmp_path / "out")
