"""Every query of the dashboards against a real Prometheus that scrapes a real agent."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from tests.dashboards.test_dashboards import TARGETS, as_promql
from tests.e2e.harness import Prometheus, start_agent, start_prometheus, wait_for
from tests.e2e.logs import (
    CounterLog,
    utc_now,
    write_bad_page,
    write_checksum_pass,
    write_defrag_pass,
)
from tests.support.evtx_writer import EvtxWriter
from tests.support.tools import require

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A server with an agent that has something to show on every panel."""
    require("prometheus")
    folder = tmp_path_factory.mktemp("dashboards")
    now = utc_now()
    with EvtxWriter(folder / "app.evtx") as log:
        write_checksum_pass(log, now - timedelta(days=3))
        write_defrag_pass(log, now - timedelta(days=2))
        write_bad_page(log, now - timedelta(days=1), page=17)
    counters = CounterLog(folder / "perf.csv", "Information Store/SG06", now - timedelta(hours=1))
    counters.sample(1430, 10, count=5)
    sources = [
        {"type": "evtx", "path": str(folder / "app.evtx")},
        {"type": "perfmon_csv", "path": str(folder / "perf.csv")},
    ]
    with (
        start_agent(folder / "agent", {"sources": sources}) as agent,
        start_prometheus(folder / "prometheus", [agent.address]) as server,
    ):
        wait_for("the first scrape", lambda: server.query("ese_defrag_pages_read_total"))
        counters.sample(1430, 10, count=20)
        wait_for(
            "a ratio",
            lambda: server.query("ese_instance:ese_defrag_pages_read_per_freed:ratio_increase28d"),
        )
        yield server


@pytest.mark.parametrize(
    "expression",
    [as_promql(target["expr"]) for _, target in TARGETS],
    ids=[f"{panel['title']}-{target['refId']}" for panel, target in TARGETS],
)
def test_a_query_of_a_dashboard_has_an_answer(prometheus: Prometheus, expression: str) -> None:
    if "wall_seconds" in expression:  # only current engines report it
        assert prometheus.query(expression) == []
    else:
        assert wait_for("an answer", lambda: prometheus.query(expression))
