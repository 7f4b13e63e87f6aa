"""A transaction in the log is the transaction that was made."""

import random
import struct

import pytest

from esewatch.engine.change import Change, PageChange, decode, difference, encode

SIZES = [4096, 8192, 16384, 32768]


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
