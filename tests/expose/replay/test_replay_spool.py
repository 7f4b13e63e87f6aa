"""Sorting on disk."""

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from esewatch.expose.replay.replay_files import BLOCK_ITEMS, SortedSpool
from esewatch.model import Record
from tests.support.records import event


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
