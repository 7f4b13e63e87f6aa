"""Damaged event logs: the damage is reported once, everything else comes out, nothing is raised."""

import gzip
import struct
import zlib
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from esewatch.sources.evtx import evtx_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.files.raw_file import RawFile, open_raw, read_at
from tests.support import evtx_writer
from tests.support.campaign import EXAMPLES
from tests.support.evtx_records import COMPLETED, START, Harvest, harvest
from tests.support.evtx_writer import (
    CHUNK_BYTES,
    EvtxWriter,
    chunk_start,
    flip_bit,
    overwrite,
    read_chunk,
    record_offsets,
)


def log_of(path: Path, count: int = 700, *, dirty: bool = False) -> list[list[int]]:
    """A log of ESE events; the record ids in each of its chunks."""
    with EvtxWriter(path, dirty=dirty) as log:
        for number in range(count):
            log.write(701, COMPLETED, time=START + timedelta(seconds=number))
    chunks = (path.stat().st_size - chunk_start(0)) // CHUNK_BYTES
    ends = [struct.unpack_from("<QQ", read_chunk(path, number), 24) for number in range(chunks)]
    return [list(range(first, last + 1)) for first, last in ends]


def read(path: Path) -> Harvest:
    return harvest(EvtxSource("log", [str(path)]).poll(final=True))


def place(path: Path, number: int, index: int) -> int:
    """Offset in the file of record `index` of chunk `number`."""
    return chunk_start(number) + record_offsets(read_chunk(path, number))[index]


def flat(chunks: Iterable[list[int]]) -> list[int]:
    return [number for ids in chunks for number in ids]


def told(found: Harvest) -> list[str]:
    return [f"{complaint.place}: {complaint.reason}" for complaint in found.unreadable]


def test_a_chunk_without_magic_is_repaired_and_told(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, chunk_start(1), bytes(8))
    found = read(path)
    assert found.ids == flat(chunks)
    assert told(found) == ["chunk 1: the chunk header is missing"]
    assert [c.first for c in found.coverage] == [ids[0] for n, ids in enumerate(chunks) if n != 1]


def test_a_chunk_whose_header_is_zeroed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, chunk_start(1), bytes(512))
    found = read(path)
    assert (found.ids, told(found)) == (
        flat(chunks),
        ["chunk 1: the chunk header is missing"],
    )


def test_a_bad_header_checksum_is_told_and_the_records_come_out(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    flip_bit(path, chunk_start(0) + 124)
    found = read(path)
    assert found.ids == flat(chunks)
    assert told(found) == ["chunk 0: the checksum of the chunk header does not match"]


@pytest.mark.parametrize("table", [128, 384])
def test_damaged_tables_of_strings_and_templates_cost_no_record(tmp_path: Path, table: int) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, chunk_start(0) + table, b"\xff" * 64)
    assert read(path).ids == flat(chunks)


@pytest.mark.parametrize("free", [0, 512, 5000, 65536, 0xFFFFFFFF])
def test_a_wrong_free_space_offset_costs_no_record(tmp_path: Path, free: int) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, chunk_start(1) + 48, struct.pack("<I", free))
    found = read(path)
    assert found.ids == flat(chunks)
    assert len(found.unreadable) == 1


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("magic", (0, b"\0\0\0\0")),
        ("size", (4, b"\xff\xff\xff\xff")),
        ("size", (4, bytes(4))),
        ("frame", (0, b"\xaa" * 24)),
        ("content", (24, b"\xff" * 16)),
    ],
)
@pytest.mark.parametrize("index", [0, 1, 7, -1])
def test_a_damaged_record_costs_only_itself(
    tmp_path: Path, what: str, data: tuple[int, bytes], index: int
) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, place(path, 1, index) + data[0], data[1])
    found = read(path)
    lost = chunks[1][index]
    assert found.ids == [number for number in flat(chunks) if number != lost]
    assert len(found.unreadable) == 1
    assert told(found)[0].startswith("chunk 1: the checksum of the records does not match"), what
    assert not any(covered.first <= lost <= covered.last for covered in found.coverage)


