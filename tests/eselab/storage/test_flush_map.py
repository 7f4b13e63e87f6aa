"""The flush map: a lost write is found, and no crash and no damage of the map invents one."""

import random

import pytest

from eselab.base.trouble import SlowRequest, Trouble
from eselab.disk.disk import SimDisk
from eselab.storage.flush_map import FlushMap, FlushMapFile
from eselab.storage.pages import PageError
from eselab.storage.store import Store
from esewatch.ese.pages.file_types import name_of
from tests.support.each import of_each

NAME, MAP, SIZE = "a.edb", "a.jfm", 4096


class Told:
    """A Watcher that keeps what it was told."""

    def __init__(self) -> None:
        self.troubles: list[Trouble] = []

    def page_error(self, trouble: Trouble) -> None:
        self.troubles.append(trouble)

    def slow_request(self, slow: SlowRequest) -> None:
        raise AssertionError(slow)


def filled(numbers: dict[int, int]) -> FlushMap:
    flushes = FlushMap()
    for number, flush_type in numbers.items():
        flushes.put(number, flush_type)
    return flushes


def load(disk: SimDisk, *, signature: int = 7, position: int = 100, attach: int = 5) -> FlushMap:
    return FlushMapFile(disk, NAME, signature=signature).load(position=position, attach=attach)


def known(flushes: FlushMap, *numbers: int) -> list[int]:
    return [flushes.get(number) for number in numbers]


def test_types_go_round_and_unknown_begins() -> None:
    flushes, types = FlushMap(), []
    for _ in range(5):
        flushes.put(9, flushes.following(9))
        types.append(flushes.get(9))
    assert types == [1, 2, 3, 1, 2]
    assert known(flushes, 8, 10, 1 << 40) == [0, 0, 0]


def test_each_page_has_its_own_bits() -> None:
    chance, flushes, model = random.Random(1), FlushMap(), dict[int, int]()
    for _ in range(5000):
        number, flush_type = chance.randrange(1, 40_000), chance.randrange(4)
        flushes.put(number, flush_type)
        model[number] = flush_type
    assert {number: flushes.get(number) for number in model} == model


def test_a_page_beyond_the_largest_map_is_unknown_for_ever() -> None:
    flushes = filled({31_000_000: 2})
    assert (flushes.get(31_000_000), flushes.changed) == (0, set())


def test_what_was_saved_is_loaded_and_the_file_is_a_flush_map() -> None:
    disk = SimDisk(random.Random(1))
    numbers = {1: 1, 5: 3, 16_383: 2, 16_384: 1, 100_000: 3}
    file = FlushMapFile(disk, NAME, signature=7)
    file.save(filled(numbers), position=100, attach=5)
    assert known(load(disk), *numbers, 2, 50_000) == [*numbers.values(), 0, 0]
    assert name_of(disk.open(MAP).read(0, 8192)) == "no ESE database but a flush map (.jfm)"


@pytest.mark.parametrize(
    "other",
    [{"signature": 8}, {"position": 101}, {"attach": 6}],
    ids=["signature", "position", "attach"],
)
def test_a_map_of_another_time_or_database_is_unknown(other: dict[str, int]) -> None:
    disk = SimDisk(random.Random(1))
    FlushMapFile(disk, NAME, signature=7).save(filled({3: 2}), position=100, attach=5)
    assert known(load(disk), 3) == [2]
    assert known(load(disk, **other), 3) == [0]


def test_an_attachment_that_was_not_finished_is_the_same_database() -> None:
    disk = SimDisk(random.Random(1))
    FlushMapFile(disk, NAME, signature=7).save(filled({3: 2}), position=100, attach=5)
    again = FlushMapFile(disk, NAME, signature=7)
    flushes = again.load(position=100, attach=5)
    again.save(flushes, position=200, attach=9)
    assert [known(load(disk, attach=attach), 3) for attach in (5, 9)] == [[2], [2]]
    again.save(flushes, position=300, attach=9)
    found = [known(load(disk, position=300, attach=attach), 3) for attach in (5, 9)]
    assert found == [[0], [2]]


def test_only_changed_chunks_are_written() -> None:
    disk = SimDisk(random.Random(1))
    file = FlushMapFile(disk, NAME, signature=7)
    flushes = filled(dict.fromkeys(range(1, 200_000, 1000), 1))
    file.save(flushes, position=1, attach=5)
    content = disk._files[MAP]
    before = bytes(content.now)
    flushes.put(50_000, 2)
    file.save(flushes, position=2, attach=5)
    differs = [before[at : at + 4096] != content.now[at : at + 4096] for at in places(content.now)]
    assert sum(differs) == 2
    file.save(flushes, position=2, attach=5)
    assert file._writing == 2


def places(content: bytes | bytearray) -> range:
    """Where the pages of the map file begin."""
    return range(0, len(content), 4096)


