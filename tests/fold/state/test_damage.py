import pytest

from esewatch.fold.commands import acknowledge
from esewatch.fold.state.damage import known_damage
from esewatch.model import Batch
from tests.support.records import HOUR, LABEL, event, folder_of, the_database


@pytest.mark.parametrize(
    ("kind", "events"),
    [
        ("divergence", (516, 539, 541, 557, 559, 560)),
        ("logical", (448, 467, 542)),
        ("index", (613, 614, 643)),
        ("revert_snapshot", (568, 570)),
    ],
)
def test_damage_is_of_the_copy_that_logs_it(kind: str, events: tuple[int, ...]) -> None:
    for event_id in events:
        folder = folder_of([event(700, 0, 1), event(event_id, HOUR, 2)])
        assert {found: each.count for found, each in the_database(folder).damage.items()} == {
            kind: 1
        }, event_id


@pytest.mark.parametrize("before", [1, 5, 70])
def test_only_damage_that_is_newer_than_the_last_acknowledgement_is_counted(before: int) -> None:
    folder = folder_of([event(700, 0, 1), *(event(448, 60 * n, n + 2) for n in range(before))])
    acknowledge(folder, "ex01", LABEL, [])
    assert known_damage(the_database(folder), {}) == {}

    folder.fold("logs", Batch(records=[event(467, 9 * HOUR, 99)]))

    assert known_damage(the_database(folder), {})["logical"].count == 1


def test_more_reports_than_are_kept_are_counted() -> None:
    folder = folder_of([event(700, 0, 1), *(event(448, 60 * n, n + 2) for n in range(200))])

    assert known_damage(the_database(folder), {})["logical"].count == 200
