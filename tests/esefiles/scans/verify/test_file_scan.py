import errno
import gzip
import os
import random
import threading
import time
from pathlib import Path

import pytest

from esefiles.pages.layout import PAGE_SIZES
from esefiles.scans.pace import Pace
from esefiles.scans.reading.direct import ALIGNMENT
from esefiles.scans.results import MAX_LISTED, Place
from esefiles.scans.verify.file_scan import ScanOptions, scan_file
from tests.esefiles.scans.faulty import Disk, disk_below
from tests.esefiles.scans.scanning import scan
from tests.esefiles.scans.test_pace import Clock
from tests.support import ese_database
from tests.support.edb import Value, header_page, page, seal, write_edb
from tests.support.samples import sample

SAMPLES = {
    "chainsaw-SRUDB.dat": (446, 121, 0),
    "dissect-SRUDB-16-bad-pages.dat": (158, 63, 16),
    "dissect-basic-4k.edb": (254, 231, 0),
    "dissect-large-32k.edb": (766, 385, 0),
    "dissect-multi-4k.edb": (254, 220, 0),
    "dissect-text-4k.edb": (254, 222, 0),
    "goese-ual-hyperv-Current-dirty.mdb": (254, 201, 0),
    "goese-ual-hyperv-SystemIdentity.mdb": (254, 215, 0),
    "plaso-Catalog1.edb": (768, 559, 0),
    "plaso-ual-C519A76A.mdb": (254, 205, 0),
    "strozfriedberg-decompress_test-8k.edb": (254, 236, 0),
    "strozfriedberg-test-v1.edb": (254, 228, 0),
    "velociraptor-SystemIdentity-rev0xb4.mdb": (254, 219, 0),
}
"""Name -> pages, blank ones, bad ones, as two other implementations count them."""


ROOT, LEAF, PARENT, LAST_LEAF = 0x1, 0x2, 0x4, 62


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return disk_below(monkeypatch)


def unpacked(name: str, folder: Path) -> Path:
    path = folder / name
    path.write_bytes(gzip.decompress(sample(f"db/{name}.gz").read_bytes()))
    return path


@pytest.mark.parametrize("name", SAMPLES)
def test_real_databases_have_the_pages_others_count_in_them(name: str, tmp_path: Path) -> None:
    done = scan(unpacked(name, tmp_path))

    counts = done.counts
    assert done.result.ended == "complete"
    assert (counts.pages_seen, counts.uninitialized_pages, counts.bad()) == SAMPLES[name]


