"""The making of a database: whole before it has its name."""

import os
from pathlib import Path

import pytest

from eselab.base.clock import RealClock
from eselab.machine.machine import Machine
from tests.eselab.commanding import REAL


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the names of open files")
def test_all_files_of_a_new_database_are_durable_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, synced, fsync = tmp_path / "run", list[Path](), os.fsync

    def noted(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    machine = Machine(folder, REAL, clock=RealClock(), seed=1, computer="x")
    machine.open()
    first = [path.relative_to(folder) for path in synced[: synced.index(folder) + 1]]
    machine.close()
    assert [str(path) for path in first[-2:]] == ["a.new", "."]
    kinds = {path.suffix for path in first if path.parent.name == "a.new"}
    assert kinds == {".edb", ".log", ".chk", ".jfm"}
