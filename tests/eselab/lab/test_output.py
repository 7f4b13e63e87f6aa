"""Results as text, JSON objects and Markdown."""

import pytest

from eselab.lab.frame import Comparison, Span, Value, repeated, told
from eselab.lab.output import comparison_cells, listed, markdown, objects, reasons, shown, text
from tests.eselab.lab.examples import RESULT


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "–"),
        ("keep", "keep"),
        (42_794.0, "42,790"),
        (3.73134, "3.731"),
        (0.0, "0"),
        (Span(least=100.0), "100 or more"),
        (Span(most=50.0), "50 or less"),
        (Span(least=50.0, most=100.0), "50 to 100"),
        (Span(least=2.0, most=2.0), "2"),
        (Span(), "–"),
    ],
)
def test_figures_are_short(value: Value | None, expected: str) -> None:
    assert shown(value) == expected


def test_each_figure_each_statement_and_the_experiment_is_an_object() -> None:
    found = list(objects(RESULT))

    assert [each["record"] for each in found] == ["row"] * 3 + ["comparison"] * 3 + ["experiment"]
    assert found[0] == {
        "record": "row",
        "experiment": "example",
        "quantity": "read",
        "case": "one",
        "unit": "MB/s",
        "kind": "modelled disk",
        "published": 250.0,
        "ours": 1235.0,
        "repeatable": True,
    }
    assert found[1]["published"] == {"least": 50.0, "most": 100.0}
    assert found[3] == {
        "record": "comparison",
        "experiment": "example",
        "statement": "one, by two",
        "kind": "modelled disk",
        "published": 4.0,
        "ours": 2.0,
        "factor": 0.5,
        "holds": True,
        "repeatable": True,
    }
    assert found[6] == {
        "record": "experiment",
        "experiment": "example",
        "question": "Is one faster than two?",
        "article": "ESE changes in Exchange 2007 SP1 (R. Smith IV)",
        "setup": ["One & two."],
        "remarks": ["File system: ext4."],
        "verdict": "in part as published",
        "repeatable": False,
    }


def test_what_is_not_known_has_no_key() -> None:
    row, comparison = list(objects(RESULT))[2], list(objects(RESULT))[4]

    assert "ours" not in row
    assert row["repeatable"] is False
    assert {"ours", "factor", "holds"} & set(comparison) == set()
    assert comparison["why"] == "not run: <no> O_DIRECT"


def test_the_text_has_the_verdict_first_and_each_reason_last() -> None:
    lines = list(text(RESULT))

    assert lines[0] == "example: in part as published"
    assert "read one MB/s 250 1,235 modelled disk" in [" ".join(line.split()) for line in lines]
    assert lines[-4:-1] == [
        "",
        "  time: not run: <no> O_DIRECT.",
        "  advice: it is late.",
    ]
    assert not any("never told" in line or line != line.rstrip() for line in lines)


def test_the_page_has_the_same_figures_and_what_alerts_say() -> None:
    lines = list(markdown(RESULT))

    assert lines[0] == "## example"
    assert "| read | one | MB/s | 250 | 1,235 | modelled disk |" in lines
    assert "| bad | two | EseDefragRatioDrift | grow |" in lines
    assert "- advice: it is late." in lines


def test_statements_with_the_same_reason_stand_before_it_together() -> None:
    def missed(what: str, why: str) -> Comparison:
        return told(what, "engine-counted", "fewer", "more", why=why)

    holds = told("c", "engine-counted", "fewer", "fewer", why="no room")
    found = [missed("a", "no room"), missed("b", "too late"), holds, missed("d", "no room")]

    assert reasons(found) == ["a; d: no room.", "b: too late."]


def test_a_figure_of_several_runs_has_its_spread_and_may_decide_nothing() -> None:
    ours = [3.0, 4.0, 9.0]
    found = repeated("time", "real files", 4.0, ours, why="never told")
    never = repeated("time", "real files", 4.0, [], why="not run")

    assert comparison_cells([found, never]) == [
        ("time", "4", "4 (3 to 9)", "1", "not decided", "real files"),
        ("time", "4", "–", "–", "not measured", "real files"),
    ]


def test_the_list_has_a_line_each() -> None:
    assert list(listed([RESULT.experiment])) == ["example  Is one faster than two?"]
