"""SIGHUP in the first moments of the daemon: it waits, and is taken up once."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.harness import answers, wait_for
from tests.support.patience import PATIENCE
from tests.support.ports import free_address

pytestmark = pytest.mark.e2e

RINGING = """
import atexit, os, signal, sys

class Ringing:
    rung = 0
    def find_spec(self, name, path=None, target=None):
        if "esewatch.cli.block_sighup" in sys.modules:
            self.rung += 1
            os.kill(os.getpid(), signal.SIGHUP)

ringing = Ringing()
sys.meta_path.insert(0, ringing)
atexit.register(lambda: print("rung", ringing.rung, file=sys.stderr))
from esewatch.cli import main
sys.exit(main())
"""
"""From the first line of ours on, each module that is imported comes with a SIGHUP."""
TAKEN_UP = "the configuration is in use"


@contextmanager
def started(folder: Path, *before: str, **environment: str) -> Iterator["Run"]:
    """The agent without sources; it has to end well."""
    config = {"sources": [], "journal": str(folder / "journal.db")}
    (folder / "esewatch.yml").write_text(json.dumps(config))
    run = Run(folder, before, environment)
    try:
        yield run
        run.process.send_signal(signal.SIGTERM)
        assert run.process.wait(PATIENCE) == 0
        assert "Traceback" not in run.said()
    finally:
        run.process.kill()
        run.process.wait(PATIENCE)


class Run:
    """The agent in a process of its own."""

    def __init__(self, folder: Path, before: tuple[str, ...], environment: dict[str, str]) -> None:
        address = free_address()
        self.url = f"http://{address}"
        self._log = folder / "agent.log"
        words = ["run", "--config.file", "esewatch.yml", "--web.listen-address", address]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *before, *words],
                stderr=log,
                cwd=folder,
                env=os.environ | environment,
            )

    def said(self) -> str:
        return self._log.read_text()

    def taken_up(self) -> int:
        return self.said().count(TAKEN_UP)


@pytest.mark.fault(
    "repeated `SIGHUP` while the agent starts",
    provoked="one with each imported module, from the first line of the agent on",
    lost="nothing",
    again="one reload, when it is ready",
)
def test_a_sighup_with_every_import_ends_nothing_and_is_one_reload(tmp_path: Path) -> None:
    with started(tmp_path, "-c", RINGING) as run:
        wait_for("the reload", run.taken_up)
        wait_for("it serves", lambda: answers(f"{run.url}/-/healthy"))
        # What is imported later, for a page, may ring once more.
        assert run.taken_up() < 5
        for _ in range(300):
            run.process.send_signal(signal.SIGHUP)
        wait_for("a reload more", lambda: run.taken_up() > 1)
    rung = int(run.said().rpartition("rung ")[2])
    assert rung > 50
    assert run.taken_up() < rung


@pytest.fixture(name="manager")
def _manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket of a service manager, `notify` in the folder of the agent."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(str(tmp_path / "notify"))
        found.settimeout(30)
        yield found


def test_the_service_manager_may_send_one_as_soon_as_it_is_told(
    tmp_path: Path, manager: socket.socket
) -> None:
    with started(tmp_path, "-m", "esewatch", NOTIFY_SOCKET=str(tmp_path / "notify")) as run:
        assert manager.recv(100) == b"READY=1"
        run.process.send_signal(signal.SIGHUP)
        wait_for("the reload", run.taken_up)
        wait_for("it serves", lambda: answers(f"{run.url}/-/healthy"))


def test_the_configuration_is_read_after_that(tmp_path: Path, manager: socket.socket) -> None:
    """For systemd a reload before it is a part of the start, and nothing is sent."""
    (tmp_path / "esewatch.yml").write_text("polcy: {}\n")
    ended = subprocess.run(
        [sys.executable, "-m", "esewatch", "run", "--config.file", "esewatch.yml"],
        env=os.environ | {"NOTIFY_SOCKET": str(tmp_path / "notify")},
        cwd=tmp_path, capture_output=True, check=False, timeout=PATIENCE,
    )  # fmt: skip
    assert ended.returncode == 2
    assert manager.recv(100) == b"READY=1"
