"""Two Prometheus that do the same work write into one store, which answers dashboards."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.dashboards.asking import ask, offered
from tests.dashboards.boards import Query, Span, loaded, queries
from tests.e2e.harness import (
    WITHOUT_REPLICA,
    Prometheus,
    Server,
    ended,
    start_agent,
    start_prometheus,
    wait_for,
)
from tests.e2e.logs import (
    CounterLog,
    utc_now,
    write_bad_page,
    write_checksum_pass,
    write_defrag_pass,
)
from tests.support.evtx_writer import EvtxWriter
from tests.support.ports import free_port
from tests.support.tools import built, require

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RECORDED = "database:ese_database_verdict:rank"


class Store(NamedTuple):
    """A store behind Prometheus: its API of queries, where to write, what is written."""

    api: Prometheus
    write_to: str
    written: Sequence[Mapping[str, Any]]


def address() -> str:
    """One of this machine that is free."""
    return f"127.0.0.1:{free_port()}"


@contextmanager
def victoria_metrics(folder: Path) -> Iterator[Store]:
    """Two samples of one second are one."""
    listen = address()
    command = [
        require("victoria-metrics"),
        f"-storageDataPath={folder}",
        f"-httpListenAddr={listen}",
        *("-search.latencyOffset=0", "-dedup.minScrapeInterval=1s"),
    ]
    server = Prometheus(command, f"http://{listen}", folder / "log")
    with ended(server):
        server.wait_until_ready("/health")
        yield Store(server, f"{server.url}/api/v1/write", [WITHOUT_REPLICA])


@contextmanager
def thanos(folder: Path) -> Iterator[Store]:
    """Both replicas are kept; a query takes one of them."""
    program = built("thanos")
    receiver, write, listen = address(), address(), address()
    grpc = address()
    receive = [
        *(program, "receive", f"--tsdb.path={folder / 'data'}", '--label=receiver="0"'),
        *(f"--http-address={receiver}", f"--grpc-address={grpc}"),
        f"--remote-write.address={write}",
    ]
    query = [
        *(program, "query", f"--http-address={listen}", f"--grpc-address={address()}"),
        *(f"--endpoint={grpc}", "--query.replica-label=replica"),
        "--query.replica-label=receiver",
    ]
    kept = Server(receive, f"http://{receiver}", folder / "receive.log")
    with ended(kept):
        kept.wait_until_ready("/-/ready")
        server = Prometheus(query, f"http://{listen}", folder / "query.log")
        with ended(server):
            server.wait_until_ready("/-/ready")
            yield Store(server, f"http://{write}/api/v1/receive", [])


@contextmanager
def mimir(folder: Path) -> Iterator[Store]:
    """One of the replicas is elected; the other's samples are dropped."""
    program = built("mimir")
    port = free_port()
    ring = {"kvstore": {"store": "inmemory"}, "instance_addr": "127.0.0.1"}
    config: dict[str, Any] = {
        "target": "all",
        "multitenancy_enabled": False,
        "usage_stats": {"enabled": False},
        "server": {
            "http_listen_address": "127.0.0.1",
            "http_listen_port": port,
            "grpc_listen_address": "127.0.0.1",
            "grpc_listen_port": free_port(),
        },
        "common": {"storage": {"backend": "filesystem"}},
        "blocks_storage": {
            "filesystem": {"dir": f"{folder}/blocks"},
            "tsdb": {"dir": f"{folder}/tsdb"},
            "bucket_store": {"sync_dir": f"{folder}/sync"},
        },
        "ruler_storage": {"filesystem": {"dir": f"{folder}/rules"}},
        "alertmanager_storage": {"filesystem": {"dir": f"{folder}/alertmanager"}},
        "ruler": {"rule_path": f"{folder}/ruler", "ring": ring},
        "alertmanager": {"data_dir": f"{folder}/am", "sharding_ring": ring},
        "compactor": {"data_dir": f"{folder}/compactor", "sharding_ring": ring},
        "store_gateway": {"sharding_ring": ring},
        "ingester": {"ring": ring | {"replication_factor": 1}},
        "distributor": {
            "ring": ring,
            "ha_tracker": {"enable_ha_tracker": True, "kvstore": {"store": "inmemory"}},
        },
        "activity_tracker": {"filepath": ""},
        "frontend": {"address": "127.0.0.1"},
        "limits": {
            "accept_ha_samples": True,
            "max_global_series_per_user": 0,
            "ingestion_rate": 1e6,
            "ingestion_burst_size": 10_000_000,
        },
    }
    (folder / "mimir.yml").write_text(yaml.safe_dump(config))
    command = [program, f"-config.file={folder / 'mimir.yml'}"]
    base = f"http://127.0.0.1:{port}"
    server = Prometheus(command, base, folder / "mimir.log")
    written: list[Mapping[str, Any]] = [
        {"source_labels": ["replica"], "target_label": "__replica__"},
        {"target_label": "cluster", "replacement": "site"},
        WITHOUT_REPLICA,
    ]
    with ended(server):
        server.wait_until_ready("/ready", 180.0)
        server.url = f"{base}/prometheus"
        yield Store(server, f"{base}/api/v1/push", written)


