"""Following the advice brings a window that is too long or too short to its right length."""

from pathlib import Path

import pytest

from tests.advice.closed_loop import STARTS, Outcome, followed, left_alone
from tests.support.campaign import COMMAND, some
from tests.support.figures import record

STEPS = 4
HEALTHY_DAYS = 56.0


def is_good(outcome: Outcome) -> bool:
    """It came to the band in few steps, and did not go back and forth."""
    return (
        outcome.is_right
        and outcome.action == "keep"
        and len(outcome.changes) <= STEPS
        and outcome.reversals <= 1
    )


@pytest.mark.slow
@pytest.mark.parametrize("start", [1 / 8, 1 / 4, 2.0, 8.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_advice_leads_to_the_band_in_four_steps(
    tmp_path: Path, seed: int, start: float
) -> None:
    outcome = followed(tmp_path, seed, start)

    assert is_good(outcome), str(outcome)
    assert outcome.changes, str(outcome)


@pytest.mark.slow
@pytest.mark.parametrize("seed", (1, 2))
def test_a_window_in_the_band_is_left_alone_for_eight_weeks(tmp_path: Path, seed: int) -> None:
    outcome = left_alone(tmp_path, seed, HEALTHY_DAYS)

    assert outcome.changes == [], str(outcome)
    assert outcome.days >= HEALTHY_DAYS
    assert 50 <= outcome.ratio <= 100, str(outcome)


@pytest.mark.minutes
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_95_of_100_loops_come_to_the_band_in_four_steps_with_one_reversal_at_most(
    tmp_path: Path,
) -> None:
    loops = some([(seed, start) for seed in range(100, 120) for start in STARTS], 14)
    outcomes = [followed(tmp_path, seed, start) for seed, start in loops]
    good = [outcome for outcome in outcomes if is_good(outcome)]
    bad = [str(outcome) for outcome in outcomes if not is_good(outcome)]
    steps = sorted(len(outcome.changes) for outcome in outcomes)
    record(
        "Window advice followed from 1/8 to 8 times the right length",
        f"{len(good)} of {len(outcomes)} came to the band in at most {STEPS} steps"
        f" (usual: {steps[len(steps) // 2]}), {max(o.reversals for o in outcomes)} reversals at"
        f" most, {sum(o.days for o in outcomes) / len(outcomes):.0f} virtual days in the mean",
        COMMAND,
    )
    print("\n".join(bad))
    assert len(good) >= 0.95 * len(outcomes), "\n".join(bad)
    assert max(outcome.reversals for outcome in outcomes) <= 1, "\n".join(bad)


@pytest.mark.minutes
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_no_window_in_the_band_is_ever_pushed_out(tmp_path: Path) -> None:
    seeds = some(range(100, 120), 6)
    outcomes = [left_alone(tmp_path, seed, HEALTHY_DAYS) for seed in seeds]
    changed = [outcome for outcome in outcomes if outcome.changes]
    record(
        "Window in the band, its advice followed for eight weeks",
        f"{len(outcomes)} databases: {len(changed)} windows changed, by"
        f" {max((abs(c.after - c.before) / 60 for o in changed for c in o.changes), default=0):.0f}"
        f" minutes at most; {sum(50 <= o.ratio <= 100 for o in outcomes)} in the band at the end",
        COMMAND,
    )
    assert all(50 <= outcome.ratio <= 100 for outcome in outcomes), "\n".join(map(str, outcomes))
    assert len(changed) <= 0.1 * len(outcomes), "\n".join(map(str, changed))
    assert all(len(outcome.changes) == 1 for outcome in changed), "\n".join(map(str, changed))
