"""What the writer writes is an event log: two independent readers say so."""

from datetime import timedelta
from pathlib import Path

import evtx
import pytest

from tests.support.evtx_records import (
    COMPLETED,
    START,
    Seen,
    by_evtx,
    by_libevtx,
    by_python_evtx,
)
from tests.support.evtx_writer import EvtxWriter, chunk_start
from tests.support.processor import processor_seconds

STRINGS = (
    ["lsass", "548,D,0", "", "C:\\Windows\\NTDS\\ntds.dit", "0"],
    ["one"],
    [""],
    ["", "x", ""],
    ["ünïcode 漢字", '\n<&>"'],
    ["trailing", ""],
    ["a\r\nb", " c "],
)


def written(path: Path, count: int = 700) -> list[Seen]:
    """Write a log of several chunks and say what must be in it."""
    expected = []
    with EvtxWriter(path) as log:
        for number in range(count):
            time = START + timedelta(microseconds=1_234_567 * number)
            strings, provider = STRINGS[number % 7], ("ESE", "ESENT", "NTDS ISAM")[number % 3]
            record_id = log.write(700 + number % 27, strings, provider=provider, time=time)
            stamp = time.replace(tzinfo=None).isoformat(timespec="microseconds")
            seen = Seen(record_id, 700 + number % 27, provider, stamp, tuple(strings))
            expected.append(seen)
    return expected


def test_the_rust_parser_reads_what_was_written_checksums_included(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    expected = written(path)
    assert path.stat().st_size >= chunk_start(2)
    assert by_evtx(path) == expected
    checked = evtx.PyEvtxParser(str(path), validate_checksums=True)
    assert sum(1 for _ in checked.records()) == len(expected)


def test_libevtx_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    assert written(path) == by_libevtx(path)


def test_python_evtx_reads_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    expected = written(path, 250)
    assert by_python_evtx(path) == [seen[:3] for seen in expected]


@pytest.mark.parametrize("layout", ["elements", "named", "user"])
def test_other_layouts_of_strings_are_read_by_both_readers(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path) as log:
        log.write(1, ["a", "", "c"], provider="Other", time=START, layout=layout)  # type: ignore[arg-type]
        log.write(2, ["d", "e"], provider="Other", time=START, layout=layout)  # type: ignore[arg-type]
    assert [seen.event_id for seen in by_evtx(path)] == [1, 2]
    assert [seen.strings for seen in by_libevtx(path)] == [("a", "", "c"), ("d", "e")]


def test_a_log_grows_by_reopening_it(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    for number in range(600):
        if number % 150 == 0:
            log = EvtxWriter(path)
        log.write(700, [*COMPLETED, str(number)], time=START)
        if number % 150 == 149:
            log.close()
    seen = by_evtx(path)
    assert [record.record_id for record in seen] == list(range(1, 601))
    assert [record.strings[-1] for record in seen] == [str(number) for number in range(600)]
    assert [record[:3] for record in seen] == [record[:3] for record in by_libevtx(path)]


def test_a_circular_log_keeps_the_newest_records(tmp_path: Path) -> None:
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, max_chunks=3) as log:
        for _ in range(1500):
            log.write(701, COMPLETED, time=START)
    ids = sorted(record.record_id for record in by_evtx(path))
    assert ids == list(range(ids[0], 1501))
    assert ids[0] > 1
    assert path.stat().st_size == chunk_start(3)
    assert sorted(record.record_id for record in by_libevtx(path)) == ids


def test_twenty_thousand_records_take_seconds(tmp_path: Path) -> None:
    def write() -> None:
        with EvtxWriter(tmp_path / "a.evtx") as log:
            for _ in range(20_000):
                log.write(701, COMPLETED, time=START)

    assert processor_seconds(write) < 10


def test_a_record_larger_than_a_chunk_is_refused(tmp_path: Path) -> None:
    with (
        EvtxWriter(tmp_path / "a.evtx") as log,
        pytest.raises(ValueError, match="larger than a chunk"),
    ):
        log.write(701, ["x" * 32_000], time=START)
