"""Event logs that are whole: what comes out, what is read again, what growth and rotation do."""

import gzip
import os
import shutil
import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from esewatch.model import Coverage, SourceError
from esewatch.sources.evtx import evtx_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.kind import EventOptions
from tests.support.evtx_records import COMPLETED, DATABASE, START, Harvest, harvest
from tests.support.evtx_writer import EvtxWriter, chunk_start

HOUR_AGO = -3600


def source(*paths: Path | str, **options: object) -> EvtxSource:
    return EvtxSource("log", [str(path) for path in paths], EventOptions(**options))  # type: ignore[arg-type]


def read(*paths: Path | str, **options: object) -> Harvest:
    return harvest(source(*paths, **options).poll(final=True))


def fill(log: EvtxWriter, count: int, *, every: int = 1, provider: str = "ESE") -> list[int]:
    """Write `count` records of which each `every`th is one of `provider`; ids of these."""
    ids = []
    for number in range(count):
        time = START + timedelta(seconds=log.next_record_id)
        if number % every == 0:
            ids.append(log.write(701, COMPLETED, provider=provider, time=time))
        else:
            log.write(4, ["other", "x" * 200], provider="Userenv", time=time)
    return ids


def age(path: Path) -> None:
    """Make the file look as if it had been written a while ago."""
    stamp = path.stat().st_mtime + HOUR_AGO
    os.utime(path, (stamp, stamp))


def test_an_event_has_everything_the_record_tells(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    time = START + timedelta(microseconds=123_457)
    with EvtxWriter(path, computer="EX01.corp.example", channel="Application") as log:
        log.write(701, COMPLETED, time=time)
    (event,) = read(path).events
    assert (event.event_id, event.provider, event.record_id) == (701, "ESE", 1)
    assert (event.computer, event.channel, event.level) == (
        "EX01.corp.example",
        "Application",
        "information",
    )
    assert event.time == time.timestamp()
    assert event.strings == tuple(COMPLETED)
    assert (event.database, event.task, event.stage) == (DATABASE, "defrag", "completed")


@pytest.mark.parametrize(
    ("number", "word"),
    [(0, "information"), (1, "critical"), (2, "error"), (3, "warning"), (5, "verbose")],
)
def test_the_level_is_a_word(tmp_path: Path, number: int, word: str) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as log:
        log.write(474, COMPLETED, time=START, level=number)
    assert [event.level for event in read(tmp_path / "a.evtx").events] == [word]


@pytest.mark.parametrize("layout", ["array", "elements", "named", "user"])
@pytest.mark.parametrize(
    "strings",
    [["a", "", "c"], ["", "x", ""], ["a", ""], ["", "", ""], ["one"], ["ü漢😀", '\r\n<&>" ']],
)
def test_an_empty_string_keeps_its_place(tmp_path: Path, layout: str, strings: list[str]) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as log:
        log.write(701, strings, time=START, layout=layout)  # type: ignore[arg-type]
    (event,) = read(tmp_path / "a.evtx").events
    assert event.strings == tuple(strings)


def test_only_events_of_ese_providers_come_out(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    known = ["ESE", "ESENT", "NTDS ISAM", "ESE BACKUP", "ADAM [shop] ISAM"]
    with EvtxWriter(path) as log:
        for provider in (*known, "ESET", "Userenv", "MYAPP"):
            log.write(701, COMPLETED, provider=provider, time=START)
    assert [event.provider for event in read(path).events] == known
    further = read(path, providers=("myapp",)).events
    assert [event.provider for event in further] == [*known, "MYAPP"]


def test_companions_come_out_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(1221, ["12", "db"], provider="MSExchangeIS", time=START)
    assert read(path).events == []
    assert [event.companion for event in read(path, companions=True).events] == [True]


def test_a_record_without_computer_gets_the_configured_one(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, computer="") as log:
        log.write(701, COMPLETED, time=START)
    found = read(path, computer="ex01")
    assert [event.computer for event in found.events] == ["ex01"]
    assert [covered.computer for covered in found.coverage] == ["ex01"]


@pytest.mark.parametrize("every", [1, 150, 10_000])
def test_coverage_follows_the_events_of_each_chunk(tmp_path: Path, every: int) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        ids = fill(log, 700, every=every)
    found = read(path)
    assert found.ids == ids
    assert (found.coverage[0].first, found.coverage[-1].last) == (1, 700)
    for before, after in zip(found.coverage, found.coverage[1:], strict=False):
        assert after.first == before.last + 1
    for covered in found.coverage:
        assert covered.first_time == START.timestamp() + covered.first
        assert covered.last_time == START.timestamp() + covered.last
    seen: list[int] = []
    for record in (record for batch in found.batches for record in batch.records):
        if isinstance(record, Coverage):
            seen = [number for number in seen if number > record.last]
        else:
            assert isinstance(record.record_id, int) if hasattr(record, "record_id") else True
            seen.append(record.record_id)  # type: ignore[union-attr, arg-type]
    assert seen == []


def test_a_filtered_export_covers_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for number in (5, 6, 90):
            log.write(701, COMPLETED, time=START, event_record_id=number)
    found = read(path)
    assert (found.ids, found.coverage) == ([5, 6, 90], [])


def test_an_export_without_holes_covers_its_original_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        for number in (1969, 1970, 1971):
            log.write(701, COMPLETED, time=START, event_record_id=number)
    assert [(c.first, c.last) for c in read(path).coverage] == [(1969, 1971)]


@pytest.mark.parametrize("provider", ["ESE", "Userenv"])
def test_a_chunk_with_records_of_two_computers_covers_nothing(
    tmp_path: Path, provider: str
) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(701, COMPLETED, time=START, computer="old", provider=provider)
        log.write(701, COMPLETED, time=START, computer="new", provider=provider)
    assert read(path).coverage == []


def test_the_last_batch_says_caught_up_and_the_backlog_falls_to_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 5000)
    batches = read(path).batches
    assert len(batches) > 2
    assert [batch.caught_up for batch in batches] == [False] * (len(batches) - 1) + [True]
    backlog = [batch.backlog_bytes for batch in batches]
    assert backlog == sorted(backlog, reverse=True)
    assert backlog[0] > 0
    assert backlog[-1] == 0
    assert max(len(batch.records) for batch in batches) < 3000


def test_an_unchanged_file_costs_a_stat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 300)
    age(path)
    watched = source(path)
    assert len(harvest(watched.poll()).ids) == 300
    opened: list[str] = []
    monkeypatch.setattr(evtx_source, "open_raw", opened.append)
    (batch,) = watched.poll()
    assert (batch.records, batch.positions, batch.caught_up, opened) == ([], {}, True, [])


