"""The log gives back what was durable, in order, and nothing that it cannot vouch for."""

import random
import struct
import zlib
from collections.abc import Iterable
from itertools import pairwise

import pytest

from esefiles.pages.header import NotDatabase, parse_header
from eselab.disk.disk import Disk, SimDisk
from eselab.disk.log_file import GENERATION_BYTES, HEADER_BYTES
from eselab.storage.transaction_log.log import (
    LARGEST_RECORD,
    Log,
    LogError,
    generation_of,
    records,
)

SIGNATURE = 77
BEGIN = GENERATION_BYTES + HEADER_BYTES
END_MARK = struct.pack("<II", 0xFFFFFFFF, 0)


def new_disk() -> SimDisk:
    return SimDisk(random.Random(1))


def filled(disk: Disk, contents: Iterable[bytes]) -> tuple[Log, list[int]]:
    """A new log with these records, flushed, and the positions behind them."""
    log = Log.create(disk, signature=SIGNATURE)
    positions = [log.append(record) for record in contents]
    log.flush()
    return log, positions


def read(disk: Disk, since: int = BEGIN) -> list[bytes]:
    return [record for _, record in records(disk, since, signature=SIGNATURE)]


def overwrite(disk: Disk, generation: int, offset: int, data: bytes) -> None:
    disk.open(f"E00{generation:08X}.log").write(offset, data)


def test_records_come_back_in_order_over_several_generations() -> None:
    disk, chance = new_disk(), random.Random(2)
    contents = [chance.randbytes(chance.choice([0, 1, 300, 90_000])) for _ in range(150)]
    log, positions = filled(disk, contents)

    assert len(log.kept()) > 2
    assert list(records(disk, BEGIN, signature=SIGNATURE)) == list(
        zip(positions, contents, strict=True)
    )
    assert all(before < after for before, after in pairwise(positions))
    for at in (0, 70, 148, 149):
        assert read(disk, positions[at]) == contents[at + 1 :]


def test_what_was_not_flushed_is_not_there() -> None:
    disk = new_disk()
    log, _ = filled(disk, [b"one"])
    log.append(b"two")
    assert read(disk) == [b"one"]
    assert log.durable < log.position
    log.close()
    assert read(disk) == [b"one", b"two"]
    assert log.durable == log.position


def test_the_largest_record_has_a_generation_to_itself_and_a_larger_one_is_refused() -> None:
    disk = new_disk()
    contents = [b"a", b"b" * LARGEST_RECORD, b"c"]
    log, positions = filled(disk, contents)
    assert read(disk) == contents
    assert [generation_of(position) for position in positions] == [1, 2, 3]
    with pytest.raises(LogError, match="larger than a generation"):
        log.append(bytes(LARGEST_RECORD + 1))


def test_a_torn_tail_ends_the_log_cleanly_at_every_byte() -> None:
    whole = new_disk()
    contents = [b"first", b"", b"third" * 9]
    _, positions = filled(whole, contents)
    data = whole.open("E0000000001.log").read(0, GENERATION_BYTES)
    for length in range(HEADER_BYTES, len(data)):
        for rest in (b"", bytes(50), b"\xa5" * 50):
            disk = new_disk()
            disk.open("E0000000001.log", create=True).write(0, data[:length] + rest)
            there = sum(position <= GENERATION_BYTES + length for position in positions)
            assert read(disk) == contents[:there]


def test_a_record_of_an_earlier_life_is_never_taken() -> None:
    disk = new_disk()
    log, positions = filled(disk, [b"1111", b"2222", b"3333"])
    log.close()
    file = disk.open("E0000000001.log")
    old = file.read(0, GENERATION_BYTES)
    at = positions[0] % GENERATION_BYTES
    # The same length in the place of the second record, valid in the chain: the third one,
    # whole and in its old place, followed another one.
    chain = struct.unpack_from("<I", old, HEADER_BYTES + 4)[0]
    place = struct.pack("<QI", positions[0], 4)
    checksum = zlib.crc32(b"9999", zlib.crc32(place, chain))
    file.write(at, struct.pack("<II", 4, checksum) + b"9999")

    assert read(disk) == [b"1111", b"9999"]


def test_records_of_another_log_or_generation_are_never_taken() -> None:
    disk, other = new_disk(), new_disk()
    filled(disk, [b"mine"])
    theirs = Log.create(other, signature=SIGNATURE + 1)
    theirs.append(b"yours")
    theirs.close()
    data = other.open("E0000000001.log").read(HEADER_BYTES, 100)
    overwrite(disk, 1, HEADER_BYTES, data)
    assert read(disk) == []


def test_an_opened_log_goes_on_in_a_new_generation_behind_what_was_valid() -> None:
    disk = new_disk()
    log, positions = filled(disk, [b"one", b"two", b"lost"])
    log.close()
    again = Log.open(disk, signature=SIGNATURE, after=positions[1])
    again.append(b"three")
    again.close()
    assert again.kept() == [1, 2]
    assert read(disk) == [b"one", b"two", b"three"]


