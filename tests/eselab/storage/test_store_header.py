"""What the store counts, and what the header on disk says while it is open."""

import random
from pathlib import Path

import pytest

from eselab.base.trouble import SlowRequest, Trouble
from eselab.disk.disk import Disk, RealDisk, SimDisk
from eselab.storage import node
from eselab.storage.database_header import CLEAN, DIRTY, DatabaseHeader, read_header
from eselab.storage.pages import PageError
from eselab.storage.store import Store
from eselab.storage.transaction_log.change import dbtime_of
from eselab.storage.transaction_log.log import LogError, generation_of
from eselab.storage.transaction_log.recovery import RecoveryError

NAME = "a.edb"


class Told:
    """A Watcher that keeps its events."""

    def __init__(self) -> None:
        self.kinds: list[str] = []

    def page_error(self, trouble: Trouble) -> None:
        self.kinds.append(trouble.kind)

    def slow_request(self, slow: SlowRequest) -> None:
        raise AssertionError(slow)


def new_store(disk: Disk, told: Told | None = None, *, page_size: int = 4096) -> Store:
    """Pages 1 to 4, each a leaf, all on disk; the cache has two of them."""
    store = Store.create(
        disk, NAME, page_size=page_size, cache_pages=2, now=1e9,
        chance=random.Random(1), watcher=told,
    )  # fmt: skip
    with store.begin() as transaction:
        transaction.extend(4)
        for number in range(1, 5):
            node.init(transaction.page(number), 5, node.LEAF)
    store.checkpoint()
    return store