def test_a_file_changed_just_now_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path)
    fill(log, 10)
    log.flush()
    watched = source(path)
    harvest(watched.poll())
    stamp = path.stat().st_mtime_ns
    ids = fill(log, 5)
    log.close()
    os.utime(path, ns=(stamp, stamp))
    assert harvest(watched.poll()).ids == ids


def test_a_file_dated_far_in_the_future_is_not_looked_through_at_every_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path)
    written = fill(log, 10)
    log.flush()
    stamp = time.time() + 400 * 86400
    os.utime(path, (stamp, stamp))
    watched = source(path)
    ids = harvest(watched.poll()).ids
    with monkeypatch.context() as patch:
        patch.setattr(evtx_source, "plan", None)
        harvest(watched.poll())
    written += fill(log, 5)
    log.close()
    assert ids + harvest(watched.poll()).ids == written


def test_each_record_of_a_growing_file_comes_once(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path, dirty=True, preallocate=2)
    watched, ids, written = source(path), [], []
    for _ in range(25):
        written += fill(log, 37, every=3)
        log.flush()
        found = harvest(watched.poll())
        assert found.unreadable == []
        ids += found.ids
    log.close()
    ids += harvest(watched.poll()).ids
    assert ids == written


def test_only_changed_chunks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 2000)
    watched = source(path)
    harvest(watched.poll())
    with EvtxWriter(path) as log:
        fill(log, 1)
    found = harvest(watched.poll())
    assert found.ids == [2001]
    assert [covered.last for covered in found.coverage] == [2001]


def test_records_behind_a_stale_chunk_header_come_out(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path, dirty=True)
    ids = fill(log, 20)
    log.flush()
    watched = source(path)
    assert harvest(watched.poll()).ids == ids
    for _ in range(3):
        more = fill(log, 5)
        log.flush(stale_chunk_header=True)
        found = harvest(watched.poll())
        assert (found.ids, found.unreadable) == (more, [])
        assert found.coverage[-1].last == more[-1]
    log.close()


def test_a_first_chunk_whose_header_knows_no_record_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path, dirty=True)
    log.flush()
    ids = fill(log, 20)
    log.flush(stale_chunk_header=True)
    log.abandon()
    found = read(path)
    assert (found.ids, found.unreadable) == (ids, [])
    assert [(c.first, c.last) for c in found.coverage] == [(1, 20)]


