"""When the advice on a window changed, and until when another window was kept."""

from typing import Any

import msgspec

from esewatch.advice.window.window import instance_advice, window_advice, window_changes
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


def changed(now: float = NOON, **given: Any) -> tuple[str, bool]:
    advice = window_advice(store(143_200, 1_000, **given), POLICY, now)
    return advice.action, advice.changed


SHRINK: dict[str, Any] = {"defrag_passes": passes(73 / 14, 4)}


def test_advice_that_has_stood_for_long_is_no_news_nor_is_keep_or_no_advice() -> None:
    assert changed(**SHRINK) == ("shrink", False)
    bad = [BadPage(4711, "uncorrectable", NOON - DAY, NOON - DAY)]
    assert changed(**SHRINK, bad_pages=bad) == ("keep", False)
    assert changed(model="background") == ("not_applicable", False)


def test_advice_is_news_for_eight_days_also_the_first_of_a_database() -> None:
    nights = {"defrag_runs": nightly_runs(40), "first_seen": NOON - 40 * DAY}
    begins = [(day, *changed(NOON - day * DAY, **SHRINK, **nights)) for day in reversed(range(39))]
    first = next(day for day, action, _ in begins if action == "shrink")
    assert 9 < first < 39
    news = [day for day, action, new in begins if new]
    assert news == [first - n for n in range(8)]


def test_advice_of_an_instance_is_news_of_each_of_its_databases() -> None:
    history = store(143_200, 1_000, shares_instance=2, **SHRINK)
    key, other = ("ex01", "a.edb"), ("ex01", "b.edb")
    own = window_advice(history, POLICY, NOON)
    known = {key: history, other: history}
    news = msgspec.structs.replace(own, changed=True)
    found = instance_advice(known, {key: news, other: own}, NOON)
    assert [each.changed for each in found.values()] == [True, True]
