"""What several end-to-end tests share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.support.tools import require


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """To start agent, Prometheus, Alertmanager and a receiver; all of it ends with the test."""
    for tool in ("prometheus", "alertmanager"):
        require(tool)
    with ExitStack() as stack:
        yield Stage(tmp_path, stack)