@pytest.mark.parametrize("long_term", [victoria_metrics, thanos, mimir])
def test_dashboards_are_answered_from_a_store_that_two_replicas_write_to(
    long_term: Callable[[Path], AbstractContextManager[Store]], tmp_path: Path
) -> None:
    (folder := tmp_path / "store").mkdir()
    now = utc_now()
    with EvtxWriter(tmp_path / "app.evtx") as log:
        write_checksum_pass(log, now - timedelta(days=3))
        write_defrag_pass(log, now - timedelta(days=2))
        write_bad_page(log, now - timedelta(days=1), page=17)
    counters = CounterLog(tmp_path / "perf.csv", "Information Store/SG06", now - timedelta(hours=1))
    counters.sample(1430, 10, count=5)
    settings = {
        "sources": [
            {"type": "evtx", "path": str(tmp_path / "app.evtx")},
            {"type": "perfmon_csv", "path": str(tmp_path / "perf.csv")},
        ]
    }
    with (
        long_term(folder) as (store, write_to, written),
        start_agent(tmp_path / "agent", settings) as agent,
        start_prometheus(
            tmp_path / "a", [agent.address], replica="a", write_to=write_to, written=written
        ) as first,
        start_prometheus(
            tmp_path / "b", [agent.address], replica="b", write_to=write_to, written=written
        ) as second,
    ):
        for server in (first, second, store):
            wait_for("recorded series", partial(server.query, RECORDED))
        first.wait_for_evaluations(30)
        looked_at = time.time() - 5.0
        # Once the store has all that was written up to then.
        wait_for("later samples", lambda: store.query(f"timestamp(up) > {looked_at + 3.0}"))
        differing = {
            query.name: (there, here)
            for query in queries()
            for there, here in [(asked(first, query, looked_at), asked(store, query, looked_at))]
            if there != here
        }
        lists = [
            [offered(server.url, board, span_of(looked_at), {}) for board in loaded()]
            for server in (first, store)
        ]

    assert differing == {}
    assert lists[0] == lists[1]
    assert any(values for each in lists[1] for values in each.values())


def span_of(looked_at: float) -> Span:
    """A minute of what is scraped each second."""
    return Span(looked_at - 60.0, looked_at, 1.0, 5.0)


def asked(server: Server, query: Query, looked_at: float) -> tuple[int, bool]:
    """How many series of the answer have a number, and whether there is a complaint.

    A quantile of nothing is NaN in Prometheus and absent in VictoriaMetrics.
    """
    span = span_of(looked_at)
    values = offered(server.url, query.board, span, {})
    answer = ask(server.url, query, span, values)
    rows = [each.get("values", [each.get("value")]) for each in answer.series]
    return sum(any(v != "NaN" for _, v in row) for row in rows), bool(answer.complaints)
