"""What a store costs by the number of databases: series, CPU, memory and disk (docs/scale.md).

What an agent tells of one server of ten databases is real. It is served under other names by as
many addresses as there would be agents of 1,000 databases, and every counter grows from scrape to
scrape. Prometheus and VictoriaMetrics scrape that once a minute.
"""

import json
import multiprocessing
import re
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bench.estate import DATABASES_AN_AGENT, ROOT, SERVER, Server
from bench.figure import Figure
from bench.fleet import DATABASES_A_SERVER, cpu_seconds, status
from tests.e2e.harness import Server as Process
from tests.e2e.harness import ended, get, start_agent, wait_for
from tests.support.ports import free_port
from tests.support.tools import require

SIZES = (1000, 10000)
HISTORY_DAYS = 30
MINUTE = 60
WARM = 3 * MINUTE
"""Until every target was scraped twice and what starts has started."""
MEASURED = 4 * MINUTE
DENSE_SCRAPES = 120
"""Samples of a series in a chunk of Prometheus, and in two hours of a scrape each minute."""
_LINE = re.compile(r"^(\w+)(\{.*\})? (\S+)$", re.MULTILINE)


class Told(NamedTuple):
    """What an agent says once, and of a server: (name and labels, value, whether it grows)."""

    agent: list[tuple[str, float, bool]]
    server: list[tuple[str, float, bool]]

    def text(self, servers: range, grown: float) -> bytes:
        """Of these servers, when counters have grown by this part of what they were."""
        parts = [_lines(self.agent, grown)]
        one = _lines(self.server, grown)
        for number in servers:
            mine = one
            for name in ("ex", "EX", "db", "DB"):
                mine = mine.replace(f"{name}000", f"{name}{number:03}")
            parts.append(mine)
        return "".join(parts).encode()


def _lines(samples: Sequence[tuple[str, float, bool]], grown: float) -> str:
    return "".join(
        f"{series} {value * (1 + grown) if grows else value:.10g}\n"
        for series, value, grows in samples
    )


def told() -> Told:
    """The metrics of an agent that has a month of one server behind it."""
    with tempfile.TemporaryDirectory() as name:
        server = Server(Path(name) / "logs")
        server.grow(HISTORY_DAYS)
        with start_agent(Path(name) / "agent", server.settings) as agent:
            wait_for("figures", lambda: SERVER in get(f"{agent.url}/metrics"), 120.0)
            text = get(f"{agent.url}/metrics")
    found = Told([], [])
    for family, labels, value in _LINE.findall(text):
        grows = family.endswith(("_total", "_count", "_bucket", "_sum"))
        mine = found.server if SERVER in labels.lower() else found.agent
        mine.append((family + labels, float(value), grows))
    return found


