"""The rules under another ruler: VictoriaMetrics scrapes and keeps, vmalert evaluates and sends."""

import json
import urllib.parse
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
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
from tests.support.evtx_writer import EvtxWriter
from tests.support.ports import free_port
from tests.support.tools import require

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

SHORTER = {"[1h]": "[6s]", "[30m]": "[4s]", "[7d:1h]": "[20s:1s]"}
NAME = "EseKnownBadPage"


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

        def started(number: int, *words: str) -> Server:
            address, log = f"127.0.0.1:{free_port()}", folder / f"{('store', 'ruler')[number]}.log"
            command = [programs[number], *words, f"-httpListenAddr={address}"]
            server = Server(command, f"http://{address}", log)
            stack.enter_context(ended(server))
            server.wait_until_ready("/metrics")
            return server

        store = started(
            0,
            f"-storageDataPath={folder / 'data'}",
            f"-promscrape.config={folder / 'scrape.yml'}",
            "-search.latencyOffset=0",
        )
        # The ruler asks the store at once what fired before, and says an error where none answers.
        ruler = started(
            1,
            f"-rule={folder / 'rules' / '*.yml'}",
            *(f"-{name}.url={store.url}" for name in ("datasource", "remoteWrite", "remoteRead")),
            f"-notifier.url={alertmanager}",
            *("-rule.resendDelay=1s", "-remoteWrite.flushInterval=1s"),
        )
        return store, ruler

    def query(self, expression: str) -> list[Any]:
        text = get(f"{self.store.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}")
        found: list[Any] = json.loads(text)["data"]["result"]
        return found

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
