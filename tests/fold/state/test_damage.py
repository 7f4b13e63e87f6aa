import pytest

from tests.support.records import HOUR, event, folder_of, the_database


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