def serve(made: Told, ports: Sequence[int], databases: int) -> None:
    """Be all the agents; runs until it is ended."""
    begun = time.time()
    each = min(databases, DATABASES_AN_AGENT) // DATABASES_A_SERVER
    servers = {port: range(index * each, (index + 1) * each) for index, port in enumerate(ports)}

    class Handler(BaseHTTPRequestHandler):
        server: ThreadingHTTPServer

        def do_GET(self) -> None:
            grown = (time.time() - begun) / (HISTORY_DAYS * 86400)
            body = made.text(servers[self.server.server_port], grown)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            # Who asked has ended.
            with suppress(BrokenPipeError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    listening = [ThreadingHTTPServer(("127.0.0.1", port), Handler) for port in ports]
    for one in listening[1:]:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    listening[0].serve_forever()


@contextmanager
def farm(made: Told, databases: int) -> Iterator[list[str]]:
    """The addresses of the agents of so many databases."""
    ports = [free_port() for _ in range(max(1, databases // DATABASES_AN_AGENT))]
    # A fork would have the signal handlers of its parent, and locks that its threads hold.
    spawning = multiprocessing.get_context("spawn")
    process = spawning.Process(target=serve, args=(made, ports, databases), daemon=True)
    process.start()
    try:
        yield [f"127.0.0.1:{port}" for port in ports]
    finally:
        process.kill()
        process.join()


@contextmanager
def store(
    name: str, folder: Path, targets: Sequence[str], every: int, rules: bool
) -> Iterator[Any]:
    """Prometheus (with our rules or without) or VictoriaMetrics, which scrapes the targets."""
    interval = f"{every}s"
    config: dict[str, Any] = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [
            {"job_name": "esewatch", "static_configs": [{"targets": list(targets)}]}
        ],
    }
    if rules:
        config["rule_files"] = [f"{ROOT}/{each}/*.yml" for each in ("rules", "alerts")]
    (folder / "scrape.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = {
        "prometheus": [
            f"--config.file={folder}/scrape.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={address}",
            "--web.enable-admin-api",
        ],
        "victoria-metrics": [
            f"-promscrape.config={folder}/scrape.yml",
            f"-storageDataPath={folder}/data",
            f"-httpListenAddr={address}",
            "-promscrape.maxScrapeSize=67108864",
        ],
    }[name]
    server = Process([require(name), *command], f"http://{address}", folder / "log")
    with ended(server):
        server.wait_until_ready("/-/ready" if name == "prometheus" else "/health")
        yield server


def run() -> list[Figure]:
    """Series and steady cost of each size in each store, and bytes of a sample."""
    made = told()
    figures: list[Figure] = []
    for databases in SIZES:
        for name in ("prometheus", "victoria-metrics"):
            figures += steady(made, name, databases)
    return [*figures, *(dense(made, name) for name in ("prometheus", "victoria-metrics"))]


def steady(made: Told, name: str, databases: int) -> Iterator[Figure]:
    """CPU and memory of a scrape a minute, in Prometheus with all our rules at their intervals."""
    rules = name == "prometheus"
    with (
        tempfile.TemporaryDirectory() as folder,
        farm(made, databases) as targets,
        store(name, Path(folder), targets, MINUTE, rules) as server,
    ):
        pid = server.process.pid
        time.sleep(WARM)
        before = cpu_seconds(pid)
        time.sleep(MEASURED)
        spent = (cpu_seconds(pid) - before) / MEASURED
        what = f"{name}, {databases:,} databases"
        how = f"a scrape a minute, {'all our rules, ' if rules else ''}no history"
        if rules:
            count = _metric(server, "prometheus_tsdb_head_series")
            yield Figure(f"{what}: series", count, "series", details="as scraped and as recorded")
        yield Figure(f"{what}: CPU", 100 * spent, "% of a core", details=how)
        yield Figure(f"{what}: memory", status(pid, "VmHWM"), "MB", details=f"peak; {how}")


def dense(made: Told, name: str) -> Figure:
    """Bytes of a sample on disk: two hours of a scrape a minute, told in two minutes."""
    with (
        tempfile.TemporaryDirectory() as text,
        farm(made, SIZES[0]) as targets,
        store(name, folder := Path(text), targets, 1, rules=False) as server,
    ):
        time.sleep(DENSE_SCRAPES + 10)
        samples = _prometheus_disk if name == "prometheus" else _victoria_disk
        size, count = samples(server, folder)
    details = f"{SIZES[0]:,} databases, {count:,.0f} samples, {size / 1e6:.0f} MB with their index"
    return Figure(f"{name}: bytes of a sample", size / count, "bytes", details=details)


def _prometheus_disk(server: Process, folder: Path) -> tuple[float, float]:
    request = urllib.request.Request(f"{server.url}/api/v1/admin/tsdb/snapshot", method="POST")
    with urllib.request.urlopen(request, timeout=300) as answer:
        name = json.load(answer)["data"]["name"]
    blocks = [each.parent for each in (folder / "data" / "snapshots" / name).glob("*/meta.json")]
    stats = [json.loads((each / "meta.json").read_text())["stats"] for each in blocks]
    return sum(map(_size, blocks)), sum(each["numSamples"] for each in stats)


def _victoria_disk(server: Process, folder: Path) -> tuple[float, float]:
    get(f"{server.url}/internal/force_flush")
    get(f"{server.url}/internal/force_merge")
    rows = _metric(server, "vm_rows_inserted_total", 'type="promscrape"')
    server.stop()
    return _size(folder / "data"), rows


def _size(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _metric(server: Process, name: str, label: str = "") -> float:
    """One of its own metrics."""
    lines = get(f"{server.url}/metrics").splitlines()
    (line,) = (line for line in lines if re.match(rf"{name}[{{ ]", line) and label in line)
    return float(line.rsplit(" ", 1)[1])