@pytest.mark.parametrize("name", sorted(SAMPLES.keys() - {"goese-ual-hyperv-Current-dirty.mdb"}))
def test_the_first_half_of_a_real_database_is_not_whole(name: str, tmp_path: Path) -> None:
    path = unpacked(name, tmp_path)
    os.truncate(path, path.stat().st_size // 65536 * 32768)

    done = scan(path)

    assert done.kinds == {done.counts.pages_seen + 1: "truncated"}


def test_the_foreign_pages_of_a_carved_database_are_found(tmp_path: Path) -> None:
    done = scan(unpacked("dissect-SRUDB-16-bad-pages.dat", tmp_path))

    assert done.kinds == dict.fromkeys(range(143, 159), "checksum")
    assert done.counts.bad_checksums == 16


@pytest.mark.parametrize("page_size", PAGE_SIZES)
@pytest.mark.parametrize("default", ["new", "old"])
def test_a_healthy_database_has_every_page_seen_and_none_bad(
    page_size: int, default: str, tmp_path: Path
) -> None:
    if default == "old" and page_size > 8192:
        default = "empty"
    edb = write_edb(
        tmp_path / "a.edb",
        page_size=page_size,
        pages=700,
        default=default,  # type: ignore[arg-type]
        forms={7: "blank", 8: "new", 700: "blank"},
    )

    done = scan(edb.path, read_size=1 << 16)

    counts = done.counts
    assert (done.result.ended, done.result.reason, done.result.remarks) == ("complete", "", [])
    assert (counts.pages_seen, counts.uninitialized_pages, counts.bad()) == (700, 2, 0)
    assert counts.bytes == edb.path.stat().st_size == done.place.offset
    assert done.result.latency is not None
    assert 0 < done.result.latency.p50 <= done.result.latency.p99
    assert done.result.header is not None
    assert done.result.header.page_size == page_size


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_each_kind_of_damage_is_found_for_what_it_is(page_size: int, tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=300)
    edb.flip(17, 5000 % (page_size * 8))
    edb.flip(18, 1000, 3000)
    edb.misplace(40, 43)
    edb.tear(300)
    edb.zero(100)

    done = scan(edb.path)

    by_number = {bad.page_number: bad for bad in done.counts.listed}
    counts = done.counts
    assert done.kinds == {17: "correctable", 18: "checksum", 40: "wrong_page", 300: "checksum"}
    assert by_number[17].bit == 5000
    assert by_number[17].offset == 18 * page_size
    assert by_number[40].written_as == 43
    assert (counts.correctable, counts.bad_checksums, counts.wrong_page_number) == (1, 2, 1)
    assert (counts.pages_seen, counts.uninitialized_pages) == (300, 1)
    assert done.found == counts.listed


def test_the_trailer_of_a_streaming_backup_is_no_bad_page(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=30, trailer=True)

    done = scan(edb.path)

    assert (done.result.ended, done.counts.bad()) == ("complete", 0)


def test_a_page_flipped_in_its_stored_checksum_is_not_taken_for_a_misplaced_one(
    tmp_path: Path,
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.flip(100, 3)
    edb.flip(200, 9)
    edb.flip(210, 9, 14)

    done = scan(edb.path)

    # 108 is a good page of its own; the others would lie behind the end of the file.
    assert done.kinds == {100: "checksum", 200: "checksum", 210: "checksum"}


def test_a_page_misdirected_by_a_power_of_two_is_told_by_what_stands_at_its_own_place(
    tmp_path: Path,
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    relations = bytes(range(12))
    newer = bytearray(page(4096, 108, seed=5))
    newer[16:28] = relations
    older = bytearray(page(4096, 108, seed=6))
    older[16:28] = relations
    edb.write(108, seal(bytes(older), 108))
    edb.write(100, seal(bytes(newer), 108))

    done = scan(edb.path)

    assert done.kinds == {100: "wrong_page"}
    assert done.counts.listed[0].written_as == 108


def test_two_swapped_pages_are_both_wrong_ones(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.misplace(64, 65)
    edb.misplace(65, 64)

    done = scan(edb.path)

    assert {bad.page_number: bad.written_as for bad in done.counts.listed} == {64: 65, 65: 64}
    assert done.counts.wrong_page_number == 2


def test_a_wholly_foreign_body_is_quick_and_listed_up_to_a_limit(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=4000)
    foreign = random.Random(1).randbytes(4096 * 4000)
    with edb.path.open("r+b") as file:
        file.seek(8192)
        file.write(foreign)

    clock = Clock()
    done = scan(edb.path, pace=Pace(stop=clock, clock=clock))

    # Where nothing but foreign pages comes, it is not read again page by page.
    assert sum(clock.pauses) < 1.0
    assert len(disk.rereads) < 40
    assert done.counts.bad() == 4000 == len(done.found)
    assert len(done.counts.listed) == MAX_LISTED
    assert done.counts.unlisted == 3000
    assert done.counts.pages_seen == 4000


def test_a_damaged_header_is_told_and_the_pages_are_scanned_all_the_same(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=30)
    edb.flip(-1, 8000)
    one = scan(edb.path)
    edb.flip(0, 8000)
    both = scan(edb.path)

    for done, oks in ((one, (False, True)), (both, (False, False))):
        assert done.result.header is not None
        assert (done.result.header.header_ok, done.result.header.shadow_header_ok) == oks
        assert "damaged" in done.result.remarks[0]
        assert (done.result.ended, done.counts.pages_seen) == ("complete", 30)


@pytest.mark.parametrize(
    ("content", "ended", "says"),
    [
        (b"", "lost", "empty"),
        (bytes(100_000), "lost", "zero"),
        (gzip.compress(b"x" * 100_000), "failed", "gzip"),
        (header_page(4096, file_type=3) * 4, "failed", "transaction log"),
        (header_page(4096, file_type=4) * 4, "failed", "checkpoint"),
        (b"no database at all" * 1000, "lost", "not an ESE database"),
    ],
)
def test_what_is_no_database_is_named_for_what_it_is(
    content: bytes, ended: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.edb"
    path.write_bytes(content)
    (tmp_path / "a.bin").write_bytes(content)

    done = scan(path)

    assert (done.result.ended, scan(tmp_path / "a.bin").result.ended) == (ended, "failed")
    assert says in done.result.reason
    assert str(path) in done.result.reason
    assert done.result.header is None


def test_what_cannot_be_opened_fails_with_path_reason_and_remedy(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    reasons = {name: scan(tmp_path / name).result.reason for name in ("gone.edb", ".", "pipe")}

    assert "no such file" in reasons["gone.edb"]
    assert all(str(tmp_path) in reason for reason in reasons.values())
    assert "pipe" in reasons["pipe"]


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_file_that_ends_within_a_page_has_that_page_truncated(
    page_size: int, tmp_path: Path
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=30)
    edb.cut(30 * page_size + 100)

    done = scan(edb.path)

    counts = done.counts
    assert done.result.ended == "complete"
    assert (counts.pages_seen, counts.truncated, counts.bad()) == (28, 1, 1)
    assert done.kinds == {29: "truncated"}
    assert counts.listed[0].offset == 30 * page_size


@pytest.mark.parametrize("page_size", [4096, 32768])
def test_a_file_that_was_cut_between_two_pages_has_the_next_one_truncated(
    page_size: int, tmp_path: Path
) -> None:
    made = ese_database.database(page_size)
    assert scan(made.write(tmp_path / "whole.edb")).counts.bad() == 0
    made.count = 45

    done = scan(made.write(tmp_path / "cut.edb"))

    assert (done.result.ended, done.counts.pages_seen) == ("complete", 45)
    assert (done.kinds, done.counts.truncated) == ({46: "truncated"}, 1)
    assert done.counts.listed[0].offset == 47 * page_size == (tmp_path / "cut.edb").stat().st_size


def test_how_much_of_a_cut_file_is_missing_is_known(tmp_path: Path) -> None:
    made = ese_database.database()
    made.count = 45
    path = made.write(tmp_path / "cut.edb")
    missing = scan(path).result.missing
    assert missing is not None
    assert (missing.first, missing.last, missing.number()) == (46, 64, 19)
    assert missing.sentence() == "The file ends at page 45, and the database has 64 pages"
    os.truncate(path, 46 * 4096 + 100)
    missing = scan(path).result.missing
    assert missing is not None
    assert missing.sentence() == "The file ends within page 45, and the database has 64 pages"
    os.truncate(path, 2 * 4096)
    missing = scan(path).result.missing
    assert missing is not None
    assert missing.sentence() == "The file ends behind its header, before the end of the database"


@pytest.mark.parametrize(
    "nodes",
    [
        [ese_database.extent(64, 64), ese_database.extent(0x7FFFFFFF, 2)],
        [ese_database.extent(64, 64), ese_database.extent(0x80000040, 0x80000000)],
        [ese_database.extent(200, 10)] * 2,
        [ese_database.extent(20, 20), ese_database.extent(99, 40)],
    ],
)
def test_extents_that_cannot_be_say_nothing_of_the_end_of_the_file(
    nodes: list[ese_database.Node], tmp_path: Path
) -> None:
    made = ese_database.database()
    made.pages[2].nodes = nodes
    done = scan(made.write(tmp_path / "a.edb"))
    assert (done.kinds, done.result.missing) == ({}, None)


def test_the_owned_pages_are_found_below_a_branch_that_may_itself_be_cut_off(
    tmp_path: Path,
) -> None:
    made = ese_database.database()
    owned, pages = made.pages[2], made.pages
    pages[LAST_LEAF] = ese_database.Page(1, owned.flags & ~ROOT, owned.nodes)
    pages[2] = ese_database.Page(
        1, owned.flags & ~LEAF | PARENT, [ese_database.child(b"", LAST_LEAF)]
    )
    assert scan(made.write(tmp_path / "whole.edb")).counts.bad() == 0
    for made.count in (LAST_LEAF, LAST_LEAF - 1):
        assert scan(made.write(tmp_path / "cut.edb")).kinds == {made.count + 1: "truncated"}


@pytest.mark.parametrize("blank_from", [1, 2])
@pytest.mark.parametrize("page_size", [4096, 32768])
def test_an_interrupted_copy_of_the_full_size_is_not_good(
    page_size: int, blank_from: int, tmp_path: Path
) -> None:
    path = ese_database.database(page_size).write(tmp_path / "a.edb")
    size = path.stat().st_size
    os.truncate(path, (blank_from + 1) * page_size)
    os.truncate(path, size)

    done = scan(path)

    assert (done.kinds, done.counts.truncated) == ({blank_from: "truncated"}, 1)
    assert done.counts.listed[0].offset == (blank_from + 1) * page_size
    assert done.counts.uninitialized_pages == size // page_size - 1 - blank_from


def test_a_dirty_database_may_be_as_short_as_it_is_until_its_logs_are_replayed(
    tmp_path: Path,
) -> None:
    made = ese_database.database()
    made.count, made.state = 45, 2
    assert scan(made.write(tmp_path / "a.edb")).counts.bad() == 0


@pytest.mark.parametrize("number", [1, 2])
def test_a_damaged_page_says_nothing_of_the_end_of_the_file(number: int, tmp_path: Path) -> None:
    made = ese_database.database()
    made.count = 45
    path = made.write(tmp_path / "a.edb")
    with path.open("r+b") as file:
        file.seek((number + 1) * made.page_size + 2000)
        file.write(b"damaged")
    assert scan(path).kinds == {number: "checksum"}


@pytest.mark.parametrize("kept", [1.0, 1.5, 2.0])
def test_a_file_with_no_page_behind_its_header_is_truncated_and_not_good(
    kept: float, tmp_path: Path
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=30)
    edb.cut(int(kept * 4096))

    done = scan(edb.path)

    assert (done.result.ended, done.counts.pages_seen, done.kinds) == (
        "complete",
        0,
        {1: "truncated"},
    )


def test_pages_that_cannot_be_read_are_told_one_by_one_and_the_rest_goes_on(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.flip(70, 1000, 3000)
    disk.bad = {51 * 4096 + 7, 52 * 4096, 60 * 4096 + 4095}

    done = scan(edb.path, read_size=1 << 16)

    assert done.kinds == {
        50: "unreadable",
        51: "unreadable",
        59: "unreadable",
        70: "checksum",
    }
    counts = done.counts
    assert (counts.unread_bytes, counts.pages_seen, counts.bad_checksums) == (3 * 4096, 297, 1)
    assert counts.bytes == edb.path.stat().st_size - 3 * 4096
    assert done.result.ended == "complete"


def test_a_block_of_the_disk_that_cannot_be_read_takes_both_small_pages_with_it(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=2048, pages=301)
    disk.bad = {4096 * 20}

    done = scan(edb.path)

    assert done.kinds == {39: "unreadable", 40: "unreadable"}
    assert done.counts.unread_bytes == ALIGNMENT
    assert done.counts.pages_seen == 299


def test_a_device_that_is_gone_ends_the_scan_with_its_place(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=3000)
    disk.errno = errno.ENODEV
    disk.bad = set(range(1 << 20, 13 << 20, 4096))

    done = scan(edb.path, read_size=1 << 16)

    assert done.result.ended == "failed"
    assert "disappeared" in done.result.reason
    assert done.place.offset == 1 << 20
    assert done.counts.pages_seen == 254


def test_a_device_that_is_gone_says_nothing_of_known_bad_pages(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    disk.errno = errno.ESTALE
    disk.bad = set(range(100 * 4096, 301 * 4096, 4096))

    done = scan(edb.path, known_bad=[200, 201])

    assert (done.result.ended, done.found) == ("failed", [])
    assert "disappeared" in done.result.reason


@pytest.fixture
def _looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("esefiles.scans.verify.file_scan.LOOK_SECONDS", 0.0)


@pytest.mark.usefixtures("_looks_always")
def test_a_file_that_shrinks_is_not_read_on(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=1000)

    def cut(offset: int) -> None:
        if offset >= 1 << 20:
            os.truncate(edb.path, (2 << 20) + 4096)

    disk.before_read = cut

    done = scan(edb.path, read_size=1 << 16)

    assert (done.result.ended, done.counts.bad()) == ("failed", 0)
    assert "it shrank from 4104192 to 2101248 bytes while it was read" in done.result.reason
    assert done.counts.pages_seen < 1000


def test_a_growing_file_is_scanned_to_the_size_it_had(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)

    def grow(offset: int) -> None:
        if offset >= 1 << 19 and edb.path.stat().st_size < 305 * 4096:
            with edb.path.open("ab") as file:
                file.write(b"not finished" * 1000)

    disk.before_read = grow

    done = scan(edb.path, read_size=1 << 16)

    assert (done.counts.pages_seen, done.counts.bad()) == (300, 0)
    assert any("grew" in remark for remark in done.result.remarks)


def test_a_last_page_that_was_being_appended_is_read_when_it_is_whole(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.cut(301 * 4096 + 700)

    def whole(offset: int) -> None:
        if offset >= 1 << 20:
            edb.write(300, page(4096, 300))

    disk.before_read = whole

    done = scan(edb.path, read_size=1 << 16)

    assert (done.result.ended, done.counts.pages_seen, done.counts.bad()) == ("complete", 300, 0)


def test_it_goes_on_exactly_from_any_place(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=700, forms={9: "blank"})
    edb.flip(3, 5000)
    edb.flip(500, 1000, 3000)
    edb.cut(700 * 4096 + 9)
    whole = scan(edb.path, read_size=1 << 16)
    places = [step.place for step in whole.steps[:-1] if step.place is not None]

    assert len(places) > 20
    for place in places:
        done = scan(edb.path, read_size=1 << 16, place=place)
        assert same(done.place) == same(whole.place)
        assert done.result.remarks == []


def same(place: Place) -> tuple[object, ...]:
    """All of a place but the time that it took."""
    counts = place.counts
    return (
        place.offset,
        place.began,
        place.taken,
        place.signature,
        counts.pages_seen,
        counts.uninitialized_pages,
        counts.bad_checksums,
        counts.correctable,
        counts.truncated,
        counts.bytes,
        tuple(counts.listed),
    )


def test_places_that_were_handed_out_do_not_change(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.flip(20, 1000, 3000)
    edb.flip(200, 1000, 3000)
    seen = []
    for step in scan_file(str(edb.path), ScanOptions(read_size=1 << 16), Pace()):
        assert step.place is not None
        seen.append((step.place, same(step.place)))

    assert [same(place) for place, _ in seen] == [content for _, content in seen]
    assert [len(place.counts.listed) for place, _ in seen][-1] == 2


def test_the_oldest_content_of_a_resumed_pass_is_remembered(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    stop = threading.Event()
    first = []
    for step in scan_file(
        str(edb.path), ScanOptions(read_size=1 << 16), Pace(stop=stop), clock=lambda: 500.0
    ):
        first.append(step)
        stop.set()
    place = first[-1].place
    assert place is not None

    again = scan(edb.path, place=place, clock=lambda: 900.0)
    older = scan(edb.path, place=place, taken=100.0, clock=lambda: 900.0)

    assert first[-1].result is not None
    assert first[-1].result.ended == "stopped"
    assert (again.place.began, again.place.taken) == (500.0, 500.0)
    assert older.place.taken == 100.0


@pytest.mark.parametrize("change", ["another database", "another page size", "shorter"])
def test_a_place_of_another_file_begins_anew_and_says_so(change: str, tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    place = scan(edb.path, read_size=1 << 16).steps[10].place
    assert place is not None
    if change == "another database":
        write_edb(edb.path, pages=300, header={"signature_random": 1})
    elif change == "another page size":
        write_edb(edb.path, page_size=8192, pages=300)
    else:
        edb.cut(place.offset - 4096)

    done = scan(edb.path, place=place)

    assert done.counts.pages_seen == edb.path.stat().st_size // done.place.page_size - 2
    assert any("restarted: " in remark for remark in done.result.remarks)


def test_the_end_of_time_leaves_the_place_behind(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)

    done = scan(edb.path, pace=Pace(deadline=time.monotonic() - 1))

    assert (done.result.ended, done.place.offset) == ("time", 8192)
    assert "time was up" in done.result.reason


def test_known_bad_pages_are_read_first_and_told_once(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.flip(250, 1000, 3000)
    edb.zero(251)
    disk.bad = {262 * 4096}

    done = scan(edb.path, known_bad=[252, 250, 251, 261, 99_999, -1, 0, 250])

    first = [step for step in done.steps if step.place is None]
    assert [step.good for step in first if step.good] == [[252]]
    assert [bad.page_number for step in first for bad in step.found] == [250, 261]
    assert [bad.page_number for bad in done.found] == [250, 261]
    assert done.kinds == {250: "checksum", 261: "unreadable"}
    assert done.steps[1 : 1 + len(first)] == first


def test_the_header_is_told_before_any_page_is_read(tmp_path: Path) -> None:
    done = scan(write_edb(tmp_path / "a.edb", pages=300).path)

    headers = [step.header for step in done.steps if step.header is not None]
    assert headers == [done.result.header]
    assert done.steps[0].header is not None
    assert done.steps[0].place is not None
    assert done.steps[0].place.counts.pages_seen == 0


def test_a_torn_read_of_a_page_that_is_being_written_is_no_bad_page(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    whole = edb.read(200)
    edb.tear(200)
    reads = 0

    def mend(offset: int) -> None:
        nonlocal reads
        if offset == 201 * 4096:
            reads += 1
            edb.write(200, whole if reads > 5 else random.Random(reads).randbytes(4096))

    disk.before_read = mend

    done = scan(edb.path)

    assert reads == 6
    assert (done.counts.bad(), done.counts.pages_seen) == (0, 300)


def test_torn_reads_are_waited_for_however_many_there_are(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=400)
    torn = {number: edb.read(number) for number in range(1, 401, 2)}
    for number in torn:
        edb.tear(number)

    class Writer(Clock):
        """In each pause it ends the page that it was writing."""

        def wait(self, timeout: float | None = None) -> bool:
            number = next(iter(torn))
            edb.write(number, torn.pop(number))
            return super().wait(timeout)

    writer = Writer()
    done = scan(edb.path, pace=Pace(stop=writer, clock=writer), read_size=4096)

    assert (done.kinds, done.counts.pages_seen) == ({}, 400)


def test_a_page_that_never_holds_still_is_bad_in_the_end(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.tear(200)
    reads = 0

    def change(offset: int) -> None:
        nonlocal reads
        if offset == 201 * 4096:
            reads += 1
            edb.write(200, random.Random(reads).randbytes(4096))

    disk.before_read = change

    assert scan(edb.path).kinds == {200: "checksum"}
    assert reads <= 20


class Written(threading.Event):
    """A request to stop that nobody makes; a pause in which a live writer ends its page."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 0

    def wait(self, timeout: float | None = None) -> bool:
        goal = self.pages + 2
        while self.pages < goal:
            time.sleep(0.001)
        return super().wait(timeout)


def test_a_live_writer_raises_no_false_alarm(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=32768, pages=300)
    stop, written = threading.Event(), Written()

    def write() -> None:
        rng = random.Random(3)
        with edb.path.open("r+b", buffering=0) as file:
            while not stop.is_set():
                number = rng.randint(1, 300)
                new = page(32768, number, seed=rng.randint(0, 3))
                for start in range(0, 32768, 4096):
                    os.pwrite(
                        file.fileno(), new[start : start + 4096], (number + 1) * 32768 + start
                    )
                written.pages += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = [bad for _ in range(20) for bad in scan(edb.path, pace=Pace(stop=written)).found]
    finally:
        stop.set()
        writer.join()

    assert found == []
    assert scan(edb.path).found == []


def test_the_time_limit_holds_while_nothing_can_be_read(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=3000)
    disk.bad = set(range(8192, 3002 * 4096, 4096))
    clock = Clock()
    begun = clock.now

    def read(_offset: int) -> None:
        clock.now += 0.01

    disk.before_read = read

    done = scan(edb.path, pace=Pace(deadline=begun + 1.0, stop=clock, clock=clock))

    assert clock.now < begun + 1.1
    assert done.result.ended == "time"
    assert done.counts.unread_bytes == done.place.offset - 8192 > 0


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_one_bit_flipped_anywhere_is_found_and_located_where_it_can_be(
    page_size: int, tmp_path: Path
) -> None:
    edb = write_edb(tmp_path / "a.edb", page_size=page_size, pages=300)
    rng = random.Random(page_size)
    flips = {number: rng.randrange(page_size * 8) for number in range(1, 301)}
    flips |= {number: number for number in range(1, 64)}
    flips |= {64: 301, 65: 320, 66: 511, 67: page_size * 8 - 1}
    for number, bit in flips.items():
        edb.flip(number, bit)

    listed = scan(edb.path).counts.listed

    assert {bad.page_number: bad.bit for bad in listed} == {
        number: None if bit < 64 or bit == 301 else bit for number, bit in flips.items()
    }
    assert {bad.kind for bad in listed if bad.bit is None} == {"checksum"}


def test_a_header_in_a_bad_block_of_the_disk_leaves_its_shadow(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=30)
    disk.bad = {100}

    done = scan(edb.path)

    assert done.result.header is not None
    assert not done.result.header.header_ok
    assert (done.result.ended, done.counts.pages_seen, done.counts.bad()) == ("complete", 30, 0)


def test_at_a_low_rate_there_are_several_places_a_second(tmp_path: Path) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=60)
    options = ScanOptions(rate=1 << 18)
    clock = Clock()
    pace = Pace(rate=options.rate, stop=clock, clock=clock)
    steps = list(scan_file(str(edb.path), options, pace))

    assert len(steps) > 3 * sum(clock.pauses) > 1


@pytest.mark.usefixtures("_looks_always")
def test_a_file_that_is_deleted_is_not_read_on(tmp_path: Path, disk: Disk) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    disk.before_read = lambda offset: edb.path.unlink(missing_ok=True) if offset else None

    done = scan(edb.path, read_size=1 << 16)

    assert (done.result.ended, done.result.reason) == (
        "failed",
        f"{edb.path}: it was deleted or renamed while it was read",
    )
    assert done.counts.pages_seen < 300


def test_a_result_is_not_lost_where_the_name_cannot_be_looked_up_any_more(
    tmp_path: Path, disk: Disk
) -> None:
    edb = write_edb(tmp_path / "a.edb", pages=300)
    edb.flip(17, 5000)

    def rename(_offset: int) -> None:
        edb.path.unlink()
        edb.path.symlink_to("x" * 300)
        disk.before_read = lambda _offset: None

    disk.before_read = rename

    done = scan(edb.path)

    assert list(done.kinds) == [17]
    assert "deleted or renamed" in done.result.reason


JUST_CREATED: dict[str, Value] = {"state": 1}


@pytest.mark.parametrize(
    ("name", "header", "damaged", "ended"),
    [
        ("temp.edb", JUST_CREATED, False, "temporary"),
        ("TMP.EDB", JUST_CREATED, False, "temporary"),
        ("TEMPCHKSUM4711.EDB", JUST_CREATED, False, "temporary"),
        ("temp.edb", {}, True, "temporary"),
        ("temp.edb", {}, False, "complete"),
        ("attempt.edb", JUST_CREATED, False, "complete"),
    ],
)
def test_a_temporary_database_has_no_pages_to_verify(
    name: str, header: dict[str, Value], damaged: bool, ended: str, tmp_path: Path
) -> None:
    edb = write_edb(tmp_path / name, header=header)
    if damaged:
        edb.write(-1, bytes(2 * 4096))
    done = scan(edb.path).result
    assert done.ended == ended
    assert (done.header is None) == (ended == "temporary")


def test_a_temporary_database_whose_bytes_show_nothing(tmp_path: Path) -> None:
    (tmp_path / "temp.edb").write_bytes(bytes(8192))
    assert scan(tmp_path / "temp.edb").result.ended == "temporary"
