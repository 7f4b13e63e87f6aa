"""Running totals start over with a process, and show it only where they fall."""

import pytest

from eselab.logs.truth_entries import Counted, Measured
from eselab.logs.truth_state import State

WRITES = "ese_log_io_total"


def life(opening: int, *growth: int) -> list[Measured]:
    """The samples of one process that writes so much before the first one, and between them."""
    return [
        Measured({WRITES: 0}, {WRITES: opening} if opening else {}),
        *(Measured({WRITES: each} if each else {}, depth=1) for each in growth),
    ]


@pytest.mark.parametrize(
    ("second", "third", "more"),
    [
        # They fall, so all that the opening wrote is seen: 7, 13 and then 2.
        ((7, 6), (2, 1), 7 + 2),
        # No sample is less than the one before: 13, and then 13 or 15.
        ((7, 6), (13, 1), 7 + 0),
        ((7, 6), (15, 1), 7 + 2),
        ((2, 0), (2, 5), 2 + 0),
        ((0, 0), (0, 5), 0),
    ],
)
def test_what_an_opening_wrote_is_seen_in_running_totals_as_far_as_they_fall(
    second: tuple[int, int], third: tuple[int, int], more: int
) -> None:
    state = State(computer="EX01")
    for measured in (*life(3, 20, 30), *life(*second), *life(*third)):
        state.take(Counted(end=0, process="store", cache_bytes=0, instances={"db0": measured}))

    instance = state.instances["db0"]
    assert instance.totals[WRITES] == 50 + second[1] + third[1]
    assert instance.openings.get(WRITES, 0) == more
