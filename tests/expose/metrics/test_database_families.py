"""What the configuration says of a database, as metrics."""

import datetime
from typing import Any

from esewatch.config import DatabaseRule, Settings, Window
from esewatch.expose.metrics.families import families
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


def test_direct_attached_storage_is_told_where_it_is_set() -> None:
    assert "ese_database_direct_attached" not in shown(ruled(storage="san"))
    assert shown(ruled(storage="das"))["ese_database_direct_attached"] == 1


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
