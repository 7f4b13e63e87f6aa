"""A folder of very many files: what a look costs is linear, and records flow before it is over."""

import errno
import json
from pathlib import Path

import pytest

from esewatch.model import Reading, Record, Source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.files import file_search, file_set
from esewatch.sources.files.file_identity import Beginnings, Heads, digest
from esewatch.sources.files.raw_file import RawFile
from esewatch.sources.logs.eseutil_log import EseutilLogSource
from esewatch.sources.logs.event_stream import event_stream_source
from tests.reliability.server import HEADER
from tests.reliability.test_inputs import append
from tests.reliability.test_names import log_events
from tests.sources.page_scans import Bench
from tests.support.eseutil_text import check
from tests.support.figures import record as record_figure
from tests.support.processor import processor_seconds


def one_line_each(folder: Path, count: int) -> None:
    append(folder / "first", 1)
    line = json.loads((folder / "first").read_text())
    (folder / "first").unlink()
    for number in range(count):
        text = json.dumps({**line, "Hostname": f"E{number}"})
        (folder / f"{number:06}.ndjson").write_text(text + "\n")


def first_look(folder: Path, count: int) -> float:
    """Seconds of processor that the first look at so many files costs."""
    folder.mkdir()
    one_line_each(folder, count)
    source = event_stream_source("a", [f"{folder}/*.ndjson"])
    records: list[Record] = []

    def read() -> None:
        for batch in source.poll():
            records.extend(batch.records)

    seconds = processor_seconds(read)
    source.close()
    assert len(records) == count
    return seconds


@pytest.mark.slow
def test_the_first_look_at_four_times_as_many_files_costs_about_four_times_as_much(
    tmp_path: Path,
) -> None:
    few, many = (first_look(tmp_path / str(count), count) for count in (2000, 8000))
    record_figure(
        "the first look at a folder of 8,000 files of one line",
        f"{many:.1f} CPU-s, {few:.1f} for 2,000",
    )
    assert many < 8 * few  # 16 times where each file is compared with each


def test_counters_are_read_oldest_first_however_many_files_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_set, "PORTION", 10)
    for number in range(35):
        row = f'"01/05/2026 00:{34 - number:02}:00.000","1","1","{number}"'
        (tmp_path / f"{number:02}.csv").write_text(f"{HEADER}\r\n{row}\r\n")
    source = perfmon_csv_source("a", [f"{tmp_path}/*.csv"])
    batches = list(source.poll())
    times = [each.time for batch in batches for each in batch.records if isinstance(each, Reading)]
    assert len(times) == 3 * 35
    assert times == sorted(times)
    assert len(batches) >= 4  # it says that it is alive
    assert [batch.caught_up for batch in batches] == [False] * (len(batches) - 1) + [True]
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert {(batch.backlog_bytes, batch.backlog_files) for batch in batches[:-1]} == {(size, 35)}
    source.close()


def test_event_logs_are_handed_out_before_all_were_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("esewatch.sources.evtx.evtx_source._BATCH_BYTES", 1)
    for number in range(5):
        log_events(tmp_path / f"{number}.evtx", 1 + 3 * number, 3)
    opened: list[str] = []
    real = EvtxSource._plan

    def noted(self: EvtxSource, path: str) -> object:
        opened.append(path)
        return real(self, path)

    monkeypatch.setattr(EvtxSource, "_plan", noted)
    source = EvtxSource("a", [f"{tmp_path}/*.evtx"])
    poll = source.poll()
    first = next(poll)
    assert len(first.records) == 4  # three events and what they cover
    assert len(opened) == 1
    assert first.backlog_bytes > 0
    rest = list(poll)
    assert [batch.backlog_files for batch in (first, *rest)] == [5, 4, 3, 2, 1, 0]
    assert rest[-1].backlog_bytes == 0
    assert sum(len(batch.records) for batch in rest) == 16
    source.close()


