"""Every query of every dashboard, against a real Prometheus that is full of stories.

One Prometheus scrapes a real agent; in the slow tests another one has months of logs
(tests/dashboards/stories.py) with recorded series. Each query is put as Grafana puts it.
`make golden` writes anew which story each of them tells (panel_stories.yml); read the difference
before you keep it.
"""

import os
import time
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from dashboards.checkdb import FAST
from dashboards.limits import DEFAULTS
from esewatch.advice.judgement import VERDICTS
from scripts.metrics_page import JOINS, Join
from tests.dashboards.asking import Answer, ask, offered
from tests.dashboards.boards import Json, Query, Span, loaded, queries, span_of
from tests.dashboards.served import served_months
from tests.dashboards.stories import LIVE, SINCE, Story, stories
from tests.e2e.harness import Prometheus, start_agent, start_prometheus, wait_for
from tests.e2e.logs import (
    CounterLog,
    utc_now,
    write_bad_page,
    write_checksum_pass,
    write_defrag_pass,
)
from tests.rules.quality.backfill import STEP
from tests.rules.quality.month import END
from tests.support.each import of_each
from tests.support.edb import write_edb
from tests.support.evtx_writer import EvtxWriter
from tests.support.metrics_server import MetricsServer, metrics_server, says
from tests.support.tools import require

pytestmark = [pytest.mark.e2e, pytest.mark.minutes]

TABLE = Path(__file__).parents[1] / "dashboards" / "panel_stories.yml"
REWRITE = "ESEWATCH_REWRITE_GOLDEN"
QUERIES = list(queries())
each_query = of_each(QUERIES, lambda query: " / ".join(query.name))
NOBODY = "nobody"
SCRAPED_EVERY = 5.0
"""Seconds that Grafana believes to lie between two scrapes; it is one, some are late."""
ALWAYS_ZERO = {
    ("esewatch-agent", "Hidden counters", "A"),
    ("esewatch-agent", "Missing data and its reasons", "A"),
    ("esewatch-agent", "Missing data of unknown computers", "A"),
}
"""Queries whose series say by their labels what is 0."""
CHECK = (
    "spid53      DBCC CHECKDB (sales) executed by D\\u found 0 errors and repaired 0 errors. "
    "Elapsed time: 4 hours 0 minutes 0 seconds."
)
SET_BY_A_SITE = {name: ["1"] for name, value in DEFAULTS.items() if not value}
"""Limits that are not drawn as shipped."""
READ_RATE = 1e11
"""Bytes a second of a disk: after some seconds it is enough for a mean of a quarter of an hour."""
BEGAN = time.time() - 1
"""When the disk had read nothing. Its total has 64 bits, as a counter of Windows has."""
Told = dict[tuple[str, str, str], str]


class Sight(NamedTuple):
    """A dashboard that somebody opens on a story."""

    url: str
    scraped_every: float
    looked_at: float
    computers: tuple[str, ...]
    """Empty: all."""

    def span(self, query: Query) -> Span:
        """Of what is scraped just now the last minute."""
        if self.scraped_every == SCRAPED_EVERY:
            return Span(self.looked_at - 60.0, self.looked_at, 1.0, self.scraped_every)
        return span_of(query.board, query.panel, self.looked_at, self.scraped_every)

    def answer(self, query: Query) -> Answer:
        """With the story's computers chosen one by one, and all that there is of each list."""
        span = self.span(query)
        chosen = {"computer": self.computers} if self.computers else {}
        values = offered(self.url, query.board, span, chosen) if chosen else {}
        return ask(self.url, query, span, {**values, **SET_BY_A_SITE})


@pytest.fixture(scope="module")
def told() -> list[Story]:
    """The stories. They are made once."""
    require("prometheus")
    require("promtool")
    return stories()


class Scraped(NamedTuple):
    """A Prometheus that scrapes a real agent, and what the agent reads."""

    prometheus: Prometheus
    counters: CounterLog
    disks: MetricsServer

    def is_at_work(self) -> bool:
        """Whether the agent had something to store, two seconds ago at the latest; it gets more."""
        self.counters.sample(1430, 10)
        self.disks.answer(says(read_from_disks((time.time() - BEGAN) * READ_RATE)))
        lately = f"[{4 * SCRAPED_EVERY:g}s] offset 2s"
        growth = f"rate(esewatch_journal_commit_duration_seconds_count{lately})"
        return bool(
            self.prometheus.query("up == 1")
            and self.prometheus.query(
                f"{growth} > 0 and rate(process_cpu_seconds_total{lately}) > 0"
            )
            and self.prometheus.query(f"sum(rate(ese_device_read_bytes_total{lately})) > {FAST}")
        )


