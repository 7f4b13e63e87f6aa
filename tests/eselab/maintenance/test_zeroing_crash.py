"""Zeroing and a loss of power at any request: nothing living is harmed, and no count is wrong."""

import random

import pytest

from eselab.check.check import check
from eselab.disk.disk import SimDisk
from eselab.disk.file import File
from eselab.storage.database import Database
from tests.eselab.databases import NAME, NOW
from tests.eselab.page_sizes import SIZES
from tests.eselab.zeroed import MARK, PAUSE, Bench, bench, count_free, key, made, raw
from tests.support.each import of_each


class PowerError(Exception):
    """The power fails."""


class PowerDisk(SimDisk):
    """Fails before the request that `left` comes to 0 with; a reading is none."""

    left = 1 << 30

    def open(self, name: str, *, create: bool = False) -> File:
        return PowerFile(super().open(name, create=create), self)

    def crash(self) -> "PowerDisk":
        left = super().crash()
        after = PowerDisk(self._chance)
        after._files, after._durable = left._files, left._durable
        return after

    def request(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PowerError


class PowerFile:
    def __init__(self, file: File, disk: PowerDisk) -> None:
        self._file, self._disk = file, disk
        self.read, self.size, self.close = file.read, file.size, file.close

    def write(self, offset: int, data: bytes) -> None:
        self._disk.request()
        self._file.write(offset, data)

    def sync(self) -> None:
        self._disk.request()
        self._file.sync()

    def truncate(self, size: int) -> None:
        self._disk.request()
        self._file.truncate(size)


def powered(found: Bench, chance: random.Random) -> tuple[Bench, PowerDisk]:
    """The same database on a disk whose power may fail."""
    found.database.close(found.clock.now())
    disk = PowerDisk(chance)
    disk._files, disk._durable = found.disk._files, found.disk._durable
    return opened(disk, found.clock.now(), chance), disk


def opened(disk: PowerDisk, now: float, chance: random.Random) -> Bench:
    cache_pages = chance.choice((4, 20, 200))
    return bench(disk, Database.open(disk, NAME, cache_pages=cache_pages, now=now), now)


def churn(found: Bench, model: dict[bytes, bytes], chance: random.Random) -> None:
    """A transaction with the marks of the others, durable."""
    with found.database.store.begin() as transaction:
        for _ in range(chance.randrange(1, 20)):
            at = chance.choice([*model, chance.randbytes(4)])
            if model.pop(at, None) is not None:
                found.tree().delete(transaction, at)
            else:
                model[at] = MARK + chance.randbytes(chance.randrange(300))
                found.tree().insert(transaction, at, model[at])
    found.database.store.flush()


@pytest.mark.slow
@of_each(range(15))
def test_a_pass_through_many_losses_of_power_counts_each_thing_once(seed: int) -> None:
    chance = random.Random(seed)
    found = made(chance.choice(SIZES), seed=seed)
    found.put(range(2000), size=chance.randrange(30, 300))
    places = found.places()
    gone = [*range(400, 1400), *range(0, 400, 5), *range(1400, 2000, 11)]
    found.delete(gone)
    leaves = set(found.tree().leaves())
    deleted = sum(places[key(number)] in leaves for number in gone)
    freed, _ = count_free(found.database)
    assert 0 < deleted < len(gone)
    model = found.records()
    found, disk = powered(found, chance)
    while not found.state().completions:
        disk.left = chance.randrange(1, 200)
        try:
            found.run(found.clock.now() + chance.choice((PAUSE, 9 * PAUSE)))
        except PowerError:
            disk = disk.crash()
            found = opened(disk, found.clock.now() + 60.0, chance)
            assert found.records() == model
            assert check(disk.crash(), NAME).faults == []
    state = found.state()
    assert (state.deleted, state.unused) == (deleted, freed)
    assert state.pages_seen == found.database.store.pages
    assert raw(disk).count(MARK) == len(model)
    # Not only in the log: the file itself has it, whatever happens next.
    assert raw(disk.crash()).count(MARK) == len(model)


def test_the_power_fails_somewhere_in_most_of_these_passes() -> None:
    found, disk = powered(made(), random.Random(1))
    found.put(range(2000))
    found.delete(range(0, 2000, 3))
    disk.left = 40
    with pytest.raises(PowerError):
        found.run()


@pytest.mark.slow
@of_each(range(10))
def test_work_goes_on_between_the_steps_and_all_that_was_durable_is_there(seed: int) -> None:
    chance = random.Random(100 + seed)
    found, disk = powered(made(chance.choice(SIZES), seed=seed), chance)
    model: dict[bytes, bytes] = {}
    for _ in range(60):
        churn(found, model, chance)
    crashes = 0
    for _ in range(25):
        disk.left = chance.randrange(1, 120)
        try:
            found.run(NOW * 2, steps=chance.randrange(1, 4))
            found.defragment()
            disk.left = 1 << 30
            churn(found, model, chance)
        except PowerError:
            crashes += 1
            disk = disk.crash()
            found = opened(disk, found.clock.now() + 60.0, chance)
        assert found.records() == model
    assert crashes
    disk.left = 1 << 30
    for _ in range(2):
        found.run()
    assert raw(disk).count(MARK) == len(model)
    checked = check(disk.crash(), NAME)
    assert (checked.faults, checked.bad) == ([], [])
