"""The page with pictures."""

import re

from eselab.lab.frame import ResultRow
from eselab.lab.picture import WIDTH, charts, page
from tests.eselab.lab.examples import RESULT


def row(case: str, published: float | None, ours: float | str | None) -> ResultRow:
    return ResultRow(
        quantity="q", case=case, unit="u", kind="modelled disk", published=published, ours=ours
    )


def test_published_bars_and_ours_each_have_their_own_scale() -> None:
    (chart,) = charts([row("a", 100.0, 8.0), row("b", 25.0, 2.0)])

    lengths = [(pair.published_length, pair.ours_length) for pair in chart.pairs]
    assert lengths == [(WIDTH, WIDTH), (WIDTH // 4, WIDTH // 4)]


def test_a_case_without_one_of_the_figures_changes_no_scale() -> None:
    (chart,) = charts([row("a", 9.0, 8.0), row("b", 9.0, 4.0), row("c", None, 99.0)])

    assert [pair.ours_length for pair in chart.pairs] == [WIDTH, WIDTH // 2]


def test_what_has_nothing_to_compare_has_no_picture() -> None:
    assert charts([row("a", 100.0, 8.0)]) == []
    assert charts([row("a", None, 8.0), row("b", None, 4.0)]) == []
    assert charts([row("a", 1.0, None), row("b", 2.0, "keep")]) == []
    assert charts([row("a", 1.0, 0.0), row("b", 2.0, 0.0)]) == []


def test_the_page_needs_nothing_else_and_shows_nothing_raw() -> None:
    html = page([RESULT])

    assert "<script" not in html
    assert re.findall(r'(?:src|href)="(?!#|data:,)', html) == []
    assert "not run: &lt;no&gt; O_DIRECT" in html
    assert "One &amp; two." in html
    assert html.count("<svg") == 2
    assert 'aria-label="one: published 250, ours 1,235"' in html
