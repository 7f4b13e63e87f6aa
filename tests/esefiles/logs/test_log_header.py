import gzip
from datetime import UTC, datetime

import pytest

from esefiles.logs.checkpoint import Checkpoint, parse_checkpoint
from esefiles.logs.log_header import LogHeader, NotLog, parse_log_header
from esefiles.pages.header_fields import LogPosition
from tests.support.logs import SEGMENT, Log, attachment, checkpoint, created
from tests.support.samples import sample


def parsed(data: bytes) -> LogHeader:
    header = parse_log_header(data)
    assert isinstance(header, LogHeader)
    return header


def test_a_header_says_which_log_it_is() -> None:
    header = parsed(Log(10, previous_checksum=7).data())
    assert (header.generation, header.created) == (10, created(10))
    assert header.previous_created == created(9)
    assert (header.version, header.signature.random) == ("8.4000.5.16", "0000004d")
    assert (header.file_bytes(), header.previous_checksum) == (16 * SEGMENT, 7)
    assert header.folder == "C:\\Logs\\"
    assert header.has_previous_checksum() and header.is_zero_filled() and header.is_known()


def test_the_first_log_has_none_before_it() -> None:
    assert parsed(Log(1, first=True).data()).previous_created is None


@pytest.mark.parametrize(
    ("version", "checksum", "zeros", "known"),
    [
        ((7, 3704, 15, 0), False, False, True),
        ((8, 4000, 0, 0), False, False, True),
        ((8, 4000, 2, 0), False, True, True),
        ((8, 4000, 4, 12), False, True, True),
        ((8, 4000, 4, 13), True, True, True),
        ((8, 4000, 90, 200), True, True, True),
        ((8, 4000, 130, 281), True, True, True),
        ((8, 4000, 140, 300), True, True, False),
        ((9, 4000, 0, 0), False, True, False),
    ],
)
def test_what_a_version_has(
    version: tuple[int, int, int, int], checksum: bool, zeros: bool, known: bool
) -> None:
    header = parsed(Log(3, version=version).data())
    assert header.has_previous_checksum() == checksum
    assert header.is_zero_filled() == zeros
    assert header.is_known() == known


def test_attached_databases_are_named() -> None:
    names = ["e:\\a.edb", "e:\\b\\c.edb"]
    entries = tuple(attachment(name, number=at) for at, name in enumerate(names, 1))
    found = parsed(Log(3, attached=entries).data()).attachments
    assert [attached.path for attached in found] == names
    assert found[0].attached == LogPosition(generation=1, sector=0, byte=0)


@pytest.mark.parametrize("data", [b"", b"\1", Log(3).data()[:4095]])
def test_what_is_too_short_is_no_log(data: bytes) -> None:
    assert isinstance(parse_log_header(data), NotLog)


def test_every_flipped_byte_of_a_header_is_found() -> None:
    page = bytearray(Log(3).header())
    for at in range(len(page)):
        for mask in (0xFF, 1 << at % 8):
            page[at] ^= mask
            assert isinstance(parse_log_header(bytes(page)), NotLog), at
            page[at] ^= mask


def test_one_good_copy_of_a_checkpoint_is_enough() -> None:
    data = bytearray(checkpoint(12, 3))
    for place in (0, SEGMENT):
        for at in range(place, place + SEGMENT, 7):
            data[at] ^= 0xFF
            found = parse_checkpoint(bytes(data))
            assert isinstance(found, Checkpoint)
            assert found.position == LogPosition(generation=12, sector=3, byte=0)
            assert (found.header_ok, found.shadow_header_ok) == (place > 0, place == 0)
            data[at] ^= 0xFF


def test_two_bad_copies_of_a_checkpoint_are_none() -> None:
    data = bytearray(checkpoint(12))
    data[99] ^= 1
    data[SEGMENT + 99] ^= 1
    assert parse_checkpoint(bytes(data)) == NotLog(
        "both copies of the checkpoint are damaged (checksum)", damaged=True
    )


def test_real_files_are_of_one_series() -> None:
    log = parsed(gzip.decompress(sample("recovery/b-edb.log.gz").read_bytes()))
    found = parse_checkpoint(sample("recovery/b-edb.chk").read_bytes())
    assert isinstance(found, Checkpoint)
    assert log.created == datetime(2024, 6, 26, 17, 34, 23, 234000, tzinfo=UTC)
    assert found.signature == log.signature
    assert found.position == LogPosition(generation=1, sector=158, byte=0)
    temporary = gzip.decompress(sample("recovery/b-edbtmp.log.gz").read_bytes())
    assert isinstance(parse_log_header(temporary), NotLog)
