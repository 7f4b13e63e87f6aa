"""What the engine writes into a header is what readers of such files find in it."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from esefiles.pages.header import Header, parse_header
from esefiles.pages.header_fields import LogPosition
from eselab.base.trouble import Kind, Trouble
from eselab.storage.database_header import (
    CLEAN,
    DIRTY,
    DatabaseHeader,
    HeaderError,
    Stamped,
    read_header,
)
from tests.eselab.page_sizes import SIZES

TIME = datetime(2024, 2, 29, 23, 59, 58, 999000, UTC)
START = TIME.timestamp()


def full(page_size: int, state: int = CLEAN) -> DatabaseHeader:
    """A header with another value in each field."""
    return DatabaseHeader(
        page_size=page_size, signature=0xFEDCBA98, created=START, state=state,
        dbtime=0x0102030405060708, last_object_id=9, consistent=START + 1,
        consistent_position=(0x123456 << 20) + 4096 + 4 * 4056 + 7, attach=START + 2,
        attach_position=(2 << 20) + 4096, detach=START + 3, detach_position=(3 << 20) + 1048575,
        log_required=(7, 8), log_committed=9, last_required_created=START + 9,
        corrected=Stamped(count=4, last=START + 4),
        correction_failed=Stamped(count=5, last=START + 5),
        bad_checksums=Stamped(count=6, last=START + 6), scan_finished=START + 7,
        scan_started=START + 8, scan_page=9,
    )  # fmt: skip


def parsed(data: bytes) -> Header:
    found = parse_header(data)
    assert isinstance(found, Header)
    return found


@pytest.mark.parametrize("page_size", SIZES)
def test_a_reader_of_such_files_finds_every_field(page_size: int) -> None:
    found = parsed(full(page_size).page() * 2)

    assert found.header_ok
    assert found.shadow_header_ok
    assert found.remark == ""
    assert found.page_size == page_size
    assert found.format == "0x620.20"
    assert (found.file_type, found.state) == ("database", "clean")
    assert found.signature.random == found.log_signature.random == "fedcba98"
    assert found.signature.created == found.log_signature.created == TIME
    assert (found.dbtime, found.last_object_id) == (0x0102030405060708, 9)
    assert found.consistent.position == LogPosition(generation=0x123456, sector=5, byte=47)
    assert found.attach.position == LogPosition(generation=2, sector=1, byte=40)
    assert found.detach.position == LogPosition(generation=3, sector=258, byte=2127)
    times = [found.consistent.time, found.attach.time, found.detach.time]
    counts = [found.corrected, found.correction_failed, found.bad_checksums]
    assert [count.count for count in counts] == [4, 5, 6]
    assert (found.log_required.first, found.log_required.last, found.log_committed) == (7, 8, 9)
    assert found.max_required_created == TIME + timedelta(seconds=9)
    times += [count.last for count in counts]
    times += [found.scan_finished, found.scan_started]
    assert [time.timestamp() - START for time in times if time] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found.scan_contiguous_page == found.scan_highest_page == 9


@pytest.mark.parametrize("page_size", SIZES)
@pytest.mark.parametrize("state", [CLEAN, DIRTY])
def test_what_was_written_is_read_again(page_size: int, state: int) -> None:
    header = full(page_size, state)
    bare = DatabaseHeader(page_size=page_size, signature=1, created=START, state=state)
    assert read_header(header.page() * 2) == header
    assert read_header(bare.page() * 2) == bare


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("corrected", (1, 0, 0)),
        ("correction_failed", (0, 1, 0)),
        ("checksum", (0, 0, 1)),
        ("wrong_page", (0, 0, 1)),
        ("no_data", (0, 0, 0)),
        ("lost_flush", (0, 0, 0)),
    ],
)
def test_bad_pages_are_counted_as_the_engine_does(
    kind: Kind, expected: tuple[int, int, int]
) -> None:
    header = DatabaseHeader(page_size=4096, signature=1, created=START)
    counted = header.count(Trouble(number=1, kind=kind, offset=8192, bytes=4096), START + 9)
    fields = (header.corrected, header.correction_failed, header.bad_checksums)
    assert counted == any(expected)
    assert tuple(field.count for field in fields) == expected
    assert [field.last for field in fields] == [(START + 9) * count for count in expected]


@pytest.mark.parametrize("page_size", SIZES)
def test_a_damaged_first_copy_leaves_the_shadow(page_size: int) -> None:
    old = full(page_size)
    new = msgspec.structs.replace(old, dbtime=1, consistent_position=4096 + (9 << 20))
    torn = bytearray(new.page())
    torn[600] ^= 1
    assert read_header(bytes(torn) + old.page()) == old
    assert read_header(old.page() + bytes(torn)) == old
    assert read_header(bytes(page_size) + old.page()) == old


@pytest.mark.parametrize("page_size", SIZES)
def test_two_damaged_copies_are_an_error(page_size: int) -> None:
    torn = bytearray(full(page_size).page())
    torn[600] ^= 1
    with pytest.raises(HeaderError, match="the header and its shadow are damaged"):
        read_header(bytes(torn) * 2)


def test_a_state_that_the_engine_does_not_make_is_an_error() -> None:
    with pytest.raises(HeaderError, match="converting"):
        read_header(full(4096, state=4).page() * 2)


@pytest.mark.parametrize("data", [b"", b"x" * 9000, bytes(8192)])
def test_what_is_no_database_is_an_error(data: bytes) -> None:
    with pytest.raises(HeaderError):
        read_header(data)
