"""Reader by page size and state of a database: tables, records, values that are as written.

    python -m tests.eselab.readers.table

prints the rows of the table in docs/engine.md.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq
from pathlib import Path
from typing import NamedTuple

from esefiles.scans.structure.structure_check import check_structure
from tests.eselab.mailing import NAME, SimLife, built
from tests.eselab.page_sizes import SIZES
from tests.eselab.readers.reading import (
    Rows,
    by_dissect,
    by_libesedb,
    tables_by_libesedb,
    without_nulls,
    written,
)
from tests.eselab.readers.test_deep_check import CACHE, STATES
from tests.eselab.readers.test_deep_check import written as files_written
from tests.eselab.readers.test_readers import COLUMNS

HEAD = """\
| state | page size | tables | records | libesedb | dissect.esedb | `check --deep` |
| --- | --- | --- | --- | --- | --- | --- |
"""
SAID: Mapping[str, str] = {
    "as_new": "just filled",
    "worked": "a day of mail",
    "recovered": "four crashes, each recovered",
    "defragmented": "three passes of defragmentation",
    "zeroed_whole": "two passes of zeroing",
    "all_of_it": "crashes within both tasks",
}


class Row(NamedTuple):
    """One database; the readers as `values equal of values written`."""

    state: str
    page_size: int
    tables: int
    records: int
    by_libesedb: tuple[int, int]
    by_dissect: tuple[int, int]
    errors: int
    """Of `check --deep`."""

    def line(self) -> str:
        """As a row of the table."""
        read = [f"{equal:,} of {of:,}" for equal, of in (self.by_libesedb, self.by_dissect)]
        cells = (SAID[self.state], f"{self.page_size:,}", str(self.tables), f"{self.records:,}")
        checked = f"{self.errors} errors"
        return f"| {' | '.join((*cells, *read, checked))} |\n"


def row(state: str, page_size: int, folder: Path) -> Row:
    """A database in this state, shut down, its file in `folder` read by each."""
    live: Callable[[SimLife], SimLife] = STATES[state]
    life = live(built(80, page_size=page_size, cache_pages=CACHE))
    life.database.close(life.clock.now())
    path = files_written(life, folder)
    expected = written(life.disk, NAME)
    checked = check_structure(str(path))
    return Row(
        state,
        page_size,
        len(tables_by_libesedb(path)),
        sum(map(len, expected.values())),
        _equal(without_nulls(expected), by_libesedb(path)),
        _equal(expected, by_dissect(path.read_bytes())),
        len(checked.errors) if checked.checked else -1,
    )


def rows(sizes: Sequence[int] = SIZES) -> Iterator[Row]:
    """Of every state and size."""
    for state in STATES:
        for page_size in sizes:
            with tempfile.TemporaryDirectory() as folder:
                yield row(state, page_size, Path(folder))


def _equal(expected: Rows, found: Rows) -> tuple[int, int]:
    """Values that were found as they were written, and all that were written."""
    equal = count = 0
    for table, kept in expected.items():
        read = found.get(table, [])
        same = len(read) == len(kept)
        for at, values in enumerate(kept):
            count += len(values)
            equal += sum(map(eq, values, read[at])) if same else 0
    return equal, count


def main() -> None:
    """Print the table."""
    sys.stdout.write(HEAD)
    for each in rows():
        assert each.tables == len(COLUMNS)
        sys.stdout.write(each.line())
        sys.stdout.flush()


if __name__ == "__main__":
    main()
