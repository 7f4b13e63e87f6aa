"""A running agent under floods that need no login: what a scrape takes, memory, and its end.

ESEWATCH_BEFORE names the Python of an older esewatch: it is attacked first, and its figures stand
beside. ESEWATCH_ATTACK_SECONDS is the length of each attack, and of all of them together.
"""

import base64
import contextlib
import http.client
import itertools
import os
import random
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import bcrypt
import psutil
import pytest
import yaml

from tests.e2e.harness import Server, ended, wait_for
from tests.expose.http.attacks import ATTACKS, RESET, SCRAPE
from tests.support.certificates import self_signed, trusting
from tests.support.figures import record
from tests.support.patience import PATIENCE, at_most
from tests.support.ports import free_port

SECONDS = float(os.environ.get("ESEWATCH_ATTACK_SECONDS", "20"))
LONG = float(os.environ.get("ESEWATCH_ATTACK_SECONDS", "600"))
BEFORE = os.environ.get("ESEWATCH_BEFORE")
MB = 1_000_000
COUNTED = r'^ese_events_total\{[^\n]*event_id="700"[^\n]*\} (\S+)$'
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"prometheus:right").decode()}
EVENT = (
    '{"TimeCreated":"2007-06-01T00:00:00Z","EventID":700,"ProviderName":"ESE","Computer":"ex01"}\n'
)


class Target:
    """A running agent."""

    def __init__(
        self, folder: Path, secure: bool, python: str = sys.executable, users: str = ""
    ) -> None:
        self.port = free_port()
        folder.mkdir(exist_ok=True)
        (folder / "a.json").write_text(EVENT)
        sources = [{"name": "events", "type": "event_stream", "paths": ["*.json"]}]
        (folder / "esewatch.yml").write_text(
            yaml.safe_dump({"journal": "journal.db", "sources": sources})
        )
        command: list[str | Path] = [
            *(python, "-m", "esewatch", "run", "--config.file", folder / "esewatch.yml"),
            *("--web.listen-address", f"127.0.0.1:{self.port}"),
        ]
        self._context: ssl.SSLContext | None = None
        text = users
        if secure:
            self_signed("one").put(folder, "server")
            text += "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"
            self._context = trusting(folder)
        if text:
            (folder / "web.yml").write_text(text)
            command += ["--web.config.file", folder / "web.yml"]
        self.server = Server(command, f"http://127.0.0.1:{self.port}", folder / "agent.log")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.scrape()
                break
            time.sleep(0.1)
        for _ in range(20):
            self.scrape()

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(psutil.Process(self.server.process.pid).memory_info().rss)

    def scrape(self) -> float:
        """Seconds that one takes on a connection of its own; its body is then in `samples`."""
        begin = time.perf_counter()
        client = (
            http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=self._context)
            if self._context is not None
            else http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        )
        with contextlib.closing(client):
            client.request("GET", "/metrics", headers={"Connection": "close", **LOGIN})
            answer = client.getresponse()
            assert answer.status == 200
            self.samples = answer.read().decode()
        return time.perf_counter() - begin

    def end(self) -> float:
        """Seconds from SIGTERM to the end."""
        begin = time.perf_counter()
        self.server.process.send_signal(signal.SIGTERM)
        self.server.process.wait(60)
        return time.perf_counter() - begin


