"""The databases that advice is measured on have all that the state keeps."""

import pytest

from bench.histories import DAY, HOUR, SETTINGS, full_state
from esewatch.advice.advise import advise
from esewatch.fold.instances.backups import MAX_EVENTS, completed
from esewatch.fold.passes.passes import MAX_TRANSITIONS
from esewatch.fold.passes.transitions import count
from esewatch.fold.state import rollups

NOW = 20_000 * DAY + 14 * HOUR


def test_each_has_as_much_history_as_is_kept() -> None:
    state = full_state(12, NOW)

    assert len(state.databases) == len(state.instances) == 12
    assert {computer for computer, _ in state.databases} == {"ex000", "ex001"}
    for database in state.databases.values():
        assert count(database.transitions) == MAX_TRANSITIONS
        assert len(rollups.sizes(database.sizes)) == rollups.MAX_DAYS
    for instance in state.instances.values():
        assert len(rollups.days(instance.days)) == rollups.MAX_DAYS
        assert len(instance.backup_events) == MAX_EVENTS
        assert len(completed(instance.backup_events)) == MAX_EVENTS / 4


@pytest.mark.parametrize("ago", [0, 1])
def test_all_of_it_is_judged_and_every_other_pass_is_running(ago: int) -> None:
    advice = advise(full_state(4, NOW - ago * DAY), SETTINGS, NOW - ago * DAY)

    assert {each.model for each in advice} == {"window"}
    assert {each.window.confidence for each in advice} == {1.0}
    running = [each.forecasts[0].p90 is not None for each in advice]
    assert running in ([True, False] * 2, [False, True] * 2)
