"""A file a month, whole or not there, and nobody's file is overwritten."""

import datetime
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.expose.replay.replay_files import (
    BLOCK_ITEMS,
    EPOCH,
    MonthFiles,
    MonthSpan,
    SortedSpool,
    file_of,
    months,
    refuse_strangers,
)
from esewatch.expose.replay.series_changes import Series, SeriesChange
from esewatch.model import EsewatchError, Record
from tests.support.records import event

SIZE = Series("ese_database_size_bytes", 'ese_database_size_bytes{database="a"}')
HOUR = 3_600_000


def ms(*when: int) -> int:
    time = datetime.datetime(*when, tzinfo=datetime.UTC)  # type: ignore[misc,arg-type]
    return (time - EPOCH) // datetime.timedelta(milliseconds=1)


def written(folder: Path, changes: list[SeriesChange], span: MonthSpan) -> dict[str, list[str]]:
    """File name -> its sample lines."""
    spool = folder / "spool"
    spool.mkdir()
    files = MonthFiles(folder / "h.om", spool, [SIZE], span)
    files.write(changes)
    assert list(spool.iterdir()) == []
    return {
        path.name: [line for line in path.read_text().splitlines() if line[0] != "#"]
        for path in files.written
    }


def test_months_are_those_of_utc_over_the_end_of_a_year() -> None:
    span = MonthSpan(ms(2025, 11, 30, 23, 59), ms(2026, 1, 1), 1)

    assert months(span) == [(2025, 11), (2025, 12), (2026, 1)]
    assert file_of(Path("x/h.v1.om"), (2026, 1)) == Path("x/h.v1-2026-01.om")


def test_a_sample_at_midnight_of_the_first_is_in_the_new_file_only(tmp_path: Path) -> None:
    span = MonthSpan(ms(2026, 1, 31, 22), ms(2026, 2, 1, 1), HOUR)
    changes = [SeriesChange(span.first, 0, 1.0), SeriesChange(ms(2026, 2, 1), 0, 2.0)]
    found = written(tmp_path, changes, span)

    assert {name: [line.split("} ")[1] for line in lines] for name, lines in found.items()} == {
        "h-2026-01.om": [f"1 {span.first // 1000}", f"1 {span.first // 1000 + 3600}"],
        "h-2026-02.om": [f"2 {ms(2026, 2, 1) // 1000}", f"2 {ms(2026, 2, 1, 1) // 1000}"],
    }


def test_a_month_without_a_change_has_a_sample_at_each_step(tmp_path: Path) -> None:
    span = MonthSpan(ms(2026, 1, 31), ms(2026, 3, 1), HOUR)
    found = written(tmp_path, [SeriesChange(span.first, 0, 1.0)], span)

    assert {name: len(lines) for name, lines in found.items()} == {
        "h-2026-01.om": 24,
        "h-2026-02.om": 28 * 24,
        "h-2026-03.om": 1,
    }


def test_what_changed_before_the_span_holds_at_its_beginning(tmp_path: Path) -> None:
    span = MonthSpan(ms(2026, 1, 10), ms(2026, 1, 10, 1), HOUR)
    changes = [SeriesChange(ms(2025, 3, 1), 0, 1.0), SeriesChange(ms(2025, 3, 2), 0, 4.0)]
    found = written(tmp_path, changes, span)

    assert [line.split("} ")[1][:2] for line in found["h-2026-01.om"]] == ["4 ", "4 "]


def test_a_file_of_an_earlier_replay_is_replaced_and_any_other_refused(tmp_path: Path) -> None:
    span = MonthSpan(ms(2026, 1, 10), ms(2026, 1, 10, 1), HOUR)
    written(tmp_path, [SeriesChange(span.first, 0, 1.0)], span)
    empty = tmp_path / "empty.om"
    empty.write_text("# EOF\n")
    refuse_strangers([tmp_path / "h-2026-01.om", empty, tmp_path / "none.om"])

    for text in ("", "notes\n", "# HELP ese_x y\n", "# HELP node_load1 x\n# EOF\n"):
        stranger = tmp_path / "stranger.om"
        stranger.write_text(text)
        with pytest.raises(EsewatchError, match="exists"):
            refuse_strangers([stranger])


def test_a_failure_leaves_the_earlier_file(tmp_path: Path) -> None:
    span = MonthSpan(ms(2026, 1, 10), ms(2026, 1, 10, 1), HOUR)
    written(tmp_path, [SeriesChange(span.first, 0, 1.0)], span)
    before = (tmp_path / "h-2026-01.om").read_bytes()
    files = MonthFiles(tmp_path / "h.om", tmp_path / "spool", [], span)

    with pytest.raises(IndexError):
        files.write([SeriesChange(span.first, 0, 2.0)])
    assert (tmp_path / "h-2026-01.om").read_bytes() == before
    assert files.written == []


@given(items=st.lists(st.tuples(st.integers(), st.integers(), st.text())), run=st.integers(1, 9))
def test_what_comes_out_is_what_went_in_sorted(items: list[tuple[int, int, str]], run: int) -> None:
    spool: SortedSpool[tuple[int, int, str]] = SortedSpool(Path(tempfile.gettempdir()), run)
    for item in items:
        spool.add(item)

    assert len(spool) == len(items)
    assert list(spool) == sorted(items)
    assert list(spool) == sorted(items)
    spool.close()


def test_a_run_of_many_blocks_comes_back_whole(tmp_path: Path) -> None:
    spool: SortedSpool[tuple[int, int]] = SortedSpool(tmp_path, run_items=3 * BLOCK_ITEMS + 1)
    numbers = [(number * 7919 % 10_007, number) for number in range(10_007)]
    for item in numbers:
        spool.add(item)

    assert list(spool) == sorted(numbers)
    spool.close()


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    spool: SortedSpool[tuple[int, int, Record]] = SortedSpool(tmp_path, run_items=1)
    strange = event(703, 0.0, 7, fields={"n": 2**80, "text": "\ud800"}, strings=("a", "\0"))
    spool.add((1, 0, strange))
    spool.add((0, 1, strange))

    assert list(spool) == [(0, 1, strange), (1, 0, strange)]
    spool.close()


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    spool: SortedSpool[tuple[int]] = SortedSpool(tmp_path, run_items=1)
    spool.add((1,))
    spool.add((2,))
    spool.close()

    assert list(tmp_path.iterdir()) == []
