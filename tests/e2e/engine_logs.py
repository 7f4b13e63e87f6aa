"""The bundled engine as the server that is watched: at work now, or with weeks behind it."""

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, DatabasePlan, DevicePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.machine.machine import Machine

COMPUTER = "EX01.example.com"
HOUR = 3600.0
OPENED = 12 * HOUR
"""Before the end of a history its last window opened."""
PERIOD = 2.0
"""Seconds of a day of an engine at work: each page is scanned once in it."""
PAGES = 1200
"""Of a database with a history, about."""


def sources(folder: Path) -> list[dict[str, Any]]:
    """What the agent reads of the engine, also of one that begins later.

    Makes `folder`, as a server has one: a folder that is gone is looked for every 10 s only.
    """
    folder.mkdir(exist_ok=True)
    return [
        {"type": "event_stream", "path": str(folder / "*.jsonl")},
        {"type": "perfmon_csv", "path": str(folder / "*.csv")},
    ]


def label(folder: Path, name: str) -> str:
    """The label `database` of one of its databases."""
    return str(folder / name / f"{name}.edb").lower()


def events(folder: Path, event_id: int, database: str = "") -> list[float]:
    """When (epoch seconds) these events were logged, in their order; of one database or all."""
    path = folder / "events.jsonl"
    written = path.read_bytes() if path.exists() else b""
    found = []
    # Whole lines: who reads while one is written may see the beginning of it.
    for line in written[: written.rfind(b"\n") + 1].splitlines():
        if database.encode() not in line.lower():
            continue
        system = msgspec.json.decode(line)["Event"]["System"]
        if system["EventID"] == event_id:
            moment = system["TimeCreated"]["#attributes"]["SystemTime"]
            found.append(datetime.fromisoformat(moment).timestamp())
    return found


@contextmanager
def at_work(
    folder: Path, names: Sequence[str], faults: Sequence[FaultPlan], unscanned: Sequence[str] = ()
) -> Iterator[None]:
    """An engine in real time. `faults` count from its start; `unscanned` are defragmented only."""
    window = WindowPlan(period=PERIOD, offset=0.0, length=PERIOD)
    databases = [
        DatabasePlan(
            name=name,
            pages=200,
            cache_pages=16,
            window=window,
            mail=MailPlan(mailboxes=5, kept=200.0),
            defrag_pause=0.01,
            scan_throttle=0.01,
            scan=name not in unscanned,
        )
        for name in names
    ]
    plan = folder.with_suffix(".json")
    plan.write_bytes(
        msgspec.json.encode(Plan(databases=databases, faults=list(faults), sample=1.0))
    )
    command: list[str | Path] = [
        *(sys.executable, "-m", "esewatch", "engine", "run", "--clock", "real", "--until-eof"),
        *("--dir", folder, "--plan", plan, "--computer", COMPUTER),
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as engine:
        try:
            yield
        finally:
            _, said = engine.communicate(timeout=600)
    assert engine.returncode == 0, said.decode()


def past_days(
    folder: Path,
    days: int,
    names: Sequence[str],
    *,
    window: float,
    kept: float,
    pause: float,
    device: str = "",
) -> dict[str, Any]:
    """Logs of so many days that end now, their times those of a virtual clock.

    The databases have one `window`, so many seconds long. Messages are `kept` so many days, online
    defragmentation makes a `pause` after each leaf; with a `device` they are on one slow disk.
    The engine still runs when the logs end. Returns settings of the agent for them.
    """
    end = time.time() // 60 * 60
    opens = end - OPENED
    databases = [
        DatabasePlan(
            name=name,
            page_size=4096,
            pages=PAGES,
            cache_pages=PAGES // 20,
            window=WindowPlan(offset=opens % DAY, length=window),
            mail=MailPlan(mailboxes=10, kept=kept, body=300),
            defrag_pause=pause,
            scan_throttle=60.0 if device else 1.0,
            device=device,
        )
        for name in names
    ]
    devices = [DevicePlan(name=device, seek=0.008, rate=2e6)] if device else []
    plan = Plan(databases=databases, devices=devices, sample=300.0)
    clock = VirtualClock(end - days * DAY)
    machine = Machine(folder / "engine", plan, clock=clock, seed=1, computer=COMPUTER)
    machine.open()
    machine.run(end)
    machine.flush()
    for name in ("events.jsonl", "counters.csv"):
        (folder / name).write_bytes((folder / "engine" / name).read_bytes())
    machine.close()
    start = f"{datetime.fromtimestamp(opens, UTC):%H:%M}"
    return {
        "windows": {"night": {"start": start, "duration": f"{window / 60:g}m"}},
        "databases": [
            {"match": f"*{name}.edb", "tier": "watched", "model": "window", "window": "night"}
            | ({"device": device} if device else {})
            for name in names
        ],
        # The engine makes no backups.
        "policy": {"backup_within": "never"},
    }
