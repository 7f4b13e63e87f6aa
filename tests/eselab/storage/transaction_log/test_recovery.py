"""Redo repairs what the log can repair, and names the rest."""

import random
from collections.abc import Callable

import pytest

from eselab.base.trouble import SlowRequest, Trouble
from eselab.disk.disk import SimDisk
from eselab.storage import node
from eselab.storage.database_header import read_header
from eselab.storage.pages import sealed
from eselab.storage.store import Store
from eselab.storage.transaction_log.log import LogError
from eselab.storage.transaction_log.recovery import RecoveryError
from tests.support.obvious_checksum import verifies

NAME = "a.edb"
SIZE = 4096


def write(store: Store, *numbers: int, fill: int) -> None:
    with store.begin() as transaction:
        for number in numbers:
            transaction.page(number)[200:1500] = bytes([fill]) * 1300


def new_store(disk: SimDisk) -> Store:
    """A store with four pages of 1s on disk; the log is needed from here on."""
    store = Store.create(
        disk, NAME, page_size=SIZE, cache_pages=20, now=1e9, chance=random.Random(1)
    )
    with store.begin() as transaction:
        transaction.extend(4)
    write(store, 1, 2, 3, 4, fill=1)
    store.checkpoint()
    return store


def fills(disk: SimDisk) -> list[int]:
    store = Store.open(disk, NAME, cache_pages=20, now=2e9)
    return [store.read(number)[200] for number in range(1, store.pages + 1)]


def page_on(disk: SimDisk, number: int) -> bytes:
    return disk.open(NAME).read((number + 1) * SIZE, SIZE)


def put_on(disk: SimDisk, number: int, page: bytes) -> None:
    disk.open(NAME).write((number + 1) * SIZE, page)


def everything(disk: SimDisk) -> dict[str, bytes]:
    return {name: disk.open(name).read(0, 1 << 21) for name in disk.names()}


def check_refused(disk: SimDisk, error: type[Exception], match: str) -> None:
    """The store does not open, and nothing was written."""
    before = everything(disk)
    with pytest.raises(error, match=match):
        Store.open(disk, NAME, cache_pages=20, now=2e9)
    assert everything(disk) == before


@pytest.mark.parametrize("kept", [512, 1024, 3584])
def test_a_torn_page_with_an_image_in_the_log_is_mended(kept: int) -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    old = page_on(disk, 2)
    write(store, 2, fill=7)
    write(store, 2, 3, fill=8)
    store.flush()
    put_on(disk, 2, bytes(reversed(old[:kept])) + old[kept:])
    assert fills(disk) == [1, 8, 8, 1]


def test_a_torn_page_whose_image_comes_later_in_the_log_is_mended() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    write(store, 1, fill=5)
    write(store, 2, fill=6)
    depth = store.checkpoint_depth
    store.checkpoint(depth - 1)
    write(store, 2, fill=7)
    write(store, 1, fill=8)
    store.flush()
    put_on(disk, 1, b"x" * SIZE)
    assert fills(disk) == [8, 7, 1, 1]


def test_a_torn_page_whose_checksum_holds_all_the_same_is_mended() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    for fill in (3, 4):
        with store.begin() as transaction:
            transaction.page(2)[128:] = bytes([fill]) * (SIZE - 128)
        if fill == 3:
            store.checkpoint()
            old = page_on(disk, 2)
    store.flush()
    expected = store.read(2)
    torn = sealed(expected, 2)[:2048] + old[2048:]
    assert verifies(torn, 2)
    put_on(disk, 2, torn)
    assert Store.open(disk, NAME, cache_pages=20, now=2e9).read(2) == expected


def image_passed() -> SimDisk:
    """The log goes on with pieces of page 2, whose image is before the checkpoint."""
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    position = store._log.position
    write(store, 2, fill=5)
    between = store._log.position
    write(store, 2, fill=6)
    store.flush()
    assert position < between
    store._checkpoint.write(between, store.header.dbtime)
    return disk


