"""A transaction in the log is the transaction that was made."""

import random
import struct

import pytest

from eselab.storage.transaction_log.change import Change, PageChange, decode, difference, encode
from tests.eselab.page_sizes import SIZES


def changed(page: bytes, chance: random.Random) -> bytes:
    """Some bytes here and there, and another dbtime."""
    after = bytearray(page)
    for _ in range(chance.randrange(1, 30)):
        after[chance.randrange(len(after))] = chance.randrange(256)
    struct.pack_into("<Q", after, 8, chance.randrange(1, 1 << 63))
    return bytes(after)


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("whole", [True, False])
def test_a_difference_makes_the_new_page_of_the_old_one(page_size: int, whole: bool) -> None:
    chance = random.Random(page_size)
    for _ in range(20):
        old = chance.randbytes(page_size)
        new = changed(old, chance)
        change = difference(7, old, new, whole=whole)
        assert change.applied_to(old) == new
        assert (change.image is None) is not whole
        assert (change.number, change.before) == (7, struct.unpack_from("<Q", old, 8)[0])


@pytest.mark.parametrize("page_size", SIZES)
def test_the_pieces_are_those_that_a_comparison_one_by_one_finds(page_size: int) -> None:
    chance = random.Random(page_size)
    for _ in range(60):
        old = chance.choice([bytes(page_size), chance.randbytes(page_size)])
        new = bytearray(old)
        for _ in range(chance.choice([0, 1, 5, 400])):
            begin = chance.randrange(page_size)
            length = min(chance.choice([1, 64, 1024, 5000]), page_size - begin)
            new[begin : begin + length] = chance.randbytes(length)
        one_by_one = tuple(
            (at // 64, bytes(new[at : at + 64]))
            for at in range(0, page_size, 64)
            if old[at : at + 64] != new[at : at + 64]
        )
        assert difference(1, old, bytes(new), whole=False).pieces == one_by_one


def test_only_the_pieces_that_differ_are_kept() -> None:
    old = bytes(4096)
    new = bytearray(old)
    new[64] = new[4095] = 1
    change = difference(1, old, bytes(new), whole=False)
    assert [index for index, _ in change.pieces] == [1, 63]


@pytest.mark.parametrize("page_size", SIZES)
def test_a_record_is_read_as_the_transaction_it_was_made_of(page_size: int) -> None:
    chance = random.Random(page_size)
    changes = []
    for number in range(1, 9):
        old = chance.randbytes(page_size)
        every_piece = bytes(255 - byte for byte in old)
        new = every_piece if number == 5 else changed(old, chance)
        changes.append(difference(number, old, new, whole=number % 3 == 0))
    for change in (Change(11, 90, tuple(changes)), Change(12, 4, ())):
        assert decode(encode(change), page_size) == change


def test_a_record_that_was_cut_or_is_too_long_is_an_error() -> None:
    image, pieces = bytes(4096), ((3, bytes(64)), (9, b"x" * 64))
    change = Change(1, 2, (PageChange(1, 0, image), PageChange(2, 0, None, pieces)))
    record = encode(change)
    for length in [*range(40), *range(4000, len(record))]:
        with pytest.raises(struct.error):
            decode(record[:length], 4096)
    with pytest.raises(struct.error):
        decode(record + b"x", 4096)
