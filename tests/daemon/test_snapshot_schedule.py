import time

import pytest

from esewatch.daemon.publisher import OLDEST_SECONDS, PAUSE_SECONDS, SnapshotSchedule


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
