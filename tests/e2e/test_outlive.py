"""A page outlives its agent: with the real servers, and an hour that lasts some seconds."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from tests.e2e.harness import (
    Agent,
    Prometheus,
    Webhook,
    start_agent,
    start_alertmanager,
    start_prometheus,
    start_webhook,
    wait_for,
)
from tests.e2e.logs import LABEL, utc_now, write_bad_page, write_defrag_pass
from tests.support.evtx_writer import EvtxWriter
from tests.support.ports import free_address

pytestmark = pytest.mark.e2e

NAME = "EseKnownBadPage"


class Trial:
    """An agent that may move to `second`, and what people receive."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.log = EvtxWriter(folder / "app.evtx")
        write_defrag_pass(self.log, utc_now() - timedelta(days=1))
        self.log.flush()
        self.second = free_address()
        self.webhook: Webhook = stack.enter_context(start_webhook())
        alertmanager = stack.enter_context(
            start_alertmanager(folder / "alertmanager", self.webhook)
        )
        source = {"type": "evtx", "path": str(folder / "app.evtx")}
        self.agent: Agent = stack.enter_context(
            start_agent(folder / "agent", {"sources": [source]})
        )
        targets = [self.agent.address, self.second]
        self.prometheus: Prometheus = stack.enter_context(
            start_prometheus(folder / "prometheus", targets, alertmanager)
        )
        self.prometheus.wait_for_value('ese_known_bad_pages{kind="uncorrectable"}', 0)
        write_bad_page(self.log, utc_now(), page=4711)
        self.log.close()
        wait_for("the page", lambda: self.webhook.alerts(NAME, "firing"))

    def dies(self) -> None:
        """The agent is killed, and nothing that it said is in sight any more."""
        self.agent.kill()
        said = "ese_finding or esewatch_host_caught_up"
        wait_for("nothing is known", lambda: not self.prometheus.query(said))
        self.prometheus.wait_for_evaluations(5)

    def comes_back_elsewhere(self) -> None:
        """With its journal, at the second address."""
        self.agent.address, self.agent.url = self.second, f"http://{self.second}"
        self.agent.start()
        self.prometheus.wait_for_value(f'up{{instance="{self.second}"}}', 1)
        self.prometheus.wait_for_evaluations(3)

    def firing(self) -> list[dict[str, str]]:
        """The page as it stands."""
        return [each for each in self.prometheus.firing() if each["alertname"] == NAME]


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    with ExitStack() as stack:
        yield Trial(tmp_path, stack)


def test_a_page_stays_while_its_agent_is_dead_moves_with_it_and_ends_with_an_ack(
    trial: Trial,
) -> None:
    (before,) = trial.firing()

    trial.dies()
    assert trial.firing() == [before]
    assert trial.webhook.alerts(NAME, "resolved") == []

    trial.comes_back_elsewhere()
    trial.prometheus.wait_for_value('ese_known_bad_pages{kind="uncorrectable"}', 1)
    assert trial.firing() == [before]
    assert trial.webhook.alerts(NAME, "resolved") == []

    done = trial.agent.ack(LABEL, 4711)
    assert done.returncode == 0, done.stderr
    wait_for("the end of it", lambda: trial.webhook.alerts(NAME, "resolved"))
    assert trial.firing() == []


def test_an_agent_that_comes_back_after_an_ack_ends_the_page(trial: Trial) -> None:
    trial.dies()
    done = trial.agent.command("ack", "--config.file", str(trial.agent.config), LABEL)
    assert done.returncode == 0, done.stderr
    assert trial.webhook.alerts(NAME, "resolved") == []

    trial.agent.start()

    wait_for("the end of it", lambda: trial.webhook.alerts(NAME, "resolved"))


def test_a_database_that_was_forgotten_ends_its_page(trial: Trial) -> None:
    words = ("--config.file", str(trial.agent.config), "--web.address", trial.agent.address)
    done = trial.agent.command("forget", *words, LABEL)
    assert done.returncode == 0, done.stderr

    wait_for("the end of it", lambda: trial.webhook.alerts(NAME, "resolved"))
    trial.prometheus.wait_for_evaluations(10)

    assert trial.firing() == []