@of_each(range(200))
def test_a_torn_saving_leaves_the_map_before_or_the_new_one(seed: int) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(seed))
    file, flushes = FlushMapFile(disk, NAME, signature=7), FlushMap()
    numbers = [1, 2, 3, 20_000, 20_001]
    states = []
    for position in range(100, 100 + chance.randrange(2, 9)):
        for number in chance.sample(numbers, 2):
            flushes.put(number, flushes.following(number))
        if position == 101:
            file.close()
            file = FlushMapFile(disk, NAME, signature=7)
            file.load(position=100, attach=5)
        states.append(known(flushes, *numbers))
        content = disk._file(MAP, create=True)._content
        kept = bytes(content.durable)
        file.save(flushes, position=position, attach=5)
    saved = bytes(content.now)
    content.since = [
        (at, saved[at : at + 4096])
        for at in places(saved)
        if saved[at : at + 4096] != kept[at : at + 4096]
    ]
    content.durable = bytearray(kept)
    found = known(load(disk.crash(), position=position - 1), *numbers)
    assert found in states[-2:]


@of_each(range(100))
def test_a_damaged_map_is_never_believed(seed: int) -> None:
    chance, disk = random.Random(seed), SimDisk(random.Random(1))
    file, flushes = FlushMapFile(disk, NAME, signature=7), filled({1: 1, 2: 2, 20_000: 3})
    for position in (99, 100):
        flushes.put(4, position % 2 + 1)
        file.save(flushes, position=position, attach=5)
    content = disk._files[MAP].now
    for _ in range(chance.choice([1, 1, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    if chance.random() < 0.3:
        del content[chance.randrange(len(content)) :]
    found = known(load(disk), 1, 2, 20_000, 4)
    assert found in ([1, 2, 3, 1], [0, 0, 0, 0])


def create(disk: SimDisk, watcher: Told, *, cache_pages: int = 3, seed: int = 1) -> Store:
    return Store.create(
        disk, NAME, page_size=SIZE, cache_pages=cache_pages, now=1e9,
        chance=random.Random(seed), watcher=watcher,
    )  # fmt: skip


def write(store: Store, chance: random.Random) -> None:
    with store.begin() as transaction:
        if transaction.pages < 20:
            transaction.extend(chance.randrange(1, 5))
        for _ in range(chance.randrange(1, 5)):
            number = chance.randrange(1, transaction.pages + 1)
            transaction.page(number)[chance.randrange(128, SIZE)] = chance.randrange(256)


def step(store: Store, chance: random.Random) -> None:
    kind = chance.random()
    if kind < 0.55:
        write(store, chance)
    elif kind < 0.7 and store.pages:
        store.read(chance.randrange(1, store.pages + 1))
    elif kind < 0.8:
        store.flush()
    elif kind < 0.95:
        store.checkpoint(chance.choice([0, 3000, 20_000]))
    else:
        store.check_pages(1, store.pages)


def check_history(seed: int, *, steps: int = 60) -> int:
    """Random work, crashes and shutdowns, then all pages; how many crashes there were."""
    chance, disk, told = random.Random(seed), SimDisk(random.Random(seed + 1)), Told()
    store = create(disk, told, cache_pages=chance.choice([1, 3, 30]), seed=seed)
    crashes = 0
    for _ in range(steps):
        if chance.random() > 0.06:
            step(store, chance)
            continue
        if chance.random() < 0.2:
            store.close(2e9)
        else:
            disk = disk.crash()
            crashes += 1
            if chance.random() < 0.3:
                interrupted = Store.open(disk, NAME, cache_pages=1, now=2e9, watcher=told)
                disk = disk.crash()
                assert interrupted.recovered or not interrupted.pages
        store = Store.open(disk, NAME, cache_pages=chance.choice([1, 3]), now=2e9, watcher=told)
    assert store.check_pages(1, store.pages).troubles == []
    assert told.troubles == []
    return crashes


def test_no_crash_invents_a_lost_write() -> None:
    assert sum(check_history(seed) for seed in range(120)) > 200


def test_the_same_histories_show_a_map_that_is_older_than_the_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load, save, calls = FlushMapFile.load, FlushMapFile.save, [0]

    def believe(self: FlushMapFile, *, position: int, attach: int) -> FlushMap:
        return load(self, position=0, attach=attach)

    def sometimes(self: FlushMapFile, flushes: FlushMap, *, position: int, attach: int) -> None:
        calls[0] += 1
        if calls[0] % 3 == 0:
            save(self, flushes, position=position, attach=attach)

    monkeypatch.setattr(FlushMapFile, "load", believe)
    monkeypatch.setattr(FlushMapFile, "save", sometimes)
    with pytest.raises((AssertionError, PageError)):
        for seed in range(120):
            check_history(seed)


@pytest.mark.slow
def test_thousands_of_crashes_invent_no_lost_write() -> None:
    assert sum(check_history(seed, steps=120) for seed in range(1000, 2500)) > 5000


def fill(store: Store, value: int, *numbers: int) -> None:
    with store.begin() as transaction:
        for number in numbers:
            transaction.page(number)[200:900] = bytes([value]) * 700


def with_lost_write(disk: SimDisk, told: Told) -> Store:
    """Pages 1 to 4 were written twice; the second writing of page 3 never came to the disk."""
    store = create(disk, told)
    with store.begin() as transaction:
        transaction.extend(4)
    fill(store, 1, 1, 2, 3, 4)
    store.checkpoint()
    old = disk.open(NAME).read(4 * SIZE, SIZE)
    fill(store, 2, 1, 2, 3, 4)
    store.checkpoint()
    disk.open(NAME).write(4 * SIZE, old)
    disk.open(NAME).sync()
    return store


LOST = Trouble(
    number=3, kind="lost_flush", offset=4 * SIZE, bytes=SIZE, flush_type=1, expected_type=2
)


@pytest.mark.parametrize("ended", ["running", "closed", "crashed", "opened twice"])
def test_a_lost_write_is_found_by_the_next_reading_and_by_a_check(ended: str) -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = with_lost_write(disk, told)
    for number in (1, 2, 4, 1, 2, 4):
        store.read(number)
    if ended == "closed":
        store.close(2e9)
    for _ in range(["running", "closed", "crashed", "opened twice"].index(ended)):
        disk = disk.crash()
        store = Store.open(disk, NAME, cache_pages=3, now=2e9, watcher=told)
    assert store.check_pages(1, 99).troubles == [LOST]
    with pytest.raises(PageError) as caught:
        store.read(3)
    assert caught.value.trouble == LOST
    assert told.troubles == [LOST, LOST]
    assert [store.read(number)[200] for number in (1, 2, 4)] == [2, 2, 2]


@pytest.mark.parametrize("ended", ["running", "crashed"])
def test_a_first_write_that_was_lost_is_a_page_without_data(ended: str) -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = with_lost_write(disk, told)
    disk.open(NAME).write(4 * SIZE, bytes(SIZE))
    disk.open(NAME).sync()
    for number in (1, 2, 4, 1, 2, 4):
        store.read(number)
    if ended == "crashed":
        store = Store.open(disk.crash(), NAME, cache_pages=3, now=2e9, watcher=told)
    missing = Trouble(number=3, kind="no_data", offset=4 * SIZE, bytes=SIZE)
    checked = store.check_pages(1, 4)
    assert (checked.troubles, checked.uninitialized) == ([missing], 0)
    with pytest.raises(PageError, match="page 3: no_data"):
        store.read(3)
    assert told.troubles == [missing] * 2


def test_a_file_that_was_cut_has_pages_without_data() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    store = with_lost_write(disk, told)
    disk.open(NAME).truncate(4 * SIZE)
    assert [trouble.kind for trouble in store.check_pages(1, 4).troubles] == ["no_data"] * 2


def test_a_database_without_a_map_opens_and_learns_by_reading() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    with_lost_write(disk, told).close(2e9)
    disk.remove(MAP)
    store = Store.open(disk, NAME, cache_pages=3, now=2e9, watcher=told)
    assert [store.read(number)[200] for number in (1, 2, 3, 4)] == [2, 2, 1, 2]
    assert store._file.flushes.get(3) == 1
    fill(store, 7, 3)
    store.close(2e9)
    again = Store.open(disk, NAME, cache_pages=3, now=2e9, watcher=told)
    assert [again._file.flushes.get(number) for number in (1, 2, 3, 4)] == [2, 2, 2, 2]
    assert told.troubles == []


def test_a_new_database_does_not_take_the_map_of_an_older_one_of_its_seed() -> None:
    disk, told = SimDisk(random.Random(1)), Told()
    with_lost_write(disk, told).close(2e9)
    disk.open(NAME).truncate(0)
    store = create(disk, told)
    with store.begin() as transaction:
        transaction.extend(4)
    fill(store, 1, 1)
    store.checkpoint()
    again = Store.open(disk.crash(), NAME, cache_pages=3, now=2e9, watcher=told)
    checked = again.check_pages(1, 4)
    assert (checked.troubles, checked.uninitialized) == ([], 3)


@of_each(range(30))
def test_a_lost_write_in_a_random_history_is_found(seed: int) -> None:
    chance, disk, told = random.Random(seed), SimDisk(random.Random(seed + 1)), Told()
    store = create(disk, told, cache_pages=chance.choice([1, 3, 30]), seed=seed)
    for _ in range(40):
        step(store, chance)
    number = chance.randrange(1, store.pages + 1)
    fill(store, seed % 250 + 1, number)
    store.checkpoint()
    old = disk.open(NAME).read((number + 1) * SIZE, SIZE)
    fill(store, seed % 250 + 2, number)
    store.checkpoint()
    disk.open(NAME).write((number + 1) * SIZE, old)
    disk.open(NAME).sync()
    for _ in range(chance.randrange(3)):
        disk = disk.crash()
        store = Store.open(disk, NAME, cache_pages=2, now=2e9, watcher=told)
    found = store.check_pages(1, store.pages).troubles
    assert [(trouble.number, trouble.kind) for trouble in found] == [(number, "lost_flush")]
