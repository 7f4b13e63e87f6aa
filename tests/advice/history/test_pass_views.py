"""Tasks that ended with an error, until they complete (semantics.md 7)."""

from collections.abc import Mapping

import pytest

from esewatch.advice.history.passes import failed_tasks
from esewatch.fold.passes.passes import FAILS, views_in
from esewatch.fold.state import acknowledgements
from tests.support.records import EPOCH, HOUR, event, folder_of


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
