"""What a log says when it is whole, and that no byte of it changes without being noticed."""

import gzip
from collections.abc import Iterable, Sequence

import pytest

from esefiles.logs.log_header import LogHeader, parse_log_header
from esefiles.logs.segments import SegmentCheck, Segments
from tests.support.logs import SEGMENT, SEGMENTS, Log
from tests.support.samples import sample

USED = SEGMENTS - 4
"""The shadow stands at USED + 1, then an empty segment, then the last one of the file."""


def checked(data: bytes, *, piece: int = 5) -> Segments:
    """The whole file, in pieces of so many segments."""
    header = parse_log_header(data)
    assert isinstance(header, LogHeader)
    check = SegmentCheck(header)
    rest = memoryview(data)[SEGMENT:]
    for at in range(0, len(rest), piece * SEGMENT):
        check.add(rest[at : at + piece * SEGMENT])
    return check.result()


def joined(log: Log, segments: Sequence[bytes]) -> bytes:
    """A file of the header of `log` and these segments, filled with zeros."""
    return (log.header() + b"".join(segments)).ljust(SEGMENTS * SEGMENT, b"\0")


@pytest.mark.parametrize("piece", [1, 2, 5, 100])
def test_a_whole_log_ends_at_its_last_segment(piece: int) -> None:
    log = Log(7, used=USED)
    found = checked(log.data(), piece=piece)
    assert found == Segments(last=USED, checksum=log.checksum())


@pytest.mark.parametrize("used", [0, 1, SEGMENTS - 2])
def test_a_log_may_be_empty_or_full(used: int) -> None:
    log = Log(7, used=used)
    assert checked(log.data()) == Segments(last=used, checksum=log.checksum())


def test_what_an_older_log_left_in_the_file_is_no_damage() -> None:
    old = Log(3, used=SEGMENTS - 2)
    log = Log(7, used=5)
    left = [old.segment(number) for number in range(7, SEGMENTS - 1)]
    data = joined(log, [*log.body(), log.segment(5), *left])
    assert checked(data) == Segments(last=5, checksum=log.checksum())


def test_a_torn_last_write_is_mended_by_its_shadow() -> None:
    log = Log(7, used=USED)
    data = bytearray(log.data())
    data[USED * SEGMENT + 600 : (USED + 1) * SEGMENT] = bytes(SEGMENT - 600)
    assert checked(bytes(data)) == Segments(last=USED, torn=USED, checksum=log.checksum())


def test_a_damaged_segment_that_has_the_checksum_of_a_shadow_is_none() -> None:
    """A byte changed whole looks like a page number changed by 255: 128 becomes 127."""
    log = Log(7, used=128, segments=140)
    data = bytearray(log.data())
    data[128 * SEGMENT + 600] ^= 0xFF
    found = checked(bytes(data), piece=64)
    assert (found.torn, found.last) == (128, 128)
    data[129 * SEGMENT + 600] ^= 0xFF
    assert checked(bytes(data), piece=64).bad == 128


def test_one_flipped_bit_is_corrected_and_told() -> None:
    log = Log(7, used=USED)
    data = bytearray(log.data())
    data[4 * SEGMENT + 100] ^= 4
    assert checked(bytes(data)) == Segments(last=USED, corrected=(4,), checksum=log.checksum())


@pytest.mark.parametrize(
    ("segments", "bad"),
    [
        ([1, 2, 4], 3),
        ([1, 3, 4], 2),
        ([1, 2, None, 4], 4),
        ([1, 2, 2, None, 5], 5),
    ],
)
def test_a_lost_write_in_the_middle_is_damage(segments: list[int | None], bad: int) -> None:
    log = Log(7, used=USED)
    data = joined(log, [log.segment(at) if at else bytes(SEGMENT) for at in segments])
    assert checked(data).bad == bad


def test_a_segment_of_a_later_log_is_damage() -> None:
    log = Log(7, used=3)
    data = joined(log, [*log.body(), Log(8).segment(4)])
    assert checked(data).bad == 4


