"""What tests of several commands read."""

import contextlib
import queue
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import pytest

from tests.support.farm import build
from tests.support.patience import PATIENCE


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of a made-up farm up to 21 June 2007, and a configuration with their window."""
    folder = tmp_path_factory.mktemp("farm")
    build(folder / "logs", datetime(2007, 6, 21, 12, tzinfo=UTC))
    (folder / "esewatch.yml").write_text(
        'windows: {nightly: {start: "01:00", duration: 4h}}\n'
        "policy: {backup_within: never}\n"
        'databases: [{match: "*priv*.edb", window: nightly}]\n'
    )
    return folder


@pytest.fixture
def asked() -> Iterator[Callable[[], str]]:
    """Waits for SIGTERM as the daemon does, in short turns: a signal need not end a long one."""
    stops: queue.SimpleQueue[str] = queue.SimpleQueue()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stops.put("stop")

    def wait() -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                return stops.get(timeout=0.05)
        return "nothing was asked for"

    before = signal.signal(signal.SIGTERM, stop)
    yield wait
    signal.signal(signal.SIGTERM, before)
