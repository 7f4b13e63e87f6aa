"""Passive copies of a process that is killed at any moment: they go on, and have all that came."""

import random
import time
from functools import partial
from pathlib import Path

import pytest

from esewatch.engine.check import records
from esewatch.engine.disk import RealDisk
from tests.engine.copying_process import PLAN
from tests.engine.killing import killed
from tests.engine.running import run
from tests.engine.test_copies import expect_agreement, told
from tests.support.figures import record

LONGEST = 0.8
"""Seconds from the start of the work to the kill, at most."""
COMPUTERS = ("EX02", "EX03")


def check_kills(folder: Path, kills: int, seed: int) -> int:
    """Kill it so often; how many logs were replayed, by both copies."""
    chance = random.Random(seed)
    for kill in range(kills):
        opened = chance.random() > 0.2
        killed(
            "tests.engine.copying_process",
            folder,
            seed + kill,
            says=[b"opening\n", b"working\n"][: 1 + opened],
            moment=partial(time.sleep, chance.uniform(0.0, LONGEST if opened else 0.3)),
        )
    # The log that the last kill left open is closed by this opening.
    now = run(folder, PLAN, 0.0)
    expect_agreement(folder, now)
    active = list(records(RealDisk(folder / "a"), "a.edb"))
    for computer in COMPUTERS:
        assert list(records(RealDisk(folder / computer / "a"), "a.edb")) == active
    return sum(told(folder / computer)["301"] for computer in COMPUTERS)


def test_copies_outlive_ten_kills(tmp_path: Path) -> None:
    assert check_kills(tmp_path / "run", 10, 1) > 20


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_copies_outlive_a_hundred_kills(tmp_path: Path) -> None:
    replayed = check_kills(tmp_path / "run", 100, 1000)
    assert replayed > 200
    record(
        "`kill -9` of an engine with two passive copies at random moments",
        f"100 kills, {replayed:,} logs replayed; both copies sound, with all records of the active "
        "one, the agent's totals equal",
    )
