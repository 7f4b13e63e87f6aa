from collections.abc import Mapping
from typing import Any

import pytest

from esewatch.advice.history.passes import (
    LONGEST,
    CompletedPass,
    failed_tasks,
    growth,
    seconds_now,
    whole_passes,
    worked,
)
from esewatch.fold.passes.passes import FAILS, views_in
from esewatch.fold.passes.runs import Run
from esewatch.fold.state import acknowledgements
from esewatch.fold.state.state import Pass
from tests.support.records import EPOCH, HOUR, event, folder_of

DAY = 86400.0


def completed(**changes: Any) -> Pass:
    given: dict[str, Any] = {"started": 0.0, "ended": DAY, "outcome": "completed", **changes}
    return Pass(task="defrag", **given)


def seconds(
    *passes: Pass, runs: tuple[Run, ...] = (), gap: tuple[float, float] | None = None
) -> list[float]:
    gaps = [(*gap, 5)] if gap else []
    return [each.seconds for each in whole_passes(passes, runs, gaps)]


def test_a_pass_took_the_seconds_that_the_engine_told() -> None:
    assert seconds(completed(work_seconds=5000.0), runs=(Run(0, 10),)) == [5000.5]


def test_without_the_engines_word_it_took_its_runs() -> None:
    runs = (Run(-50, 100), Run(500, 800), Run(DAY - 10, DAY + 10))
    assert seconds(completed(), runs=runs) == [100 + 300 + 10 + 0.5]


def test_runs_with_missed_records_tell_nothing() -> None:
    assert seconds(completed(), runs=(Run(0, 100),), gap=(300, 400)) == []
    assert seconds(completed(work_seconds=50.0), gap=(300, 400)) == [50.5]


def test_passes_that_are_not_whole_do_not_count() -> None:
    assert (
        seconds(
            completed(work_seconds=1.0, outcome="open", ended=None),
            completed(work_seconds=1.0, outcome="abandoned"),
            completed(work_seconds=1.0, partial=True),
        )
        == []
    )


def test_work_and_wall_seconds_are_never_mixed() -> None:
    old, new = completed(work_seconds=100.0), completed(wall_seconds=900.0, ended=2 * DAY)
    assert seconds(old, new) == [900.5]
    assert seconds(new, old) == [100.5]


@pytest.mark.parametrize("damaged", [float("nan"), float("inf"), -1.0, 2 * LONGEST])
def test_damaged_seconds_do_not_count(damaged: float) -> None:
    assert seconds(completed(work_seconds=damaged)) == []


def test_a_pass_of_no_seconds_took_a_part_of_one() -> None:
    assert seconds(completed(work_seconds=0.0)) == [0.5]


def test_work_is_counted_within_two_times_and_an_open_run_lasts_to_the_later() -> None:
    assert worked([Run(0, 10), Run(20, 30), Run(40, None)], 5, 50) == 5 + 10 + 10


def test_a_scan_is_brought_to_the_present_pages() -> None:
    assert seconds_now([CompletedPass(100, False, DAY, 1000)], 3000, ()) == [300]


def test_other_work_is_brought_to_the_present_bytes() -> None:
    sizes = [(1, 1e9), (2, 1.5e9), (40, 3e9)]
    assert seconds_now([CompletedPass(100, False, DAY, None)], None, sizes) == [300]
    assert seconds_now([CompletedPass(100, False, 1.9 * DAY, None)], None, sizes) == [200]


def test_without_a_size_it_is_taken_as_it_was() -> None:
    assert seconds_now([CompletedPass(100, False, DAY, None)], 3000, ()) == [100]
    assert seconds_now([CompletedPass(100, False, DAY, 0)], float("nan"), [(1, 0.0)]) == [100]


def test_growth_is_the_usual_slope_whatever_one_day_said() -> None:
    sizes = [(day, 1e9 + day * 1e6) for day in range(30)]
    sizes[17] = (17, 9e9)
    assert growth(sizes) == pytest.approx(1e6)


def test_growth_needs_a_week() -> None:
    assert growth([(0, 1.0), (6, 2.0)]) is None
    assert growth([]) is None
    assert growth([(0, 1.0), (9, float("inf"))]) is None


def failed(*ids: int, acknowledged: Mapping[str, float] | None = None) -> list[str]:
    """After these events, one an hour."""
    state = folder_of([event(each, place * HOUR) for place, each in enumerate(ids)]).state
    (entry,) = state.databases.values()
    acknowledgements.note(entry, acknowledged or {})
    return failed_tasks(views_in(state, entry), entry)


@pytest.mark.parametrize(
    ("ids", "task"),
    [
        pytest.param((734,), "checksum", id="no pass is open"),
        pytest.param((736, 737, 734), "checksum", id="after a completion"),
        pytest.param((736, 734), "checksum", id="an open pass"),
        pytest.param((736, 734, 736), "checksum", id="another start"),
        pytest.param((717, 723, 717, 725), "checksum", id="another run"),
        pytest.param((700, 705, 700, 704), "defrag", id="another run of defragmentation"),
        pytest.param((718, 724, 718), "zeroing", id="another start of zeroing"),
        pytest.param((736, 734, 103), "checksum", id="a stop"),
    ],
)
def test_a_failed_task_is_one_until_it_completes(ids: tuple[int, ...], task: str) -> None:
    assert failed(*ids) == [task]


@pytest.mark.parametrize(
    "ids", [(734, 736, 737), (736, 734, 738, 735), (700, 705, 702, 703), (718, 724, 720, 722)]
)
def test_the_next_completion_ends_it(ids: tuple[int, ...]) -> None:
    assert failed(*ids) == []


def test_a_completion_of_another_task_does_not_end_it() -> None:
    assert failed(718, 724, 717, 721) == ["zeroing"]


@pytest.mark.parametrize("event_id", sorted(FAILS))
def test_it_ends_when_a_person_acknowledges_it(event_id: int) -> None:
    assert len(failed(event_id)) == 1
    task = FAILS[event_id]
    assert failed(event_id, acknowledged={acknowledgements.failure(task): EPOCH}) == []
