"""Overlaps: people export one range twice, and copies of a log lie beside it. A record is one."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.kind import EventOptions
from esewatch.sources.logs.event_stream import event_stream_source
from tests.hard_histories import MONDAY, numbered, old_store, run
from tests.oracle.files import json_line, write_evtx
from tests.oracle.history import DAY, HOUR, Logged
from tests.support.ese_text import render

STORE = old_store(computer="EX01")
Writer = Callable[[Path, Sequence[Logged]], Path]


def passes(count: int) -> list[Logged]:
    """A pass in each night: started, stopped, resumed, completed. Times have a fraction."""
    events = []
    for night in range(0, 2 * count, 2):
        start = MONDAY + night * DAY + 0.6
        events += [
            STORE.defrag_start(start),
            STORE.defrag_stop(start + 4 * HOUR),
            STORE.defrag_resume(start + DAY, start),
            STORE.defrag_end(start + DAY + HOUR, start, resumed=True),
        ]
    return events


def message(event: Logged) -> str:
    return render(event.event_id, event.strings)


def local(event: Logged) -> datetime:
    """To the second; the fraction is cut off."""
    return datetime.fromtimestamp(int(event.time), UTC)


def as_csv(path: Path, events: Sequence[Logged]) -> Path:
    """Event Viewer: the newest first, without computer and number."""
    lines = ["Level,Date and Time,Source,Event ID,Task Category"]
    for event in reversed(events):
        time = f"{local(event):%m/%d/%Y %I:%M:%S %p}"
        lines.append(f'Information,{time},ESE,{event.event_id},General,"{message(event)}"')
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n")
    return path


def as_list(path: Path, events: Sequence[Logged]) -> Path:
    """Format-List of a console."""
    lines = []
    for event in events:
        lines += [
            f"TimeCreated  : {local(event):%m/%d/%Y %I:%M:%S %p}",
            "ProviderName : ESE",
            f"Id           : {event.event_id}",
            f"Message      : {message(event)}",
            "",
        ]
    path.write_text("\n".join(lines))
    return path


def as_xml(path: Path, events: Sequence[Logged]) -> Path:
    """XML without a record number; the time is rounded."""
    lines = ["<Events>"]
    for event in events:
        time = f"{datetime.fromtimestamp(round(event.time), UTC):%Y-%m-%dT%H:%M:%SZ}"
        data = "".join(f"<Data>{text}</Data>" for text in event.strings)
        lines.append(
            f"<Event><System><Provider Name='ESE'/><EventID>{event.event_id}</EventID>"
            f"<TimeCreated SystemTime='{time}'/><Channel>Application</Channel>"
            f"<Computer>EX01</Computer></System><EventData>{data}</EventData></Event>"
        )
    path.write_text("\n".join([*lines, "</Events>"]))
    return path


def as_json(path: Path, events: Sequence[Logged]) -> Path:
    path.write_text("".join(json_line(each._replace(record_id=None)) + "\n" for each in events))
    return path


def as_evtx(path: Path, events: Sequence[Logged]) -> Path:
    path.mkdir(exist_ok=True)
    (written,) = write_evtx(path, events)
    return written


WRITERS: dict[str, Writer] = {
    "csv": as_csv,
    "list": as_list,
    "xml": as_xml,
    "json": as_json,
    "evtx": as_evtx,
}


def completed(*files: Path) -> int:
    """The number of completed passes in the advice."""
    said = run("advise", "--format", "json", "--computer", "EX01", *files)
    (line,) = said.out.splitlines()
    found: int = json.loads(line)["evidence"]["passes"]
    return found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("csv", "csv"),
        ("list", "list"),
        ("xml", "xml"),
        ("json", "json"),
        ("csv", "xml"),
        ("list", "json"),
        ("evtx", "csv"),
        ("list", "evtx"),
        ("xml", "evtx"),
    ],
)
def test_a_pass_in_two_exports_is_one_pass(tmp_path: Path, one: str, other: str) -> None:
    events = numbered(passes(5), first=100)
    early = WRITERS[one](tmp_path / f"early.{one}", events[:12])
    whole = WRITERS[other](tmp_path / f"whole.{other}", events)
    late = WRITERS[one](tmp_path / f"late.{one}", events[8:])
    assert completed(early, whole, late) == 5


def test_an_agent_counts_once_what_lies_in_two_files_and_in_a_newer_export_of_one(
    tmp_path: Path,
) -> None:
    folder = Folder(State(), Settings())
    folder.open_source("logs", MONDAY)
    source = event_stream_source("logs", [str(tmp_path / "*.csv")], EventOptions(computer="EX01"))
    events = passes(6)

    def counted() -> dict[int, int]:
        for batch in source.poll(final=True):
            folder.fold("logs", batch)
        return folder.state.hosts["ex01"].events["ESE"]

    as_csv(tmp_path / "one.csv", events[:12])
    assert counted() == dict.fromkeys((700, 702, 703, 704), 3)
    as_csv(tmp_path / "other.csv", events[4:16])
    assert counted() == dict.fromkeys((700, 702, 703, 704), 4)
    as_csv(tmp_path / "one.csv", events)
    assert counted() == dict.fromkeys((700, 702, 703, 704), 6)
    source.close()