def damage(page: bytes) -> bytes:
    return page[:300] + b"damaged" + page[307:]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (damage, "page 2 is damaged, and the log goes on from dbtime 3"),
        (lambda page: page, "page 2 is of dbtime 2, and the log goes on from dbtime 3"),
        (lambda page: bytes(SIZE), "page 2 is of dbtime 0, and the log goes on from dbtime 3"),
    ],
    ids=["damaged", "a lost write", "a lost first write"],
)
def test_a_page_that_the_log_cannot_go_on_from_is_an_error_that_names_it(
    change: Callable[[bytes], bytes], match: str
) -> None:
    disk = image_passed()
    put_on(disk, 2, change(page_on(disk, 2)))
    check_refused(disk, RecoveryError, match)


def test_of_many_unfit_pages_the_first_three_are_named() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    write(store, 1, 2, 3, 4, fill=5)
    between = store._log.position
    write(store, 1, 2, 3, 4, fill=6)
    store.flush()
    store._checkpoint.write(between, store.header.dbtime)
    with pytest.raises(RecoveryError) as caught:
        fills(disk)
    assert str(caught.value).count("page ") == 3
    assert "page 4" not in str(caught.value)


def test_pages_that_are_on_disk_already_are_left_alone() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    write(store, 2, fill=5)
    store.flush()
    assert fills(disk) == [1, 5, 1, 1]
    assert fills(disk) == [1, 5, 1, 1]


def test_a_log_that_is_gone_is_an_error_while_the_database_is_dirty() -> None:
    disk = SimDisk(random.Random(1))
    write(new_store(disk), 2, fill=5)
    for name in disk.names():
        if name.endswith(".log"):
            disk.remove(name)
    check_refused(disk, LogError, "generation 0x1 of the log is missing")


def test_a_database_that_was_shut_down_cleanly_needs_no_log() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    write(store, 2, fill=5)
    store.close(2e9)
    for name in disk.names():
        if name.endswith(".log"):
            disk.remove(name)
    assert fills(disk) == [1, 5, 1, 1]


class Told:
    """A Watcher that keeps its events."""

    def __init__(self) -> None:
        self.troubles: list[tuple[int, str]] = []

    def page_error(self, trouble: Trouble) -> None:
        self.troubles.append((trouble.number, trouble.kind))

    def slow_request(self, slow: SlowRequest) -> None:
        raise AssertionError(slow)


def test_a_torn_page_that_the_log_mends_is_no_bad_page() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = new_store(disk)
    write(store, 2, fill=7)
    store.flush()
    put_on(disk, 2, damage(page_on(disk, 2)))
    store = Store.open(disk, NAME, cache_pages=20, now=2e9, watcher=told)
    assert (store.read(2)[200], store.recovered, told.troubles) == (7, True, [])
    assert store.header.bad_checksums.count == 0


def test_a_flipped_bit_of_a_page_that_is_as_the_log_has_it_is_told_and_counted() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = new_store(disk)
    for number in (1, 2):
        with store.begin() as transaction:
            node.init(transaction.page(number), 5, node.LEAF)
    store.checkpoint()
    write(store, 1, fill=3)
    with store.begin() as transaction:
        node.insert(transaction.page(2), 0, b"a", b"b")
    between = store._log.position
    with store.begin() as transaction:
        node.insert(transaction.page(2), 1, b"b", b"b")
    store.checkpoint()
    # The checkpoint as it was when only the pieces of the last change were still needed.
    store._checkpoint.write(between, store.header.dbtime)
    page = bytearray(page_on(disk, 2))
    page[1000] ^= 4
    put_on(disk, 2, bytes(page))
    again = Store.open(disk, NAME, cache_pages=20, now=3e9, watcher=told)
    assert told.troubles == [(2, "corrected")]
    assert (again.header.corrected.count, again.header.corrected.last) == (1, 3e9)
    assert read_header(disk.open(NAME).read(0, 1 << 16)).corrected.count == 1


def test_a_damaged_page_that_the_log_cannot_mend_is_told_before_the_error() -> None:
    disk, told = image_passed(), Told()
    put_on(disk, 2, damage(page_on(disk, 2)))
    with pytest.raises(RecoveryError):
        Store.open(disk, NAME, cache_pages=20, now=2e9, watcher=told)
    assert told.troubles == [(2, "checksum")]