def read_from_disks(total: float) -> str:
    """What windows_exporter shows of two disks, one of which a check reads."""
    name = "windows_physical_disk_read_bytes_total"
    return f'# TYPE {name} counter\n{name}{{disk="1"}} {total}\n{name}{{disk="2"}} 0\n'


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    """An agent that is scraped, from before the months are made on."""
    require("prometheus")
    folder = tmp_path_factory.mktemp("live")
    now = utc_now()
    with EvtxWriter(folder / "app.evtx") as log:
        write_checksum_pass(log, now - timedelta(days=3))
        write_defrag_pass(log, now - timedelta(days=2))
        write_bad_page(log, now - timedelta(days=1), page=17)
    copy = write_edb(folder / "priv06.edb").path
    taken = (now - timedelta(days=2)).timestamp()
    os.utime(copy, (taken, taken))
    counters = CounterLog(folder / "perf.csv", "Information Store/SG06", now - timedelta(hours=1))
    counters.sample(1430, 10, count=5)
    when = f"{now - timedelta(hours=5):%Y-%m-%d %H:%M:%S}.00"
    (folder / "ERRORLOG").write_text(f"{when} {CHECK}\n", "utf-16")
    with metrics_server() as disks:
        disks.answer(says(read_from_disks((time.time() - BEGAN) * READ_RATE)))
        sources: list[Json] = [
            {"type": "evtx", "path": str(folder / "app.evtx")},
            {"type": "perfmon_csv", "path": str(folder / "perf.csv")},
            {
                "type": "sqlserver_errorlog",
                "path": str(folder / "ERRORLOG"),
                "computer": "sql01",
                "timezone": "UTC",
            },
            {"type": "prometheus", "url": disks.url, "computer": "sql01", "interval": "1s"},
            {
                "type": "page_scan",
                "paths": [str(copy)],
                "computer": "EX01.corp.example",
                "as": "e:\\mdb06\\{name}",
                "check": "recovery",
            },
        ]
        databases = [{"match": "sales", "devices": ["1", "2"]}]
        settings = {"sources": sources, "databases": databases}
        with (
            start_agent(folder / "agent", settings) as agent,
            start_prometheus(folder / "prometheus", [agent.address]) as server,
        ):
            yield Scraped(server, counters, disks)


