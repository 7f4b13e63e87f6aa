"""Two Prometheus do the same work: one message, and the end of one of them tells nobody of it."""

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.harness import (
    Prometheus,
    ended,
    start_agent,
    start_alertmanager,
    start_prometheus,
    start_webhook,
    wait_for,
)
from tests.e2e.logs import utc_now, write_bad_page, write_defrag_pass
from tests.support.evtx_writer import EvtxWriter

pytestmark = pytest.mark.e2e

NAME = "EseKnownBadPage"


def test_two_replicas_send_one_message_and_one_that_ends_resolves_nothing(tmp_path: Path) -> None:
    log = EvtxWriter(tmp_path / "app.evtx")
    write_defrag_pass(log, utc_now() - timedelta(days=1))
    log.flush()
    settings = {"sources": [{"type": "evtx", "path": str(tmp_path / "app.evtx")}]}
    with (
        start_webhook() as webhook,
        start_alertmanager(tmp_path / "alertmanager", webhook) as alertmanager,
        start_agent(tmp_path / "agent", settings) as agent,
        start_prometheus(tmp_path / "a", [agent.address], alertmanager, replica="a") as first,
        start_prometheus(tmp_path / "b", [agent.address], alertmanager, replica="b") as second,
    ):
        write_bad_page(log, utc_now(), page=4711)
        log.close()
        for server in (first, second):
            wait_for("the alert", partial(fires, server))
            server.wait_for_evaluations(5)
        (told,) = webhook.alerts(NAME)
        assert (told["status"], told["path"]) == ("firing", "/page")
        assert "replica" not in told["labels"]

        with ended(first):
            pass
        second.wait_for_evaluations(10)

        assert webhook.alerts(NAME) == [told]


def fires(server: Prometheus) -> bool:
    return NAME in {labels["alertname"] for labels in server.firing()}
