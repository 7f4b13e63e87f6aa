from pathlib import Path

import pytest

from tests.support.figures import VARIABLE, page, record


def test_a_new_figure_takes_the_place_of_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "deep" / "figures"
    monkeypatch.setenv(VARIABLE, str(file))
    record("b", "1")
    record("a", "2", "make x")
    first = page(file, "")
    assert [line.split(" | ")[:2] for line in first.splitlines()[-2:]] == [
        ["| a", "2"],
        ["| b", "1"],
    ]
    file.unlink()
    record("b", "3")
    second = page(file, first)
    assert second.count("| b | 3 |") == 1
    assert "| b | 1 |" not in second
    assert "| a | 2 | `make x` |" in second


def test_without_the_variable_nothing_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    record("a", "1")
    assert list(tmp_path.iterdir()) == []