@contextlib.contextmanager
def attacked(port: int, name: str, seconds: float, secure: bool) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", "tests.expose.http.attacks", str(port), name, str(seconds)]
    with subprocess.Popen(
        [*words, *["tls"] * secure], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Measured(NamedTuple):
    """What an agent did under an attack: bytes and seconds."""

    before: int
    most: int
    scrapes: list[float]
    """Sorted; one that fails ends the attack, infinite."""
    stopped: float

    def __str__(self) -> str:
        return (
            f"{len(self.scrapes)} scrapes, median {self.scrapes[len(self.scrapes) // 2]:.3f} s, "
            f"slowest {self.scrapes[-1]:.3f} s; memory {self.before / MB:.0f} MB, "
            f"+{(self.most - self.before) / MB:.1f} MB at most; SIGTERM {self.stopped:.1f} s"
        )


def measured(folder: Path, name: str, secure: bool, python: str) -> Measured:
    target = Target(folder, secure, python)
    with ended(target.server):
        before = most = target.memory
        with attacked(target.port, name, SECONDS + 60, secure):
            taken: list[float] = []
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                try:
                    taken.append(target.scrape())
                except (OSError, http.client.HTTPException):
                    taken.append(float("inf"))
                most = max(most, target.memory)
                time.sleep(0.05)
            stopped = target.end()
    return Measured(before, most, sorted(taken), stopped)


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize(
    ("name", "secure"),
    [(name, False) for name in ATTACKS] + [(name, True) for name in ("preface", "h2c", RESET)],
)
def test_an_attack_holds_up_no_scrape_takes_no_memory_and_delays_no_end(
    tmp_path: Path, name: str, secure: bool
) -> None:
    figure = ""
    if BEFORE:
        figure = f"before: {measured(tmp_path / 'before', name, secure, BEFORE)}; now: "
    now = measured(tmp_path / "now", name, secure, sys.executable)
    what = f"{name}{', over TLS' if secure else ''}: 10 MB a second for {SECONDS:.0f} s"
    record(what, f"{figure}{now}", f"{'ESEWATCH_BEFORE=PYTHON ' * bool(BEFORE)}make test-slow")
    good = (now.scrapes[-1] < 0.1, now.most - now.before < 10 * MB, now.stopped < 2)
    assert good == (True,) * 3, str(now)


HOSTILE = (
    b"\0" * 1000, b"{" * 10_000 + b"\n", b"\xff\xfe" * 500, b'{"Computer":"' + b"x" * 70_000,
    b"a" * 1_000_000, b"\n" * 10_000, b'{"TimeCreated":"9999-99-99","EventID":1e999}\n',
)  # fmt: skip


def _hostile_folder(folder: Path, ending: threading.Event) -> None:
    """Beside a good log: bytes of any kind, files that come, shrink, change names, links, pipes."""
    chance = random.Random(1)
    for number in itertools.count():
        if ending.wait(0.02):
            return
        file = folder / f"hostile-{number % 20}.json"
        with contextlib.suppress(OSError):
            match chance.randrange(6):
                case 0:
                    file.unlink(missing_ok=True)
                    file.symlink_to(chance.choice(("/dev/zero", "/", file.name, "/etc/passwd")))
                case 1:
                    file.unlink(missing_ok=True)
                    os.mkfifo(file)
                case 2:
                    file.rename(folder / f"hostile-{chance.randrange(20)}.json")
                case 3:
                    file.unlink()
                case _ if file.is_file() and file.resolve().parent == folder:
                    with file.open("r+b" if chance.random() < 0.5 else "wb") as stream:
                        stream.write(chance.choice(HOSTILE))
                case _:
                    file.unlink(missing_ok=True)
                    file.write_bytes(chance.choice(HOSTILE))


def _slow(port: int, ending: threading.Event) -> None:
    """200 clients that send a byte now and then, ask and do not read, or say nothing."""
    with contextlib.ExitStack() as stack:
        clients: list[socket.socket] = []
        for number in itertools.count():
            if ending.wait(0.01):
                return
            with contextlib.suppress(OSError):
                if len(clients) < 200:
                    client = socket.create_connection(("127.0.0.1", port), timeout=5)
                    clients.append(stack.enter_context(client))
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    client.sendall((b"", SCRAPE[:-2], SCRAPE * 20)[number % 3])
                else:
                    clients[number % 200].send(b"X")
                    continue
            if len(clients) == 200:
                clients.pop(0).close()


def _bad_logins(port: int, ending: threading.Event) -> None:
    """One after the other, each another password."""
    for number in itertools.count():
        if ending.wait(0.01):
            return
        said = base64.b64encode(f"prometheus:{number}".encode())
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=5) as client,
        ):
            client.sendall(SCRAPE[:-2] + b"Authorization: Basic " + said + b"\r\n\r\n")
            client.recv(1000)


def _floods(port: int, ending: threading.Event) -> None:
    """Each in turn."""
    for name in itertools.cycle(ATTACKS):
        with attacked(port, name, 3.0, False) as process:
            while process.poll() is None:
                if ending.wait(0.1):
                    return


@pytest.mark.slow
def test_all_that_attacks_at_once_changes_no_count_and_leaves_no_memory(tmp_path: Path) -> None:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(8)).decode()
    folder = tmp_path / "agent"
    target = Target(folder, False, users=f"basic_auth_users: {{prometheus: {hashed}}}\n")
    ending = threading.Event()
    attackers: list[Callable[[], None]] = [
        lambda: _hostile_folder(folder, ending),
        *[lambda run=run: run(target.port, ending) for run in (_slow, _bad_logins, _floods)],
    ]
    with ended(target.server), (folder / "a.json").open("a") as log:
        process = psutil.Process(target.server.process.pid)
        threads = [threading.Thread(target=each, daemon=True) for each in attackers]
        for each in threads:
            each.start()
        written, failed, memory = 1, 0, []
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            log.write(EVENT.replace("00:00:00Z", f"{written // 60 % 24:02}:{written % 60:02}:00Z"))
            log.flush()
            written += 1
            try:
                target.scrape()
            except (OSError, http.client.HTTPException):
                failed += 1
            memory.append(target.memory)
            time.sleep(0.5)
        ending.set()
        for each in threads:
            each.join(PATIENCE)
        for file in folder.glob("hostile-*"):
            file.unlink(missing_ok=True)

        def counted() -> float:
            target.scrape()
            return sum(map(float, re.findall(COUNTED, target.samples, re.MULTILINE)))

        wait_for("all events are counted", lambda: counted() >= written)
        events, connections = counted(), len(process.net_connections("tcp"))
        calm = memory[len(memory) // 10]
        record(
            f"floods, slow clients, bad logins and a hostile log folder at once, {LONG:.0f} s",
            f"{written} events written, {events:.0f} counted, {len(memory)} scrapes, {failed} "
            f"without an answer; memory {calm / MB:.0f} MB after a tenth, "
            f"{max(memory) / MB:.0f} MB at most, {target.memory / MB:.0f} MB at the end; "
            f"{process.num_fds()} descriptors",
        )
        assert (events, failed) == (written, 0)
        assert connections < 10
        assert target.memory - calm < 20 * MB
        assert target.end() < at_most(2)
