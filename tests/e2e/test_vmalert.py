"""The rules under another ruler: VictoriaMetrics scrapes and keeps, vmalert evaluates and sends."""

import json
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.harness import (
    Agent,
    Server,
    Webhook,
    copy_rules,
    ended,
    get,
    start_agent,
    start_alertmanager,
    start_webhook,
    wait_for,
)
from tests.e2e.logs import LABEL, utc_now, write_bad_page, write_defrag_pass
from tests.rules.expressions import ROOT, document_of
from tests.rules.promtool import without_texts, write
from tests.support.evtx_writer import EvtxWriter
from tests.support.patience import PATIENCE
from tests.support.ports import free_port
from tests.support.tools import require

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHORTER = {"[1h]": "[6s]", "[30m]": "[4s]", "[7d:1h]": "[20s:1s]"}
NAME = "EseKnownBadPage"


def started(stack: ExitStack, log: Path, *command: str) -> Server:
    """A program of VictoriaMetrics that listens, until `stack` ends."""
    address = f"127.0.0.1:{free_port()}"
    server = Server([*command, f"-httpListenAddr={address}"], f"http://{address}", log)
    stack.enter_context(ended(server))
    server.wait_until_ready("/metrics")
    return server


def ask(store: Server, path: str, **parameters: object) -> list[Any]:
    """The result of a query of the HTTP API."""
    text = get(f"{store.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
    found: list[Any] = json.loads(text)["data"]["result"]
    return found


class Trial:
    """An agent with a known bad page, and what people receive from vmalert."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        programs = require("victoria-metrics"), require("vmalert")
        log = EvtxWriter(folder / "app.evtx")
        write_defrag_pass(log, utc_now() - timedelta(days=1))
        log.flush()
        settings = {"sources": [{"type": "evtx", "path": str(folder / "app.evtx")}]}
        self.webhook: Webhook = stack.enter_context(start_webhook())
        alertmanager = stack.enter_context(
            start_alertmanager(folder / "alertmanager", self.webhook)
        )
        self.agent: Agent = stack.enter_context(start_agent(folder / "agent", settings))
        self.store, self.ruler = self._servers(folder, programs, alertmanager.url, stack)
        wait_for("a scrape", lambda: self.query("ese_known_bad_pages"))
        write_bad_page(log, utc_now(), page=4711)
        log.close()
        wait_for("the page", lambda: self.webhook.alerts(NAME, "firing"))
        # A new series is searchable some seconds late there: less than the hour that rules look
        # back, more than the seconds that this test puts in its place.
        wait_for("the alert in the store", self.firing)

    def _servers(
        self, folder: Path, programs: tuple[str, str], alertmanager: str, stack: ExitStack
    ) -> tuple[Server, Server]:
        job = {"job_name": "esewatch", "static_configs": [{"targets": [self.agent.address]}]}
        often = {"scrape_interval": "1s", "scrape_timeout": "1s"}
        (folder / "scrape.yml").write_text(yaml.safe_dump({"scrape_configs": [job | often]}))
        (folder / "rules").mkdir()
        copy_rules(folder / "rules", 1.0, SHORTER)

        store = started(
            stack,
            folder / "store.log",
            programs[0],
            f"-storageDataPath={folder / 'data'}",
            f"-promscrape.config={folder / 'scrape.yml'}",
            "-search.latencyOffset=0",
        )
        # The ruler asks the store at once what fired before, and says an error where none answers.
        ruler = started(
            stack,
            folder / "ruler.log",
            programs[1],
            f"-rule={folder / 'rules' / '*.yml'}",
            *(f"-{name}.url={store.url}" for name in ("datasource", "remoteWrite", "remoteRead")),
            f"-notifier.url={alertmanager}",
            *("-rule.resendDelay=1s", "-remoteWrite.flushInterval=1s"),
        )
        return store, ruler

    def query(self, expression: str) -> list[Any]:
        return ask(self.store, "query", query=expression)

    def firing(self) -> list[Any]:
        """The page as a series of the store."""
        return self.query(f'ALERTS{{alertname="{NAME}",alertstate="firing"}}')

    def evaluated(self) -> int:
        """Times the integrity alerts were evaluated so far."""
        lines = get(f"{self.ruler.url}/metrics").splitlines()
        (line,) = (
            line
            for line in lines
            if line.startswith("vmalert_iteration_total") and '"esewatch-integrity"' in line
        )
        return int(line.rsplit(" ", 1)[1])

    def wait_for_evaluations(self, count: int) -> None:
        goal = self.evaluated() + count
        wait_for(f"{count} evaluations", lambda: self.evaluated() >= goal)


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with ExitStack() as stack:
        yield Trial(tmp_path, stack)


def test_under_vmalert_a_page_stays_while_its_agent_is_dead_and_ends_with_an_ack(
    trial: Trial,
) -> None:
    trial.agent.kill()
    said = "last_over_time(ese_known_bad_pages[6s]) or last_over_time(up[6s]) == 1"
    wait_for("nothing is known", lambda: not trial.query(said))
    trial.wait_for_evaluations(10)
    assert len(trial.firing()) == 1
    assert trial.webhook.alerts(NAME, "resolved") == []

    trial.agent.start()
    wait_for("a scrape", lambda: trial.query("up == 1"))
    trial.wait_for_evaluations(5)
    assert trial.webhook.alerts(NAME, "resolved") == []

    done = trial.agent.ack(LABEL, 4711)
    assert done.returncode == 0, done.stderr
    wait_for("the end of it", lambda: trial.webhook.alerts(NAME, "resolved"))
    assert "\terror\t" not in trial.ruler.log.read_text()


ALERT = f'ALERTS{{alertname="{NAME}",alertstate="firing",severity="critical"}}'


def test_vmalert_replays_the_alerts_of_a_history(tmp_path: Path) -> None:
    programs = require("victoria-metrics"), require("vmalert")
    begin = datetime(2026, 3, 10, 1, tzinfo=UTC)
    bad = begin + timedelta(hours=5, minutes=7, seconds=30)
    with EvtxWriter(tmp_path / "app.evtx") as log:
        write_defrag_pass(log, begin)
        write_bad_page(log, bad, page=4711)
        write_defrag_pass(log, bad + timedelta(hours=6))
    replay = [sys.executable, "-m", "esewatch", "replay", str(tmp_path / "app.evtx")]
    done = subprocess.run(
        [*replay, "--start", f"{begin:%Y-%m-%dT%H:%M:%SZ}", "-o", str(tmp_path / "history.om")],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 1, done.stderr
    rules = tmp_path / "rules"
    rules.mkdir()
    for name in ("rules/findings.rules.yml", "alerts/integrity.yml"):
        # In a replay vmalert refuses the function `query`, which the texts of alerts use.
        write(without_texts(document_of(ROOT / name)), rules / Path(name).name)
    with ExitStack() as stack:
        data = f"-storageDataPath={tmp_path / 'data'}"
        store = started(stack, tmp_path / "store.log", programs[0], data, "-retentionPeriod=100y")
        text = (tmp_path / "history-2026-03.om").read_text()
        request = urllib.request.Request(
            f"{store.url}/api/v1/import/prometheus", in_milliseconds(text).encode()
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            assert answer.status == 204
        wait_for("the history", lambda: at(store, "ese_finding", bad + timedelta(hours=1)))
        ruler = subprocess.run(
            [
                programs[1],
                f"-rule={rules / '*.yml'}",
                f"-datasource.url={store.url}",
                f"-remoteWrite.url={store.url}",
                "-remoteWrite.flushInterval=500ms",
                f"-replay.timeFrom={bad - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
                f"-replay.timeTo={bad + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}",
                "-replay.rulesDelay=2s",
                "-replay.disableProgressBar",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert ruler.returncode == 0, ruler.stderr
        wait_for("the past alert", lambda: at(store, ALERT, bad + timedelta(minutes=30)))
        (told,) = at(store, f"{ALERT}[2h]", bad + timedelta(minutes=30))

        assert told["values"][0] == [bad.timestamp(), "1"]


def in_milliseconds(text: str) -> str:
    """OpenMetrics as the format of Prometheus, which VictoriaMetrics takes."""
    found = []
    for line in text.splitlines():
        if not line.startswith("#"):
            sample, _, time = line.rpartition(" ")
            found.append(f"{sample} {float(time) * 1000:.0f}\n")
    return "".join(found)


def at(store: Server, expression: str, time: datetime) -> list[Any]:
    return ask(store, "query", query=expression, time=time.timestamp())
