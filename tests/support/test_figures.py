import json
from pathlib import Path

import pytest

from tests.support.faults import marked
from tests.support.figures import (
    NOT_MEASURED,
    VARIABLE,
    page,
    record,
    record_section,
    until_right_again,
    version,
)


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


def test_the_figure_of_a_part_leaves_that_of_the_whole_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures"
    monkeypatch.setenv(VARIABLE, str(file))
    record("kills", "200 kills", "make test-campaign")
    whole = page(file, "")
    file.unlink()
    record("kills", "60 kills")
    both = page(file, whole)
    assert [line.split(" | ")[1:3] for line in both.splitlines()[-2:]] == [
        ["200 kills", "`make test-campaign`"],
        ["60 kills", "`make test-slow`"],
    ]


def test_a_section_takes_the_place_of_the_older_one_and_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures"
    monkeypatch.setenv(VARIABLE, str(file))
    record_section("A month", "| new |", "make x")
    by_hand = "# Page\n\n## A month\n\n| old |\n\n## Promises\n\nby hand\n\n"

    made = page(file, f"{by_hand}## Faults\n")

    head, _, rest = made.partition("## Promises\n")
    assert head.startswith("# Page\n\n## A month\n\n| new |\nMeasured by `make x`, ")
    assert "| old |" not in head
    assert rest.startswith("\nby hand\n\n## Faults\n")


def test_without_the_variable_nothing_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    record("a", "1")
    assert list(tmp_path.iterdir()) == []


def test_the_time_until_all_is_right_again_is_that_of_the_running_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "figures"))
    with until_right_again():
        pass
    row = json.loads((tmp_path / "figures").read_text())
    name = "test_the_time_until_all_is_right_again_is_that_of_the_running_test"
    assert row["test"] == f"tests/support/test_figures.py::{name}"
    assert row["seconds"] >= 0


def test_the_slowest_time_of_a_run_is_the_one_that_stands_until_the_next(tmp_path: Path) -> None:
    test = next(each.test for each in marked() if each.again is None)
    figures = tmp_path / "figures"
    figures.write_text(
        "".join(json.dumps({"test": test, "seconds": each}) + "\n" for each in (2.0, 3.26, 1.0))
    )
    first = page(figures, "")
    assert f"| 3.3 s ({version()}) | `{test}` |\n" in first
    figures.write_text("")
    assert page(figures, first) == first


def test_the_table_of_faults_is_that_of_the_marks_and_every_time_in_it_was_measured(
    tmp_path: Path,
) -> None:
    (tmp_path / "figures").touch()
    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert page(tmp_path / "figures", text) == text, "run `make test-slow`"
    assert NOT_MEASURED not in text, "run `make test-slow`"


def test_every_fault_has_one_row_and_every_row_a_test() -> None:
    rows = marked()
    assert len(rows) >= 30
    assert len({each.fault for each in rows}) == len({each.test for each in rows}) == len(rows)