def test_of_many_files_with_one_header_only_the_youngest_are_compared_with_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_set, "ALIKE", 3)
    compared: list[object] = []

    def differ(*files: object) -> int:
        compared.append(files)
        return 0

    monkeypatch.setattr(file_set, "shared", differ)
    header = HEADER.replace("SG06", "S" * 600)
    for number in range(20):
        row = f'"01/05/2026 00:{number:02}:00.000","1","1","{number}"'
        (tmp_path / f"{number:02}.csv").write_text(f"{header}\r\n{row}\r\n")
    source = perfmon_csv_source("a", [f"{tmp_path}/*.csv"])
    assert sum(len(batch.records) for batch in source.poll())
    (tmp_path / "new.csv").write_text(f'{header}\r\n"01/06/2026 00:00:00.000","1","1","1"\r\n')
    compared.clear()
    list(source.poll())
    assert len(compared) == 3
    source.close()


def test_files_are_found_by_how_they_begin() -> None:
    known: Beginnings[str] = Beginnings()
    for name, data in {"a": b"one", "b": b"one more", "c": b"x" * 5000, "d": b""}.items():
        head = digest(data[:1024])
        known.add(len(data), head, name)
    assert sorted(known.like(Heads(b"one more line"))) == ["a", "b"]
    assert list(known.like(Heads(b"x" * 1024))) == ["c"]
    assert list(known.like(Heads(b"on"))) == []
    assert list(known.like(Heads(b"x" * 1023))) == []


LACK = "more than 3 files, the others are not followed"


def lines_of(source: Source) -> tuple[int, list[str]]:
    """How many records a poll gives, and what it tells."""
    batches = list(source.poll(final=True))
    told = [str(each) for batch in batches for each in batch.unreadable]
    return sum(len(batch.records) for batch in batches), told


def test_beyond_the_limit_files_are_not_followed_which_is_told_once_and_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    one_line_each(tmp_path, 3)
    pattern = f"{tmp_path}/*.ndjson"
    source = event_stream_source("a", [pattern])
    assert lines_of(source) == (3, [])

    append(tmp_path / "000.ndjson", 5)  # before the known ones, in order of names
    assert lines_of(source) == (0, [f"{pattern}: {LACK}"])
    (tmp_path / "000002.ndjson").rename(tmp_path / "zzz.ndjson")
    append(tmp_path / "zzz.ndjson", 2)
    assert lines_of(source) == (2, []), "a known file has room under another name too"
    source.close()


def test_each_of_many_files_that_may_not_be_read_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: str, key: str) -> RawFile:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(file_set, "REMEMBERED", 3)
    monkeypatch.setattr(file_set, "open_known", denied)
    one_line_each(tmp_path, 5)
    source = event_stream_source("a", [f"{tmp_path}/*.ndjson"])
    assert len(lines_of(source)[1]) == 5
    assert lines_of(source) == (0, [])
    source.close()


def test_a_file_that_is_named_itself_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    one_line_each(tmp_path, 4)
    append(tmp_path / "x.log", 1)
    source = event_stream_source("a", [f"{tmp_path}/*.ndjson", f"{tmp_path}/x.log"])
    found, told = lines_of(source)
    assert (found, len(told)) == (4, 1)
    source.close()


def test_event_logs_beyond_the_limit_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    for number in range(5):
        log_events(tmp_path / f"{number}.evtx", 1, 2)
    pattern = f"{tmp_path}/*.evtx"
    source = EvtxSource("a", [pattern])
    assert lines_of(source) == (9, [f"{pattern}: {LACK}"])  # with the coverage of each
    assert lines_of(source) == (0, [])
    (tmp_path / "0.evtx").unlink()
    assert lines_of(source) == (0, [])
    assert lines_of(source) == (3, [])
    source.close()


def test_logs_of_eseutil_beyond_the_limit_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    for number in range(5):
        (tmp_path / f"{number}.log").write_text(check(database=f"D:\\{number}.edb"))
    pattern = f"{tmp_path}/*.log"
    source = EseutilLogSource("a", [pattern], computer="EX01")
    assert lines_of(source) == (3, [f"{pattern}: {LACK}"])
    source.close()


def test_copies_beyond_the_limit_are_not_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    bench = Bench(tmp_path)
    for number in range(5):
        bench.database(f"{number}.edb")
    try:
        assert len(bench.scanned(passes=3)) == 3
        bench.rest()
        assert len(bench.ended()) == 3
        assert bench.unreadable == [f"{bench.snap}/*.edb: {LACK}"]
    finally:
        bench.close()
