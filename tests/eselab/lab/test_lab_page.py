"""The page of the lab, which a run of all experiments writes."""

from pathlib import Path

import msgspec

from eselab.lab.experiments import EXPERIMENTS
from eselab.lab.frame import Result
from eselab.lab.output import signal_cells
from scripts.lab_page import INTRODUCTION, document
from tests.eselab.lab.examples import RESULT

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "lab.md"


def test_the_page_has_the_introduction_and_a_section_for_each_result() -> None:
    found = document([RESULT])

    assert found.startswith(INTRODUCTION)
    assert "\n## example\n\n**Is one faster than two?** In part as published." in found
    assert found.endswith("| bad | two | EseDefragRatioDrift | grow |\n")


def test_the_written_page_is_of_these_experiments() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written.startswith(INTRODUCTION), "run: make lab"
    headings = [line[3:] for line in written.splitlines() if line.startswith("## ")]
    assert headings == list(EXPERIMENTS)
    for each in EXPERIMENTS.values():
        said = [each.question, *each.setup]
        said += [f"| {' | '.join(cells)} |" for cells in signal_cells(each.signals)]
        assert [text for text in said if text not in written] == [], "run: make lab"


def test_a_result_without_signals_has_no_table_of_them() -> None:
    experiment = msgspec.structs.replace(RESULT.experiment, signals=[])

    found = document([Result(experiment=experiment, findings=RESULT.findings)])
    assert "How alerts and advice distinguish the sides" not in found
