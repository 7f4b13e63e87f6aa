"""When the work on a database stopped, whatever was logged of it."""

import pytest

from esewatch.fold.passes.stops import stops_in
from esewatch.fold.passes.transitions import name_number
from esewatch.fold.state.state import Database, Lived, Transition

DATABASE = Database(computer="ex01", database="e:\\db01.edb", ese_instance="SG01")


def detach(time: float, instance: str = "SG01") -> Transition:
    return Transition(time, int(time), 327, {"instance": name_number(instance)})


def lived(*events: tuple[float, int]) -> list[Lived]:
    return [(time, int(time), event_id) for time, event_id in events]


def test_it_stops_with_its_instance_and_when_that_detaches_it() -> None:
    life = lived((10, 102), (11, 105), (40, 103))
    assert stops_in(DATABASE, [detach(20)], life) == [20, 40]
    assert stops_in(DATABASE, [detach(20, "SG02")], life) == [40]


@pytest.mark.parametrize("begins", [102, 300])
@pytest.mark.parametrize("ends", [105, 302, 304, None])
def test_replay_stops_nothing(begins: int, ends: int | None) -> None:
    life = lived((10, begins), *([(30, ends)] if ends else []))
    assert stops_in(DATABASE, [detach(20), detach(40)], life) == ([40] if ends else [])


def test_maintenance_shows_that_replay_is_over_where_no_event_says_so() -> None:
    rows = [detach(20), Transition(25, 25, 700), detach(40)]
    assert stops_in(DATABASE, rows, lived((10, 102))) == [40]
