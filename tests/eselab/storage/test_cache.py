"""Pages are written in time, after their log, and so that a torn write can be repaired."""

import random

from eselab.disk.disk import SimDisk
from eselab.storage.cache import Cache
from eselab.storage.pages import PageFile, stamped
from eselab.storage.store import Store
from eselab.storage.transaction_log.log import Log
from tests.support.each import of_each

SIZE = 4096


def parts(limit: int) -> tuple[PageFile, Log, Cache]:
    disk = SimDisk(random.Random(1))
    file = PageFile(disk.open("a.edb", create=True), SIZE)
    log = Log.create(disk, signature=1)
    return file, log, Cache(file, log, limit)


def content(number: int, fill: int) -> bytes:
    return stamped(bytearray(bytes(100) + bytes([fill]) * (SIZE - 100)), number)


def put(log: Log, cache: Cache, *numbers: int, fill: int = 1) -> int:
    """Log and put these pages; the position before."""
    before = log.position
    after = log.append(b"change")
    cache.put([(number, content(number, fill)) for number in numbers], before, after)
    return before


def test_the_least_recently_used_page_goes_first() -> None:
    file, _, cache = parts(2)
    for number in (1, 2, 1, 3, 1, 2):
        cache.read(number)
    assert file.read_count == 4


def test_a_page_is_written_only_after_its_log_record_is_durable() -> None:
    file, log, cache = parts(1)
    put(log, cache, 1)
    assert (log.durable < log.position, file.pages()) == (True, 0)
    cache.read(2)
    assert (log.durable, file.pages()) == (log.position, 1)
    assert cache.read(1) == content(1, 1)


def test_a_write_back_leaves_what_is_younger_and_says_from_where_the_log_is_needed() -> None:
    file, log, cache = parts(9)
    put(log, cache, 5, 1)
    second = put(log, cache, 2)
    put(log, cache, 1, fill=3)
    assert cache.write_back(second) == second
    assert [cache.is_clean(number) for number in (5, 1, 2, 7)] == [True, True, False, True]
    assert file.read(1) == content(1, 3)
    assert cache.write_back(log.position) == log.durable == log.position
    assert cache.is_clean(2)


def test_a_page_is_not_written_between_the_logging_and_the_putting_of_its_change() -> None:
    file, log, cache = parts(2)
    first = put(log, cache, 2)
    cache.read(9)
    put(log, cache, 1, 2, fill=2)
    assert file.pages() == 0
    assert cache.write_back(first) == first
    assert cache.read(2) == content(2, 2)


def bodies(store: Store) -> list[bytes]:
    return [store.read(number)[128:] for number in (1, 2, 3, 4)]


def fill(store: Store, value: int, *numbers: int) -> int:
    """Change these pages in this order; the position of the log before."""
    before = store._log.position
    with store.begin() as transaction:
        for number in numbers:
            transaction.page(number)[128:] = bytes([value]) * (SIZE - 128)
    return before


@of_each(range(30))
def test_a_torn_write_after_a_partial_checkpoint_is_mended(seed: int) -> None:
    disk = SimDisk(random.Random(seed))
    store = Store.create(
        disk, "a.edb", page_size=SIZE, cache_pages=2, now=1e9, chance=random.Random(seed)
    )
    with store.begin() as transaction:
        transaction.extend(4)
    fill(store, 1, 1, 2, 3, 4)
    store.checkpoint()
    fill(store, 2, 2)
    # One page more than the cache has, page 2 dirty in it all the time that these are read.
    before = fill(store, 3, 3, 2, 1)
    store.checkpoint(store._log.position - before)
    fill(store, 4, 2)
    for number in (4, 1):
        store.read(number)
    store.flush()
    expected = bodies(store)

    again = Store.open(disk.crash(), "a.edb", cache_pages=2, now=2e9)

    assert bodies(again) == expected


@of_each(range(40))
def test_transactions_larger_than_the_cache_survive_crashes_at_partial_checkpoints(
    seed: int,
) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(seed))
    store = Store.create(
        disk, "a.edb", page_size=SIZE, cache_pages=2, now=1e9, chance=random.Random(seed)
    )
    with store.begin() as transaction:
        transaction.extend(4)
    for at in range(30):
        with store.begin() as transaction:
            for number in chance.sample([1, 2, 3, 4], chance.choice([1, 2, 3])):
                transaction.page(number)[chance.randrange(128, SIZE)] ^= chance.randrange(256)
        if at < 28:
            store.checkpoint(chance.choice([100, 1000, 5000, 9000]))
    store.flush()
    expected = bodies(store)

    again = Store.open(disk.crash(), "a.edb", cache_pages=2, now=2e9)

    assert bodies(again) == expected
