"""Random transactions and crashes against a plain dict: what was flushed is there, nothing else."""

import random

import pytest

from eselab.disk.disk import SimDisk
from eselab.disk.log_file import HEADER_BYTES
from eselab.storage.store import Store
from tests.support.each import check_each, of_each

NAME = "a.edb"
Model = dict[int, bytes]


def create(disk: SimDisk, *, page_size: int = 4096, cache_pages: int = 8, seed: int = 1) -> Store:
    return Store.create(
        disk, NAME, page_size=page_size, cache_pages=cache_pages, now=1e9,
        chance=random.Random(seed),
    )  # fmt: skip


def body(store: Store, number: int) -> bytes:
    """What a test wrote to a page."""
    return store.read(number)[128:]


def bodies(store: Store) -> Model:
    return {number: body(store, number) for number in range(1, store.pages + 1)}


def change(store: Store, model: Model, chance: random.Random) -> Model:
    """One random transaction, sometimes aborted; the model after it."""
    after = dict(model)
    transaction = store.begin()
    if chance.random() < 0.2 and transaction.pages < 60:
        count = chance.randrange(1, 5)
        first = transaction.extend(count)
        after |= {first + at: bytes(store.page_size - 128) for at in range(count)}
    for _ in range(chance.randrange(1, 6)):
        if not after:
            break
        number = chance.choice(sorted(after))
        page = transaction.page(number)
        at = chance.randrange(128, store.page_size)
        piece = chance.randbytes(chance.choice([1, 7, 200]))[: store.page_size - at]
        page[at : at + len(piece)] = piece
        after[number] = bytes(page[128:])
    if chance.random() < 0.1:
        transaction.abort()
        return model
    transaction.commit()
    return after


@pytest.mark.parametrize("page_size", [4096, 8192, 16384, 32768])
def test_what_is_committed_is_there_after_a_clean_shutdown(page_size: int) -> None:
    chance, disk = random.Random(page_size), SimDisk(random.Random(1))
    store, model = create(disk, page_size=page_size), Model()
    for _ in range(60):
        model = change(store, model, chance)
    store.close(2e9)

    again = Store.open(disk, NAME, cache_pages=8, now=3e9)

    assert model
    assert bodies(again) == model


@pytest.mark.parametrize(
    "seeds", [range(15), pytest.param(range(15, 40), marks=pytest.mark.slow)], ids=str
)
def test_a_crash_at_any_moment_leaves_what_was_flushed_and_whole_transactions(
    seeds: range,
) -> None:
    check_each(seeds, check_crashes)


def check_crashes(seed: int) -> None:
    chance = random.Random(seed)
    disk = SimDisk(random.Random(seed + 1000))
    store = create(disk, cache_pages=chance.choice([1, 3, 8, 100]), seed=seed)
    states, flushed, crashes = [Model()], 0, 0
    for _ in range(120):
        kind = chance.random()
        if kind < 0.75:
            states.append(change(store, states[-1], chance))
        elif kind < 0.87:
            store.flush()
            flushed = len(states) - 1
        elif kind < 0.95:
            store.checkpoint(chance.choice([0, 3000, 100_000]))
            flushed = len(states) - 1
        else:
            disk = disk.crash()
            crashes += 1
            store = Store.open(disk, NAME, cache_pages=8, now=2e9)
            found = bodies(store)
            possible = [state for state in states[flushed:] if state == found]
            assert possible, f"after {crashes} crashes"
            states, flushed = [found], 0
    assert states[-1] == bodies(store)


@of_each(range(25))
def test_a_crash_within_recovery_is_recovered_from_again(seed: int) -> None:
    chance = random.Random(seed)
    disk = SimDisk(random.Random(seed))
    store, model = create(disk, cache_pages=4), Model()
    for _ in range(30):
        model = change(store, model, chance)
    store.flush()
    for _ in range(4):
        disk = disk.crash()
        interrupted = Store.open(disk, NAME, cache_pages=4, now=2e9)
        assert bodies(interrupted) == model

    assert model


def test_a_transaction_is_not_seen_before_its_commit_and_never_after_its_abort() -> None:
    store = create(SimDisk(random.Random(1)))
    with store.begin() as transaction:
        transaction.extend(2)
    transaction = store.begin()
    transaction.page(1)[200] = 7
    assert body(store, 1)[72] == 0
    assert transaction.read(1)[200] == 7
    transaction.abort()
    assert body(store, 1)[72] == 0
    with pytest.raises(IndexError):
        store.read(3)


def test_two_transactions_at_once_are_refused() -> None:
    store = create(SimDisk(random.Random(1)))
    store.begin()
    with pytest.raises(RuntimeError, match="open already"):
        store.begin()


def test_the_same_seed_gives_the_same_bytes() -> None:
    contents = []
    for _ in range(2):
        disk, chance = SimDisk(random.Random(3)), random.Random(3)
        store, model = create(disk), Model()
        for _ in range(40):
            model = change(store, model, chance)
        store.close(2e9)
        names = disk.names()
        contents.append({name: disk.open(name).read(0, 1 << 24) for name in names})
    assert NAME in contents[0]
    assert contents[0] == contents[1]


def test_the_log_is_cut_and_rolls_over_generations() -> None:
    disk, chance = SimDisk(random.Random(1)), random.Random(1)
    store = create(disk, page_size=32768)
    with store.begin() as transaction:
        transaction.extend(30)
    model = {number: bytes(32768 - 128) for number in range(1, 31)}
    for _ in range(200):
        model = change(store, model, chance)
    logs = [name for name in disk.names() if name.endswith(".log")]
    assert len(logs) > 3
    assert store.checkpoint_depth_logs == len(logs) - 1
    store.checkpoint()
    assert len([name for name in disk.names() if name.endswith(".log")]) == 1
    assert store.checkpoint_depth == store.checkpoint_depth_logs == 0
    assert bodies(store) == model


def test_the_log_position_grows_by_what_is_appended_through_flushes_and_checkpoints() -> None:
    chance = random.Random(1)
    disk = SimDisk(chance)
    store = create(disk)
    log = disk.open("E0000000001.log")
    last = store.log_position
    with store.begin() as transaction:
        transaction.extend(30)
    assert last < store.log_position < last + 100
    last = store.log_position
    for number in range(1, 31):
        with store.begin() as transaction:
            transaction.page(number)[200:4000] = chance.randbytes(3800)
        assert 4096 < store.log_position - last < 8192 * 2
        last = store.log_position
        if number % 3 == 0:
            store.flush()
            assert store.log_position == log.size() - HEADER_BYTES
        if number % 10 == 0:
            store.checkpoint()
        assert store.log_position == last
