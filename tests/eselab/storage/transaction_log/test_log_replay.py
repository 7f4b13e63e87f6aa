"""A passive copy against a plain dict, through crashes of both copies at any write."""

import random
from collections.abc import Callable

import pytest

from eselab.base.trouble import Nobody
from eselab.check.check_view import viewed
from eselab.disk.disk import Disk, SimDisk
from eselab.disk.file import File
from eselab.storage.database_header import DIRTY, read_header
from eselab.storage.pages import PageFile
from eselab.storage.store import Store
from eselab.storage.transaction_log.log import LogError, begin_of, generation_of, kept, log_name
from eselab.storage.transaction_log.log_replay import Horizon, LogReplay, seed, ship
from tests.eselab.committing import FIRST, NAME, PAGE_SIZE, Model, advance, last_of, make
from tests.support.campaign import some

NOW = 1e9
PIECES = 20
"""Transactions of a step."""


class PowerOffError(Exception):
    """The disk stands still."""


class Fuse:
    """A disk that does so many changes more and then none: `left` None: as many as are wanted."""

    def __init__(self, disk: SimDisk) -> None:
        self.disk = disk
        self.left: int | None = None

    def burn(self) -> None:
        if self.left is not None:
            if not self.left:
                raise PowerOffError
            self.left -= 1

    def open(self, name: str, *, create: bool = False) -> File:
        if create and name not in self.disk.names():
            self.burn()
        return FusedFile(self.disk.open(name, create=create), self.burn)

    def names(self) -> list[str]:
        return self.disk.names()

    def remove(self, name: str) -> None:
        self.burn()
        self.disk.remove(name)

    def sync(self) -> None:
        self.burn()
        self.disk.sync()


class FusedFile:
    """One of its files. The write that it stands still at may be there in part."""

    def __init__(self, file: File, burn: Callable[[], None]) -> None:
        self._file = file
        self._burn = burn
        self.read, self.size, self.close = file.read, file.size, file.close

    def write(self, offset: int, data: bytes) -> None:
        self._file.write(offset, data)
        self._burn()

    def sync(self) -> None:
        self._burn()
        self._file.sync()

    def truncate(self, size: int) -> None:
        self._burn()
        self._file.truncate(size)


