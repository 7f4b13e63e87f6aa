"""The table of docs/check.md: what esentutl is documented to say of real databases, and we."""

import json
import re
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support.samples import unpacked

PAGE = Path(__file__).resolve().parents[4] / "docs" / "check.md"
_ROW = re.compile(
    r"\| (?P<name>\S+\.(?:dat|edb|mdb)) \| (?P<state>Clean|Dirty) Shutdown"
    r"(?:, Log Required (?P<first>\d+)-(?P<last>\d+))? \| (?P<bad>\d+) \| `(?P<verdict>\w+)` \|"
)
ROWS = [
    found for line in PAGE.read_text(encoding="utf-8").splitlines() if (found := _ROW.match(line))
]


def test_the_table_has_all_databases() -> None:
    assert len(ROWS) == 13
    assert sum(row["state"] == "Dirty" for row in ROWS) == 1


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_a_real_database_has_the_verdict_of_the_table(
    row: re.Match[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unpacked(f"db/{row['name']}.gz", tmp_path)
    main(["check", "--format", "json", str(path)])
    found = json.loads(capsys.readouterr().out)
    logs = found["required_logs"]
    assert found["verdict"] == row["verdict"]
    assert found["state"] == row["state"].lower()
    assert found["pages"]["bad_checksums"] + found["pages"]["wrong_page_number"] == int(row["bad"])
    assert (logs["first"], logs["last"]) == (int(row["first"] or 0), int(row["last"] or 0))