def test_what_an_earlier_use_left_behind_the_records_is_not_read(tmp_path: Path) -> None:
    path, old = tmp_path / "a.evtx", tmp_path / "old.evtx"
    for where, count, first in ((old, 100, 5), (path, 40, 5000)):
        with EvtxWriter(where, first_record_id=first) as log:
            fill(log, count)
    data = bytearray(old.read_bytes())
    new = path.read_bytes()
    end = chunk_start(0) + int.from_bytes(new[chunk_start(0) + 48 : chunk_start(0) + 52], "little")
    data[:end] = new[:end]
    path.write_bytes(data)
    found = read(path)
    assert (found.ids, found.unreadable) == (list(range(5000, 5040)), [])


@pytest.mark.parametrize("dirty", [True, False])
def test_a_log_without_checksums_is_read(tmp_path: Path, dirty: bool) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, checksums=False, dirty=dirty) as log:
        ids = fill(log, 500)
    found = read(path)
    assert (found.ids, found.unreadable) == (ids, [])
    assert found.coverage[-1].last == 500


def test_a_stale_chunk_count_in_the_file_header_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path, dirty=True)
    log.flush()
    ids = fill(log, 1000)
    log.close()
    assert int.from_bytes(path.read_bytes()[42:44], "little") == 1
    assert read(path).ids == ids


def test_preallocated_chunks_are_passed_over_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, preallocate=12) as log:
        ids = fill(log, 500)
    found = read(path)
    assert (found.ids, found.unreadable) == (ids, [])


def test_a_circular_log_loses_nothing_between_polls(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    log = EvtxWriter(path, max_chunks=4)
    watched, ids, written = source(path), [], []
    for _ in range(30):
        written += fill(log, 60)
        log.flush()
        found = harvest(watched.poll())
        assert found.unreadable == []
        ids += found.ids
    log.close()
    assert ids == written
    assert read(path).ids == sorted(read(path).ids, key=lambda number: number or 0)


def test_a_log_that_was_cleared_starts_again(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 100)
    watched = source(path)
    harvest(watched.poll())
    path.unlink()
    with EvtxWriter(path) as log:
        for number in range(3):
            log.write(703, COMPLETED, time=START + timedelta(days=30, seconds=number))
    found = harvest(watched.poll())
    assert [(event.record_id, event.event_id) for event in found.events] == [
        (1, 703),
        (2, 703),
        (3, 703),
    ]


def test_a_renamed_archive_is_not_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "Application.evtx"
    with EvtxWriter(path) as log:
        fill(log, 300)
    watched = source(tmp_path / "*.evtx")
    assert len(harvest(watched.poll()).ids) == 300
    path.rename(tmp_path / "Archive-Application-1.evtx")
    with EvtxWriter(path, first_record_id=301) as log:
        ids = fill(log, 10)
    found = harvest(watched.poll())
    assert found.ids == ids
    positions = {name for batch in found.batches for name in batch.positions}
    assert positions == {str(path), str(tmp_path / "Archive-Application-1.evtx")}


def test_the_position_of_a_deleted_file_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 10)
    watched = source(tmp_path / "*.evtx")
    harvest(watched.poll())
    path.unlink()
    (batch,) = watched.poll()
    assert (batch.positions, batch.caught_up) == ({str(path): None}, True)


def test_positions_survive_a_folder_that_is_out_of_reach(tmp_path: Path) -> None:
    folder = tmp_path / "share"
    folder.mkdir()
    with EvtxWriter(folder / "a.evtx") as log:
        fill(log, 10)
    watched = source(folder / "*.evtx")
    harvest(watched.poll())
    folder.rename(tmp_path / "away")
    poll = watched.poll()
    batch = next(poll)
    assert (batch.positions, batch.records, batch.caught_up) == ({}, [], False)
    with pytest.raises(SourceError, match=r"/share: No such file or directory$"):
        next(poll)
    (tmp_path / "away").rename(folder)
    assert harvest(watched.poll()).ids == []


def test_positions_of_a_folder_inside_a_pattern_that_is_deleted_are_forgotten(
    tmp_path: Path,
) -> None:
    """A collector makes a folder a day: what is known of the old ones must not grow without end."""
    for day in ("1", "2"):
        (tmp_path / "logs" / "2026" / day).mkdir(parents=True)
        with EvtxWriter(tmp_path / "logs" / "2026" / day / "a.evtx") as log:
            fill(log, 10)
    watched = source(tmp_path / "logs" / "**" / "*.evtx")
    harvest(watched.poll())
    shutil.rmtree(tmp_path / "logs" / "2026" / "1")
    (batch,) = watched.poll()
    assert batch.positions == {f"{tmp_path}/logs/2026/1/a.evtx": None}
    shutil.rmtree(tmp_path / "logs" / "2026")
    (batch,) = watched.poll()
    assert batch.positions == {f"{tmp_path}/logs/2026/2/a.evtx": None}


