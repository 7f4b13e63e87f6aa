"""Files whose names are no text under a real agent: read as others, shown escaped, kept exactly."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tests.e2e.harness import Agent, wait_for
from tests.reliability.server import HEADER
from tests.reliability.test_inputs import BEGIN, STRINGS, append, check_events, total
from tests.reliability.test_kill import samples
from tests.support.edb import write_edb
from tests.support.evtx_writer import EvtxWriter
from tests.support.figures import until_right_again

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(sys.platform != "linux", reason="other systems allow no such file names"),
]

NAME = os.fsdecode(b"b\xff\x1adcff")


def log_events(path: Path, first: int, count: int) -> None:
    with EvtxWriter(path, first_record_id=first) as log:
        for number in range(count):
            log.write(704, STRINGS, time=BEGIN + timedelta(minutes=first + number))


def sample(path: Path, minutes: int) -> None:
    with path.open("a") as file:
        for minute in range(minutes, minutes + 5):
            file.write(f'"01/05/2026 00:{minute:02}:00.000","100","1","{1000 + minute}"\r\n')


@pytest.mark.fault(
    "a file beside the logs has a name that is not text",
    provoked="files named `b\\xff` for logs of events and counters and a database; `kill -9`",
    lost="nothing: they are read like any other, and the name is shown escaped",
)
def test_a_file_whose_name_is_no_text_is_read_and_counted_once_over_kills(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    log_events(logs / f"{NAME}.evtx", 1, 10)
    append(logs / f"{NAME}.ndjson", 10)
    (logs / f"{NAME}.csv").write_text(HEADER + "\r\n")
    sample(logs / f"{NAME}.csv", 0)
    (logs / f"{NAME}-1.evtx").write_bytes(b"no event log")
    write_edb(logs / f"{NAME}.edb", pages=20)
    agent = Agent(
        tmp_path / "agent",
        {
            "sources": [
                {"type": "evtx", "name": "evtx", "path": f"{logs}/*.evtx"},
                {"type": "event_stream", "name": "text", "path": f"{logs}/*.ndjson"},
                {"type": "perfmon_csv", "name": "csv", "path": f"{logs}/*.csv"},
                {"type": "page_scan", "name": "pages", "path": f"{logs}/*.edb", "computer": "ex1"},
            ]
        },
    )

    def pages() -> float:
        return total(samples(agent), "ese_page_scan_pages_total")

    def freed() -> float:
        return total(samples(agent), "ese_defrag_pages_freed_total")

    try:
        agent.start()
        check_events(agent, 20)
        wait_for("pages", lambda: pages() == 20)
        wait_for("counters", lambda: freed() == 240.0)
        agent.kill()
        append(logs / f"{NAME}.ndjson", 5, hour=1)
        (logs / f"{NAME}.ndjson").rename(logs / f"{NAME}-1.ndjson")
        append(logs / f"{NAME}.ndjson", 7, hour=2)
        sample(logs / f"{NAME}.csv", 5)
        with until_right_again():
            agent.start()
            check_events(agent, 32)
            wait_for("counters", lambda: freed() == 540.0)
        assert pages() == 20
        found = samples(agent)
        (shown,) = {
            dict(labels)["database"]
            for (name, labels) in found
            if name == "ese_page_scan_pages_total"
        }
        assert shown == f"{logs}/b\\udcff\x1adcff.edb"
        assert {total(found, "esewatch_source_up", source=each) for each in ("evtx", "text")} == {1}
        agent.stop()
        assert "Traceback" not in agent.log()
        assert "unexpected" not in agent.log()
        assert f"{logs}/b\\udcff" in agent.log()
    finally:
        agent.close()
