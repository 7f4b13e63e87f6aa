"""The source: growth by whole buffers, restarts, rotation, what is refused, and damage."""

from pathlib import Path

import msgspec
import pytest

from eselab.logs.binary.binary_log import (
    RAWCOUNT,
    SINGLE,
    BinaryLog,
    Entry,
    filetime,
    single,
    wildcard,
)
from esewatch.model import Reading, Source, SourceError
from esewatch.sources.counters.blg.blg_decoder import BlgDecoderState
from esewatch.sources.counters.blg.perfmon_blg import is_binary_log, look, perfmon_blg_source
from tests.support.blg import NOON, READ, counted, poll, read_log, write_log
from tests.support.samples import sample

SIZE = 4096
STEP = 15


def rows(count: int) -> list[tuple[float, list[bytes]]]:
    return [(NOON + STEP * n, [counted(NOON + STEP * n, 30 * n)]) for n in range(count)]


def long_rows(count: int) -> tuple[Entry, list[tuple[float, list[bytes]]]]:
    """Samples of about 14 KB: four buffers and two parts each."""
    entry = Entry("EX01", "Process", "*", "IO Data Bytes/sec", 0x10410500)
    names = [f"process number {n}" for n in range(220)]
    made = []
    for n in range(count):
        now = filetime(NOON + STEP * n)
        made.append((NOON + STEP * n, [wildcard(now, [(each, 30 * n, now) for each in names])]))
    return entry, made


def source(path: Path) -> Source:
    return perfmon_blg_source("counters", [str(path)])


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def values(readings: list[Reading]) -> list[tuple[float, int | None, str]]:
    return [(each.time - NOON, each.raw, str(each.value)) for each in readings]


def expected(first: int, end: int) -> list[tuple[float, int | None, str]]:
    return [(STEP * n, 30 * n, "2.0" if n else "nan") for n in range(first, end)]


