"""Thresholds of the configuration as the rules meet them."""

import datetime
from typing import Any

from esewatch.config import DatabaseRule, Settings, Window
from esewatch.expose.metrics.snapshot import families
from esewatch.fold.state.state import Database, State

HOUR = 3600.0
LABEL = "e:\\mdb06\\priv06.edb"


def shown(settings: Settings, now: float = 1e6, label: str = LABEL) -> dict[str, float]:
    """Metric, without its labels -> value, of one watched database."""
    database = Database(computer="ex01", database=label, process="MSExchangeIS")
    state = State(databases={("ex01", label): database})
    return {
        sample.name: sample.value
        for family in families(state, settings, now)
        for sample in family.samples
    }


def ruled(**rule: Any) -> Settings:
    return Settings(databases=[DatabaseRule(match="*priv06.edb", **rule)])


def test_the_cache_is_that_of_its_mailboxes_and_absent_without_their_number() -> None:
    assert shown(ruled(mailboxes=800))["esewatch_policy_cache_bytes"] == 800 * 5 * 2**20
    more = ruled(mailboxes=10, policy={"cache_per_mailbox": 2**20})
    assert shown(more)["esewatch_policy_cache_bytes"] == 10 * 2**20
    assert "esewatch_policy_cache_bytes" not in shown(ruled())
    assert "esewatch_policy_cache_bytes" not in shown(ruled(mailboxes=0))


def test_what_is_not_set_is_absent() -> None:
    found = shown(ruled(storage="san"))

    assert "esewatch_policy_direct_attached" not in found
    assert shown(ruled(storage="das"))["esewatch_policy_direct_attached"] == 1


def test_a_window_is_open_from_its_start_up_to_its_end() -> None:
    window = Window(start=datetime.time(1), duration=4 * HOUR)
    settings = Settings(
        windows={"n": window}, databases=[DatabaseRule(match="*priv06.edb", window="n")]
    )
    night = 1_183_248_000.0  # 2007-07-01
    open_at = {
        hours: shown(settings, night + hours * HOUR).get("ese_window_open")
        for hours in (0.99, 1, 4.99, 5)
    }

    assert open_at == {0.99: 0, 1: 1, 4.99: 1, 5: 0}
    assert "ese_window_open" not in shown(ruled(), night)
    for wild in (0.0, -1e300, 1e300):
        assert "ese_window_open" not in shown(settings, wild)
