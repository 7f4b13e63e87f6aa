"""Background maintenance that is killed at any moment: all that was durable is there."""

import random
import time
from functools import partial
from pathlib import Path

import pytest

from eselab.check.check import check
from eselab.disk.disk import RealDisk
from eselab.maintenance.background_scan import BackgroundState
from eselab.maintenance.dbscan import TABLE
from eselab.maintenance.tree_defrag import STATE, TreeState
from eselab.storage.database import Database
from tests.eselab.killing import killed
from tests.eselab.machine.test_workload_kill import found, told
from tests.eselab.mailing import MIDNIGHT, NAME, Model, create, expect_consistent

LONGEST = 0.5
"""Seconds from the opening of the database to the kill, at most."""


def check_kills(place: Path, kills: int, seed: int) -> None:
    folder, chance, now = place / "live", random.Random(seed), MIDNIGHT
    folder.mkdir()
    create(RealDisk(folder, durable=False), 60, seed).database.close(MIDNIGHT)
    records, said = found(folder, place / "copy"), b""
    kill = 0
    while kill < kills or not (b"scanned" in said and b"defragmented" in said):
        # A busy machine needs longer lives until a pass of each kind is through.
        longest = LONGEST * 2 ** max(0, kill - kills + 1)
        assert longest < 60, said
        model = Model(records)
        said += killed(
            "tests.eselab.background_process",
            folder,
            seed + kill,
            now,
            says=[b"opening\n"],
            moment=partial(time.sleep, chance.uniform(0, longest)),
        )
        now = told(place / "live.journal", model, now)
        records = found(folder, place / "copy")
        assert model.allows(records)
        expect_consistent(records)
        checked = check(RealDisk(folder), NAME)
        assert (checked.faults, checked.bad) == ([], [])
        kill += 1
    check_states(folder, now)


def check_states(folder: Path, now: float) -> None:
    """A page of a pass counts once: so many were seen as lie before the place to go on from."""
    database = Database.open(RealDisk(folder), NAME, cache_pages=50, now=now)
    scan, trees = database.state(TABLE, BackgroundState), database.state(STATE, TreeState)
    assert scan is not None
    assert trees is not None
    assert scan.pages_seen == scan.page - 1 <= database.store.pages
    assert trees.pages_freed <= trees.pages_visited
    database.close(now)


@pytest.mark.slow
def test_six_kills_of_background_maintenance_lose_nothing_that_was_durable(tmp_path: Path) -> None:
    check_kills(tmp_path, 6, 1)


@pytest.mark.slow
def test_fifty_kills_of_background_maintenance_lose_nothing_that_was_durable(
    tmp_path: Path,
) -> None:
    check_kills(tmp_path, 50, 100)
