"""What several end-to-end tests share."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.stage import Stage
from tests.support.tools import newest, require


@pytest.fixture
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stage]:
    """To start agent, Prometheus, Alertmanager and a receiver; all of it ends with the test.

    The parameter `newest` asks for the newest Prometheus in place of the installed one.
    """
    asks = newest if getattr(request, "param", "") == "newest" else require
    prometheus = asks("prometheus")
    require("alertmanager")
    with ExitStack() as stack:
        yield Stage(tmp_path, stack, prometheus)
