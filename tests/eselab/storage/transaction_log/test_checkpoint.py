"""One of the two pages of the checkpoint is always whole."""

import random

import pytest

from esefiles.pages.header import NotDatabase, parse_header
from eselab.disk.disk import SimDisk
from eselab.storage.transaction_log.checkpoint import Checkpoint, CheckpointError
from eselab.storage.transaction_log.log import begin_of
from tests.support.each import of_each

NAME = "E00.chk"
SIGNATURE = 5
P100, P200, P300, P400 = (begin_of(7) + number for number in (100, 200, 300, 400))


def made() -> SimDisk:
    """Written three times: the last one is (P300, 30), the one before it (P200, 20)."""
    disk = SimDisk(random.Random(1))
    checkpoint = Checkpoint.create(disk, signature=SIGNATURE, position=begin_of(1))
    for position, dbtime in ((P100, 10), (P200, 20), (P300, 30)):
        checkpoint.write(position, dbtime)
    return disk


def found(disk: SimDisk) -> tuple[int, int]:
    checkpoint = Checkpoint.open(disk, signature=SIGNATURE)
    return checkpoint.position, checkpoint.dbtime


def test_the_last_writing_is_what_is_there() -> None:
    assert found(made()) == (P300, 30)


@pytest.mark.parametrize("page", [0, 4096])
def test_where_one_page_is_torn_the_other_one_says_the_same(page: int) -> None:
    disk = made()
    disk.open(NAME).write(page + 20, b"torn")
    assert found(disk) == (P300, 30)
    Checkpoint.open(disk, signature=SIGNATURE).write(P400, 40)
    disk.open(NAME).write(4096 - page + 20, b"torn")
    assert found(disk) == (P400, 40)


def test_two_damaged_pages_are_an_error() -> None:
    disk = made()
    for page in (0, 4096):
        disk.open(NAME).write(page + 20, b"torn")
    with pytest.raises(CheckpointError, match=r"E00\.chk is damaged"):
        found(disk)


@pytest.mark.parametrize("size", [0, 1, 4095])
def test_a_checkpoint_that_was_cut_is_an_error(size: int) -> None:
    disk = made()
    disk.open(NAME).truncate(size)
    with pytest.raises(CheckpointError, match="damaged"):
        found(disk)


def test_a_missing_checkpoint_and_that_of_another_log_are_errors() -> None:
    with pytest.raises(CheckpointError, match=r"E00\.chk is missing"):
        found(SimDisk(random.Random(1)))
    with pytest.raises(CheckpointError, match="of another log"):
        Checkpoint.open(made(), signature=SIGNATURE + 1)


@of_each(range(30))
def test_a_crash_while_it_is_written_leaves_the_old_or_the_new_one(seed: int) -> None:
    disk = SimDisk(random.Random(seed))
    checkpoint = Checkpoint.create(disk, signature=SIGNATURE, position=P100)
    data = disk.open(NAME).read(0, 8192)
    checkpoint.write(P200, 20)
    after = disk.open(NAME).read(0, 8192)
    disk.open(NAME).write(0, data)
    disk.open(NAME).sync()
    disk.open(NAME).write(4096, after[4096:])
    assert found(disk.crash()) in [(P100, 0), (P200, 20)]


def test_a_checkpoint_is_named_when_it_is_taken_for_a_database() -> None:
    answer = parse_header(made().open(NAME).read(0, 8192))
    assert isinstance(answer, NotDatabase)
    assert answer.reason == "not an ESE database but a checkpoint file (.chk)"
