"""Pages that verify and whose inside was written broken: an error of the tree, nothing else."""

import random
import struct
from collections.abc import Callable
from typing import NamedTuple

import pytest

from eselab.base.plan import DAY
from eselab.logs.reports import Reports, ScanSummary
from eselab.maintenance.dbscan import TABLE, DatabaseScan, ScanState
from eselab.storage import node
from eselab.storage.btree import BTree, SizeError, TreeError
from eselab.storage.database import BAD_PAGE_LINK, DATABASE_CORRUPTED
from eselab.storage.store import Store
from tests.eselab.defragging import START, Bench, at, filled
from tests.eselab.mailing import Life, built
from tests.eselab.trees import create, planted

ROUNDS = 150


class Way(NamedTuple):
    """One way to break the inside of a page."""

    name: str
    do: Callable[[bytearray, random.Random], None]


def put(at: int) -> Callable[[bytearray, random.Random], None]:
    """Another number in a field of 16 bits."""
    return lambda page, chance: struct.pack_into("<H", page, at, chance.choice(NUMBERS))


def tear_tag(page: bytearray, chance: random.Random) -> None:
    of = chance.randrange(2 * max(1, node.count(page)))
    struct.pack_into("<H", page, len(page) - 8 - 2 * of, chance.choice(NUMBERS))


def tear_key(page: bytearray, chance: random.Random) -> None:
    """The length of a key, or what it begins with."""
    if node.count(page):
        offset = node._tag(page, chance.randrange(node.count(page)))[1]
        begin = node.header_size(len(page)) + offset + chance.choice([0, 2])
        struct.pack_into("<H", page, begin, chance.choice(NUMBERS))


def shuffle(page: bytearray, chance: random.Random) -> None:
    begin = node.header_size(len(page))
    page[begin:] = chance.randbytes(len(page) - begin)


NUMBERS = [0, 1, 2, 7, 300, 4000, 4095, 4096, 8191, 20_000, 0x7FFF, 0xFFFF]
WAYS = [
    Way("free bytes", put(28)),
    Way("first free byte", put(32)),
    Way("number of tags", put(34)),
    Way("a sibling", put(20)),
    Way("the flags", put(36)),
    Way("a tag", tear_tag),
    Way("a key", tear_key),
    Way("everything", shuffle),
]
each_way = pytest.mark.parametrize(
    "way",
    [
        *WAYS[::3],
        *(pytest.param(way, marks=pytest.mark.slow) for way in WAYS if way not in WAYS[::3]),
    ],
    ids=lambda way: way.name,
)
"""Some in each run, all in the slow ones."""


def broken(store: Store, number: int, way: Way, chance: random.Random) -> None:
    """The page gets its checksums as any other: what is wrong is what was written."""
    with store.begin() as transaction:
        way.do(transaction.page(number), chance)


def expect_whole(store: Store) -> None:
    """No page has grown or shrunk."""
    assert {len(store.read(number)) for number in range(1, store.pages + 1)} == {store.page_size}


def key(number: int) -> bytes:
    return b"%05d" % number


def grown(seed: int) -> tuple[Store, BTree]:
    _, store = create(seed=seed)
    tree = planted(store)
    for number in range(0, 3000, 2):
        with store.begin() as transaction:
            tree.insert(transaction, key(number), bytes(30))
    return store, tree


def operated(store: Store, tree: BTree, chance: random.Random) -> str:
    """The name of the error that one operation raised, "" without one."""
    wanted, transaction = key(chance.randrange(3000)), store.begin()
    kind = chance.randrange(7)
    try:
        if kind == 0:
            tree.get(wanted, transaction)
        elif kind == 1:
            tree.insert(transaction, wanted, bytes(chance.randrange(900)))
        elif kind == 2:
            tree.replace(transaction, wanted, bytes(chance.randrange(900)))
        elif kind == 3:
            tree.delete(transaction, wanted)
        elif kind == 4:
            tree.merge(transaction, wanted)
        elif kind == 5:
            assert sum(1 for _ in tree.scan(wanted, transaction=transaction)) < 100_000
        else:
            assert sum(1 for _ in tree.leaves(transaction)) < 100_000
    except (TreeError, KeyError) as error:
        transaction.abort()
        return type(error).__name__
    transaction.commit()
    return ""


