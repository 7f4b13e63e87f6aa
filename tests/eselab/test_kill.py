"""A process that is killed at any moment has lost nothing that it said was flushed."""

import random
import shutil
import time
from functools import partial
from pathlib import Path

import pytest

from eselab.disk.disk import RealDisk
from eselab.storage.store import Store
from tests.esefiles.scans.scanning import scan
from tests.eselab.committing import FIRST, NAME, PAGE_SIZE, Model, advance, last_of
from tests.eselab.killing import killed

LONGEST = 0.3
"""Seconds from the opening of the store to the kill, at most, while something is flushed so."""


def told_until_killed(folder: Path, seed: int, moment: float) -> list[int]:
    """The numbers that the process reported as flushed, killed `moment` seconds after it began."""
    told = killed(
        "tests.eselab.committing",
        folder,
        seed,
        says=[b"opening\n"],
        moment=partial(time.sleep, moment),
    )
    return [int(line) for line in told.split()]


def check(folder: Path, model: Model, done: int, told: list[int]) -> int:
    """Open what the kill left and compare it with the model; the last transaction in it."""
    store = Store.open(RealDisk(folder), NAME, cache_pages=50, now=3e9)
    last = last_of(store)
    assert last >= max([done, *told])
    for number in range(done + 1, last + 1):
        advance(model, number)
    found = {number: store.read(number)[FIRST:] for number in range(1, store.pages + 1)}
    assert found == model
    store.close(4e9)
    return last


def check_kills(folder: Path, kills: int, seed: int) -> None:
    chance, model, done, flushed = random.Random(seed), Model(), 0, 0
    live, copy = folder / "live", folder / "copy"
    live.mkdir()
    Store.create(
        RealDisk(live), NAME, page_size=PAGE_SIZE, cache_pages=9, now=1e9, chance=chance
    ).close(1e9)
    kill = 0
    while kill < kills or not flushed:
        # A busy machine comes to nothing in so short a time.
        longest = LONGEST * 2 ** max(0, kill - kills + 1)
        assert longest < 60
        told = told_until_killed(live, seed + kill, chance.uniform(0, longest))
        flushed += len(told)
        # The next process has to open what this one left: what is checked is a copy.
        shutil.copytree(live, copy)
        done = check(copy, model, done, told)
        shutil.rmtree(copy)
        kill += 1
    assert check(live, model, done, []) == done

    scanned = scan(live / NAME)
    assert scanned.result.ended == "complete"
    assert scanned.result.header is not None
    assert scanned.result.header.state == "clean"
    assert (scanned.counts.pages_seen, scanned.counts.bad()) == (len(model), 0)


def test_five_kills_lose_nothing_that_was_flushed(tmp_path: Path) -> None:
    check_kills(tmp_path, 5, 1)


@pytest.mark.slow
def test_fifty_kills_lose_nothing_that_was_flushed(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, 100)
