"""The dashboards in a Grafana that somebody has: it takes them, and its queries have answers.

GRAFANA_URL is its address, GRAFANA_TOKEN a token or GRAFANA_USER and GRAFANA_PASSWORD a login that
may add data sources and dashboards. The Prometheus with the months listens on 127.0.0.1; a
Grafana elsewhere needs GRAFANA_PROMETHEUS, the address of one with data of esewatch.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dashboards.boards import loaded, panels, queries, span_of
from tests.dashboards.grafana.server import Grafana, of_environment
from tests.dashboards.served import served_months
from tests.dashboards.stories import stories
from tests.rules.quality.backfill import STEP
from tests.rules.quality.month import END
from tests.support.tools import skip

pytestmark = pytest.mark.e2e

UIDS = [board["uid"] for board in loaded()]


@pytest.fixture
def grafana() -> Iterator[Grafana]:
    found = of_environment(os.environ)
    if found is None:
        skip("no Grafana: set GRAFANA_URL, and GRAFANA_TOKEN or a login", {"grafana"})
    yield found
    found.remove(UIDS)


def test_grafana_takes_the_dashboards_and_their_queries_have_answers(
    grafana: Grafana, tmp_path: Path
) -> None:
    elsewhere = os.environ.get("GRAFANA_PROMETHEUS")
    if elsewhere:
        check_dashboards(grafana, elsewhere, time.time(), 60.0)
    else:
        with served_months(tmp_path, stories()) as prometheus:
            check_dashboards(grafana, prometheus.url, END, STEP)


def check_dashboards(grafana: Grafana, prometheus: str, now: float, scraped_every: float) -> None:
    """Each is kept as it was sent, no query is complained about, most have data."""
    grafana.add_source(prometheus, scraped_every)
    for board in loaded():
        grafana.add_board(board)
        kept = [panel["title"] for panel in panels(grafana.board(board["uid"]))]
        assert kept == [panel["title"] for panel in panels(board)]
    answers = {
        query.name: grafana.ask(query, span_of(query.board, query.panel, now, scraped_every))
        for query in queries()
    }

    assert {name: found for name, (_, found) in answers.items() if found} == {}
    assert sum(rows > 0 for rows, _ in answers.values()) > len(answers) / 2
