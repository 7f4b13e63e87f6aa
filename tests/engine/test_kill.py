"""A process that is killed at any moment has lost nothing that it said was flushed."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from esewatch.engine.disk import RealDisk
from esewatch.engine.store import Store
from tests.engine.committing import FIRST, NAME, PAGE_SIZE, Model, advance, last_of
from tests.scan.scanning import scan

LONGEST = 0.3
"""Seconds from the opening of the store to the kill, at most."""


def killed(folder: Path, seed: int, moment: float) -> list[int]:
    """Run the process and kill it `moment` seconds after it began to open the store.

    The numbers that it told as flushed.
    """
    command = [sys.executable, "-m", "tests.engine.committing", str(folder), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"opening\n"
            time.sleep(moment)
        finally:
            process.kill()
        told, errors = process.communicate(timeout=30)
    assert errors == b""
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
    for kill in range(kills):
        told = killed(live, seed + kill, chance.uniform(0, LONGEST))
        flushed += len(told)
        # The next process has to open what this one left: what is checked is a copy.
        shutil.copytree(live, copy)
        done = check(copy, model, done, told)
        shutil.rmtree(copy)
    assert flushed
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