class Active:
    """The active copy, whose transactions have numbers."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.cache_pages: int | None = None
        self.number = 0
        self.ends: dict[int, int] = {}
        """By generation: the last number up to its end."""
        self.needed = 1
        disk = SimDisk(chance)
        Store.create(disk, NAME, page_size=PAGE_SIZE, cache_pages=20, now=NOW, chance=chance).close(
            NOW
        )
        self.open(disk)

    def open(self, disk: SimDisk) -> None:
        self.disk = disk
        self.store = Store.open(
            disk,
            NAME,
            cache_pages=self.cache_pages or self.chance.choice((20, 400, 400)),
            now=NOW,
            hold=lambda: self.needed,
        )
        self.number = last_of(self.store)
        self.ends = {at: min(number, self.number) for at, number in self.ends.items()}
        self.note()

    def note(self) -> None:
        for generation in range(max(self.ends, default=0), self.store.log_generation + 1):
            self.ends.setdefault(generation, self.number)
        self.ends[self.store.log_generation] = self.number

    def commit(self) -> None:
        self.number += 1
        with self.store.begin() as transaction:
            make(transaction, self.number)
        self.note()

    def work(self, generations: int) -> None:
        """Until so many more logs are closed."""
        until = self.store.log_generation + generations
        while self.store.log_generation < until:
            for _ in range(PIECES):
                self.commit()
            self.store.flush()
            if self.chance.random() < 0.01:
                self.store.checkpoint(self.chance.choice((0, 1 << 19, 2 << 20)))

    def commits(self, count: int) -> None:
        """And until another log is closed."""
        until = self.store.log_generation + 1
        for _ in range(count):
            self.commit()
        while self.store.log_generation < until:
            self.commit()

    def crash(self) -> None:
        self.open(self.disk.crash())


class Passive:
    """Its copy."""

    def __init__(self, active: Active, *, drops: bool, cache_pages: int = 8) -> None:
        self.active = active
        self.drops = drops
        self.cache_pages = cache_pages
        disk = SimDisk(active.chance)
        active.store.checkpoint()
        seed(active.disk, disk, NAME, active.store.header, active.store.log_positions[1])
        self.seeded = active.number
        self.open(disk)

    def open(self, disk: SimDisk) -> None:
        self.fuse = Fuse(disk)
        self.horizon = Horizon()
        self.horizon.note(*self.active.store.log_positions)
        self.replay = LogReplay.open(
            self.fuse, NAME, cache_pages=self.cache_pages, watcher=Nobody(), time=lambda: NOW
        )

    def batch(self) -> None:
        """All logs that are closed, as PassiveCopy does it."""
        replay, active = self.replay, self.active
        self.horizon.note(*active.store.log_positions)
        while replay.shipped < active.store.log_generation - 1:
            replay.arrived(ship(active.disk, self.fuse, replay.shipped + 1))
            active.needed = replay.shipped + 1
        replay.begin()
        while replay.waiting:
            replay.log()
        depth = 0 if self.drops else 1 << 20
        replay.rest(depth=depth, limit=self.horizon.limit(begin_of(replay.next)))
        if self.drops:
            replay.drop_cache()

    def crash(self) -> None:
        self.open(self.fuse.disk.crash())

    @property
    def expected(self) -> Model:
        """What it has when it has all shipped logs."""
        model: Model = {}
        last = max(self.seeded, self.active.ends.get(self.replay.shipped, 0))
        for number in range(1, last + 1):
            advance(model, number)
        return model


def recovered(disk: Disk) -> Model:
    """What an opening would find: the file, and what is redone. There is no fault."""
    faults: list[str] = []
    with viewed(disk, NAME, faults) as view:
        assert view is not None, faults
        found = {number: view.content(number) for number in range(1, view.pages + 1)}
    assert faults == []
    return {number: bytearray((page or b"")[FIRST:]) for number, page in found.items()}


def on_disk(disk: Disk) -> Model:
    """What the file alone has."""
    file = PageFile(disk.open(NAME), PAGE_SIZE)
    return {number: bytearray(file.read(number)[FIRST:]) for number in range(1, file.pages() + 1)}


def pair(seed_: int, *, drops: bool, cache_pages: int = 8) -> tuple[Active, Passive]:
    active = Active(random.Random(seed_))
    active.work(1)
    passive = Passive(active, drops=drops, cache_pages=cache_pages)
    active.needed = passive.replay.shipped + 1
    return active, passive


def test_a_copy_that_is_seeded_has_what_the_active_one_has() -> None:
    passive = pair(1, drops=True)[1]
    disk = passive.fuse.disk
    assert recovered(disk) == on_disk(disk) == passive.expected
    assert len(passive.expected) > 100
    assert kept(disk) == []


@pytest.mark.slow
@pytest.mark.parametrize("drops", [True, False])
def test_after_each_batch_it_has_all_of_the_shipped_logs_and_nothing_else(drops: bool) -> None:
    active, passive = pair(2, drops=drops)
    for _ in range(4):
        active.work(2)
        active.commit()
        passive.batch()
        disk = passive.fuse.disk
        assert recovered(disk) == passive.expected
        assert (on_disk(disk) == passive.expected) == drops
        assert (passive.replay.cache_bytes == 0) == drops
        assert passive.replay.cache_bytes <= 8 * PAGE_SIZE
        assert read_header(disk.open(NAME).read(0, 1 << 16)).state == DIRTY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "drops"),
    [
        # With a cache of few pages, and with one for all.
        (2, True),
        (3, False),
        (2, False),
        (3, True),
    ],
)
def test_a_copy_that_crashes_at_any_write_goes_on(number: int, drops: bool) -> None:
    check_crashes(number, drops=drops, rounds=6)


@pytest.mark.slow
@pytest.mark.parametrize("drops", [True, False])
@pytest.mark.parametrize("number", some((0, 1, 4, 5, *range(100, 120)), 5))
def test_more_copies_that_crash_go_on(number: int, drops: bool) -> None:
    check_crashes(number, drops=drops, rounds=15)


def check_crashes(number: int, *, drops: bool, rounds: int) -> None:
    active, passive = pair(number, drops=drops, cache_pages=4 if number % 3 else 40)
    chance, crashes = active.chance, 0
    for _ in range(rounds):
        active.work(chance.choice((1, 1, 2)))
        if chance.random() < 0.15:
            active.crash()
        passive.fuse.left = chance.randrange(400) if chance.random() < 0.5 else None
        try:
            passive.batch()
        except PowerOffError:
            crashes += 1
            passive.crash()
            # Of the logs that were shipped none but the last one is lost.
            assert passive.replay.shipped >= active.needed - 1
        active.needed = passive.replay.shipped + 1
    passive.fuse.left = None
    passive.batch()
    assert crashes
    assert recovered(passive.fuse.disk) == passive.expected


@pytest.mark.slow
def test_the_checkpoint_stays_where_the_log_has_the_pages_as_a_whole() -> None:
    # All pages stay in the cache of the active copy: after the first time it logs pieces only.
    active, passive = pair(3, drops=True)
    active.cache_pages = 400
    active.crash()
    checkpoint = active.store.log_positions[0]
    for _ in range(3):
        active.commits(500)
        passive.batch()
    first = kept(passive.fuse.disk)[0]
    assert first == generation_of(checkpoint) < passive.replay.shipped - 1
    # Any of its pages may be torn: the log that it keeps repairs them all.
    torn = passive.fuse.disk.open(NAME)
    torn.write(4 * PAGE_SIZE + 512, active.chance.randbytes(512))
    passive.open(passive.fuse.disk)
    active.commits(1)
    passive.batch()
    assert recovered(passive.fuse.disk) == passive.expected


def test_a_horizon_knows_nothing_of_logs_that_end_before_it_saw_the_active_copy() -> None:
    horizon = Horizon()
    horizon.note(100, 500)
    assert horizon.limit(499) is None
    assert horizon.limit(500) == 100
    horizon.note(300, 700)
    horizon.note(400, 900)
    assert horizon.limit(650) == 100
    assert horizon.limit(800) == 300
    assert horizon.limit(900) == 400


def test_a_log_that_was_cut_off_when_it_was_shipped_is_shipped_again() -> None:
    active, passive = pair(4, drops=True)
    active.work(2)
    first = passive.replay.shipped + 1
    for generation in (first, first + 1):
        ship(active.disk, passive.fuse, generation)
    passive.fuse.disk.open(log_name(first + 1)).truncate(300_000)
    passive.open(passive.fuse.disk)
    assert passive.replay.shipped == first
    assert kept(passive.fuse.disk) == [first]
    passive.batch()
    assert recovered(passive.fuse.disk) == passive.expected


def test_a_damaged_log_is_not_replayed() -> None:
    active, passive = pair(5, drops=True)
    active.work(1)
    generation = passive.replay.shipped + 1
    ship(active.disk, passive.fuse, generation)
    passive.fuse.disk.open(log_name(generation)).write(200_000, active.chance.randbytes(64))
    passive.replay.shipped = generation
    with pytest.raises(LogError, match=f"generation {generation:#x} of the log is damaged"):
        passive.replay.log()


def test_a_page_that_lacks_a_change_ends_the_replay() -> None:
    active, passive = pair(6, drops=True)
    active.cache_pages = 400
    active.crash()
    passive.batch()
    disk = passive.fuse.disk
    before = disk.open(NAME).read(0, 1 << 24)
    active.commits(1000)
    passive.batch()
    # As if all its writes had been lost that were confirmed as durable. No page of the active copy
    # is written meanwhile, so the log has pieces only.
    disk.open(NAME).write(0, before)
    active.commits(400)
    with pytest.raises(LogError, match=r"a log cannot be replayed: page \d+ is damaged, and"):
        passive.batch()
