"""Snapshots: when one is due, and what the pages show beside it."""

import time

import pytest

from esewatch.config import default_settings
from esewatch.daemon.publisher import (
    MAX_PAGES,
    OLDEST_SECONDS,
    PAUSE_SECONDS,
    Pages,
    SnapshotSchedule,
)
from esewatch.fold.state.state import Database, State
from tests.expose.examples import NOW, PRIV03, example, many
from tests.expose.pages_of import pages_of


@pytest.fixture(name="now")
def _now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def made(now: list[float], cost: float = 0.0) -> SnapshotSchedule:
    pace = SnapshotSchedule()
    with pace.making():
        now[0] += cost
    return pace


def test_news_are_due_at_once_unless_more_is_to_be_read(now: list[float]) -> None:
    pace = made(now)
    assert not pace.due(more=False)
    pace.news()
    assert pace.due(more=False)
    assert not pace.due(more=True)
    now[0] += PAUSE_SECONDS
    assert pace.due(more=True)


def test_without_news_a_snapshot_is_due_when_it_is_old_or_in_a_hurry(now: list[float]) -> None:
    pace = made(now)
    now[0] += OLDEST_SECONDS - 1
    assert not pace.due(more=False)
    now[0] += 1
    assert pace.due(more=False)
    pace = made(now)
    pace.hurry()
    assert pace.due(more=True)


def test_snapshots_that_cost_much_are_made_seldom_in_a_stream(now: list[float]) -> None:
    pace = made(now, cost=3.0)
    now[0] += 29
    assert not pace.due_in_a_stream
    now[0] += 1
    assert pace.due_in_a_stream


def shown(state: State) -> Pages:
    return pages_of(state, default_settings(), NOW, ())


def test_a_page_is_made_once_and_has_the_figures_of_the_overview() -> None:
    state = example()
    one = shown(state)
    page = one.database(state, *PRIV03)
    assert page is not None
    assert page is one.database(state, *PRIV03)
    assert any(page.figures is each for each in one.overview.databases)
    assert page.now == NOW


def test_pages_of_a_thousand_databases_are_not_all_kept() -> None:
    state, _ = many(MAX_PAGES + 2, 1)
    one = shown(state)
    made = {key: one.database(state, *key) for key in state.databases}
    assert None not in made.values()
    newest_first = list(reversed(made))
    kept = [key for key in newest_first if one.database(state, *key) is made[key]]
    assert kept == newest_first[:MAX_PAGES]


def test_a_database_is_found_by_what_is_shown_of_a_name_that_no_page_can_hold() -> None:
    state = State()
    for name in ("\ud800", "x" * 900):
        state.databases["ex01", name] = Database(computer="ex01", database=name)
    one = shown(state)
    for figures in one.overview.databases:
        page = one.database(state, figures.computer, figures.database)
        assert page is not None
        assert page.figures is figures


def test_what_is_not_known_or_no_longer_there_has_no_page() -> None:
    state = example()
    one = shown(state)
    assert one.database(state, "ex01", "nothing") is None
    del state.databases[PRIV03]
    assert one.database(state, *PRIV03) is None
