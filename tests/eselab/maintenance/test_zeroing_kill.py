"""Zeroing that is killed at any moment: all that was durable is there, and the next pass ends."""

import random
import time
from functools import partial
from pathlib import Path

import pytest

from eselab.base.clock import VirtualClock
from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.logs.counters import Counters
from eselab.maintenance.zeroing import DatabaseZeroing
from eselab.storage.database import Database
from tests.esefiles.scans.scanning import scan
from tests.eselab.killing import killed
from tests.eselab.machine.test_workload_kill import found, told
from tests.eselab.mailing import MIDNIGHT, NAME, Model, create, expect_consistent
from tests.eselab.zeroed import LONG, Recorder

LONGEST = 0.5
"""Seconds to the kill, at most: from the opening of the database, or from a completed pass."""


def check_kills(place: Path, kills: int, seed: int) -> None:
    folder, chance, now = place / "live", random.Random(seed), MIDNIGHT
    folder.mkdir()
    create(RealDisk(folder, durable=False), 60, seed).database.close(MIDNIGHT)
    records = found(folder, place / "copy")
    gone: set[bytes] = set()
    for kill in range(kills):
        model = Model(records)
        killed(
            "tests.eselab.zeroing_process",
            folder,
            seed + kill,
            now,
            # Every second one lives until a pass is completed, however slow the machine is.
            says=[b"opening\n", b"zeroed\n"][: 1 + kill % 2],
            moment=partial(time.sleep, chance.uniform(0, LONGEST)),
        )
        now = told(place / "live.journal", model, now)
        before, records = records, found(folder, place / "copy")
        assert model.allows(records)
        expect_consistent(records)
        gone |= set(before["Msg"].values()) - set(records["Msg"].values())
        checked = check(RealDisk(folder), NAME)
        assert (checked.faults, checked.bad) == ([], [])
    living = set(records["Msg"].values())
    # A message that was moved to another folder and back has the record it had.
    check_file(folder / NAME, gone - living, living, now)


def check_file(file: Path, gone: set[bytes], living: set[bytes], now: float) -> None:
    """After the pass that is open and one more, the file has the living messages alone."""
    database = Database.open(RealDisk(file.parent), NAME, cache_pages=50, now=now)
    for _ in range(2):
        recorder = Recorder()
        zeroing = DatabaseZeroing(database, recorder, Counters(), VirtualClock(now), pause=0.0)
        # It does not wait at all where the kill came between its last reading and its end.
        for _ in zeroing.invocation(lambda: LONG * 2):
            pass
        assert recorder.told[-1][0] == 722
    database.close(now)
    raw = file.read_bytes()
    assert gone
    assert not any(body in raw for body in gone)
    assert all(body in raw for body in living)
    assert scan(file).counts.bad() == 0


@pytest.mark.slow
def test_six_kills_of_zeroing_lose_nothing_that_was_durable(tmp_path: Path) -> None:
    check_kills(tmp_path, 6, 1)


@pytest.mark.slow
def test_fifty_kills_of_zeroing_lose_nothing_that_was_durable(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, 100)
