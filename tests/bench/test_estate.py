"""The made-up estate has what rules read, as far back as they read it."""

from pathlib import Path

import pytest

from bench.estate import (
    DAY,
    HOUR,
    Estate,
    Sample,
    recorded_every,
    windows,
    windows_of_boards,
)

PAGES_READ = "ese_defrag_pages_read_total"
RULES = """
groups:
  - name: days
    interval: 2h
    rules:
      - record: database:a:increase1d
        expr: increase(a_total{kind!="b"}[1d])
  - name: weeks
    rules:
      - record: database:a:increase28d
        expr: sum_over_time(last_over_time(database:a:increase1d[1d])[28d:1d] offset 7d)
      - record: database:now
        expr: c{kind=~"x|y"} > 0
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A folder with these rules."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "some.yml").write_text(RULES)
    return tmp_path


def sample(name: str, kind: str = "") -> Sample:
    labels = f'computer="ex000",kind="{kind}"' if kind else 'computer="ex000"'
    return Sample(name, labels, 1.0, of_agent=False)


def test_windows_add_up_through_subqueries_and_offsets(rules: Path) -> None:
    found = {window.metric: window.seconds for window in windows(rules)}

    assert found == {"a_total": DAY, "database:a:increase1d": 36 * DAY, "c": 0.0}


@pytest.mark.parametrize(
    ("series", "read"),
    [
        (sample("a_total", "c"), True),
        (sample("a_total", "b"), False),
        (sample("a_total"), True),
        (sample("c", "y"), True),
        (sample("c", "xy"), False),
        (sample("b"), False),
    ],
)
def test_a_series_is_read_by_name_and_labels(rules: Path, series: Sample, read: bool) -> None:
    assert any(window.reads(series) for window in windows(rules)) is read


def test_what_is_recorded_every_two_hours_has_a_sample_every_two_hours(rules: Path) -> None:
    assert recorded_every(rules) == {"database:a:increase1d": 2 * HOUR}


def test_a_server_is_repeated_under_other_names(rules: Path, tmp_path: Path) -> None:
    made = Estate(tmp_path, 20, [sample("c", "x"), sample("unread")], rules)

    assert made.series == 0
    assert [text.rpartition(" ")[0] for text in made.texts([sample("c", "x")], DAY)] == [
        "",
        'c{computer="ex000",kind="x"} 1',
        'c{computer="ex001",kind="x"} 1',
    ]
    assert list(made.texts([sample("database:a:increase1d")], DAY + HOUR)) == []


def test_what_boards_alone_read_is_of_the_server_that_they_show(
    rules: Path, tmp_path: Path
) -> None:
    read = {window.seconds for window in windows_of_boards() if window.metric == PAGES_READ}
    made = Estate(tmp_path, 20, [sample("c", "x")], rules)

    assert max(read) == 29 * DAY
    assert list(made.texts([], DAY, [sample(PAGES_READ)])) == [
        f'{PAGES_READ}{{computer="ex000"}} 0 {DAY}\n'
    ]