def test_a_growing_log_is_read_by_whole_buffers_each_sample_once(tmp_path: Path) -> None:
    whole = write_log(tmp_path / "whole", [READ], rows(200), size=SIZE).read_bytes()
    path = tmp_path / "a.blg"
    following = source(path)
    found: list[Reading] = []
    for end in range(SIZE // 2, len(whole) + SIZE, SIZE // 2):
        append(path, whole[end - SIZE // 2 : end])
        readings, unreadable = poll(following, final=False)
        assert unreadable == []
        found += readings
    following.close()

    assert values(found) == expected(0, 200)


@pytest.mark.parametrize("long", [False, True])
def test_after_a_restart_in_any_buffer_no_sample_is_lost_doubled_or_without_its_rate(
    tmp_path: Path, long: bool
) -> None:
    entry, samples = long_rows(12) if long else (READ, rows(100))
    whole = write_log(tmp_path / "whole", [entry], samples, size=16384 if long else SIZE)
    data, size = whole.read_bytes(), 16384 if long else SIZE
    path = tmp_path / "a.blg"
    positions: dict[str, bytes] = {}
    found: list[Reading] = []
    for end in range(size, len(data) + size, size):
        append(path, data[end - size : end])
        one = source(path)
        one.restore(positions)
        for batch in one.poll():
            for key, value in batch.positions.items():
                positions.pop(key, None)
                positions.update({key: value} if value is not None else {})
            found += [each for each in batch.records if isinstance(each, Reading)]
            assert batch.unreadable == []
        one.close()

    at_once, _ = read_log(whole)
    assert str(found) == str(at_once)
    assert len({each.time for each in found}) == len(samples)


def test_a_sample_longer_than_what_is_read_at_once_is_handed_out_once(tmp_path: Path) -> None:
    entry = Entry("EX01", "Process", "*", "Handle Count", RAWCOUNT)
    names = [f"process number {n}" for n in range(6000)]
    samples = []
    for number in range(5):
        now = filetime(NOON + number)
        samples.append((NOON + number, [wildcard(now, [(each, number, 0) for each in names])]))
    readings, unreadable = read_log(write_log(tmp_path / "a.blg", [entry], samples))

    assert unreadable == []
    assert [(each.raw, each.instance) for each in readings] == [
        (number, name) for number in range(5) for name in names
    ]


def test_a_log_that_was_renamed_is_not_read_again_and_its_successor_is(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.blg", [READ], rows(50), size=SIZE)
    following = source(tmp_path / "*.blg")
    first, _ = poll(following)
    path.rename(tmp_path / "b.blg")
    write_log(path, [READ], [(t + 10_000, r) for t, r in rows(5)], size=SIZE)
    second, unreadable = poll(following)
    following.close()

    assert (len(first), unreadable) == (50, [])
    assert [each.time - NOON - 10_000 for each in second] == [0, 15, 30, 45, 60]


@pytest.mark.parametrize("cut", [SIZE, 2 * SIZE, 2 * SIZE + 1000, 3 * SIZE - 1])
def test_a_log_cut_anywhere_gives_all_samples_before_the_cut(tmp_path: Path, cut: int) -> None:
    whole = write_log(tmp_path / "whole", [READ], rows(200), size=SIZE)
    path = tmp_path / "a.blg"
    path.write_bytes(whole.read_bytes()[:cut])
    readings, unreadable = read_log(path)

    assert values(readings) == expected(0, len(readings))
    assert len(readings) >= (cut - SIZE - 1000) // 120
    assert len(unreadable) <= 1


@pytest.mark.parametrize("cut", [100, SIZE - 1, SIZE])
def test_a_log_that_ends_before_its_first_sample_is_one_line(tmp_path: Path, cut: int) -> None:
    log = BinaryLog(tmp_path / "whole", NOON, size=SIZE)
    log.close()
    header = (tmp_path / "whole").read_bytes()
    check_that_its_end_is_told(tmp_path / "a.blg", header.ljust(SIZE, b"\0")[:cut])


@pytest.mark.parametrize("cut", [100, 8192, 65535, 65536])
def test_a_real_log_that_ends_before_its_first_sample_is_one_line(tmp_path: Path, cut: int) -> None:
    whole = sample("blg/powershell-CounterSamples.blg").read_bytes()
    check_that_its_end_is_told(tmp_path / "a.blg", whole[:cut])


def check_that_its_end_is_told(path: Path, data: bytes) -> None:
    """Not while it is still written, and once when it has ended."""
    path.write_bytes(data)
    following = source(path)
    assert poll(following, final=False) == ([], [])
    following.close()
    readings, unreadable = read_log(path)
    assert readings == []
    assert [(each.place, each.reason) for each in unreadable] == [
        (f"offset {len(data)}", "ends before its first sample")
    ]


def test_a_log_with_a_catalogue_and_no_sample_yet_is_whole(tmp_path: Path) -> None:
    assert read_log(write_log(tmp_path / "a.blg", [READ], rows(0), size=SIZE)) == ([], [])


def test_a_lost_buffer_costs_only_its_samples(tmp_path: Path) -> None:
    path = write_log(tmp_path / "a.blg", [READ], rows(200), size=SIZE)
    data = bytearray(path.read_bytes())
    data[3 * SIZE : 4 * SIZE] = b"\x55" * SIZE
    path.write_bytes(data)
    readings, unreadable = read_log(path)

    assert [fault.place for fault in unreadable] == [f"offset {3 * SIZE}"]
    assert 200 - SIZE // 120 - 1 <= len(readings) < 200
    assert readings[-1].raw == 30 * 199


def test_a_part_that_is_missing_costs_its_sample(tmp_path: Path) -> None:
    entry, samples = long_rows(4)
    path = write_log(tmp_path / "a.blg", [entry], samples, size=12288)
    data = bytearray(path.read_bytes())
    data[2 * 12288 : 3 * 12288] = bytes(12288)
    path.write_bytes(data)
    readings, unreadable = read_log(path)

    assert {len([r for r in readings if r.time == t]) for t in {r.time for r in readings}} == {220}
    assert len({each.time for each in readings}) == 3
    assert any("part" in fault.reason for fault in unreadable)


def test_a_circular_log_is_sorted_by_the_numbers_of_its_buffers_and_said_to_be_untried(
    tmp_path: Path,
) -> None:
    path = write_log(tmp_path / "a.blg", [READ], rows(200), size=SIZE, mode=2)
    data = path.read_bytes()
    buffers = [data[at : at + SIZE] for at in range(0, len(data), SIZE)]
    path.write_bytes(b"".join([buffers[0], *buffers[4:], *buffers[1:4]]))
    readings, unreadable = read_log(path)

    assert values(readings) == expected(0, 200)
    assert ["circular" in fault.reason for fault in unreadable] == [True]


def test_a_log_with_the_names_changed_on_the_way_goes_on_with_the_new_catalogue(
    tmp_path: Path,
) -> None:
    log = BinaryLog(tmp_path / "a.blg", NOON)
    for number, counter in enumerate(["Log Threads Waiting", "Version Buckets Allocated"]):
        now = NOON + number
        log.catalogue([READ._replace(counter=counter, type=RAWCOUNT)], filetime(now))
        log.sample(filetime(now), [counted(now, 7)])
    log.close()
    readings, unreadable = read_log(tmp_path / "a.blg")

    assert unreadable == []
    assert [each.counter for each in readings] == [
        "Log Threads Waiting", "Version Buckets Allocated",
    ]  # fmt: skip


def of_one_start(path: Path, positions: dict[str, bytes]) -> list[Reading]:
    """The readings of an agent that starts at these positions, and leaves its own."""
    one, found = source(path), []
    one.restore(positions)
    for batch in one.poll():
        positions.update({key: value for key, value in batch.positions.items() if value})
        found += [each for each in batch.records if isinstance(each, Reading)]
        assert batch.unreadable == []
    one.close()
    return found


def test_after_a_restart_behind_a_second_catalogue_the_samples_keep_its_names(
    tmp_path: Path,
) -> None:
    log = BinaryLog(tmp_path / "whole", NOON, size=SIZE)
    for session, counter in enumerate(["Log Threads Waiting", "Version Buckets Allocated"]):
        log.catalogue([READ._replace(counter=counter)], filetime(NOON + 3000 * session))
        for now, each in rows(80):
            log.sample(filetime(now + 3000 * session), each)
    log.close()
    data, path = (tmp_path / "whole").read_bytes(), tmp_path / "a.blg"
    positions: dict[str, bytes] = {}
    found: list[Reading] = []
    for end in range(SIZE, len(data) + SIZE, SIZE):
        append(path, data[end - SIZE : end])
        for _ in range(2):  # the second one has nothing new to read
            found += of_one_start(path, positions)

    assert str(found) == str(of_one_start(tmp_path / "whole", {}))
    assert [each.counter for each in found] == [
        *["Log Threads Waiting"] * 80, *["Version Buckets Allocated"] * 80,
    ]  # fmt: skip


def test_a_position_saved_before_catalogues_were_kept_is_taken_up() -> None:
    saved = msgspec.msgpack.encode([0, 0, False])
    assert msgspec.msgpack.decode(saved, type=BlgDecoderState).catalogue == b""


def test_the_offset_of_a_log_is_that_of_its_first_sample(tmp_path: Path) -> None:
    entry = Entry("EX01", "Processor", "_Total", "% Processor Time", 0x21510500, SINGLE)
    clocks = [(NOON + 3600, NOON), (NOON + 7200 + STEP, NOON + STEP)]
    samples = [
        (local, [single(filetime(local), number, filetime(now))])
        for number, (local, now) in enumerate(clocks)
    ]
    assert look(str(write_log(tmp_path / "a.blg", [entry], samples))).zone == ("", -60)


def test_only_counters_that_feed_a_metric_are_read_where_others_are_not_wanted(
    tmp_path: Path,
) -> None:
    entries = [READ, Entry("EX01", "Process", "*", "Handle Count", RAWCOUNT)]
    items = wildcard(filetime(NOON), [("lsass", 1, 0)])
    path = write_log(tmp_path / "a.blg", entries, [(NOON, [counted(NOON, 1), items])])
    found = perfmon_blg_source("counters", [str(path)], ese_only=True)
    readings, _ = poll(found)
    found.close()

    assert [each.object for each in readings] == ["MSExchange Database ==> Instances"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'"(PDH-CSV 4.0)"\r\n' * 500, "not a binary counter log"),
        (bytes(5000), "not a binary counter log"),
    ],
)
def test_what_is_no_such_log_is_refused(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "a.blg"
    path.write_bytes(data)

    assert not is_binary_log(data)
    with pytest.raises(SourceError, match=words):
        read_log(path)


def test_text_under_the_name_of_a_log_is_refused() -> None:
    with pytest.raises(SourceError, match="not a binary counter log"):
        read_log(sample("blg/powershell-CorruptBlg.blg"))


def test_a_compressed_log_and_a_trace_without_counters_are_refused(tmp_path: Path) -> None:
    compressed = write_log(tmp_path / "a.blg", [READ], rows(3), mode=0x04000001)
    with pytest.raises(SourceError, match=r"compressed event trace.*relog"):
        read_log(compressed)
    trace = BinaryLog(tmp_path / "b.etl", NOON, size=SIZE)
    for _ in range(100):
        trace.event(0x30, filetime(NOON), bytes(100))
    trace.close()
    with pytest.raises(SourceError, match=r"without counters; .*tracerpt"):
        read_log(tmp_path / "b.etl")


def test_real_logs_are_read_the_same_in_any_steps(tmp_path: Path) -> None:
    whole = sample("blg/pal-SampleLog.blg")
    at_once, _ = read_log(whole)
    data = whole.read_bytes()
    path = tmp_path / "a.blg"
    following = source(path)
    found: list[Reading] = []
    for end in range(100_000, len(data) + 100_000, 100_000):
        append(path, data[end - 100_000 : end])
        found += poll(following, final=end >= len(data))[0]
    following.close()

    assert str(found) == str(at_once)
