"""Real servers for the end-to-end tests: Prometheus, Alertmanager, a webhook receiver, the agent.

Everything listens on 127.0.0.1 on a free port, lives in a temporary folder, and is ended by
its process id. Waiting is polling with a limit, never a pause that hopes to be long enough.
The rules and alerts are those that are shipped; only the time between two evaluations is shorter,
and where a test says so the time for which an alert has to hold.
"""

import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml

from tests.support.patience import PATIENCE, at_most
from tests.support.ports import free_address, free_port
from tests.support.tools import require

ROOT = Path(__file__).resolve().parents[2]
RULE_FILES = sorted([*(ROOT / "rules").glob("*.yml"), *(ROOT / "alerts").glob("*.yml")])
EXAMPLE_ALERTMANAGER = ROOT / "alerts" / "alertmanager" / "alertmanager.yml"
POLL_SECONDS = 0.1
GROUP_SECONDS = 2.0
"""What routes wait before their first message, those apart that send at once."""
LEAST_HOLD = 7.0
"""A Prometheus that starts has no targets for 5 s, so `up` is absent; then comes a scrape."""

T = TypeVar("T")


def wait_for(
    what: str,
    ask: Callable[[], T | None],
    seconds: float = PATIENCE,
    every: float = POLL_SECONDS,
) -> T:
    """The first answer of `ask` that is neither None, False nor empty; fails after `seconds`.

    Asks again after `every` seconds, also where nobody answered; the last time when all of
    `seconds` are over.
    """
    end = time.monotonic() + seconds
    while True:
        late = time.monotonic() > end
        silence: Exception | None = None
        answer: T | None = None
        try:
            answer = ask()
        except (OSError, http.client.HTTPException) as error:
            if not is_silence(error):
                raise
            silence = error
        if answer:
            return answer
        if late:
            raise AssertionError(f"not within {seconds:g} s: {what}") from silence
        time.sleep(every)


def is_silence(error: Exception) -> bool:
    """Whether a request failed because nobody answered it: a server that is just starting, or
    a machine too busy to let it. A status that says what is wrong is an answer.
    """
    if isinstance(error, urllib.error.HTTPError):
        return False
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, ConnectionError | TimeoutError | http.client.HTTPException)


def get(url: str, seconds: float = 60.0) -> str:
    """Body of a GET. Raises OSError when there is no good answer."""
    with urllib.request.urlopen(url, timeout=seconds) as answer:
        return str(answer.read().decode())


def answers(url: str) -> bool:
    """Whether a GET of `url` gives 200."""
    try:
        get(url)
    except OSError:
        return False
    return True


class Server:
    """A process of ours that serves HTTP at `url`. Its output goes to `log`."""

    def __init__(
        self,
        command: Sequence[str | Path],
        url: str,
        log: Path,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.url = url
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )

    def wait_until_ready(self, path: str, seconds: float = PATIENCE) -> None:
        """Until `path` answers; fails with the log when the process ends before."""

        def ready() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(
                    f"{self.process.args!r} ended with {self.process.returncode}:\n"
                    + self.log.read_text(errors="replace")[-4000:]
                )
            return answers(self.url + path)

        wait_for(f"{self.url}{path} answers", ready, seconds)

    def stop(self) -> int:
        """End it by signal, the hard way where it does not; returns the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(at_most(10))
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE)
        return int(self.process.returncode)


class Webhook:
    """Receives what Alertmanager sends; `alerts()` is all of it, in order of arrival.

    Each has the key `arrived` (epoch seconds), as `path` the name of its receiver, as `group` what
    Alertmanager joined it with, and as `message` the number of the message that it came in.
    """

    def __init__(self) -> None:
        received: list[dict[str, Any]] = []
        numbers = itertools.count()
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                added = {"path": self.path, "arrived": time.time(), "group": body["groupKey"]}
                with lock:
                    added["message"] = next(numbers)
                    received.extend({**alert, **added} for alert in body["alerts"])
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Nothing: requests are kept, not printed."""

        self._received = received
        self._lock = lock
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def alerts(self, name: str = "", status: str = "") -> list[dict[str, Any]]:
        """Alerts received so far, of this name and status (firing, resolved) when given."""
        with self._lock:
            return [
                alert
                for alert in self._received
                if name in {"", alert["labels"]["alertname"]} and status in {"", alert["status"]}
            ]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


