"""Folders as servers and backup programs leave them: which logs count for which database."""

import shutil
from pathlib import Path

import pytest

import esefiles
from esefiles import page_scan
from tests.esefiles.commands.check.test_command import CURRENT, Copy
from tests.esefiles.commands.one_disk import OneDisk
from tests.support.logs import SEGMENT, Log


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scan, "Topology", OneDisk)


def verdicts(*paths: Path) -> dict[str, str]:
    """By path, of all that has a verdict."""
    found = esefiles.check([str(path) for path in paths])
    return {copy.file.path: copy.verdict.outcome for copy in found if copy.verdict is not None}


def test_a_passive_copy_with_the_folders_of_replication(tmp_path: Path) -> None:
    """Logs that wait for inspection, that were set aside, and that another copy had."""
    copy = Copy(tmp_path / "copy")
    folder = copy.folder
    for name in ("inspector", "IgnoredLogs", "IgnoredLogs/E00OutOfDate", "IncReseed"):
        (folder / name).mkdir()
    (folder / "inspector" / "edb0000000F.log").write_bytes(Log(CURRENT + 1).data())
    for number in (10, 11, 12):
        aside = folder / "IgnoredLogs" / "E00OutOfDate" / f"edb{number:08X}.log"
        aside.write_bytes(Log(number, content=1).data())
    (folder / "edb.jsl").write_bytes(b"x")
    (folder / "a.edb_CatalogData").mkdir()
    assert verdicts(folder) == {str(copy.edb.path): "replay_needed"}
    copy.logs[11].unlink()
    assert verdicts(folder) == {str(copy.edb.path): "not_restorable"}


def test_a_shadow_copy_whose_volumes_are_mounted_elsewhere(tmp_path: Path) -> None:
    """The database on one volume, its logs on another, the checkpoint with them; older shadow
    copies of both stand beside."""
    for name in ("old", "new"):
        copy = Copy(tmp_path / name)
        there = tmp_path / f"{name}-d" / "MDB01"
        there.mkdir(parents=True)
        shutil.move(copy.edb.path, there / "a.edb")
        copy.folder.rename(tmp_path / f"{name}-l")
    new, old = tmp_path / "new-d" / "MDB01" / "a.edb", tmp_path / "old-d" / "MDB01" / "a.edb"
    assert verdicts(tmp_path / "new-d", tmp_path / "new-l") == {str(new): "replay_needed"}
    assert verdicts(tmp_path / "new-d") == {str(new): "not_restorable"}
    (tmp_path / "new-l" / copy.logs[11].name).unlink()
    assert verdicts(tmp_path / "new-d", tmp_path / "new-l") == {str(new): "not_restorable"}
    # Of all four volumes the logs of the one shadow copy serve the databases of both.
    assert verdicts(tmp_path) == {str(new): "replay_needed", str(old): "replay_needed"}


def test_what_install_from_media_wrote(tmp_path: Path) -> None:
    """`ntdsutil ifm`: a clean database, no logs, hives of the registry beside it."""
    folder = tmp_path / "Active Directory"
    copy = Copy(folder, {"state": 3})
    for path in (*copy.logs.values(), copy.checkpoint):
        path.unlink()
    database = copy.edb.path.rename(folder / "ntds.dit")
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / "SYSTEM").write_bytes(b"regf" + bytes(SEGMENT))
    assert verdicts(tmp_path) == {str(database): "restorable"}
