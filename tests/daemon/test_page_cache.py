"""What the pages show beside a snapshot."""

from esewatch.config.files import default_settings
from esewatch.daemon.publisher import MAX_PAGES, PageCache
from esewatch.expose.metrics.snapshot import Snapshot
from esewatch.fold.state.state import Database, State
from tests.expose.examples import NOW, PRIV03, example, many


def shown(state: State) -> PageCache:
    return PageCache(Snapshot(()), state, default_settings(), NOW, ())


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
