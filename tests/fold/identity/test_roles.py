"""The role of a copy by the events of its scans."""

from collections.abc import Sequence

import pytest

from esewatch.fold.identity.identity import role_at, role_changes
from esewatch.fold.state.state import Database, Transition


def scanned(*ids: int) -> Sequence[Transition]:
    """An event an hour."""
    return [Transition(3600.0 * hour, hour, event_id) for hour, event_id in enumerate(ids, 1)]


@pytest.mark.parametrize(
    ("ids", "hours"),
    [
        ((735, 736), []),
        ((736, 733, 732, 737), [2, 4]),
        # A skipped resume shows the role and is none of the copy's own.
        ((736, 747, 737), []),
        # Online defragmentation shows none.
        ((736, 701, 733), [3]),
    ],
)
def test_a_copy_changes_its_role_with_the_family_of_its_events(
    ids: Sequence[int], hours: Sequence[int]
) -> None:
    database = Database(computer="ex01", database="e:\\priv06.edb")
    assert role_changes(database, scanned(*ids)) == [3600.0 * hour for hour in hours]


def test_the_role_before_the_kept_events_and_failovers_count_too() -> None:
    database = Database(
        computer="ex01", database="e:\\priv06.edb", evicted_role="active", failovers=[5400.0]
    )
    assert role_changes(database, scanned(733, 732)) == [3600.0, 5400.0]
    assert role_changes(database, scanned(737, 733)) == [5400.0, 7200.0]


def test_the_role_at_a_time_is_that_of_the_last_event_before_it() -> None:
    events = scanned(736, 701, 733)
    assert [role_at(events, 3600.0 * hour) for hour in (0, 1, 2, 3)] == [
        "", "active", "active", "passive"
    ]  # fmt: skip