@pytest.fixture(scope="module")
def past(
    told: list[Story], live: Scraped, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A Prometheus with all months, and with what rules record of them."""
    with served_months(tmp_path_factory.mktemp("months"), told) as server:
        yield server


@pytest.fixture(scope="module")
def sights(told: list[Story], past: Prometheus, live: Scraped) -> dict[str, Sight]:
    """Name of the story -> who looks at it, and when."""
    found = {story.name: Sight(past.url, STEP, story.looked_at, story.computers) for story in told}
    return found | {LIVE: seen_in(live)}


def seen_in(live: Scraped) -> Sight:
    """Who looks at what is scraped, once there is something."""
    wait_for("an agent at work", live.is_at_work)
    return Sight(live.prometheus.url, SCRAPED_EVERY, time.time(), ())


@cache
def told_by() -> Told:
    """Board, panel and letter of a query -> the story that it tells."""
    return {
        (board, panel, letter): story
        for board, of_panels in yaml.safe_load(TABLE.read_text()).items()
        for panel, of_letters in of_panels.items()
        for letter, story in of_letters.items()
    }


def tellers(query: Query, sights: dict[str, Sight]) -> list[str]:
    """The stories in which a query has an answer, first those in which it is not 0."""
    answers = {name: sight.answer(query) for name, sight in sights.items()}
    there = [name for name, answer in answers.items() if answer.series]
    return sorted(there, key=lambda name: not answers[name].speaks)


@pytest.fixture(scope="module")
def just_now(live: Scraped) -> Sight:
    """Who looks at what is scraped."""
    return seen_in(live)


@each_query
def test_a_query_is_put_without_complaint_where_an_agent_is_scraped(
    query: Query, just_now: Sight
) -> None:
    assert just_now.answer(query).complaints == []


@of_each([each for each in QUERIES if told_by().get(each.name) == LIVE])
def test_a_query_about_an_agent_at_work_has_data(query: Query, live: Scraped) -> None:
    """Put again until what it is about was scraped: a busy machine is late."""

    def told() -> bool:
        answer = seen_in(live).answer(query)
        assert answer.complaints == []
        return bool(answer.series) and (answer.speaks or query.name in ALWAYS_ZERO)

    wait_for("an answer", told)


@pytest.mark.slow
@each_query
def test_a_query_is_put_without_complaint_by_who_selects_everything(
    query: Query, past: Prometheus
) -> None:
    everything = Sight(past.url, STEP, END, ())

    assert everything.answer(query).complaints == []


@pytest.mark.slow
@each_query
def test_a_query_has_data_in_its_story(query: Query, sights: dict[str, Sight]) -> None:
    check_data(query, sights)


def check_data(query: Query, sights: dict[str, Sight]) -> None:
    """What answers it in its story is there, and as a rule not 0."""
    story = told_by().get(query.name)
    assert story, f"no story in {TABLE.name}; it has data in {tellers(query, sights)}"
    answer = sights[story].answer(query)

    assert answer.complaints == []
    assert answer.series, f"nothing in {story}; it has data in {tellers(query, sights)}"
    assert answer.speaks or query.name in ALWAYS_ZERO


@pytest.mark.slow
@pytest.mark.parametrize("board", loaded(), ids=lambda board: board["uid"])
def test_each_list_of_a_dashboard_offers_something(board: Json, past: Prometheus) -> None:
    span = span_of(board, {}, END, STEP)

    for name, values in offered(past.url, board, span, {}).items():
        assert values, name


@pytest.mark.slow
def test_the_months_have_each_verdict_that_logs_alone_can_give(past: Prometheus) -> None:
    target = {"expr": "last_over_time(ese_database_verdict[10d])", "instant": True}
    span = Span(SINCE, END, STEP, STEP)
    found = ask(past.url, Query(loaded()[0], {}, target), span, {}).series

    assert {each["metric"]["verdict"] for each in found} == set(VERDICTS) - {"blind"}


@pytest.mark.slow
@pytest.mark.parametrize("join", JOINS, ids=lambda join: join.heading.replace(" ", "_"))
def test_a_join_of_the_page_of_metrics_has_data_in_a_story(
    join: Join, told: list[Story], past: Prometheus
) -> None:
    query = Query(loaded()[0], {}, {"expr": join.query, "instant": True})
    moments = sorted({story.looked_at for story in told})
    answers = [ask(past.url, query, Span(SINCE, time, STEP, STEP), {}) for time in moments]

    assert [each.complaints for each in answers] == [[] for _ in moments]
    assert any(each.speaks for each in answers)


def test_each_story_that_is_told_is_of_a_query_that_exists() -> None:
    assert set(told_by()) == {query.name for query in QUERIES}


@pytest.mark.slow
def test_the_golden_table_of_who_tells_what_names_stories(
    told: list[Story], request: pytest.FixtureRequest
) -> None:
    if os.environ.get(REWRITE):
        sights: dict[str, Sight] = request.getfixturevalue("sights")
        write_table(sights)
        told_by.cache_clear()

    assert set(told_by().values()) <= {story.name for story in told} | {LIVE}


def write_table(sights: dict[str, Sight]) -> None:
    """The stories in their order, the first one for each query; an old one is kept."""
    old = told_by() if TABLE.is_file() else {}
    table: dict[str, Any] = {}
    for query in QUERIES:
        board, panel, letter = query.name
        there = tellers(query, sights)
        story = next(iter(there), NOBODY)
        kept = old.get(query.name)
        if kept in there and sights[kept].answer(query).speaks:
            story = kept
        table.setdefault(board, {}).setdefault(panel, {})[letter] = story
    head = "# Board, panel, query: the story of stories.py in which it has data.\n"
    TABLE.write_text(head + yaml.safe_dump(table, sort_keys=True, width=100))
