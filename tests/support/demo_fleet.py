"""`make demo-fleet`: 400 servers in a Kafka topic, two workers, Prometheus; one worker is killed.

    python -m tests.support.demo_fleet [--dir D] [--seconds N]

Exit status 0; 1 if an event is missing or counted twice at the end; 2 if it cannot run.

The bundled engine runs 4 servers for two weeks in virtual time; 100 servers each send what one of
them logged. The last day of it arrives while one watches. Everything listens on this machine only.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from eselab.demo.agent import DemoError
from tests.e2e.harness import Agent, Prometheus, get, start_prometheus
from tests.e2e.kafka_fleet import Message, records, samples
from tests.support.demo_stack import program
from tests.support.kafka import Broker, needed_java

ENGINES = 4
EACH = 100
"""Servers that send the events of one engine."""
DAYS = 14
PARTITIONS = 8
TOPIC, STATE = "ese-events", "ese-state"
SCRAPE = 5
"""Seconds between two scrapes, and for each of them."""
SESSION = 10.0
"""Seconds of session.timeout.ms: 45 unless it is set."""
PATIENCE = 120.0
BEGIN = time.monotonic()


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGIN:4.0f} s  {text}", flush=True)


def engines(folder: Path) -> list[list[bytes]]:
    """The events of each, in the order of their times; two engines run at once."""
    first = datetime.now(UTC).date() - timedelta(days=DAYS)
    runs = [_command(folder, number, f"{first}") for number in range(ENGINES)]
    for begin in range(0, ENGINES, 2):
        pair = [
            subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for each in runs[begin : begin + 2]
        ]
        statuses = [each.wait() for each in pair]
        if any(statuses):
            raise DemoError(f"{folder}: the engine ended with status {max(statuses)}")
    return [
        (folder / f"{number}" / "events.jsonl").read_bytes().splitlines()
        for number in range(ENGINES)
    ]


def _command(folder: Path, number: int, first: str) -> list[str]:
    profile = ("busy", "month", "quiet", "steady")[number % 4]
    return [
        *(sys.executable, "-m", "esewatch", "engine", "run", "--dir", str(folder / f"{number}")),
        *("--days", str(DAYS), "--start", first, "--seed", str(number + 1)),
        *("--profile", profile, "--computer", f"EX{number:03}"),
    ]


def mixed(logs: Sequence[Sequence[bytes]]) -> tuple[list[Message], list[Message]]:
    """The messages of all servers, keyed by computer: those of the past, and of the last day."""
    past: list[Message] = []
    last: list[Message] = []
    for engine, events in enumerate(logs):
        cut = len(events) * (DAYS - 1) // DAYS
        for place, event in enumerate(events):
            for number in range(engine, ENGINES * EACH, ENGINES):
                name = f"EX{number:03}"
                text = event.replace(b'"EX%03d"' % engine, f'"{name}"'.encode())
                (past if place < cut else last).append((name, text))
    return past, last


class Fleet:
    """The topic and the workers that share it."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self._broker = broker
        self.sent = 0
        broker.make(TOPIC, PARTITIONS)
        broker.make(STATE, PARTITIONS, cleanup_policy="compact")
        client = {"session.timeout.ms": str(int(SESSION * 1000)), "heartbeat.interval.ms": "1000"}
        source: dict[str, Any] = {"type": "kafka", "name": "fleet", "group": "esewatch"}
        source |= {"brokers": [broker.address], "topics": [TOPIC], "changelog": STATE}
        settings = {"sources": [{**source, "client": client}]}
        self.workers = [Agent(folder / name, settings) for name in ("worker-a", "worker-b")]

    def send(self, messages: Sequence[Message]) -> None:
        self._broker.send(TOPIC, messages)
        self.sent += len(messages)

    def pages(self) -> list[str]:
        """The metrics of each worker; empty of one that does not answer."""
        found = []
        for worker in self.workers:
            try:
                found.append(get(f"{worker.url}/metrics"))
            except OSError:
                found.append("")
        return found

    def read(self) -> float:
        """The events that the workers have counted, each by the owner of its partition."""
        return sum(map(records, self.pages()))

    def is_shared(self, workers: int = 2) -> bool:
        """Whether so many workers own all partitions, and have read all that was sent."""
        pages = self.pages()
        shares = [owned(page) for page in pages if page]
        busy = [share for share in shares if share]
        return (
            len(busy) == workers
            and sum(shares) == PARTITIONS
            and sum(map(records, pages)) == self.sent
        )

    def line(self) -> str:
        """Partitions and events of both."""
        parts = [
            f"worker {name}: {owned(page):.0f} partitions, {records(page):,.0f} events"
            if page
            else f"worker {name}: not running"
            for name, page in zip("AB", self.pages(), strict=True)
        ]
        return f"{'; '.join(parts)}; {self.sent:,} events sent"


