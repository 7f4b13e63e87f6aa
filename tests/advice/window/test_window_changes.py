"""When the advice on a window changed, and until when another window was kept."""

from esewatch.advice.window.window import window_advice, window_changes
from esewatch.config import Policy
from esewatch.fold.state.state import BadPage
from tests.advice.histories import DAY, NOON, nightly_runs, passes, store

POLICY = Policy()


def test_advice_that_stays_has_no_change() -> None:
    history = store(143_200, 1_000, defrag_passes=passes(73 / 14, 4))
    assert window_advice(history, POLICY, NOON).action == "shrink"
    assert window_changes(history, POLICY, NOON) == []


def test_a_bad_page_turns_the_advice_on_the_day_after_it_was_found() -> None:
    found = NOON - 2.2 * DAY
    history = store(
        143_200,
        1_000,
        defrag_passes=passes(73 / 14, 4),
        bad_pages=[BadPage(4711, "uncorrectable", found, found)],
    )
    ((time, said),) = window_changes(history, POLICY, NOON)
    assert found < time <= found + DAY
    assert said == "The window advice changed from shrink to keep."
    assert window_advice(history, POLICY, NOON).action == "keep"


def test_other_hours_than_the_configured_ones_are_told_until_when_they_were_kept() -> None:
    runs = [*nightly_runs(20, 2, ago=8), *nightly_runs(8, 4)]
    history = store(143_200, 1_000, defrag_runs=runs)
    told = [
        time for time, said in window_changes(history, POLICY, NOON) if "configured window" in said
    ]
    assert told
    assert max(told) < NOON - 7 * DAY


def test_without_a_window_nothing_is_said() -> None:
    assert window_changes(store(143_200, 1_000, window=None), POLICY, NOON) == []
    assert window_changes(store(143_200, 1_000, model="background"), POLICY, NOON) == []
