"""Window advice of databases that share an instance."""

from typing import Any

from esewatch.advice.window.instance_advice import instance_advice
from esewatch.advice.window.window import window_advice
from esewatch.config import Policy
from tests.advice.histories import NOON, store


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
