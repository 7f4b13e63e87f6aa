"""`check --deep`, and a database beside its flush map."""

import json
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from tests.support import edb, ese_database, flush_maps

Captured = pytest.CaptureFixture[str]


def checked(capsys: Captured, *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["check", "--format", "json", *arguments])
    return status, json.loads(capsys.readouterr().out)


def damaged(path: Path) -> str:
    made = ese_database.database()
    made.pages[35].previous = 36
    return str(made.write(path))


def test_a_sound_structure_is_restorable(tmp_path: Path, capsys: Captured) -> None:
    path = ese_database.database().write(tmp_path / "a.edb")
    status, found = checked(capsys, "--deep", str(path))

    assert (status, found["verdict"]) == (0, "restorable")
    assert found["structure"] == {
        "checked": True, "errors": [], "unlisted": 0, "reason": "", "remarks": [], "lost_pages": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("database", "named"), [("Priv.edb", "Priv.JFM"), ("PRIV.EDB", "priv.jfm")]
)
def test_a_flush_map_is_found_whatever_the_case_of_its_name(
    tmp_path: Path, capsys: Captured, database: str, named: str
) -> None:
    types = dict.fromkeys(range(1, 9), 1)
    path = flush_maps.database(tmp_path / database, types)
    pages = flush_maps.map_page({**types, 4: 2})
    (tmp_path / named).write_bytes(flush_maps.map_header() + pages)

    assert checked(capsys, str(path))[1]["lost_writes"] == [4]

    # The exact name comes first.
    whole = flush_maps.map_header() + flush_maps.map_page(types)
    path.with_suffix(".jfm").write_bytes(whole)
    assert checked(capsys, str(path))[1]["lost_writes"] == []


def test_an_error_of_the_structure_decides(tmp_path: Path, capsys: Captured) -> None:
    status, found = checked(capsys, "--deep", damaged(tmp_path / "a.edb"))

    assert (status, found["verdict"]) == (1, "not_restorable")
    (error,) = found["structure"]["errors"]
    sentence = "Page 35: it follows page 36, not 34 (table mail)."
    assert error == {"page_number": 35, "kind": "page_link", "sentence": sentence}
    assert found["reasons"][0].startswith("1 error in the structure")


def test_without_deep_the_structure_is_not_looked_at(tmp_path: Path, capsys: Captured) -> None:
    status, found = checked(capsys, damaged(tmp_path / "a.edb"))
    assert (status, found["structure"]) == (0, {"checked": False, "errors": []})


def test_a_copy_that_was_cut_between_two_pages_does_not_mount(
    tmp_path: Path, capsys: Captured
) -> None:
    made = ese_database.database()
    made.count = 45
    status, found = checked(capsys, str(made.write(tmp_path / "a.edb")))
    assert (status, found["verdict"], found["pages"]["truncated"]) == (1, "not_restorable", 1)
    ends = "The file ends at page 45, and the database has 64 pages"
    assert found["reasons"][0] == f"{ends}. 19 pages are missing. Copy it again."
    assert not any("damaged" in reason for reason in found["reasons"])
    assert found["pages"]["remarks"] == [ends]

    assert main(["scan", str(tmp_path / "a.edb")]) == 1
    assert "BAD: 19 pages are missing." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("version", "update", "verdict"),
    [
        (0x620, 9, "restorable"),
        (0x620, 20, "restorable"),
        (0x620, 1000, "restorable"),
        (0x500, 20, "unknown"),
        (0x623, 0, "unknown"),
    ],
)
def test_a_format_of_another_version_is_unknown(
    version: int, update: int, verdict: str, tmp_path: Path, capsys: Captured
) -> None:
    path = ese_database.database().write(tmp_path / "a.edb")
    head = edb.header_page(4096, state=3, dbtime=99, version=version, update=update)
    path.write_bytes(head * 2 + path.read_bytes()[8192:])
    status, found = checked(capsys, str(path))
    assert (found["verdict"], status) == (verdict, int(verdict == "unknown"))
    if verdict == "unknown":
        assert found["reasons"][0].startswith(f"The format {version:#x}.{update} of the database")


def test_text_names_the_errors(tmp_path: Path, capsys: Captured) -> None:
    assert main(["check", "--deep", damaged(tmp_path / "a.edb")]) == 1
    shown = capsys.readouterr().out
    assert "  structure: 7 trees, 1 error\n" in shown
    assert "    Page 35: it follows page 36, not 34 (table mail).\n" in shown
    assert "NOT RESTORABLE" in shown


def test_a_structure_that_was_not_read_to_its_end_is_unknown(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ese_database.database().write(tmp_path / "a.edb")

    def fails(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("esefiles.scans.recovery.copy_verdict.check_structure", fails)
    status, found = checked(capsys, "--deep", str(path))
    assert (status, found["verdict"]) == (1, "unknown")
    assert "The structure was not checked to its end." in found["reasons"]


@pytest.mark.parametrize("options", [(), ("--deep",)])
def test_a_lost_write_decides(tmp_path: Path, capsys: Captured, options: tuple[str]) -> None:
    types = dict.fromkeys(range(1, 9), 1)
    edb = flush_maps.database(tmp_path / "a.edb", types)
    pages = flush_maps.map_page({**types, 4: 2})
    (tmp_path / "a.jfm").write_bytes(flush_maps.map_header() + pages)
    status, found = checked(capsys, *options, str(edb))

    assert (status, found["verdict"], found["lost_writes"]) == (1, "not_restorable", [4])
    assert found["flush_map"] == {
        "state": "compared", "reason": "", "compared": 8, "undecided": 0
    }  # fmt: skip


def test_a_map_that_proves_nothing_does_not_decide(tmp_path: Path, capsys: Captured) -> None:
    types = dict.fromkeys(range(1, 9), 1)
    edb = flush_maps.database(tmp_path / "a.edb", types)
    pages = flush_maps.map_page({**types, 4: 2})
    header = flush_maps.map_header(database_flush=flush_maps.OTHER)
    (tmp_path / "a.jfm").write_bytes(header + pages)
    status, found = checked(capsys, str(edb))

    assert (status, found["verdict"], found["lost_writes"]) == (0, "restorable", [])
    assert found["flush_map"]["state"] == "unknown"
