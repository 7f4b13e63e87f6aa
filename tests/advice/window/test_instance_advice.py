"""Window advice of databases that share an instance."""

from typing import Any

from esewatch.advice.history.history import History
from esewatch.advice.window.window import WindowAdvice, instance_advice, window_advice
from esewatch.config import Policy
from tests.advice.histories import NOON, passes, store


def test_passive_copies_of_one_instance_keep_what_is_said_of_each() -> None:
    changes: dict[str, Any] = {
        "role": "passive",
        "shares_instance": 2,
        "defrag_passes": [],
        "defrag_runs": [],
    }
    known = {("ex02", name): store(database=name, **changes) for name in ("a.edb", "b.edb")}
    own = {key: window_advice(each, Policy(), NOON) for key, each in known.items()}

    found = instance_advice(known, own, NOON)

    assert found == own
    assert {each.rule for each in found.values()} == {"passive"}


def test_passes_that_finish_soon_keep_the_window_only_where_those_of_all_databases_do() -> None:
    low: dict[str, Any] = {"read": 100_000, "freed": 4_000, "shares_instance": 2}
    quick = store(**low, database="a.edb", defrag_passes=passes(2, 1.5))
    quick_too = store(**low, database="b.edb", defrag_passes=passes(3, 2.5))
    slow = store(**low, database="b.edb", defrag_passes=passes(10, 9.5, count=6))

    assert {each.rule for each in together(quick, quick_too)} == {"ratio_low_but_soon"}
    found = together(quick, slow)
    assert {(each.action, each.rule) for each in found} == {("grow", "ratio_low")}
    assert "This advice is that of b.edb" in found[0].reasons[-1]


def together(*histories: History) -> list[WindowAdvice]:
    known = {(each.computer, each.database): each for each in histories}
    own = {key: window_advice(each, Policy(), NOON) for key, each in known.items()}
    return list(instance_advice(known, own, NOON).values())
