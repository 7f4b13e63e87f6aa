"""The agent verifies snapshots: a bad page is a metric at once, and a repaired copy clears it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.harness import Agent, get, wait_for
from tests.support.demo_run import gone
from tests.support.edb import Edb, write_edb
from tests.support.patience import at_most

pytestmark = pytest.mark.e2e

PAGES = 3000
TWO = (8 * 1000, 8 * 1010)


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    entry: dict[str, Any] = {
        "type": "page_scan",
        "path": f"{tmp_path}/snap/*.edb",
        "computer": "ex01",
        "as": "e:\\mdb06\\{name}",
        "throttle_ms": 20,
        "read_size": "64K",
    }
    (tmp_path / "snap").mkdir()
    made = Agent(tmp_path / "agent", {"sources": [entry]})
    yield made
    made.close()


def database(tmp_path: Path, *bad: int) -> Edb:
    """A copy as of two minutes ago, in its place at once."""
    made = write_edb(tmp_path / "copy", pages=PAGES)
    for number in bad:
        made.flip(number, *TWO)
    os.utime(made.path, (time.time() - 120,) * 2)
    return Edb(made.path.replace(tmp_path / "snap" / "priv06.edb"), made.page_size, made.pages)


def value(agent: Agent, metric: str, **more: str) -> float | None:
    """A metric of the database, None while it is absent."""
    labels = {"computer": "ex01", "database": "e:\\mdb06\\priv06.edb", **more}
    families = text_string_to_metric_families(get(f"{agent.url}/metrics"))
    found = [
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == metric and sample.labels == labels
    ]
    return found[0] if found else None


def known_bad(agent: Agent) -> float | None:
    return value(agent, "ese_known_bad_pages", kind="uncorrectable")


def verified(agent: Agent) -> float | None:
    return value(agent, "ese_last_full_verification_timestamp_seconds", by="page_scan")


def scanner(agent: Agent) -> psutil.Process | None:
    """The process that scans for the agent."""
    found = psutil.Process(agent.pid).children()
    return found[0] if found else None


def bytes_read(process: psutil.Process) -> int:
    """What it has read of anything so far."""
    fields = Path(f"/proc/{process.pid}/io").read_text().split()
    return int(fields[fields.index("rchar:") + 1])


def has_open(process: psutil.Process, path: Path) -> bool:
    """Whether `path` is one of its files."""
    return path in {Path(file.path) for file in process.open_files()}


@pytest.mark.timed
def test_a_bad_page_is_a_metric_at_once_and_a_repaired_copy_clears_it(
    agent: Agent, tmp_path: Path
) -> None:
    bad = PAGES // 4
    made = database(tmp_path, bad)
    agent.start()
    process = wait_for("a process that scans", lambda: scanner(agent))
    wait_for("the copy is open", lambda: has_open(process, made.path), every=0.005)
    goal = bytes_read(process) + (bad + 2) * 4096
    wait_for("it is read", lambda: bytes_read(process) >= goal, every=0.005)
    read = time.monotonic()
    # Reads of 64 KiB each 20 ms: long enough for the process to tell, and far from its end.
    wait_for("some more", lambda: bytes_read(process) >= goal + (1 << 20), every=0.005)
    process.suspend()
    try:
        wait_for("the bad page", lambda: known_bad(agent) == 1)

        latency = time.monotonic() - read
        print(f"from reading to metric: {latency:.2f} s")
        assert latency < at_most(2.0)
        assert (value(agent, "ese_page_scan_pages_total") or 0) < PAGES
    finally:
        process.resume()
    wait_for("the end", lambda: value(agent, "ese_page_scan_pages_total") == PAGES)
    assert verified(agent) is None

    made.flip(bad, *TWO)
    wait_for("the repaired page", lambda: known_bad(agent) == 0)
    wait_for("the verification", lambda: verified(agent))

    assert verified(agent) == pytest.approx(made.path.stat().st_mtime, abs=0.01)
    assert value(agent, "ese_page_scan_bad_pages_total") == 1
    agent.stop()


@pytest.mark.fault(
    "the agent is killed during a page scan",
    provoked="`kill -9` in three stages of the scan",
    lost="nothing: every page is counted once",
    again="the next start: it continues from the last committed place",
)
def test_kills_of_the_agent_leave_no_process_and_count_every_page_once(
    agent: Agent, tmp_path: Path
) -> None:
    database(tmp_path, 10, PAGES - 10)
    for part in (1, 2, 3):
        agent.start()
        process = wait_for("a process that scans", lambda: scanner(agent))
        wait_for(
            f"part {part}",
            lambda part=part: (  # type: ignore[misc]
                (value(agent, "ese_page_scan_pages_total") or 0) > part * PAGES // 10
            ),
        )
        agent.kill()
        wait_for("the end of the process", lambda process=process: gone([process]))  # type: ignore[misc]

    agent.start()
    wait_for("the end", lambda: (value(agent, "ese_page_scan_pages_total") or 0) >= PAGES)
    wait_for("no process", lambda: scanner(agent) is None)

    assert value(agent, "ese_page_scan_pages_total") == PAGES
    assert value(agent, "ese_page_scan_bad_pages_total") == 2
    assert known_bad(agent) == 2
    agent.stop()
    assert "Traceback" not in agent.log()


@pytest.mark.slow
def test_a_new_configuration_keeps_the_place(agent: Agent, tmp_path: Path) -> None:
    database(tmp_path)
    agent.start()
    wait_for("a part", lambda: (value(agent, "ese_page_scan_pages_total") or 0) > PAGES // 4)
    text = agent.config.read_text()
    agent.config.write_text(text.replace("throttle_ms: 20", "throttle_ms: 10"))
    psutil.Process(agent.pid).send_signal(1)

    wait_for("the end", lambda: (value(agent, "ese_page_scan_pages_total") or 0) >= PAGES)
    wait_for("no process", lambda: scanner(agent) is None)
    wait_for("its line", lambda: "the configuration is in use" in agent.log())

    assert value(agent, "ese_page_scan_pages_total") == PAGES
    agent.stop()
