"""Passive copies of a process that is killed at any moment: they go on, and have all that came."""

import random
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from eselab.check.check import records
from eselab.disk.disk import RealDisk
from esewatch.cli import main
from tests.eselab.copying_process import PLAN, SCANNED
from tests.eselab.killing import killed
from tests.eselab.running import run
from tests.eselab.test_copies import expect_agreement, told
from tests.support.campaign import COMMAND, number_of
from tests.support.figures import record

LONGEST = 0.8
"""Seconds from the start of the work to the kill, at most."""
COMPUTERS = ("EX02", "EX03")


@pytest.fixture(autouse=True)
def _positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def check_kills(folder: Path, kills: int, seed: int, *, scanned: bool = False) -> Counter[str]:
    """Kill it so often; what both copies logged, by the ids of the events."""
    chance = random.Random(seed)
    for kill in range(kills):
        opened = chance.random() > 0.2
        killed(
            "tests.eselab.copying_process",
            folder,
            seed + kill,
            *["scanned"][:scanned],
            says=[b"opening\n", b"working\n"][: 1 + opened],
            moment=partial(time.sleep, chance.uniform(0.0, LONGEST if opened else 0.3)),
        )
        for place in (folder / "a", *(folder / computer / "a" for computer in COMPUTERS)):
            if place.exists():
                assert main(["check", str(place)]) == 0
    # The log that the last kill left open is closed by this opening.
    now = run(folder, SCANNED if scanned else PLAN, 0.0)
    expect_agreement(folder, now)
    active = list(records(RealDisk(folder / "a"), "a.edb"))
    for computer in COMPUTERS:
        assert list(records(RealDisk(folder / computer / "a"), "a.edb")) == active
    return sum((Counter(told(folder / computer)) for computer in COMPUTERS), Counter[str]())


@pytest.mark.slow
def test_copies_outlive_four_kills(tmp_path: Path) -> None:
    assert check_kills(tmp_path / "run", 4, 1)["301"] > 8


@pytest.mark.slow
def test_copies_that_are_scanned_outlive_eight_kills(tmp_path: Path) -> None:
    events = check_kills(tmp_path / "run", 8, 2000, scanned=True)
    assert events["717"] >= 2
    assert events["719"] >= 2
    assert not {"398", "399", "474"} & events.keys()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_copies_outlive_up_to_a_hundred_kills(tmp_path: Path) -> None:
    kills = number_of(100, 40)
    replayed = check_kills(tmp_path / "run", kills, 1000)["301"]
    assert replayed > 2 * kills
    record(
        "`kill -9` of an engine with two passive copies at random moments",
        f"{kills} kills, {replayed:,} logs replayed; both copies sound, with all records of the "
        "active one, the agent's totals equal",
        COMMAND,
    )


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_copies_that_are_scanned_outlive_up_to_a_hundred_kills(tmp_path: Path) -> None:
    kills = number_of(100, 40)
    events = check_kills(tmp_path / "run", kills, 3000, scanned=True)
    assert events["732"] >= number_of(3, 1)
    assert not {"398", "399", "474"} & events.keys()
    record(
        "`kill -9` of an engine with two passive copies that are scanned at random moments",
        f"{kills} kills, {events['732']:,} passes completed, {events['719']:,} times gone on with "
        "one; no good page called bad, the agent's totals equal",
        COMMAND,
    )