def test_damage_in_the_middle_of_a_chunk_costs_what_it_covers(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    begin = place(path, 1, 10) + 30
    starts = [chunk_start(1) + offset for offset in record_offsets(read_chunk(path, 1))]
    ends = [*starts[1:], chunk_start(2)]
    lost = {
        record_id
        for record_id, start, end in zip(chunks[1], starts, ends, strict=True)
        if end > begin and start < begin + 4096
    }
    overwrite(path, begin, bytes(4096))
    found = read(path)
    assert set(found.ids) == set(flat(chunks)) - lost
    assert len(found.unreadable) == 1


@pytest.mark.parametrize("cut", [1, 100, 511, 513, 3000, 60_000, 65_000])
def test_a_file_cut_short_within_a_chunk_gives_the_records_before_the_cut(
    tmp_path: Path, cut: int
) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    whole = record_offsets(read_chunk(path, 1))
    path.write_bytes(path.read_bytes()[: chunk_start(1) + cut])
    kept = [
        number for number, end in zip(chunks[1], [*whole[1:], 1 << 20], strict=True) if end <= cut
    ]
    found = read(path)
    assert found.ids == chunks[0] + kept
    assert told(found) == ["chunk 1: the file ends within the chunk"]


def test_the_rest_of_a_cut_file_comes_out_when_it_arrives(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: chunk_start(1) + 30_000])
    source = EvtxSource("log", [str(path)])
    seen = set(harvest(source.poll()).ids)
    path.write_bytes(whole)
    found = harvest(source.poll())
    assert seen | set(found.ids) == set(flat(chunks))
    assert found.unreadable == []
    assert found.coverage[0].first == chunks[1][0]


def test_zeroed_chunks_between_used_ones_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path, 1500)
    overwrite(path, chunk_start(1), bytes(2 * CHUNK_BYTES))
    source = EvtxSource("log", [str(path)])
    found = harvest(source.poll(final=True))
    assert found.ids == chunks[0] + flat(chunks[3:])
    assert told(found) == ["chunk 1: 2 chunks are zeroed, first here"]
    path.touch()
    assert harvest(source.poll(final=True)).unreadable == []


