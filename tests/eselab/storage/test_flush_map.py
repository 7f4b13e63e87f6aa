"""The flush map: a lost write is found, and no crash and no damage of the map invents one."""

import functools
import operator
import random
import struct
from typing import Any

import pytest

from esefiles.pages.file_types import name_of
from eselab.base.trouble import SlowRequest, Trouble
from eselab.disk.disk import SimDisk
from eselab.storage.database_header import CLEAN, DIRTY, DatabaseHeader
from eselab.storage.flush_map import FlushMap, FlushMapFile
from eselab.storage.pages import PageError
from eselab.storage.store import Store
from tests.support.campaign import some
from tests.support.each import of_each

NAME, MAP, SIZE = "a.edb", "a.jfm", 4096


class Told:
    """A Watcher that keeps its events."""

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


def header_of(**kept: Any) -> DatabaseHeader:
    """That of a database in use, written for the fifth time."""
    first = {"page_size": SIZE, "signature": 7, "created": 1e9, "database_flush": 5}
    return DatabaseHeader(**{**first, **kept})


def saved(disk: SimDisk, numbers: dict[int, int], header: DatabaseHeader) -> FlushMapFile:
    """A map of these types with the log position 100; the header is as `Store` writes it then."""
    file = FlushMapFile(disk, NAME)
    file.save(filled(numbers), header, position=100)
    return file


def load(disk: SimDisk, header: DatabaseHeader, *, position: int = 100) -> FlushMap:
    return FlushMapFile(disk, NAME).load(header, position=position)


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


def test_what_was_saved_is_loaded() -> None:
    disk, header = SimDisk(random.Random(1)), header_of()
    numbers = {1: 1, 5: 3, 32_511: 2, 32_512: 1, 100_000: 3}
    saved(disk, numbers, header)
    assert known(load(disk, header), *numbers, 2, 50_000) == [*numbers.values(), 0, 0]


def test_the_bytes_of_the_file_are_those_of_the_published_format() -> None:
    """flushmap.hxx, cflushmap.cxx: read here by their offsets alone."""
    disk, header = SimDisk(random.Random(1)), header_of(dbtime=77, log_required=(1, 1))
    saved(disk, {1: 1, 6: 3, 32_512: 2}, header)
    data = disk.open(MAP).read(0, 1 << 20)
    assert len(data) == 3 * 8192
    words = struct.unpack("<2048I", data[:8192])
    assert words[0] == functools.reduce(operator.xor, words[1:], 0x89ABCDEF)
    assert words[1:4] == (3, 0, 0)
    assert data[667] == 7
    assert words[9] == 0, "not completed"
    assert words[16] == 0, "no generation of the log is before position 100"
    assert words[22] == header.database_flush
    assert words[29] != 0
    for index, types in ((0, {1: 1, 6: 3}), (1, {0: 2})):
        page = data[8192 * (index + 1) : 8192 * (index + 2)]
        assert struct.unpack_from("<Q", page, 8) == (77,)
        found = {
            4 * at + place: byte >> (6 - 2 * place) & 3
            for at, byte in enumerate(page[64:])
            for place in range(4)
            if byte >> (6 - 2 * place) & 3
        }
        assert found == types
    assert name_of(data[:8192]) == "not an ESE database but a flush map (.jfm)"


def test_a_map_of_a_closed_database_is_complete_and_one_in_use_is_not() -> None:
    disk, header = SimDisk(random.Random(1)), header_of()
    file = saved(disk, {3: 2}, header)
    header.state = CLEAN
    file.save(FlushMap(), header, position=100)
    assert struct.unpack_from("<I", disk.open(MAP).read(0, 8192), 36) == (1,)
    header.state = DIRTY
    file.save(FlushMap(), header, position=100)
    assert struct.unpack_from("<I", disk.open(MAP).read(0, 8192), 36) == (0,)


@pytest.mark.parametrize(
    ("header", "position"),
    [({"database_flush": 6}, 100), ({"map_flush": 9, "database_flush": 6}, 100), ({}, 101)],
    ids=["another writing", "another map", "position"],
)
def test_a_map_of_another_time_or_database_is_unknown(
    header: dict[str, int], position: int
) -> None:
    disk = SimDisk(random.Random(1))
    saved(disk, {3: 2}, header_of())
    assert known(load(disk, header_of()), 3) == [2]
    assert known(load(disk, header_of(**header), position=position), 3) == [0]


