"""Sorting on disk: more records than memory holds, in order.

Items are sorted in memory a run at a time; the runs lie one behind the other in a
temporary file and are merged when read. Memory: one run, and a block of each run.
"""

import heapq
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Generic, TypeVar

RUN_ITEMS = 200_000
BLOCK_ITEMS = 256

T = TypeVar("T", bound=tuple[Any, ...])


class SortedSpool(Generic[T]):
    """Takes tuples in any order and hands them out sorted, as often as asked.

    The temporary file lies in `folder`. It has no name or is deleted when closed, and
    only this process writes it: that is why pickle may read it.
    """

    def __init__(self, folder: Path, run_items: int = RUN_ITEMS) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._run_items = run_items
        self._run: list[T] = []
        self._stored: list[list[tuple[int, int]]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, item: T) -> None:
        """Take one item. Raises OSError when the disk is full."""
        self._run.append(item)
        self._count += 1
        if len(self._run) >= self._run_items:
            self._store()

    def __iter__(self) -> Iterator[T]:
        self._run.sort()
        return heapq.merge(*map(self._read, self._stored), iter(self._run))

    def close(self) -> None:
        self._file.close()

    def _store(self) -> None:
        self._run.sort()
        blocks = []
        for at in range(0, len(self._run), BLOCK_ITEMS):
            data = pickle.dumps(self._run[at : at + BLOCK_ITEMS], pickle.HIGHEST_PROTOCOL)
            blocks.append((self._file.tell(), len(data)))
            self._file.write(data)
        self._stored.append(blocks)
        self._run.clear()

    def _read(self, blocks: list[tuple[int, int]]) -> Iterator[T]:
        for offset, size in blocks:
            self._file.seek(offset)
            yield from pickle.loads(self._file.read(size))
