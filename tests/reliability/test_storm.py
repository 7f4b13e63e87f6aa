"""100,000 events a second: memory stays bounded, the backlog is reported and recovers, scrapes are
answered, and every event is counted."""

import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.harness import Agent, get, wait_for
from tests.reliability.test_kill import Samples, samples
from tests.support.campaign import COMMAND, WHOLE, number_of
from tests.support.ese_text import render
from tests.support.figures import record, until_right_again
from tests.support.patience import PATIENCE
from tests.support.resident import resident

RATE = 100_000
SOURCE = frozenset({("source", "text")})
STALE_SECONDS = 5.0
"""A scrape shows a snapshot that may be so old while the machine is busy."""
MEMORY_BYTES = 64 << 20
"""What a storm may cost beyond the memory of the idle agent."""
SCRAPE_SECONDS = 1.0

HEAD = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
SLOW = ["8192 (0x0000000000002000)", "8192 (0x00002000)", "17", "0", "60"]
WRITER = """
import sys, time
path, rate, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
block = sys.stdin.read().encode() * (rate // 40)
begin = time.monotonic()
with open(path, "ab", buffering=0) as file:
    for number in range(20 * seconds):
        time.sleep(max(0.0, begin + number / 20 - time.monotonic()))
        file.write(block)
print(time.monotonic() - begin)
"""


class Scrape(NamedTuple):
    """One answer of /metrics."""

    at: float
    seconds: float
    backlog: float
    records: float


class Watcher:
    """Scrapes again and again, and notes how large the log is."""

    def __init__(self, agent: Agent, log: Path) -> None:
        self.scrapes: list[Scrape] = []
        self.sizes: list[tuple[float, int]] = []
        self._agent = agent
        self._log = log
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        while not self._enough.wait(0.1):
            self._look()
            begin = time.monotonic()
            get(f"{self._agent.url}/metrics", PATIENCE)
            seconds = time.monotonic() - begin
            found = samples(self._agent)
            self.scrapes.append(
                Scrape(
                    self._look(),
                    seconds,
                    value(found, "backlog_bytes"),
                    value(found, "records_total"),
                )
            )

    def _look(self) -> float:
        """Note how large the log is; the moment at which it was so large at least."""
        size = self._log.stat().st_size
        moment = time.monotonic()
        self.sizes.append((moment, size))
        return moment

    def size_at(self, moment: float) -> int:
        """The size of the log at the latest look before `moment`."""
        return max((size for at, size in self.sizes if at <= moment), default=0)


def value(found: Samples, name: str) -> float:
    return found.get((f"esewatch_source_{name}", SOURCE), 0.0)


def p95(scrapes: list[Scrape]) -> float:
    return statistics.quantiles([scrape.seconds for scrape in scrapes], n=20)[-1]


class Outcome(NamedTuple):
    """What a storm did."""

    written: float
    """Seconds that the writer took."""
    recovered: float
    """Seconds from the end of the storm until all was read."""
    backlog: float
    idle: list[Scrape]
    storm: list[Scrape]
    grew: int


def storm(root: Path, seconds: int, rate: int = RATE) -> Outcome:
    """Writes for so long, waits until all is read; checks the counts and the backlog."""
    log = root / "app.log"
    log.write_bytes(b"")
    stamp = "2026-01-02T03:04:05Z EX03 Information ESE"
    pair = f"{stamp} 704 {render(704, HEAD)}\n{stamp} 509 {render(509, [*HEAD, *SLOW])}\n"
    agent = Agent(
        root / "agent", {"sources": [{"type": "event_stream", "name": "text", "path": str(log)}]}
    )
    agent.start()
    try:
        log.write_text(pair)
        wait_for("the first pair", lambda: value(samples(agent), "records_total") == 2)
        with Watcher(agent, log) as idle:
            wait_for("idle scrapes", lambda: len(idle.scrapes) >= 20)
        before = resident(agent.pid, "VmRSS")
        with Watcher(agent, log) as watcher:
            writer = subprocess.run(
                [sys.executable, "-c", WRITER, str(log), str(rate), str(seconds)],
                input=pair,
                capture_output=True,
                text=True,
                check=True,
            )
            end = time.monotonic()
            events = rate * seconds + 2
            with until_right_again():
                wait_for(
                    "all events",
                    lambda: value(samples(agent), "records_total") == events,
                    60 + 20 * seconds,
                )
            recovered = time.monotonic() - end
        found = samples(agent)
        grew = resident(agent.pid, "VmHWM") - before
        agent.stop()
    finally:
        agent.close()
    assert value(found, "backlog_bytes") == 0
    assert value(found, "caught_up") == 1
    counts = {
        dict(key[1])["event_id"]: n for key, n in found.items() if key[0] == "ese_events_total"
    }
    assert counts == {"704": events / 2, "509": events / 2}
    assert "Traceback" not in agent.log()
    for scrape in watcher.scrapes:
        # Two lines of each event, which nothing distinguishes: read or not yet read, no more.
        known = scrape.records / 2 * len(pair) + scrape.backlog
        assert known <= watcher.size_at(scrape.at) + len(pair)
        assert known >= watcher.size_at(scrape.at - STALE_SECONDS) - len(pair)
    backlog = max(scrape.backlog for scrape in watcher.scrapes)
    return Outcome(float(writer.stdout), recovered, backlog, idle.scrapes, watcher.scrapes, grew)


def assert_unharmed(outcome: Outcome) -> None:
    """What holds in every storm."""
    assert outcome.backlog > 0
    assert outcome.grew < MEMORY_BYTES
    assert p95(outcome.storm) < SCRAPE_SECONDS


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.fault(
    "100,000 events in a second",
    provoked="a real log that is written at this rate for a second; scrapes meanwhile",
    lost="nothing",
)
def test_a_second_of_a_storm_is_counted_exactly_and_harms_no_scrape(tmp_path: Path) -> None:
    assert_unharmed(storm(tmp_path, seconds=1))


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("rate", [RATE, 2 * RATE])
def test_up_to_a_minute_of_a_storm_is_counted_exactly_and_harms_no_scrape(
    tmp_path: Path, rate: int
) -> None:
    seconds = number_of(60, 10)
    outcome = storm(tmp_path, seconds=seconds, rate=rate)
    assert_unharmed(outcome)
    slowest = max(scrape.seconds for scrape in outcome.storm)
    record(
        f"{rate:,} events a second for {'a minute' if WHOLE else f'{seconds} s'} into one text log",
        f"{rate * seconds:,} events in {outcome.written:.0f} s, all counted "
        f"{outcome.recovered:.0f} s after the end; backlog to {outcome.backlog / 1e6:.0f} MB and "
        f"back to 0; memory {outcome.grew / 1e6:+.0f} MB; {len(outcome.storm)} scrapes: p95 "
        f"{p95(outcome.storm) * 1000:.0f} ms (idle {p95(outcome.idle) * 1000:.0f} ms), "
        f"slowest {slowest * 1000:.0f} ms",
        COMMAND,
    )
