"""A page of nodes against a plain sorted list."""

import random
import struct

import pytest

from eselab.storage import node
from tests.eselab.page_sizes import SIZES
from tests.support.each import of_each

Model = list[tuple[bytes, bytes]]


def empty(page_size: int, flags: int = node.LEAF) -> bytearray:
    page = bytearray(page_size)
    node.init(page, 7, flags)
    return page


def content(page: bytearray) -> Model:
    return [(node.key(page, at), node.value(page, at)) for at in range(node.count(page))]


def verify(page: bytearray) -> None:
    """Nodes lie in the data area, do not overlap, and the header's figures are theirs."""
    free, _, first_free, tags = struct.unpack_from("<4H", page, 28)
    base = 40 if len(page) <= 8192 else 80
    places = sorted(
        struct.unpack_from("<HH", page, len(page) - 4 * (at + 1))[::-1] for at in range(1, tags)
    )
    end = 0
    for offset, length in places:
        assert offset >= end
        end = offset + length
    assert end <= first_free <= len(page) - base - 4 * tags
    assert free == len(page) - base - 4 * tags - sum(length for _, length in places)


def change(page: bytearray, model: Model, chance: random.Random) -> None:
    """One random operation on both; without room both stay as they are."""
    key, value = chance.randbytes(chance.randrange(1, 6)), chance.randbytes(chance.randrange(400))
    at, found = node.find(page, key)
    kind = chance.random()
    if kind < 0.6 and not found:
        if node.fits(page, key, value):
            node.insert(page, at, key, value)
            model.insert(at, (key, value))
        else:
            with pytest.raises(ValueError, match="no room"):
                node.insert(page, at, key, value)
    elif model and kind < 0.8:
        at = chance.randrange(len(model))
        node.remove(page, at)
        del model[at]
    elif model:
        at = chance.randrange(len(model))
        if node.fits_instead(page, at, value):
            node.replace(page, at, value)
            model[at] = (model[at][0], value)
        else:
            with pytest.raises(ValueError, match="no room"):
                node.replace(page, at, value)