def test_before_version_8_2_zeros_are_no_empty_segment() -> None:
    log = Log(7, used=3, version=(8, 4000, 1, 0))
    assert checked(log.data()).bad == 5


def test_a_file_that_ends_in_a_damaged_segment_is_damaged() -> None:
    log = Log(7, used=3)
    data = bytearray(log.data()[: 3 * SEGMENT])
    data[2 * SEGMENT + 99] ^= 0xFF
    assert checked(bytes(data)).bad == 2


def expected(at: int, log: Log, mask: int) -> Segments | None:
    """What changing byte `at` must lead to; None: `bad` is that segment."""
    segment = at // SEGMENT
    good = Segments(last=log.used, checksum=log.checksum())
    if segment == SEGMENTS - 1:
        return good  # for a shadow only, and never read
    single = mask.bit_count() == 1
    correctable = single and at % SEGMENT >= 8 and (at % SEGMENT, mask) != (37, 0x20)
    if segment == log.used + 1:
        # The shadow: with this bit its checksum is that of its place, and its position is older.
        renumbered = (at % SEGMENT, mask) == (0, log.used ^ segment)
        return good if correctable or renumbered else None
    if segment > log.used:
        return None
    if correctable:
        return Segments(last=log.used, corrected=(segment,), checksum=log.checksum())
    if segment == log.used:
        return Segments(last=log.used, torn=segment, checksum=log.checksum())
    return None


def assert_found(places: Iterable[int], data: bytes, log: Log) -> None:
    changed = bytearray(data)
    for at in places:
        for mask in (0xFF, 1 << at % 8):
            changed[at] ^= mask
            found = checked(bytes(changed), piece=100)
            wanted = expected(at, log, mask)
            if wanted is None:
                assert found.bad == at // SEGMENT, (at, mask)
            else:
                assert found == wanted, (at, mask)
            changed[at] ^= mask


def test_flipped_bytes_are_found_or_lie_outside() -> None:
    log = Log(7, used=USED)
    edges = [segment * SEGMENT + at for segment in range(1, SEGMENTS) for at in (0, 7, 8, 15, 37)]
    assert_found([*edges, *range(SEGMENT, SEGMENTS * SEGMENT, 251)], log.data(), log)


@pytest.mark.slow
def test_every_flipped_byte_is_found_or_lies_outside() -> None:
    log = Log(7, used=USED)
    assert_found(range(SEGMENT, SEGMENTS * SEGMENT), log.data(), log)


def test_the_real_log_is_whole() -> None:
    found = checked(gzip.decompress(sample("recovery/b-edb.log.gz").read_bytes()), piece=64)
    assert (found.last, found.bad, found.torn, found.corrected) == (157, None, None, ())


def assert_noticed(places: Iterable[int], data: bytes) -> None:
    good = checked(data, piece=64)
    changed = bytearray(data)
    for at in places:
        changed[at] ^= 0xFF
        found = checked(bytes(changed), piece=64)
        outside = at >= len(data) - SEGMENT
        assert (found == good) == outside, at
        if not outside:
            assert found.bad == at // SEGMENT or found.torn == at // SEGMENT == 157, at
        changed[at] ^= 0xFF


def test_flipped_bytes_of_the_real_log_are_found_or_lie_outside() -> None:
    data = gzip.decompress(sample("recovery/b-edb.log.gz").read_bytes())
    assert_noticed(range(SEGMENT, len(data), 4093), data)


@pytest.mark.slow
def test_every_flipped_byte_of_some_segments_of_the_real_log_is_found_or_lies_outside() -> None:
    data = gzip.decompress(sample("recovery/b-edb.log.gz").read_bytes())
    for segment in (1, 80, 157, 158, 159, 254, 255):
        assert_noticed(range(segment * SEGMENT, (segment + 1) * SEGMENT), data)
