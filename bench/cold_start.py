"""From the start of the agent on 1 GB of archives to ready."""

import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.figure import Figure
from bench.fleet import Fleet, days_ago, scrape
from tests.e2e.harness import Agent
from tests.support.evtx_writer import EvtxWriter

GIGABYTE = 10**9
ARCHIVE_BYTES = 20 * 2**20
"""The size at which Windows archives a log by default."""
TEXT_BYTES = 150 * 10**6
ESE_SHARE = 0.02
LIMIT_SECONDS = 30


def run() -> list[Figure]:
    """Event log archives, a text log and counter logs, read by an agent without a journal."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder) / "logs", 50, days_ago(30))
        fleet.grow(30)
        text = _text_log(fleet.folder / "host.log")
        rest = GIGABYTE - sum(path.stat().st_size for path in fleet.folder.iterdir())
        archives, events = _archives(fleet.folder, rest)
        sources = [
            {"type": "evtx", "path": str(fleet.folder / "*.evtx")},
            {"type": "event_stream", "path": str(fleet.folder / "*.ndjson")},
            {"type": "event_stream", "path": str(fleet.folder / "*.log")},
            {"type": "perfmon_csv", "path": str(fleet.folder / "*.csv")},
        ]
        size = sum(path.stat().st_size for path in fleet.folder.iterdir())
        agent = Agent(Path(folder) / "agent", {"sources": sources})
        try:
            begin = time.perf_counter()
            agent.start(wait=False)
            agent.wait_until_ready(300)
            seconds = time.perf_counter() - begin
            counted = _counted(scrape(agent)[1], "ARCHIVE")
        finally:
            agent.close()
    if counted != events:
        raise RuntimeError(f"{counted} events were counted, {events} were written")
    details = (
        f"{size / 1e6:.0f} MB: {archives} event logs with {ESE_SHARE:.0%} ESE events, "
        f"{text / 1e6:.0f} MB of text, 50 databases with 30 days of events and counters"
    )
    return [Figure("cold start to ready", seconds, "s", "under", LIMIT_SECONDS, details)]


def _archives(folder: Path, size: int) -> tuple[int, int]:
    """Event log archives of `size` bytes in all; how many, and how many ESE events."""
    rng = random.Random(703)
    written, files, events = 0, 0, 0
    at, number = datetime.now(UTC) - timedelta(days=200), 1
    while written < size:
        path = folder / f"Archive-Application-{files:03}.evtx"
        with EvtxWriter(path, "ARCHIVE", "Application", first_record_id=number) as writer:
            for provider, event_id, strings in _records(rng):
                at += timedelta(seconds=2)
                events += provider == "ESE"
                number = writer.write(event_id, strings, provider=provider, time=at) + 1
                if number % 500 == 0 and path.stat().st_size >= ARCHIVE_BYTES:
                    break
        written += path.stat().st_size
        files += 1
    return files, events


def _records(rng: random.Random) -> Iterator[tuple[str, int, list[str]]]:
    """Records of other programs, and now and then one of ESE."""
    ese = ["MSExchangeIS", "3392", "SG01: ", "e:\\MDB01\\priv01.edb"]
    while True:
        if rng.random() < ESE_SHARE:
            yield "ESE", rng.choice((700, 704)), ese
        else:
            words = [f"CN={rng.getrandbits(64):x},OU=Users,DC=corp,DC=example" for _ in range(3)]
            yield (
                f"MSExchange {rng.choice(('ADAccess', 'Availability', 'Transport'))}",
                (rng.randint(1000, 9999)),
                words,
            )


def _text_log(path: Path) -> int:
    """A log of many programs; its size in bytes."""
    rng = random.Random(704)
    at, written = datetime(2026, 1, 1), 0
    with path.open("w", encoding="utf-8") as file:
        while written < TEXT_BYTES:
            at += timedelta(seconds=1)
            written += file.write(
                f"{at:%Y-%m-%d %H:%M:%S} EX01 MSExchangeTransport SMTPRECEIVE "
                f"<{rng.getrandbits(96):X}@mail.corp.example> size={rng.randint(900, 9_000_000)} "
                f"delay={rng.randint(0, 99)} status=sent (250 2.6.0 queued for delivery)\n"
            )
    return written


def _counted(body: bytes, computer: str) -> int:
    """Sum of ese_events_total of a computer."""
    begin = f'ese_events_total{{computer="{computer.lower()}"'.encode()
    lines = [line for line in body.splitlines() if line.startswith(begin)]
    return round(sum(float(line.split()[-1]) for line in lines))