@pytest.mark.slow
@pytest.mark.parametrize("page_size", SIZES)
@of_each(range(5))
def test_random_operations_are_those_of_a_sorted_list(seed: int, page_size: int) -> None:
    chance, page, model = random.Random(seed), empty(page_size), Model()
    for _ in range(page_size // 20):
        change(page, model, chance)
        verify(page)
        assert len(page) == page_size
    assert content(page) == model == sorted(model)
    assert len(model) > 5


@pytest.mark.parametrize("page_size", SIZES)
def test_the_header_has_its_fields_where_the_engine_has_them(page_size: int) -> None:
    page = bytearray(b"\xff" * page_size)
    node.init(page, 7, node.ROOT | node.LEAF)
    base = 40 if page_size <= 8192 else 80
    fields = (0, 0, 7, page_size - base - 4, 0, 0, 1, 0x803)
    assert struct.unpack_from("<IIIHHHHI", page, 16) == fields
    assert page[-4:] == bytes(4)
    node.set_previous(page, 5)
    node.set_following(page, 6)
    node.insert(page, 0, b"key", b"value")
    fields = (5, 6, 7, page_size - base - 8 - 10, 0, 10, 2, 0x803)
    assert struct.unpack_from("<IIIHHHHI", page, 16) == fields
    assert page[base : base + 10] == b"\x03\0keyvalue"
    assert page[-8:-4] == b"\x0a\0\0\0"
    assert (node.previous(page), node.following(page)) == (5, 6)
    assert (node.object_id(page), node.flags(page)) == (7, 0x803)


def test_find_tells_where_a_missing_key_belongs() -> None:
    page = empty(4096)
    assert node.find(page, b"b") == (0, False)
    for at, key in enumerate([b"b", b"bb", b"d"]):
        node.insert(page, at, key, b"")
    assert node.find(page, b"a") == (0, False)
    assert node.find(page, b"b") == (0, True)
    assert node.find(page, b"ba") == (1, False)
    assert node.find(page, b"d") == (2, True)
    assert node.find(page, b"e") == (3, False)


def test_scattered_free_space_is_put_together_when_it_is_needed() -> None:
    page = empty(4096)
    for at in range(8):
        node.insert(page, at, bytes([at]), bytes([at]) * 490)
    for at in (6, 4, 2, 0):
        node.remove(page, at)
    assert node.free_bytes(page) > 1900
    node.insert(page, 4, b"z", b"z" * 1500)
    verify(page)
    expected = [(bytes([at]), bytes([at]) * 490) for at in (1, 3, 5, 7)]
    assert content(page) == [*expected, (b"z", b"z" * 1500)]


def test_the_end_of_the_data_moves_back_with_its_last_node() -> None:
    page = empty(4096)
    node.insert(page, 0, b"a", bytes(10))
    node.insert(page, 1, b"b", bytes(20))
    assert struct.unpack_from("<H", page, 32) == (13 + 23,)
    node.replace(page, 1, bytes(5))
    assert struct.unpack_from("<H", page, 32) == (13 + 8,)
    node.remove(page, 1)
    assert struct.unpack_from("<H", page, 32) == (13,)


def test_a_page_is_filled_to_its_last_byte() -> None:
    page = empty(4096)
    node.insert(page, 0, b"k", bytes(4096 - 40 - 4 - 4 - 3))
    assert node.free_bytes(page) == 0
    verify(page)
    node.replace(page, 0, b"")
    verify(page)
    assert content(page) == [(b"k", b"")]


def test_the_number_of_tags_stays_within_its_twelve_bits() -> None:
    page = empty(32768)
    while node.fits(page, b"k", b""):
        node.insert(page, node.count(page), b"k", b"")
    assert node.count(page) == 4094
    assert node.free_bytes(page) > 1000
    with pytest.raises(ValueError, match="no room"):
        node.insert(page, 0, b"k", b"")


@pytest.mark.parametrize("at", [0, 1, 3, 9, 10])
def test_a_split_moves_the_nodes_from_a_place_on(at: int) -> None:
    left, right = empty(4096), empty(4096)
    model = [(bytes([number]), bytes(number)) for number in range(10)]
    for number, (key, value) in enumerate(model):
        node.insert(left, number, key, value)
    node.split(left, right, at)
    verify(left)
    verify(right)
    assert content(left) == model[:at]
    assert content(right) == model[at:]


def test_the_same_operations_give_the_same_bytes() -> None:
    pages = []
    for _ in range(2):
        chance, page = random.Random(5), empty(8192)
        model = Model()
        for _ in range(300):
            change(page, model, chance)
        pages.append(page)
    assert pages[0] == pages[1]


@pytest.mark.parametrize("page_size", SIZES)
@of_each(range(5))
def test_appending_is_inserting_one_by_one_at_the_end(seed: int, page_size: int) -> None:
    chance = random.Random(seed)
    page, source = empty(page_size), empty(page_size)
    for target in (page, source):
        model: Model = []
        for _ in range(40):
            change(target, model, chance)
        while node.free_bytes(target) < page_size * 0.6:
            node.remove(target, chance.randrange(node.count(target)))
    first = chance.randrange(node.count(source) + 1)
    before, expected = bytes(source), content(page) + content(source)[first:]
    node.append(page, source, first)
    assert content(page) == expected
    assert source == before
    verify(page)


def test_what_does_not_fit_is_not_appended() -> None:
    page, source = empty(4096), empty(4096)
    for target in (page, source):
        for number in range(10):
            node.insert(target, number, bytes([number + 1]), bytes(200))
    before = bytes(page)
    with pytest.raises(ValueError, match="no room for 2070 bytes"):
        node.append(page, source, 0)
    assert page == before
    node.append(page, source, 2)
    assert node.count(page) == 18
    node.append(page, source, 10)
    assert node.count(page) == 18