def flip(disk: Disk, store: Store, number: int, *bits: int) -> None:
    """Flip bits of a page on disk."""
    file, at = disk.open(NAME), (number + 1) * store.page_size
    page = bytearray(file.read(at, store.page_size))
    for bit in bits:
        page[bit // 8] ^= 1 << bit % 8
    file.write(at, bytes(page))
    file.close()


def dbtimes(disk: Disk, store: Store) -> list[int]:
    """Those of the last change of each page on disk."""
    file = disk.open(NAME)
    pages = [file.read((number + 1) * store.page_size, 4096) for number in range(1, 5)]
    file.close()
    return [dbtime_of(page) for page in pages]


def on_disk(disk: Disk) -> DatabaseHeader:
    file = disk.open(NAME)
    try:
        return read_header(file.read(0, 1 << 16))
    finally:
        file.close()


@pytest.mark.parametrize("page_size", [4096, 8192, 16384, 32768])
def test_bad_pages_are_in_the_header_at_once_and_the_watcher_knows(page_size: int) -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = new_store(disk, told, page_size=page_size)
    store.time = lambda: 1.5e9
    flip(disk, store, 1, 3000)
    flip(disk, store, 2, 3000, 3001)
    checked = store.check_pages(1, 3)
    assert (checked.pages, checked.uninitialized) == (3, 0)
    for number in (3, 4, 1):
        store.read(number)
    with pytest.raises(PageError):
        store.read(2)
    assert told.kinds == ["corrected", "checksum", "corrected", "checksum"]
    header = on_disk(disk.crash())
    assert [header.corrected.count, header.bad_checksums.count] == [2, 2]
    assert [header.corrected.last, header.bad_checksums.last] == [1.5e9, 1.5e9]
    assert header.correction_failed.count == 0


def test_counts_of_bad_pages_go_on_when_it_is_opened_again() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    flip(disk, store, 1, 3000)
    for _ in range(3):
        store.check_pages(1, 1)
        store.close(2e9)
        store = Store.open(disk, NAME, cache_pages=2, now=3e9)
    assert on_disk(disk).corrected.count == 3


def test_a_check_ends_where_the_database_does() -> None:
    disk = SimDisk(random.Random(1))
    store = new_store(disk)
    assert [store.check_pages(first, 3).pages for first in (1, 3, 4, 5, 99)] == [3, 2, 1, 0, 0]
    with pytest.raises(IndexError, match="page 0 of 4"):
        store.check_pages(0, 1)


def test_a_check_reads_the_disk_and_minds_no_newer_page_in_memory() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = new_store(disk, told)
    read = store.counts.pages_read
    with store.begin() as transaction:
        node.insert(transaction.page(4), 0, b"a", b"b")
        transaction.extend(2)
    assert store.check_pages(1, 9).uninitialized == 2
    assert (store.counts.pages_read - read, told.kinds) == (6, [])


def test_the_header_names_the_log_that_a_recovery_needs_until_it_is_clean() -> None:
    disk, chance = SimDisk(random.Random(1)), random.Random(1)
    store = new_store(disk)
    seen, behind = set(), 0
    log_of = dict.fromkeys(range(store.header.dbtime + 1), 1)
    for _ in range(3000):
        with store.begin() as transaction:
            transaction.page(chance.randrange(1, 5))[100:3000] = chance.randbytes(2900)
        if chance.random() < 0.002:
            store.checkpoint(chance.choice([0, 2_000_000]))
        header = on_disk(disk)
        first, last = header.log_required
        assert header.log_committed == store.log_generation >= last
        assert first == generation_of(store._checkpoint.position) <= last
        log_of[store.header.dbtime] = store.log_generation
        assert last >= max(log_of[dbtime] for dbtime in dbtimes(disk, store))
        assert {f"E00{number:08X}.log" for number in range(first, last + 1)} <= set(disk.names())
        seen.add((first, last))
        behind += last < header.log_committed
    assert len(seen) > 6
    assert behind > 0
    disk = disk.crash()
    store = Store.open(disk, NAME, cache_pages=2, now=2e9)
    assert on_disk(disk).log_required == (store.log_generation,) * 2
    assert on_disk(disk).state == DIRTY
    store.close(3e9)
    assert (on_disk(disk).log_required, on_disk(disk).state) == ((0, 0), CLEAN)


def test_an_opening_knows_whether_it_recovered() -> None:
    disk = SimDisk(random.Random(1))
    assert not new_store(disk).recovered
    store = Store.open(disk, NAME, cache_pages=2, now=2e9)
    assert store.recovered
    store.close(2e9)
    assert not Store.open(disk, NAME, cache_pages=2, now=2e9).recovered


def test_pages_are_dirtied_when_they_were_clean() -> None:
    store = new_store(SimDisk(random.Random(1)))
    before = store.counts.pages_dirtied
    assert before == 4
    for _ in range(3):
        with store.begin() as transaction:
            transaction.page(1)[200] += 1
    assert store.counts.pages_dirtied == before + 1
    store.checkpoint()
    with store.begin() as transaction:
        transaction.page(1)[200] += 1
    assert store.counts.pages_dirtied == before + 2
    assert store.cache_bytes == 2 * 4096


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc/self/fd")
@pytest.mark.parametrize("damage", ["header", "checkpoint", "log", "page"])
def test_an_opening_that_fails_leaves_no_file_open(tmp_path: Path, damage: str) -> None:
    disk = RealDisk(tmp_path)
    before = open_files()
    store = new_store(disk)
    with store.begin() as transaction:
        node.insert(transaction.page(1), 0, b"a", b"b")
    between = store._log.position
    with store.begin() as transaction:
        node.insert(transaction.page(1), 1, b"b", b"b")
    store.flush()
    store._checkpoint.write(between, 9)
    store._file.close()
    store._flush_file.close()
    store._log.close()
    if damage == "header":
        (tmp_path / NAME).write_bytes(b"x" * 9000)
    elif damage == "checkpoint":
        (tmp_path / "E00.chk").write_bytes(b"x")
    elif damage == "log":
        (tmp_path / "E0000000001.log").unlink()
    with pytest.raises(Exception, match=r".") as caught:
        Store.open(disk, NAME, cache_pages=2, now=2e9)
    if damage in ("log", "page"):
        assert isinstance(caught.value, LogError if damage == "log" else RecoveryError)
    assert open_files() == before