def test_whichever_of_both_headers_was_written_last_they_belong_together() -> None:
    disk, header = SimDisk(random.Random(1)), header_of()
    file, flushes = saved(disk, {3: 2}, header), filled({3: 2})
    header.written(file.signature)
    header.written(file.signature)
    assert known(load(disk, header), 3) == [2]
    for position in (101, 102):
        file.save(flushes, header, position=position)
    assert known(load(disk, header), 3) == [2]
    header.written(0)
    assert known(load(disk, header), 3) == [0]


def test_only_changed_pages_of_the_map_are_written() -> None:
    disk, header = SimDisk(random.Random(1)), header_of()
    file = FlushMapFile(disk, NAME)
    flushes = filled(dict.fromkeys(range(1, 200_000, 1000), 1))
    file.save(flushes, header, position=1)
    content = disk._files[MAP]
    before = bytes(content.now)
    flushes.put(50_000, 2)
    file.save(flushes, header, position=2)
    differs = [before[at : at + 8192] != content.now[at : at + 8192] for at in places(before, 8192)]
    assert sum(differs) == 2
    last = bytes(content.now)
    file.save(flushes, header, position=2)
    assert content.now == last


def places(content: bytes | bytearray, step: int = 4096) -> range:
    """Where the blocks of the map file begin."""
    return range(0, len(content), step)


@of_each(range(200))
def test_a_torn_saving_leaves_of_each_page_of_the_map_what_was_the_new_one_or_nothing(
    seed: int,
) -> None:
    chance, disk, header = random.Random(seed), SimDisk(random.Random(seed)), header_of()
    file, flushes = FlushMapFile(disk, NAME), FlushMap()
    numbers = [1, 2, 3, 40_000, 40_001]
    states = []
    for position in range(100, 100 + chance.randrange(2, 9)):
        for number in chance.sample(numbers, 2):
            flushes.put(number, flushes.following(number))
        states.append(known(flushes, *numbers))
        content = disk._file(MAP, create=True)._content
        kept = bytes(content.durable)
        file.save(flushes, header, position=position)
    found_bytes = bytes(content.now)
    content.since = [
        (at, found_bytes[at : at + 4096])
        for at in places(found_bytes)
        if found_bytes[at : at + 4096] != kept[at : at + 4096]
    ]
    content.durable = bytearray(kept)
    found = known(load(disk.crash(), header, position=position - 1), *numbers)
    for part in (slice(3), slice(3, None)):
        possible = [state[part] for state in states[-2:]]
        assert found[part] in [*possible, [0] * len(found[part])]


@of_each(range(100))
def test_a_damaged_map_is_never_believed(seed: int) -> None:
    chance, disk, header = random.Random(seed), SimDisk(random.Random(1)), header_of()
    saved(disk, {1: 1, 2: 2, 40_000: 3, 4: 1}, header)
    content = disk._files[MAP].now
    for _ in range(chance.choice([1, 1, 100])):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    if chance.random() < 0.3:
        del content[chance.randrange(len(content)) :]
    found = known(load(disk, header), 1, 2, 4, 40_000)
    assert found[:3] in ([1, 2, 1], [0, 0, 0])
    assert found[3] in (3, 0)


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


@pytest.mark.slow
def test_no_crash_invents_a_lost_write() -> None:
    assert sum(check_history(seed) for seed in range(120)) > 200


def test_the_same_histories_show_a_map_that_is_older_than_the_checkpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    load, save, calls = FlushMapFile.load, FlushMapFile.save, [0]

    def believe(self: FlushMapFile, header: DatabaseHeader, *, position: int) -> FlushMap:
        return load(self, header, position=0)

    def sometimes(
        self: FlushMapFile, flushes: FlushMap, header: DatabaseHeader, *, position: int
    ) -> None:
        calls[0] += 1
        if calls[0] % 3 == 0:
            save(self, flushes, header, position=position)

    monkeypatch.setattr(FlushMapFile, "load", believe)
    monkeypatch.setattr(FlushMapFile, "save", sometimes)
    with pytest.raises((AssertionError, PageError)):
        for seed in range(120):
            check_history(seed)


@pytest.mark.slow
def test_thousands_of_crashes_invent_no_lost_write() -> None:
    seeds = some(range(1000, 2500), 500)
    assert sum(check_history(seed, steps=120) for seed in seeds) > 10 / 3 * len(seeds)


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