def test_damage_is_told_once_and_not_after_a_restart_either(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log_of(path)
    overwrite(path, place(path, 1, 3), b"\0\0\0\0")
    source = EvtxSource("log", [str(path)])
    found = harvest(source.poll())
    assert len(found.unreadable) == 1
    positions = {k: v for batch in found.batches for k, v in batch.positions.items() if v}
    path.touch()
    again = harvest(source.poll())
    restarted = EvtxSource("log", [str(path)])
    restarted.restore(positions)
    after = harvest(restarted.poll())
    assert (again.unreadable, again.ids) == (after.unreadable, after.ids) == ([], [])


def test_damage_in_an_open_log_is_believed_the_second_time(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path, dirty=True)
    flip_bit(path, place(path, 1, 3) + 100)
    source = EvtxSource("log", [str(path)])
    first, second, third = (harvest(source.poll()) for _ in range(3))
    assert (first.ids, first.unreadable) == (chunks[0] + flat(chunks[2:]), [])
    assert second.ids == chunks[1]
    assert told(second) == ["chunk 1: the checksum of the records does not match"]
    assert (third.ids, third.unreadable) == ([], [])


@pytest.mark.fault(
    "a chunk of an event log is read while it is half written",
    provoked="a record of it damaged at one poll and complete at the next",
    lost="nothing",
    again="the next poll",
)
def test_a_chunk_caught_half_written_comes_out_whole_at_the_next_poll(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path, dirty=True)
    whole = path.read_bytes()
    flip_bit(path, place(path, 1, 3) + 100)
    source = EvtxSource("log", [str(path)])
    harvest(source.poll())
    path.write_bytes(whole)
    found = harvest(source.poll())
    assert (found.ids, found.unreadable) == (chunks[1], [])
    assert [(c.first, c.last) for c in found.coverage] == [(chunks[1][0], chunks[1][-1])]


@pytest.mark.parametrize("dirty", [True, False])
@pytest.mark.parametrize("restart", [True, False])
def test_records_that_come_long_after_the_header_of_their_chunk_are_read(
    tmp_path: Path, *, dirty: bool, restart: bool
) -> None:
    """A copy over a network, or a writer that has no processor for some polls."""
    path = tmp_path / "a.evtx"
    chunks = log_of(path, dirty=dirty)
    whole = path.read_bytes()
    last = len(chunks) - 1
    begin = place(path, last, 3)
    path.write_bytes(whole[:begin] + bytes(len(whole) - begin))
    source = EvtxSource("log", [str(path)])
    kept: dict[str, bytes] = {}
    found = []
    for _ in range(4):
        batches = list(source.poll())
        for batch in batches:
            kept |= {place: at for place, at in batch.positions.items() if at is not None}
        found.append(harvest(batches))
    assert [each.ids for each in found[2:]] == [[], []]
    assert [told(each) for each in found[2:]] == [[], []]
    if restart:
        source = EvtxSource("log", [str(path)])
        source.restore(kept)
    path.write_bytes(whole)
    late = harvest(source.poll())
    assert late.ids[-len(chunks[last]) + 3 :] == chunks[last][3:]
    assert late.unreadable == []
    assert harvest(source.poll()).ids == []


def test_a_chunk_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    torn: list[int] = []

    def torn_once(raw: RawFile, offset: int, size: int) -> bytes:
        data = read_at(raw, offset, size)
        if size == CHUNK_BYTES and offset == chunk_start(0) and not torn:
            torn.append(offset)
            return data[:9000] + bytes(len(data) - 9000)
        return data

    monkeypatch.setattr(evtx_source, "read_at", torn_once)
    found = read(path)
    assert (found.ids, found.unreadable, len(torn)) == (flat(chunks), [], 1)


@pytest.mark.fault(
    "the disk fails to return a part of a log",
    provoked="`EIO` for one chunk",
    lost="nothing, if it can be read later; the other records are read",
    again="the next poll",
)
def test_a_chunk_the_disk_does_not_give_is_told_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    broken = True

    def failing(raw: RawFile, offset: int, size: int) -> bytes:
        if broken and offset == chunk_start(1):
            raise OSError(5, "Input/output error")
        return read_at(raw, offset, size)

    monkeypatch.setattr(evtx_source, "read_at", failing)
    source = EvtxSource("log", [str(path)])
    first, second = (harvest(source.poll()) for _ in range(2))
    assert (first.ids, told(first)) == (
        chunks[0] + flat(chunks[2:]),
        ["chunk 1: Input/output error"],
    )
    assert (second.ids, second.unreadable) == ([], [])
    broken = False
    assert harvest(source.poll()).ids == chunks[1]


def test_a_damaged_file_header_does_not_hide_the_records(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, 0, bytes(128))
    source = EvtxSource("log", [str(path)])
    found = harvest(source.poll())
    assert found.ids == flat(chunks)
    assert told(found) == ["file header: the file header is damaged"]
    path.touch()
    assert harvest(source.poll()).unreadable == []


def test_a_log_without_file_header_and_first_chunk_is_still_one(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, 0, bytes(chunk_start(1)))
    found = read(path)
    assert found.ids == flat(chunks[1:])
    assert told(found) == [
        "file header: the file header is damaged",
        "chunk 0: 1 chunks are zeroed, first here",
    ]


def test_what_lies_beyond_the_largest_possible_log_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log_of(path, 10)
    with path.open("r+b") as file:
        file.truncate(5 << 30)
    found = evtx_source.plan(str(path), evtx_source.EvtxFileState())
    assert len(found.numbers) == 65_535
    assert found.problem is not None
    assert str(found.problem).endswith(
        "offset 4294905856: the rest is left out: an event log has at most 65535 chunks"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"hello", "not a Windows event log (.evtx)"),
        (bytes(100_000), "not a Windows event log (.evtx)"),
        (gzip.compress(b"hello", mtime=0), "not a Windows event log (.evtx)"),
    ],
)
def test_what_is_no_event_log_is_told_once(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.evtx"
    path.write_bytes(content)
    source = EvtxSource("log", [str(path)])
    found = harvest(source.poll())
    assert (found.events, told(found)) == ([], [f": {reason}"])
    assert found.batches[-1].caught_up
    assert harvest(source.poll()).unreadable == []


def test_a_header_alone_is_an_empty_log(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log_of(path)
    path.write_bytes(path.read_bytes()[: chunk_start(0)])
    found = read(path)
    assert (found.events, found.unreadable) == ([], [])


def test_a_file_that_may_not_be_read_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = tmp_path / "a.evtx", tmp_path / "b.evtx"
    chunks = log_of(good)
    log_of(bad)

    def refusing(path: str) -> RawFile:
        if path == str(bad):
            raise PermissionError(13, "Permission denied", path)
        return open_raw(path)

    monkeypatch.setattr(evtx_source, "open_raw", refusing)
    source = EvtxSource("log", [str(tmp_path / "*.evtx")])
    found = harvest(source.poll())
    assert (found.ids, told(found)) == (flat(chunks), [": Permission denied"])
    assert harvest(source.poll()).unreadable == []


def test_a_file_that_vanishes_between_match_and_opening_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_of(tmp_path / "a.evtx")

    def gone(path: str) -> RawFile:
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr(evtx_source, "open_raw", gone)
    (batch,) = EvtxSource("log", [str(tmp_path / "*.evtx")]).poll()
    assert (batch.records, batch.unreadable, batch.caught_up) == ([], [], True)


def test_a_folder_is_not_an_event_log(tmp_path: Path) -> None:
    (tmp_path / "a.evtx").mkdir()
    found = read(tmp_path / "a.evtx")
    assert len(found.unreadable) == 1
    assert found.batches[-1].caught_up


def test_a_compressed_log_cut_short_gives_what_is_there(tmp_path: Path) -> None:
    path, packed = tmp_path / "a.evtx", tmp_path / "a.evtx.gz"
    chunks = log_of(path)
    packed.write_bytes(gzip.compress(path.read_bytes())[:-2000])
    found = read(packed)
    assert found.ids[: len(chunks[0])] == chunks[0]
    assert len(found.ids) < 700
    assert found.unreadable


def test_a_log_padded_with_a_huge_hole_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    with path.open("r+b") as file:
        file.truncate(64 << 20)
    found = read(path)
    assert (found.ids, found.unreadable) == (flat(chunks), [])


def reseal(path: Path, number: int) -> None:
    """Make the checksums of a chunk right again: nothing but the content is wrong now."""
    start, chunk = chunk_start(number), bytearray(read_chunk(path, number))
    free = int.from_bytes(chunk[48:52], "little")
    struct.pack_into("<I", chunk, 52, zlib.crc32(chunk[512:free]))
    struct.pack_into("<I", chunk, 124, zlib.crc32(chunk[128:512], zlib.crc32(chunk[:120])))
    overwrite(path, start, bytes(chunk))


@pytest.mark.timeout(20)
def test_a_table_of_strings_that_leads_in_a_circle_does_not_hold_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    for at in range(128, 384, 4):
        (entry,) = struct.unpack_from("<I", read_chunk(path, 0), at)
        if entry:
            overwrite(path, chunk_start(0) + entry, struct.pack("<I", at))
    reseal(path, 0)
    found = read(path)
    assert (found.ids, found.unreadable) == (flat(chunks), [])


def test_a_time_of_writing_out_of_range_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, place(path, 1, 5) + 16, b"\xff" * 8)
    reseal(path, 1)
    found = read(path)
    assert (found.ids, found.unreadable) == (flat(chunks), [])
    assert [(c.first, c.last) for c in found.coverage] == [(ids[0], ids[-1]) for ids in chunks]


def test_a_broken_frame_under_right_checksums_costs_one_record(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    overwrite(path, place(path, 1, 5), b"\xff" * 8)
    reseal(path, 1)
    found = read(path)
    assert found.ids == [number for number in flat(chunks) if number != chunks[1][5]]
    assert [complaint.place for complaint in found.unreadable] == ["chunk 1"]
    assert not any(c.first <= chunks[1][5] <= c.last for c in found.coverage)


def test_a_record_that_unfolds_beyond_all_measure_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    items = [evtx_writer.Element("Data", [evtx_writer.Slot(0, 1)]) for _ in range(500)]
    bomb = evtx_writer.Element("EventData", items)
    with EvtxWriter(path) as log:
        log.write(701, COMPLETED, time=START)
        monkeypatch.setattr(evtx_writer, "_payload", lambda layout, count: bomb)
        log.write(701, ["x" * 10_000], time=START, layout="elements")
    found = read(path)
    assert found.ids == [1]
    assert "a record that unfolds to more than 262144 characters" in told(found)[0]


def test_a_text_that_is_no_utf_16_costs_no_other_record(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    chunks = log_of(path)
    text = "lsass".encode("utf-16-le")
    chunk = read_chunk(path, 1)
    at = chunk.index(text, record_offsets(chunk)[5])
    overwrite(path, chunk_start(1) + at, b"\x00\xd8" * 5)
    reseal(path, 1)
    found = read(path)
    assert set(found.ids) >= set(flat(chunks)) - {chunks[1][5]}


class Whole:
    """A log of five chunks to be damaged: its bytes, and the record ids of each chunk."""

    def __init__(self, path: Path) -> None:
        self.chunks = log_of(path, 900)
        self.content = path.read_bytes()


Edit = tuple[int, bytes]
edits = st.lists(
    st.tuples(st.integers(0, chunk_start(4) - 1), st.binary(min_size=1, max_size=40)),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("evtx") / "whole.evtx")


@given(edits=edits, cut=st.none() | st.integers(0, chunk_start(4)))
@settings(max_examples=3 * EXAMPLES // 2)
def test_random_damage_is_told_and_spares_the_other_chunks(
    whole: Whole,
    tmp_path_factory: pytest.TempPathFactory,
    edits: list[Edit],
    cut: int | None,
) -> None:
    content, chunks = whole.content, whole.chunks
    damaged = bytearray(content)
    for offset, data in edits:
        end = min(offset + len(data), len(damaged))
        damaged[offset:end] = data[: max(0, end - offset)]
    del damaged[cut if cut is not None else len(damaged) :]
    path = tmp_path_factory.mktemp("damage") / "a.evtx"
    path.write_bytes(damaged)
    found = read(path)
    intact, spared = [], []
    for number, ids in enumerate(chunks):
        start = chunk_start(number)
        before, after = (bytes(log[start : start + CHUNK_BYTES]) for log in (content, damaged))
        free = int.from_bytes(before[48:52], "little")
        if before == after:
            intact += ids
        if before[:free] == after[:free] and len(before) == len(after):
            spared += ids
    if len(damaged) >= 128:
        assert set(found.ids) >= set(intact)
    covered = {number for c in found.coverage for number in range(c.first, c.last + 1)}
    assert covered <= set(spared)
    assert found.unreadable or spared == flat(chunks)[: len(spared)]


@given(bits=st.lists(st.integers(0, (512 + 4000) * 8 - 1), min_size=1, max_size=4))
@settings(max_examples=3 * EXAMPLES // 2)
def test_flipped_bits_in_header_and_templates_never_raise(
    whole: Whole,
    tmp_path_factory: pytest.TempPathFactory,
    bits: list[int],
) -> None:
    content, chunks = whole.content, whole.chunks
    damaged = bytearray(content[: chunk_start(2)])
    for bit in bits:
        damaged[chunk_start(0) + bit // 8] ^= 1 << bit % 8
    path = tmp_path_factory.mktemp("flip") / "a.evtx"
    path.write_bytes(damaged)
    found = read(path)
    assert set(found.ids) >= set(chunks[1])
    flags = slice(chunk_start(0) + 120, chunk_start(0) + 124)
    if damaged[flags][0] & 4:
        # It says that there are no checksums: other damage may be seen or not.
        return
    damaged[flags] = content[flags]
    if damaged == content[: chunk_start(2)]:
        # No checksum covers the flags.
        assert (found.ids, found.unreadable) == (flat(chunks[:2]), [])
    else:
        assert [complaint.place for complaint in found.unreadable] == ["chunk 0"]
        assert [covered.first for covered in found.coverage] == [chunks[1][0]]
