"""`events --companions`: the events of other providers, on request."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support.evtx_writer import EvtxWriter

START = datetime(2021, 4, 12, 9, 53, 49, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with an event of ESE, three companions, and two events that nobody asked for."""
    path = tmp_path / "a.evtx"
    with EvtxWriter(path, computer="EXC01.corp.example") as writer:
        writer.write(103, ["store", "1", "MB03: ", "0"], time=START)
        writer.write(3147, ["MB03\\EXC01", "x"], provider="MSExchangeRepl", time=START)
        writer.write(
            308, ["op", "y"], provider="Microsoft-Exchange-HighAvailability", time=START,
            layout="user",
        )  # fmt: skip
        writer.write(2095, [], provider="ADAM [LDS] Replication", time=START)
        writer.write(4114, ["MB03"], provider="MSExchangeRepl", time=START)
        writer.write(1168, ["8352", "20a0", "1"], provider="NTDS General", time=START)
    return path


def printed(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    """The events that the command prints."""
    assert main(["events", "--format", "json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_companions_are_left_out(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [event["event_id"] for event in printed([str(log)], capsys)] == [103]


def test_companions_are_printed_on_request(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = printed(["--companions", str(log)], capsys)
    assert [event["event_id"] for event in events] == [103, 3147, 308, 2095]
    assert [event["fields"] for event in events[1:]] == [
        {"database_name": "MB03", "server": "EXC01", "reason": "x", "state": "failed"},
        {"operation": "op", "state": "failover"},
        {"state": "usn_rollback", "adam_instance": "LDS"},
    ]


def test_what_was_printed_is_read_again(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = printed(["--companions", str(log)], capsys)
    again = tmp_path / "events.jsonl"
    again.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert printed(["--companions", str(again)], capsys) == events