def test_a_generation_that_was_begun_is_gone_on_with_as_databases_may_name_it() -> None:
    disk = new_disk()
    log, positions = filled(disk, [b"one", b"b" * LARGEST_RECORD])
    assert log.kept() == [1, 2]
    begun = disk.open("E0000000002.log").read(0, HEADER_BYTES)
    # Of the record of the second one nothing was durable.
    overwrite(disk, 2, HEADER_BYTES + 5, b"torn")
    again = Log.open(disk, signature=SIGNATURE, after=positions[0], now=2e9)
    again.append(b"three")
    again.close()
    assert disk.open("E0000000002.log").read(0, HEADER_BYTES) == begun
    assert read(disk) == [b"one", b"three"]


def test_a_missing_or_damaged_first_generation_is_an_error() -> None:
    disk = new_disk()
    filled(disk, [b"one"])
    with pytest.raises(LogError, match="generation 0x2 of the log is missing"):
        read(disk, 2 * GENERATION_BYTES + HEADER_BYTES)
    overwrite(disk, 1, 100, b"x")
    with pytest.raises(LogError, match="the header of generation 0x1 of the log is damaged"):
        read(disk)


def test_the_log_of_another_database_is_an_error() -> None:
    disk = new_disk()
    filled(disk, [b"one"])
    with pytest.raises(LogError, match="header of generation 0x1"):
        list(records(disk, BEGIN, signature=SIGNATURE + 1))


def test_a_generation_that_was_begun_and_is_torn_ends_the_log() -> None:
    disk = new_disk()
    log, _ = filled(disk, [b"a", b"b" * LARGEST_RECORD])
    overwrite(disk, 2, 0, bytes(512))
    assert read(disk) == [b"a"]
    assert log.kept() == [1, 2]


def test_damage_before_a_whole_generation_is_an_error_and_no_end_of_the_log() -> None:
    disk = new_disk()
    filled(disk, [b"a", b"b", b"c" * LARGEST_RECORD])
    overwrite(disk, 1, HEADER_BYTES + 8, b"x")
    with pytest.raises(LogError, match="generation 0x1 of the log is damaged"):
        read(disk)


def test_a_generation_that_is_missing_before_another_one_is_an_error() -> None:
    disk = new_disk()
    filled(disk, [b"a", b"b" * LARGEST_RECORD, b"c"])
    disk.remove("E0000000002.log")
    with pytest.raises(LogError, match="generation 0x2 of the log is damaged or missing"):
        read(disk)


def test_a_log_that_ends_before_the_place_to_begin_is_an_error() -> None:
    disk = new_disk()
    _, positions = filled(disk, [b"one", b"two", b"three"])
    overwrite(disk, 1, HEADER_BYTES + 8, b"x")
    with pytest.raises(LogError, match="generation 0x1 of the log is damaged"):
        read(disk, positions[1])


def test_generations_that_no_recovery_needs_are_dropped() -> None:
    disk = new_disk()
    log, positions = filled(disk, [b"a" * LARGEST_RECORD, b"b" * LARGEST_RECORD, b"c", b"d"])
    log.drop_before(positions[1])
    assert log.kept() == [2, 3]
    log.drop_before(positions[3])
    assert log.kept() == [3]
    assert read(disk, positions[2]) == [b"d"]


@pytest.mark.parametrize(
    "name", ["E00notahexx.log", "E000x000009.log", "E000000000a.log", "E00.log", "E01000000FF.log"]
)
def test_files_of_others_in_the_folder_are_no_generations_and_stay(name: str) -> None:
    disk = new_disk()
    disk.open(name, create=True)
    log, positions = filled(disk, [b"one"])
    assert log.kept() == [1]
    log.drop_before(positions[0] + 9 * GENERATION_BYTES)
    assert disk.names() == [name]


def test_a_log_is_named_when_it_is_taken_for_a_database() -> None:
    disk = new_disk()
    filled(disk, [b"one"])
    found = parse_header(disk.open("E0000000001.log").read(0, GENERATION_BYTES))
    assert isinstance(found, NotDatabase)
    assert found.reason == "not an ESE database but a transaction log"


def test_every_end_of_a_generation_holds_a_record_or_goes_on_in_the_next() -> None:
    for short in range(20):
        disk = new_disk()
        contents = [b"a" * (LARGEST_RECORD - 30 - short), b"b" * 14, b"c"]
        log, _ = filled(disk, contents)
        assert read(disk) == contents
        assert disk.open("E0000000001.log").size() <= GENERATION_BYTES
        file = disk.open("E0000000001.log")
        if len(log.kept()) > 1:
            assert file.read(file.size() - 8, 8) == END_MARK


def test_a_new_log_has_nothing_of_an_older_one_of_the_same_signature() -> None:
    disk = new_disk()
    filled(disk, [b"a" * LARGEST_RECORD, b"old"])
    filled(disk, [b"b" * LARGEST_RECORD])
    assert read(disk) == [b"b" * LARGEST_RECORD]