class Prometheus(Server):
    """A Prometheus server and its HTTP API."""

    def _api(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        try:
            return json.loads(get(f"{self.url}/api/v1/{path}?{query}"))["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Instant vector of `expression`: (labels, value). Fails on a wrong expression."""
        data = self._api("query", query=expression)
        assert data["resultType"] in {"vector", "scalar"}
        found = data["result"] if data["resultType"] == "vector" else []
        return [(row["metric"], float(row["value"][1])) for row in found]

    def value(self, expression: str) -> float | None:
        """The only value of `expression`, None without one."""
        found = self.query(expression)
        assert len(found) <= 1, f"{expression} has {len(found)} values"
        return found[0][1] if found else None

    def wait_for_value(self, expression: str, value: float) -> None:
        """Until the only value of `expression` is `value`."""
        last: list[float | None] = [None]

        def same() -> bool:
            last[0] = self.value(expression)
            return last[0] == value

        try:
            wait_for(f"{expression} is {value}", same)
        except AssertionError as error:
            raise AssertionError(f"{error}, it is {last[0]}") from None

    def evaluations(self) -> int:
        """Times the integrity alerts were evaluated so far."""
        (line,) = (
            line
            for line in get(self.url + "/metrics").splitlines()
            if line.startswith("prometheus_rule_group_iterations_total{")
            and ';esewatch-integrity"' in line
        )
        return int(float(line.rsplit(" ", 1)[1]))

    def wait_for_evaluations(self, count: int) -> None:
        """Until the integrity alerts were evaluated `count` times more."""
        goal = self.evaluations() + count
        wait_for(f"{count} evaluations", lambda: self.evaluations() >= goal)

    def rule_errors(self) -> list[str]:
        """What went wrong in evaluating rules."""
        return [
            f"{rule['name']}: {rule['lastError']}"
            for group in self._api("rules")["groups"]
            for rule in group["rules"]
            if rule.get("lastError")
        ]

    def rule_seconds(self) -> dict[str, dict[str, float]]:
        """`file;group` -> rule -> how long its last evaluation took; severities are kept apart."""
        return {
            f"{Path(group['file']).name};{group['name']}": {
                " ".join(filter(None, (rule["name"], rule.get("labels", {}).get("severity")))): (
                    rule["evaluationTime"]
                )
                for rule in group["rules"]
            }
            for group in self._api("rules")["groups"]
        }

    def firing(self) -> list[dict[str, str]]:
        """Labels of the alerts that fire now, the Watchdog apart."""
        return [
            alert["labels"]
            for alert in self._api("alerts")["alerts"]
            if alert["state"] == "firing" and alert["labels"]["alertname"] != "Watchdog"
        ]


@contextmanager
def ended(server: Server) -> Iterator[None]:
    """Stops the server when the block ends, however it ends."""
    try:
        yield
    finally:
        server.stop()


@contextmanager
def start_alertmanager(folder: Path, webhook: Webhook) -> Iterator[Server]:
    """The shipped example of Alertmanager, its receivers turned to `webhook`, its delays cut."""
    port = free_port()
    config = yaml.safe_load(EXAMPLE_ALERTMANAGER.read_text())
    for route in (config["route"], *config["route"]["routes"]):
        # What waits for others still does, so that what explains an alert comes before it.
        waits = route.get("group_wait") != "0s"
        route |= {"group_wait": f"{GROUP_SECONDS:g}s" if waits else "0s", "group_interval": "1s"}
        route.pop("active_time_intervals", None)
    config["receivers"] = [
        {
            "name": name,
            "webhook_configs": [{"url": f"{webhook.url}/{name}", "send_resolved": True}],
        }
        for name in (receiver["name"] for receiver in config["receivers"])
    ]
    del config["global"], config["templates"]
    folder.mkdir(parents=True)
    file = folder / "alertmanager.yml"
    file.write_text(yaml.safe_dump(config))
    command: list[str | Path] = [
        require("alertmanager"),
        f"--config.file={file}",
        f"--storage.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    server = Server(command, f"http://127.0.0.1:{port}", folder / "alertmanager.log")
    with ended(server):
        server.wait_until_ready("/-/ready")
        yield server


@contextmanager
def serving(
    folder: Path, data: Path, config: Mapping[str, Any] | None = None, flags: Sequence[str] = ()
) -> Iterator[Prometheus]:
    """A Prometheus on these blocks, which scrapes nothing of its own accord."""
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(dict(config or {})))
    port = free_port()
    command: list[str | Path] = [
        require("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        # A month of a rule may take longer than the two minutes of the default on a busy machine.
        "--query.timeout=15m",
        *flags,
    ]
    server = Prometheus(command, f"http://127.0.0.1:{port}", folder / "prometheus.log")
    with ended(server):
        server.wait_until_ready("/-/ready", 120.0)
        yield server


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(duration: str) -> float:
    """`15m` as seconds."""
    return float(duration[:-1]) * UNITS[duration[-1]]


def hold_of(rule: Mapping[str, Any], faster: float) -> float:
    """Seconds that an alert has to hold in tests: its `for`, `faster` times shorter.

    But not shorter than LEAST_HOLD, unless it is shipped so.
    """
    shipped = seconds_of(rule.get("for", "0s"))
    return min(shipped, max(shipped / faster, LEAST_HOLD))


def copy_rules(folder: Path, faster: float, shorter: Mapping[str, str]) -> None:
    """The shipped rules, evaluated each second, with holds as hold_of has them.

    In expressions each text of `shorter` is replaced.
    """
    for source in RULE_FILES:
        rules = yaml.safe_load(source.read_text())
        for group in rules["groups"]:
            group["interval"] = "1s"
            for rule in group["rules"]:
                for text, other in shorter.items():
                    rule["expr"] = rule["expr"].replace(text, other)
                if "alert" in rule:
                    rule["for"] = f"{round(hold_of(rule, faster) * 1000)}ms"
        (folder / source.name).write_text(yaml.safe_dump(rules))


TARGETS = "targets.json"


def discover(folder: Path, targets: Sequence[str]) -> None:
    """What the Prometheus in `folder` scrapes from now on."""
    new = folder / f"{TARGETS}.new"
    new.write_text(json.dumps([{"targets": list(targets)}]))
    new.rename(folder / TARGETS)


WITHOUT_REPLICA = {"action": "labeldrop", "regex": "replica"}


@contextmanager
def start_prometheus(
    folder: Path,
    targets: Sequence[str],
    alertmanager: Server | None = None,
    faster: float = 1.0,
    shorter: Mapping[str, str] = MappingProxyType({}),
    *,
    seconds: int = 1,
    replica: str = "",
    write_to: str = "",
    written: Sequence[Mapping[str, Any]] = (WITHOUT_REPLICA,),
    program: str = "",
) -> Iterator[Prometheus]:
    """A Prometheus that scrapes `targets` as job `esewatch` each `seconds`, with the shipped rules.

    `faster`: how much shorter alerts have to hold (hold_of). `shorter`: what is put in the place
    of times that expressions look back. `replica`: its name among those that do the same.
    `write_to`: the store that gets all samples, relabelled by `written`. `program`: its path, where
    it is not the installed one.
    """
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    copy_rules(folder, faster, shorter)
    discover(folder, targets)
    config: dict[str, Any] = {
        "global": dict.fromkeys(
            ("scrape_interval", "scrape_timeout", "evaluation_interval"), f"{seconds}s"
        ),
        "rule_files": [source.name for source in RULE_FILES],
        "scrape_configs": [{"job_name": "esewatch", "file_sd_configs": [{"files": [TARGETS]}]}],
    }
    if alertmanager is not None:
        address = alertmanager.url.removeprefix("http://")
        config["alerting"] = {
            "alertmanagers": [{"static_configs": [{"targets": [address]}]}],
        }
    if replica:
        config["global"]["external_labels"] = {"replica": replica}
        config.setdefault("alerting", {})["alert_relabel_configs"] = [WITHOUT_REPLICA]
    if write_to:
        config["remote_write"] = [{"url": write_to, "write_relabel_configs": list(written)}]
    file = folder / "prometheus.yml"
    file.write_text(yaml.safe_dump(config))
    command: list[str | Path] = [
        program or require("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--rules.alert.resend-delay=1s",
    ]
    server = Prometheus(command, f"http://127.0.0.1:{port}", folder / "prometheus.log")
    with ended(server):
        server.wait_until_ready("/-/ready")
        yield server


class Agent:
    """The agent as a process, with one configuration, journal and port over its restarts.

    `address`: where it listens; `within`: how a program is started where it runs.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, Any],
        *,
        address: str = "",
        within: Sequence[str] = (),
    ) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.address = address or free_address()
        self._within = within
        self.url = f"http://{self.address}"
        self.config = folder / "esewatch.yml"
        self.config.write_text(
            yaml.safe_dump({**settings, "journal": str(folder / "journal.db")}, allow_unicode=True)
        )
        self._server: Server | None = None

    def start(self, *, wait: bool = True) -> None:
        """Start it; `wait` until its first reading is done."""
        command: list[str | Path] = [
            *self._within,
            *(sys.executable, "-m", "esewatch", "run"),
            *("--config.file", self.config),
            *("--web.listen-address", self.address),
        ]
        self._server = Server(command, self.url, self.folder / "agent.log")
        if wait:
            self.wait_until_ready(PATIENCE)

    def wait_until_ready(self, seconds: float) -> None:
        """Until its first reading is done; fails with its log when it ends before."""
        assert self._server is not None
        self._server.wait_until_ready("/-/ready", seconds)

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._server is not None
        return int(self._server.process.pid)

    @property
    def ended(self) -> bool:
        """Whether the process has ended by itself."""
        return self._server is not None and self._server.process.poll() is not None

    def stop(self) -> None:
        """End it; fails when it does not end well."""
        assert self._server is not None
        status = self._server.stop()
        assert status == 0, f"exit status {status}:\n{self.log()}"

    def kill(self) -> None:
        """End it as a power failure would; fails when it has ended by itself."""
        assert self._server is not None
        assert self._server.process.poll() is None, self.log()
        self._server.process.kill()
        self._server.process.wait(PATIENCE)

    def close(self) -> None:
        """End it if it still runs."""
        if self._server is not None:
            self._server.stop()

    def log(self) -> str:
        """What it logged."""
        return (self.folder / "agent.log").read_text(errors="replace")

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run another command of esewatch with the same configuration."""
        return subprocess.run(
            [sys.executable, "-m", "esewatch", *words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def ack(self, database: str, *pages: int) -> subprocess.CompletedProcess[str]:
        """Take bad pages of `database` as resolved, through the running agent."""
        return self.command(
            *("ack", "--config.file", str(self.config), "--web.address", self.address),
            *(database, *map(str, pages)),
        )


@contextmanager
def start_agent(folder: Path, settings: Mapping[str, Any]) -> Iterator[Agent]:
    """The agent, running and ready."""
    agent = Agent(folder, settings)
    try:
        agent.start()
        yield agent
    finally:
        agent.close()


@contextmanager
def start_webhook() -> Iterator[Webhook]:
    """A receiver for Alertmanager."""
    webhook = Webhook()
    try:
        yield webhook
    finally:
        webhook.close()