@pytest.mark.slow
@each_way
def test_operations_on_a_broken_page_raise_nothing_but_errors_of_the_tree(way: Way) -> None:
    seen = set[str]()
    for seed in range(4):
        chance = random.Random(seed)
        store, tree = grown(seed)
        for _ in range(ROUNDS):
            number = chance.randrange(1, store.pages + 1)
            if chance.random() < 0.1:
                broken(store, number, way, chance)
            seen.add(operated(store, tree, chance))
        expect_whole(store)
    assert "TreeError" in seen


def test_the_error_names_the_page() -> None:
    store, tree = grown(1)
    leaf = next(tree.leaves())
    with store.begin() as transaction:
        page = transaction.page(leaf)
        struct.pack_into("<H", page, len(page) - 6, 0xFFFF)
    with pytest.raises(TreeError, match=f"page {leaf} of tree 7 makes no sense"):
        list(tree.scan())


def test_a_branch_that_leads_back_ends_the_walk() -> None:
    store, tree = grown(1)
    with store.begin() as transaction:
        page = transaction.page(tree.root)
        # The key that is compared first is met, and the one behind it is smaller.
        _, offset = node._tag(page, (node.count(page) - 1) // 2 + 1)
        begin = node.header_size(len(page)) + offset
        (length,) = struct.unpack_from("<H", page, begin)
        page[begin + 2 : begin + 2 + length] = bytes(length)
    with pytest.raises(TreeError, match="not sorted"):
        list(tree.scan())


def test_a_value_that_is_too_large_is_not_taken_for_damage() -> None:
    store, tree = grown(1)
    with store.begin() as transaction:
        with pytest.raises(SizeError):
            tree.insert(transaction, b"k", bytes(2000))
        with pytest.raises(SizeError):
            tree.insert(transaction, b"", b"")


def leaves_of(bench: Bench) -> list[int]:
    return list(bench.tree().leaves())


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS[:3] + WAYS[5:6] + WAYS[7:], ids=lambda way: way.name)
def test_defragmentation_tells_a_broken_page_and_raises_nothing(way: Way) -> None:
    told = set[object]()
    for seed in range(10):
        chance, bench = random.Random(seed), filled(600, kept=5)
        for number in chance.sample(leaves_of(bench), 3):
            broken(bench.database.store, number, way, chance)
        for _ in bench.defrag.invocation(at(START * 2)):
            pass
        told.add(bench.reports.told[-1][0])
        if bench.reports.told[-1][0] == 705:
            assert bench.reports.told[-1] == (705, BAD_PAGE_LINK)
        expect_whole(bench.database.store)
    assert told <= {701, 705}
    assert 705 in told


@pytest.mark.slow
@each_way
def test_users_give_up_what_comes_to_a_broken_page(way: Way) -> None:
    failed = 0
    for seed in range(3):
        chance, life = random.Random(seed), built(120, seed=seed)
        life.days(0.2)
        numbers = [
            number
            for name in ("Msg", "Arrivals", "Folders")
            for number in life.database.table(name).leaves()
        ]
        for number in chance.sample(numbers, 8):
            broken(life.database.store, number, way, chance)
        life.days(2)
        failed += life.mail.failed
        expect_whole(life.database.store)
    assert failed


class Told(Reports):
    """Keeps the errors of scans."""

    def __init__(self) -> None:
        self.errors: list[int] = []

    def scan_begun(self) -> None:
        pass

    def scan_completed(self, summary: ScanSummary) -> None:
        pass

    def scan_failed(self, error: int, seconds: float) -> None:
        self.errors.append(error)


@pytest.mark.parametrize("way", WAYS[:3] + WAYS[7:], ids=lambda way: way.name)
def test_a_scan_whose_state_is_on_a_broken_page_fails_and_raises_nothing(way: Way) -> None:
    errors = set[int]()
    for seed in range(8):
        chance, bench, told = random.Random(seed), filled(50), Told()
        with bench.database.store.begin() as transaction:
            bench.database.set_state(transaction, TABLE, ScanState())
        broken(bench.database.store, bench.database.table("MSysState").root, way, chance)
        scan = DatabaseScan(bench.database, told, bench.counters, bench.clock, pause=0.0)
        for _ in scan.invocation(at(START * 2)):
            pass
        errors.update(told.errors)
    assert errors
    assert errors <= {BAD_PAGE_LINK, DATABASE_CORRUPTED}


def test_operations_of_a_life_go_on_after_a_broken_page() -> None:
    life: Life = built(120)
    broken(
        life.database.store, next(life.database.table("Msg").leaves()), WAYS[7], random.Random(1)
    )
    before = life.mail.operations
    life.until(life.clock.now() + DAY)
    assert life.mail.operations > before