def test_a_pattern_without_match_is_caught_up(tmp_path: Path) -> None:
    (batch,) = source(tmp_path / "*.evtx").poll()
    assert (batch.records, batch.unreadable, batch.caught_up) == ([], [], True)


def test_a_named_file_that_does_not_exist_is_an_error_after_the_others_were_read(
    tmp_path: Path,
) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as log:
        fill(log, 10)
    missing = tmp_path / "b.evtx"
    batches = source(tmp_path / "a.evtx", missing).poll()
    first = next(batches)
    assert (len(first.records), first.caught_up) == (11, False)
    with pytest.raises(SourceError, match=r"b\.evtx: no such file"):
        next(batches)


def test_a_name_with_brackets_is_taken_as_it_is(tmp_path: Path) -> None:
    with EvtxWriter(tmp_path / "Archive [1].evtx") as log:
        fill(log, 3)
    assert len(read(tmp_path / "Archive [1].evtx").ids) == 3


def test_a_compressed_log_is_read_and_not_read_again(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.evtx", tmp_path / "a.evtx.gz"
    with EvtxWriter(plain, preallocate=3) as log:
        ids = fill(log, 3000)
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    watched = source(packed)
    found = harvest(watched.poll())
    assert (found.ids, found.unreadable) == (ids, [])
    assert found.coverage[-1].last == 3000
    assert [(b.records, b.positions) for b in watched.poll()] == [([], {})]


def collect(batches: Iterable[object]) -> list[int | None]:
    return harvest(batches).ids  # type: ignore[arg-type]


@pytest.mark.parametrize("kept", range(6))
def test_a_kill_between_batches_loses_no_record(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        ids = fill(log, 9000)
    positions: dict[str, bytes] = {}
    first: list[int | None] = []
    for number, batch in enumerate(source(path).poll()):
        if number == kept:
            break
        first += harvest([batch]).ids
        positions |= {name: value for name, value in batch.positions.items() if value}
    restarted = source(path)
    restarted.restore(positions)
    with EvtxWriter(path) as log:
        ids += fill(log, 50)
    rest = collect(restarted.poll())
    assert first + rest == ids


def test_a_poll_that_is_broken_off_hands_the_rest_out_at_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        ids = fill(log, 5000)
    watched = source(path)
    first = collect([next(watched.poll())])
    assert 0 < len(first) < len(ids)
    assert first + collect(watched.poll()) == ids


@pytest.mark.parametrize(
    "value", [b"", b"\x00", b"\xff\xff", b"\x93\x01\x02\x03", b"\x93\xc0\xc4\x03abc\xc0"]
)
def test_a_position_that_cannot_be_read_means_a_fresh_start(tmp_path: Path, value: bytes) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        ids = fill(log, 10)
    restarted = source(path)
    restarted.restore({str(path): value})
    assert collect(restarted.poll()) == ids


def test_a_position_takes_six_bytes_a_chunk(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        fill(log, 20_000)
    chunks = (path.stat().st_size - chunk_start(0)) // 65536
    sizes = [
        len(value or b"") for batch in read(path).batches for value in batch.positions.values()
    ]
    assert 6 * chunks < max(sizes) < 6 * chunks + 64


def test_the_same_file_under_two_patterns_is_read_once(tmp_path: Path) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as log:
        ids = fill(log, 10)
    assert read(tmp_path / "a.evtx", tmp_path / "*.evtx").ids == ids


def test_events_of_many_files_share_batches(tmp_path: Path) -> None:
    for number in range(40):
        with EvtxWriter(tmp_path / f"{number:02}.evtx", computer=f"ex{number}") as log:
            fill(log, 5)
    batches = read(tmp_path / "*.evtx").batches
    assert len(batches) == 1
    assert len(batches[0].positions) == 40


def names(values: Sequence[object]) -> list[str]:
    return [type(value).__name__ for value in values]


def test_records_and_positions_can_be_stored(tmp_path: Path) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as log:
        fill(log, 3)
    (batch,) = read(tmp_path / "a.evtx").batches
    assert names(batch.records) == ["Event"] * 3 + ["Coverage"]
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(batch))["caught_up"] is True
