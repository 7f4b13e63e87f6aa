"""No test waits for a torn header, and none finds positions of another run."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("esefiles.scans.reading.header_reading.PAUSES", ())
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
