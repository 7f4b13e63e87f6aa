"""One of the two pages of the checkpoint is always whole."""

import random

import pytest

from eselab.disk.disk import SimDisk
from eselab.storage.transaction_log.checkpoint import Checkpoint, CheckpointError
from esewatch.ese.pages.header import NotDatabase, parse_header
from tests.support.each import of_each

NAME = "E00.chk"
SIGNATURE = 5


def made() -> SimDisk:
    """Written three times: the last one is (300, 30), the one before it (200, 20)."""
    disk = SimDisk(random.Random(1))
    checkpoint = Checkpoint.create(disk, signature=SIGNATURE, position=1)
    for position in (100, 200, 300):
        checkpoint.write(position, position // 10)
    return disk


def found(disk: SimDisk) -> tuple[int, int]:
    checkpoint = Checkpoint.open(disk, signature=SIGNATURE)
    return checkpoint.position, checkpoint.dbtime


def test_the_last_writing_is_what_is_there() -> None:
    assert found(made()) == (300, 30)


def test_where_one_page_is_torn_the_other_one_is_taken() -> None:
    answers = set()
    for page in (0, 4096):
        disk = made()
        disk.open(NAME).write(page + 20, b"torn")
        answers.add(found(disk))
    assert answers == {(300, 30), (200, 20)}


def test_after_the_older_page_was_taken_the_torn_one_is_written_first() -> None:
    for page in (0, 4096):
        disk = made()
        disk.open(NAME).write(page + 20, b"torn")
        Checkpoint.open(disk, signature=SIGNATURE).write(400, 40)
        assert found(disk) == (400, 40)
        other = 4096 - page
        disk.open(NAME).write(other + 20, b"torn")
        assert (found(disk) == (400, 40)) is (page_of_last(disk) != other)


def page_of_last(disk: SimDisk) -> int:
    """Offset of the page that holds position 400."""
    data = disk.open(NAME).read(0, 8192)
    return data.index((400).to_bytes(8, "little")) // 4096 * 4096


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
    checkpoint = Checkpoint.create(disk, signature=SIGNATURE, position=100)
    data = disk.open(NAME).read(0, 8192)
    checkpoint.write(200, 20)
    after = disk.open(NAME).read(0, 8192)
    disk.open(NAME).write(0, data)
    disk.open(NAME).sync()
    disk.open(NAME).write(4096, after[4096:])
    assert found(disk.crash()) in [(100, 0), (200, 20)]


def test_a_checkpoint_is_named_when_it_is_taken_for_a_database() -> None:
    answer = parse_header(made().open(NAME).read(0, 8192))
    assert isinstance(answer, NotDatabase)
    assert answer.reason == "no ESE database but a checkpoint file (.chk)"
