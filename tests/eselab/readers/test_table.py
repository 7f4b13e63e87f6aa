"""docs/engine.md has the table of readers as it is measured."""

from pathlib import Path

import pytest

from tests.eselab.page_sizes import SIZES
from tests.eselab.readers.reading import KNOWN
from tests.eselab.readers.table import HEAD, SAID, rows

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "engine.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page_size", SIZES)
def test_the_page_has_what_is_measured_and_every_value_is_read(page_size: int) -> None:
    measured = list(rows([page_size]))
    assert [each.state for each in measured] == list(SAID)
    for each in measured:
        assert (each.tables, each.errors) == (len(KNOWN), 0)
        assert each.records > 500
        for equal, of in (each.by_libesedb, each.by_dissect):
            assert equal == of > 3 * each.records
        assert each.line() in PAGE


def test_the_table_has_a_row_of_each_state_and_page_size() -> None:
    begin = PAGE.index(HEAD) + len(HEAD)
    found = [line.split(" | ")[:2] for line in PAGE[begin:].partition("\n\n")[0].splitlines()]
    assert found == [[f"| {said}", f"{size:,}"] for said in SAID.values() for size in SIZES]
