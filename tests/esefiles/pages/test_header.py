import gzip
import random
import struct
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from esefiles.pages.header import HEADER_BYTES, Header, NotDatabase, parse_header
from esefiles.pages.header_fields import (
    BackupRecord,
    HeaderCounter,
    HeaderTime,
    LogPosition,
    LogRange,
    Signature,
)
from esefiles.pages.layout import PAGE_SIZES
from tests.support.edb import (
    CREATED,
    Value,
    header_page,
    log_position,
    page,
    sealed_header,
)
from tests.support.samples import sample

ATTACHED = datetime(2018, 2, 3, 14, 41, 37, 597000, tzinfo=UTC)


def beginning(page_size: int, **fields: Value) -> bytearray:
    """The first bytes of a database: header, shadow and pages."""
    head = header_page(page_size, **fields)
    pages = (page(page_size, number) for number in range(1, HEADER_BYTES // page_size - 1))
    return bytearray(head + head + b"".join(pages))


def parsed(data: bytes | bytearray) -> Header:
    found = parse_header(bytes(data))
    assert isinstance(found, Header), found
    return found


def refused(data: bytes | bytearray) -> str:
    found = parse_header(bytes(data))
    assert isinstance(found, NotDatabase), found
    return found.reason


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_the_page_size_is_found_by_the_checksum(page_size: int) -> None:
    found = parsed(beginning(page_size))
    assert found.page_size == page_size
    assert (found.header_ok, found.shadow_header_ok, found.remark) == (True, True, "")


def test_no_page_size_in_the_header_is_4096() -> None:
    assert parsed(beginning(4096, page_size_field=0)).page_size == 4096


def test_the_identity_of_a_database() -> None:
    found = parsed(
        beginning(
            32768,
            signature_computer="EX01",
            dbtime=13_607_731,
            minor_update=240,
            update=110,
            os_service_pack=1,
        )
    )
    assert (found.format, found.version, found.update) == ("0x620.110", 0x620, 110)
    assert found.minor_update == 240
    assert found.signature == Signature(random="1a6c23df", created=CREATED, computer="EX01")
    assert found.log_signature == Signature(random="0000004d", created=CREATED)
    assert (found.dbtime, found.database_id, found.last_object_id) == (13_607_731, 1, 9128)
    assert found.os_version == "6.3.9600 SP 1"
    assert found.file_type == "database"
    assert found.created_format == ""


def test_a_computer_name_of_16_bytes_and_of_any_bytes_is_read() -> None:
    full = parsed(beginning(4096, signature_computer=b"A" * 15 + b"\xe9"))
    assert full.signature.computer == "A" * 15 + "é"


@pytest.mark.parametrize(
    ("number", "state"),
    [
        (1, "just_created"),
        (2, "dirty"),
        (3, "clean"),
        (4, "converting"),
        (5, "force_detach"),
        (6, "reseeding"),
        (7, "dirty_patched"),
        (8, "reverting"),
        (0, "unknown (0)"),
        (9, "unknown (9)"),
        (0xFFFFFFFF, "unknown (4294967295)"),
    ],
)
def test_the_state_in_words(number: int, state: str) -> None:
    assert parsed(beginning(8192, state=number)).state == state


def test_when_it_was_attached_detached_and_consistent() -> None:
    found = parsed(
        beginning(
            8192,
            consistent_time=CREATED,
            consistent_position=log_position(0x3C30, 0x9B, 0x878),
            attach_time=ATTACHED,
            attach_position=log_position(0x3C31, 2, 0x268),
            reattach_time=ATTACHED,
            reattach_position=log_position(0x280AF, 2, 0x268),
            required_first=163_916,
            required_last=164_017,
            committed_last=164_018,
            recovering_log=164_017,
        )
    )
    assert found.consistent == HeaderTime(
        time=CREATED, position=LogPosition(generation=0x3C30, sector=0x9B, byte=0x878)
    )
    assert str(found.attach.position) == "0x3C31,2,268"
    assert found.attach.time == ATTACHED
    assert str(found.reattach.position) == "0x280AF,2,268"
    assert found.detach == HeaderTime()
    assert found.log_required == LogRange(first=163_916, last=164_017)
    assert (found.log_committed, found.log_recovering) == (164_018, 164_017)


def test_the_counters_of_faults_with_their_times_and_old_counts() -> None:
    found = parsed(
        beginning(
            4096,
            corrected=2,
            corrected_time=CREATED,
            corrected_old=7,
            correction_failed=3,
            correction_failed_time=ATTACHED,
            correction_failed_old=8,
            bad_checksums=4,
            bad_checksums_time=CREATED,
            bad_checksums_old=9,
            repair_count=5,
            repair_time=ATTACHED,
            old_repair_count=6,
        )
    )
    assert found.corrected == HeaderCounter(count=2, last=CREATED, before_repair=7)
    assert found.correction_failed == HeaderCounter(count=3, last=ATTACHED, before_repair=8)
    assert found.bad_checksums == HeaderCounter(count=4, last=CREATED, before_repair=9)
    assert found.repairs == HeaderCounter(count=5, last=ATTACHED, before_repair=6)


def test_scan_zeroing_and_backups() -> None:
    found = parsed(
        beginning(
            32768,
            scan_finished=CREATED,
            scan_started=ATTACHED,
            scan_contiguous_page=1_000_000,
            scan_highest_page=1_000_007,
            scrub_time=CREATED,
            scrub_dbtime=2**40,
            full_backup_time=CREATED,
            full_backup_position=log_position(5, 6, 7),
            full_backup_first=3,
            full_backup_last=9,
            copy_backup_time=ATTACHED,
        )
    )
    assert (found.scan_finished, found.scan_started) == (CREATED, ATTACHED)
    assert (found.scan_contiguous_page, found.scan_highest_page) == (1_000_000, 1_000_007)
    assert (found.scrub_time, found.scrub_dbtime) == (CREATED, 2**40)
    assert found.full_backup == BackupRecord(
        kind="streaming",
        time=CREATED,
        position=LogPosition(generation=5, sector=6, byte=7),
        logs=LogRange(first=3, last=9),
    )
    assert found.copy_backup is not None
    assert found.copy_backup.time == ATTACHED
    assert found.incremental_backup is None
    assert found.differential_backup is None


def test_the_kind_of_a_backup_stands_apart_from_it() -> None:
    kinds = []
    for number in (0, 1, 2, 3):
        content = bytearray(header_page(4096, full_backup_first=1))
        struct.pack_into("<I", content, 356, number)
        head = sealed_header(bytes(content))
        backup = parsed(head + head).full_backup
        assert backup is not None
        kinds.append(backup.kind)
    assert kinds == ["streaming", "shadow_copy", "snapshot", "unknown"]


def test_a_damaged_time_is_not_set_and_the_rest_is_read() -> None:
    found = parsed(beginning(4096, attach_time=b"\xff" * 8, bad_checksums=1))
    assert found.attach.time is None
    assert found.bad_checksums.count == 1


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_any_flipped_bit_of_the_header_makes_the_shadow_be_used(page_size: int) -> None:
    rng = random.Random(page_size)
    for bit in [0, 8 * 236, 8 * 4, *(rng.randrange(page_size * 8) for _ in range(20))]:
        data = beginning(page_size, state=2)
        data[bit // 8] ^= 1 << bit % 8
        found = parsed(data)
        assert (found.header_ok, found.shadow_header_ok) == (False, True)
        assert (found.page_size, found.state) == (page_size, "dirty")
        assert found.remark == "the header is damaged; its shadow was used"


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_any_flipped_bit_of_the_shadow_is_told(page_size: int) -> None:
    rng = random.Random(page_size)
    for bit in (rng.randrange(page_size * 8) for _ in range(20)):
        data = beginning(page_size)
        data[page_size + bit // 8] ^= 1 << bit % 8
        found = parsed(data)
        assert (found.header_ok, found.shadow_header_ok) == (True, False)
        assert found.page_size == page_size
        assert found.remark == "the shadow header is damaged; the header was used"


def test_copies_that_differ_are_both_whole_and_the_header_is_used() -> None:
    data = header_page(4096, state=2, dbtime=6) + header_page(4096, state=2, dbtime=5)
    found = parsed(data)
    assert (found.header_ok, found.shadow_header_ok) == (True, True)
    assert found.dbtime == 6
    assert found.remark == "the header and its shadow differ; the header was used"


def test_the_shadow_of_another_database_is_no_shadow() -> None:
    found = parsed(header_page(4096) + header_page(4096, signature_random=5))
    assert (found.header_ok, found.shadow_header_ok) == (True, False)
    assert "another database" in found.remark


def test_a_file_that_ends_within_the_shadow_has_none() -> None:
    found = parsed(beginning(8192)[: 2 * 8192 - 1])
    assert (found.header_ok, found.shadow_header_ok) == (True, False)
    assert found.remark == "the file ends before the end of its shadow header"


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("left", [240, 679, 680, 1500, -1])
def test_a_file_that_ends_within_the_header_was_a_database(page_size: int, left: int) -> None:
    data = beginning(page_size, state=2, bad_checksums=3)[:page_size][:left]
    found = parsed(data)
    assert (found.page_size, found.header_ok, found.shadow_header_ok) == (page_size, False, False)
    assert found.remark == f"the file ends after {len(data):,} bytes, within its header"
    assert found.is_blank() == (len(data) < 680)
    expected = ("unknown", 0) if found.is_blank() else ("dirty", 3)
    assert (found.state, found.bad_checksums.count) == expected


def test_a_cut_file_without_a_page_size_that_can_be_is_no_database() -> None:
    assert refused(beginning(8192)[:239]) == "not an ESE database"
    assert refused(beginning(8192, page_size_field=8191)[:5000]) == "not an ESE database"
    assert refused(beginning(8192, magic=0x89ABCDEE)[:5000]) == "not an ESE database"
    assert refused(beginning(8192, file_type=2)[:5000]).startswith("not an ESE database")


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_two_damaged_copies_still_give_the_page_size(page_size: int) -> None:
    data = beginning(page_size, state=2)
    data[20] ^= 1
    data[page_size + 30] ^= 1
    found = parsed(data)
    assert (found.header_ok, found.shadow_header_ok) == (False, False)
    assert (found.page_size, found.state) == (page_size, "dirty")
    assert found.remark.endswith(f"a page size of {page_size} is assumed")


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_lost_header_and_a_damaged_shadow_still_give_the_page_size(page_size: int) -> None:
    data = beginning(page_size)
    data[:page_size] = bytes(page_size)
    data[page_size + 600] ^= 1
    found = parsed(data)
    assert (found.header_ok, found.shadow_header_ok) == (False, False)
    assert found.page_size == page_size


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_damaged_page_size_is_taken_from_where_the_shadow_is(page_size: int) -> None:
    data = beginning(page_size)
    struct.pack_into("<I", data, 236, 12345)
    data[page_size + 600] ^= 1
    assert parsed(data).page_size == page_size


def test_two_lost_copies_are_no_database() -> None:
    data = beginning(4096)
    data[: 2 * 4096] = bytes(2 * 4096)
    assert refused(data) == "not an ESE database"


def test_a_database_of_an_engine_without_file_types_is_one() -> None:
    assert parsed(beginning(4096, file_type=0)).file_type == "unknown"


@pytest.mark.parametrize(
    ("file_type", "name"), [(2, "streaming file (.stm)"), (5, "temporary database")]
)
def test_other_files_with_a_database_header_are_named(file_type: int, name: str) -> None:
    assert refused(beginning(4096, file_type=file_type)) == f"not an ESE database but a {name}"


def test_a_header_survives_json() -> None:
    found = parsed(beginning(8192, attach_time=ATTACHED, full_backup_time=CREATED))
    assert msgspec.json.decode(msgspec.json.encode(found), type=Header) == found


@given(st.binary(max_size=9000), st.sampled_from(["raw", "header", "both"]))
def test_no_bytes_raise(noise: bytes, where: str) -> None:
    data = beginning(2048)
    if where == "raw":
        data = bytearray(noise)
    else:
        data[8 : 8 + len(noise)] = noise
        if where == "both":
            data[:2048] = sealed_header(bytes(data[:2048]))
    found = parse_header(bytes(data))
    if isinstance(found, Header):
        assert found.page_size in PAGE_SIZES
        msgspec.json.encode(found)
    else:
        assert found.reason


SAMPLES = {
    "chainsaw-SRUDB.dat": (4096, "0x620.110", "clean", "10.0.19044"),
    "dissect-SRUDB-16-bad-pages.dat": (4096, "0x620.20", "clean", "10.0.17763"),
    "dissect-large-32k.edb": (32768, "0x620.20", "clean", "6.2.9200"),
    "goese-ual-hyperv-Current-dirty.mdb": (4096, "0x620.20", "dirty", "10.0.17763"),
    "plaso-Catalog1.edb": (4096, "0x620.20", "clean", "6.3.9600"),
    "strozfriedberg-decompress_test-8k.edb": (8192, "0x620.20", "clean", "6.2.9200"),
    "velociraptor-SystemIdentity-rev0xb4.mdb": (4096, "0x620.180", "clean", "10.0.20348"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_real_databases_read_as_independent_readers_do(name: str) -> None:
    with gzip.open(sample(f"db/{name}.gz")) as file:
        found = parsed(file.read(HEADER_BYTES))
    assert (found.page_size, found.format, found.state, found.os_version) == SAMPLES[name]
    assert (found.header_ok, found.shadow_header_ok, found.remark) == (True, True, "")
    assert found.signature.created is not None
    assert found.signature.created.tzinfo is UTC
    assert (found.bad_checksums, found.corrected) == (HeaderCounter(), HeaderCounter())
