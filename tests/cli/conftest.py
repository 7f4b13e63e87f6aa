"""What tests of several commands read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.farm import build


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a made-up farm up to 21 June 2007, and a configuration with their window."""
    folder = tmp_path_factory.mktemp("farm")
    build(folder / "logs", datetime(2007, 6, 21, 12, tzinfo=UTC))
    (folder / "esewatch.yml").write_text(
        'windows: {nightly: {start: "01:00", duration: 4h}}\n'
        'databases: [{match: "*priv*.edb", window: nightly}]\n'
    )
    return folder