def owned(page: str) -> float:
    return sum(samples(page, "esewatch_source_partitions_owned").values())


def wait(what: str, happened: Callable[[], bool]) -> float:
    """Seconds until it has happened. Raises DemoError after PATIENCE."""
    begin = time.monotonic()
    while not happened():
        if time.monotonic() - begin > PATIENCE:
            raise DemoError(f"{what}: not within {PATIENCE:.0f} s")
        time.sleep(0.2)
    return time.monotonic() - begin


def watch(fleet: Fleet, prometheus: Prometheus, last: Sequence[Message]) -> None:
    """Send the last day in 12 parts; after the fourth kill a worker, after the eighth start it."""
    for part in range(12):
        fleet.send(last[len(last) * part // 12 : len(last) * (part + 1) // 12])
        time.sleep(3)
        say(f"{fleet.line()}; Prometheus knows {databases(prometheus):,.0f} databases")
        if part == 3:
            fleet.workers[0].kill()
            say("worker A is killed (kill -9)")
            took = wait("worker B owns all partitions", lambda: fleet.is_shared(1))
            say(f"worker B owns all partitions and has read all after {took:.1f} s")
        elif part == 7:
            fleet.workers[0].start()
            took = wait("both own partitions again", fleet.is_shared)
            say(f"worker A runs again, both own partitions and have read all after {took:.1f} s")


def databases(prometheus: Prometheus) -> float:
    return prometheus.value("count(count by (computer, database) (ese_database_info))") or 0.0


@contextlib.contextmanager
def running(folder: Path) -> Iterator[tuple[Fleet, Prometheus, list[Message]]]:
    """All of it, with the past sent and read, and the messages of the last day."""
    say(f"the bundled engine runs {ENGINES} servers for {DAYS} days in virtual time")
    past, last = mixed(engines(folder / "engines"))
    broker = Broker(folder / "kafka")
    with contextlib.ExitStack() as stack:
        stack.callback(broker.kill)
        fleet = Fleet(folder, broker)
        say(f"Kafka listens at {broker.address}; topic {TOPIC} has {PARTITIONS} partitions")
        fleet.send(past)
        say(f"{ENGINES * EACH} servers have sent {len(past):,} events")
        for name, worker in zip("AB", fleet.workers, strict=True):
            stack.callback(worker.close)
            worker.start()
            say(f"worker {name}: {worker.url}/")
        took = wait("all is read", fleet.is_shared)
        say(f"both own partitions and have read all after {took:.1f} s")
        targets = [worker.address for worker in fleet.workers]
        # Metrics of 300 databases take a busy machine more than a second.
        prometheus = stack.enter_context(
            start_prometheus(folder / "prometheus", targets, seconds=SCRAPE)
        )
        say(f"Prometheus with the shipped rules: {prometheus.url}/alerts")
        yield fleet, prometheus, last


def main(words: Sequence[str]) -> int:
    """Show it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="demo-fleet", description="A fleet on Kafka.")
    parser.add_argument("--dir", type=Path, help="empty or new folder; default a temporary one")
    parser.add_argument("--seconds", type=float, help="stay so long; default: until Ctrl-C")
    options = parser.parse_args(words)
    try:
        program("prometheus")
        needed_java()
        folder = options.dir or Path(tempfile.mkdtemp(prefix="esewatch-fleet-"))
        with running(folder) as (fleet, prometheus, last):
            watch(fleet, prometheus, last)
            wait("all is read", lambda: fleet.read() >= fleet.sent)
            counted = fleet.read()
            wait("Prometheus knows all", lambda: databases(prometheus) >= ENGINES * EACH)
            say(f"Prometheus knows all {databases(prometheus):.0f} databases")
            say(f"{fleet.sent:,} events sent, {counted:,.0f} counted; the files are in {folder}")
            if options.seconds is None:
                say("Ctrl-C ends it")
            time.sleep(1e9 if options.seconds is None else options.seconds)
            return 0 if counted == fleet.sent else 1
    except KeyboardInterrupt:
        return 0
    except (DemoError, OSError, AssertionError, pytest.skip.Exception) as error:
        print(f"demo-fleet: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
