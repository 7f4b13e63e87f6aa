"""The table of docs/check.md: what esentutl is documented to say of real databases, and we."""

import json
import re
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support.logs import SEGMENT, flip
from tests.support.samples import sample, unpacked

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


@pytest.mark.parametrize(
    ("damage", "verdict"), [(False, "replay_needed"), (True, "not_restorable")], ids=["", "damaged"]
)
def test_a_folder_of_windows_11_has_a_verdict(
    damage: bool, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its logs are of format 8.4000.90.200."""
    folder = sample("recovery/win11-srum-dirty")
    for path in folder.glob("*.gz"):
        unpacked(f"recovery/{folder.name}/{path.name}", tmp_path)
    if damage:
        flip(tmp_path / "SRU.log", SEGMENT + 99)
    assert main(["check", "--format", "json", str(tmp_path)]) == damage
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["verdict"] == verdict


def test_the_temporary_database_of_a_controller_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = unpacked("db/museum-dc2012r2-temp.edb.gz", tmp_path)
    temporary = path.rename(tmp_path / "temp.edb")
    for command in ("check", "scan"):
        assert main([command, str(temporary)]) == 0
        told = capsys.readouterr()
        assert (told.out, told.err.count("\n")) == ("", 1)
