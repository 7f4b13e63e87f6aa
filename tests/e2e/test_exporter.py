"""From an exporter over HTTP to the metrics of a real agent, also when the exporter is ill."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from esewatch.sources.counters.exporter_map import FORMATTED, PREFIX
from tests.e2e.harness import Agent, get, start_agent, wait_for
from tests.support.figures import until_right_again
from tests.support.metrics_server import Answer, MetricsServer, hangs, metrics_server, says
from tests.support.ports import free_address, free_port

pytestmark = pytest.mark.e2e

INSTANCES = f"{PREFIX}_msexchange_database_____instances"
LATENCY = f"{FORMATTED}_msexchange_database_____instances_i_o_log_writes_average_latency"
DEVICE = {"computer": "ex01", "device": "1"}
INSTANCE = {"computer": "ex01", "ese_instance": "SG06"}
SOURCE = {"source": "ex01-metrics"}


def page(read: int, freed: int, seconds: float) -> str:
    """What windows_exporter shows of one instance, one disk and one volume."""
    instance = '{instance="Information Store/SG06"}'
    return (
        f"# HELP {INSTANCES}_online_defrag_pages_read_sec windows_exporter: custom counter\n"
        f"# TYPE {INSTANCES}_online_defrag_pages_read_sec counter\n"
        f"{INSTANCES}_online_defrag_pages_read_sec{instance} {read}\n"
        f"# TYPE {INSTANCES}_online_defrag_pages_freed_sec counter\n"
        f"{INSTANCES}_online_defrag_pages_freed_sec{instance} {freed}\n"
        f"# TYPE {LATENCY} gauge\n"
        f"{LATENCY}{instance} 7.5\n"
        "# TYPE windows_physical_disk_read_seconds_total counter\n"
        f'windows_physical_disk_read_seconds_total{{disk="1"}} {seconds}\n'
        "# TYPE windows_logical_disk_info gauge\n"
        'windows_logical_disk_info{disk="1",filesystem="NTFS",volume="E:"} 1\n'
    )


@pytest.fixture
def exporter() -> Iterator[MetricsServer]:
    with metrics_server() as running:
        running.answer(says(page(2**32 - 500, 40, 10.0)))
        yield running


@pytest.fixture
def agent(tmp_path: Path, exporter: MetricsServer) -> Iterator[Agent]:
    source = {
        "type": "prometheus",
        "name": "ex01-metrics",
        "url": exporter.url,
        "computer": "EX01",
        "interval": "1s",
    }
    with start_agent(tmp_path / "agent", {"sources": [source]}) as running:
        yield running


def value(agent: Agent, name: str, labels: dict[str, str]) -> float | None:
    """Value of one series of the agent now."""
    for family in text_string_to_metric_families(get(f"{agent.url}/metrics")):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    return None


def wait_for_value(agent: Agent, name: str, labels: dict[str, str], goal: float) -> None:
    wait_for(f"{name} is {goal}", lambda: value(agent, name, labels) == pytest.approx(goal))


def test_counters_disks_and_levels_of_an_exporter_come_out_in_base_units(
    exporter: MetricsServer, agent: Agent
) -> None:
    wait_for_value(agent, "ese_defrag_pages_read_total", INSTANCE, 0)

    exporter.answer(says(page(700, 50, 12.5)))

    wait_for_value(agent, "ese_defrag_pages_read_total", INSTANCE, 1200)
    wait_for_value(agent, "ese_defrag_pages_freed_total", INSTANCE, 10)
    wait_for_value(agent, "ese_device_read_seconds_total", DEVICE, 2.5)
    wait_for_value(agent, "ese_io_latency_seconds", {**INSTANCE, "file": "log"}, 0.0075)
    name = {"computer": "ex01", "name": "Online Defrag"}
    assert value(agent, "esewatch_perf_object_present", name) == 1
    wait_for_value(agent, "esewatch_source_up", SOURCE, 1)


def test_growth_over_a_restart_of_the_agent_is_kept(exporter: MetricsServer, agent: Agent) -> None:
    wait_for_value(agent, "ese_defrag_pages_read_total", INSTANCE, 0)
    agent.stop()
    exporter.answer(says(page(300, 40, 10.0)))

    agent.start()

    wait_for_value(agent, "ese_defrag_pages_read_total", INSTANCE, 800)
    assert value(agent, "ese_defrag_pages_freed_total", INSTANCE) == 0


ILLS: dict[str, tuple[Answer, str]] = {
    "broken": (says("broken", 500), "answered 500 Internal Server Error"),
    "garbage": (says(b"\x00\xff garbage\n" * 100), "not in the Prometheus text format"),
    "hanging": (hangs, "no complete answer within 1 s"),
    "dead": (hangs, "Connection refused"),
}


@pytest.mark.fault(
    "exporters fail",
    provoked="one answers 500, one sends garbage, one hangs, one is dead; then all recover",
    lost="no growth, because their running counts include it; levels and latencies of that time"
    " are lost",
)
def test_exporters_that_fall_ill_are_down_and_come_back(tmp_path: Path) -> None:
    with ExitStack() as stack:
        # Ports that no connection takes while one of them is dead.
        servers = {name: stack.enter_context(metrics_server(free_port())) for name in ILLS}
        for server in servers.values():
            server.answer(says(page(2**32 - 500, 40, 10.0)))
        sources = [
            {"type": "prometheus", "name": name, "url": server.url, "computer": name}
            for name, server in servers.items()
        ]
        settings = {"sources": [{**source, "interval": "1s"} for source in sources]}
        agent = stack.enter_context(start_agent(tmp_path / "agent", settings))

        for name, (answer, _) in ILLS.items():
            wait_for_value(agent, "ese_defrag_pages_read_total", {"computer": name}, 0)
            servers[name].answer(answer)
        servers["dead"].close()
        for name, (_, reason) in ILLS.items():
            wait_for_value(agent, "esewatch_source_up", {"source": name}, 0)
            assert f"{name}: {servers[name].url}: " in agent.log()
            # A busy machine may make another one late too, or end what waits as it dies.
            wait_for(reason, lambda reason=reason: reason in agent.log())  # type: ignore[misc]

        servers["dead"] = stack.enter_context(metrics_server(servers["dead"].port))
        for server in servers.values():
            server.answer(says(page(500, 50, 12.5)))
        with until_right_again():
            for name in servers:
                wait_for_value(agent, "esewatch_source_up", {"source": name}, 1)
                wait_for_value(agent, "ese_defrag_pages_read_total", {"computer": name}, 1000)
        assert "Traceback" not in agent.log()


def test_a_dead_exporter_keeps_nobody_from_being_ready(tmp_path: Path) -> None:
    url = f"http://{free_address()}/metrics"
    source = {"type": "prometheus", "name": "ex01-metrics", "url": url, "interval": "1s"}
    with start_agent(tmp_path / "agent", {"sources": [source, {"type": "disks"}]}) as agent:
        wait_for_value(agent, "esewatch_source_up", SOURCE, 0)

        assert agent.log().count("Connection refused") == 1
