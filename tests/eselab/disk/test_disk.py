"""The two disks are one to those who use them; the simulated one crashes as a real one may."""

import random
from pathlib import Path

import pytest

from eselab.disk.disk import SECTOR, Disk, RealDisk, SimDisk
from eselab.disk.file import File
from tests.support.each import of_each

OLD, NEW = b"o", b"n"


def step(disk: Disk, open_files: dict[str, File], chance: random.Random) -> object:
    """One random act, and what it answered."""
    name = chance.choice("abc")
    kind = chance.randrange(7)
    if kind == 0:
        return disk.names()
    if kind == 1 and name in disk.names():
        disk.remove(name)
        open_files.pop(name).close()
        return name
    if name not in open_files:
        open_files[name] = disk.open(name, create=True)
    file = open_files[name]
    if kind == 2:
        file.truncate(chance.randrange(3000))
    elif kind == 3:
        file.sync()
        disk.sync()
    elif kind == 4:
        return file.read(chance.randrange(3000), chance.randrange(3000))
    else:
        file.write(chance.randrange(3000), chance.randbytes(chance.randrange(1500)))
    return file.size()


@pytest.mark.parametrize("seed", range(10))
def test_both_disks_answer_alike_as_long_as_nothing_crashes(seed: int, tmp_path: Path) -> None:
    answers: list[list[object]] = []
    for disk in (RealDisk(tmp_path), SimDisk(random.Random(0))):
        chance, files = random.Random(seed), dict[str, File]()
        done = [step(disk, files, chance) for _ in range(300)]
        for file in files.values():
            file.close()
        for name in disk.names():
            again = disk.open(name)
            done.append((name, again.read(0, 10_000)))
            again.close()
        answers.append(done)

    assert answers[0] == answers[1]


@pytest.mark.parametrize("kind", ["real", "simulated"])
def test_a_file_that_is_not_there_is_not_opened_and_not_removed(kind: str, tmp_path: Path) -> None:
    disk: Disk = RealDisk(tmp_path) if kind == "real" else SimDisk(random.Random(0))
    with pytest.raises(FileNotFoundError):
        disk.open("none")
    with pytest.raises(FileNotFoundError):
        disk.remove("none")
    assert disk.names() == []


def crashed(seed: int) -> bytes:
    """What a crash leaves of a synced file after one write that was not, over sectors 1 to 3."""
    disk = SimDisk(random.Random(seed))
    file = disk.open("a", create=True)
    file.write(0, OLD * 2048)
    file.sync()
    disk.sync()
    file.write(700, NEW * 1000)
    return disk.crash().open("a").read(0, 5000)


def test_a_write_that_was_not_synced_is_kept_lost_or_torn_at_a_sector() -> None:
    kept = set()
    for seed in range(200):
        left = crashed(seed)
        count = left.count(NEW)
        assert left == OLD * 700 + NEW * count + OLD * (1348 - count)
        kept.add(700 + count if count else 0)

    assert kept == {0, 2 * SECTOR, 3 * SECTOR, 1700}


@of_each(range(20))
def test_what_was_synced_survives_every_crash(seed: int) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(seed))
    expected = {}
    for name in "abc":
        file = disk.open(name, create=True)
        for _ in range(5):
            file.write(chance.randrange(2000), chance.randbytes(900))
        file.truncate(chance.randrange(4000))
        file.sync()
        expected[name] = file.read(0, 4000)
    disk.sync()
    for _ in range(3):
        disk = disk.crash()

    assert {name: disk.open(name).read(0, 4000) for name in disk.names()} == expected


def test_a_name_that_was_not_synced_may_be_lost_and_a_removed_one_may_be_back() -> None:
    found = set()
    for seed in range(60):
        disk = SimDisk(random.Random(seed))
        disk.open("old", create=True).sync()
        disk.sync()
        disk.open("new", create=True).sync()
        disk.remove("old")
        found.add(tuple(disk.crash().names()))

    assert found == {(), ("new",), ("old",), ("new", "old")}


def test_a_file_made_anew_under_its_old_name_may_be_the_old_one_after_a_crash() -> None:
    found = set()
    for seed in range(40):
        disk = SimDisk(random.Random(seed))
        for content in (OLD, NEW):
            if content == NEW:
                disk.remove("a")
            file = disk.open("a", create=True)
            file.write(0, content)
            file.sync()
            if content == OLD:
                disk.sync()
        found.add(disk.crash().open("a").read(0, 10))

    assert found == {OLD, NEW}
