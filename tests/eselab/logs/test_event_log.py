"""The event log is a file that the agent reads as it reads `evtx_dump -o jsonl`."""

from pathlib import Path

import msgspec

from esewatch.model import Event
from esewatch.sources.logs.event_stream import event_stream_source
from tests.eselab.logging_engine import COMPUTER, START, Logs, path_of


def read(folder: Path) -> list[Event]:
    source = event_stream_source("events", [str(folder / "events.jsonl")])
    batches = list(source.poll(final=True))
    source.close()
    assert [batch.unreadable for batch in batches if batch.unreadable] == []
    return [record for batch in batches for record in batch.records if isinstance(record, Event)]


def one_instance(folder: Path, *, time: float = START, buffered: bool = False) -> Logs:
    return Logs(folder, time=time, buffered=buffered, instances=1)


def test_the_agent_reads_provider_time_instance_and_strings_by_position(tmp_path: Path) -> None:
    logs = one_instance(tmp_path)
    logs.clock.time = 1_182_395_655.123456
    logs.reports["db1"].defrag_begun()
    logs.close()
    (event,) = read(tmp_path)

    assert (event.provider, event.event_id, event.record_id) == ("ESE", 700, 1)
    assert (event.computer, event.channel) == (COMPUTER, "Application")
    assert event.time == 1_182_395_655.123456
    assert (event.process, event.ese_instance) == ("MSExchangeIS", "db1")
    assert event.database == path_of(tmp_path, "db1")
    assert event.strings == ("MSExchangeIS", "4242", "db1: ", path_of(tmp_path, "db1"))
    assert event.level == "information"


def test_the_shape_is_that_of_evtx_dump(tmp_path: Path) -> None:
    logs = one_instance(tmp_path)
    logs.reports["db1"].defrag_failed(-1018)
    logs.close()
    (line,) = (tmp_path / "events.jsonl").read_text().splitlines()

    assert msgspec.json.decode(line) == {
        "Event": {
            "System": {
                "Provider": {"#attributes": {"Name": "ESE"}},
                "EventID": 705,
                "Level": 3,
                "Task": 10,
                "TimeCreated": {"#attributes": {"SystemTime": "2007-06-16T13:20:00.250000Z"}},
                "EventRecordID": 1,
                "Channel": "Application",
                "Computer": COMPUTER,
            },
            "EventData": {
                "Data": {
                    "#text": ["MSExchangeIS", "4242", "db1: ", path_of(tmp_path, "db1"), "-1018"]
                }
            },
        }
    }


def test_record_ids_go_on_and_times_do_not_go_back_after_a_restart(tmp_path: Path) -> None:
    for time in (START, START - 3600):
        logs = one_instance(tmp_path, time=time)
        logs.reports["db1"].scan_begun()
        logs.reports["db1"].scan_interrupted()
        logs.close()
    events = read(tmp_path)

    assert [event.record_id for event in events] == [1, 2, 3, 4]
    assert (logs.events.record_id, logs.events.last_time) == (4, events[-1].time)
    times = [event.time or 0.0 for event in events]
    assert times == sorted(set(times))
    assert times[-1] - START < 1e-5


def test_a_torn_last_line_is_cut_off(tmp_path: Path) -> None:
    logs = one_instance(tmp_path)
    logs.reports["db1"].defrag_begun()
    logs.reports["db1"].defrag_interrupted()
    logs.close()
    path = tmp_path / "events.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    logs = one_instance(tmp_path)
    logs.reports["db1"].defrag_resumed(START)
    logs.close()

    assert [(event.record_id, event.event_id) for event in read(tmp_path)] == [(1, 700), (2, 702)]


def test_every_event_is_there_at_once_unless_it_is_held_back(tmp_path: Path) -> None:
    sizes = []
    for buffered in (False, True):
        folder = tmp_path / str(buffered)
        folder.mkdir()
        logs = one_instance(folder, buffered=buffered)
        logs.reports["db1"].instance_starting()
        sizes.append((folder / "events.jsonl").stat().st_size)
        logs.events.flush()
        sizes.append((folder / "events.jsonl").stat().st_size)
        logs.close()

    assert sizes[1] == sizes[3] == sizes[0] > 0
    assert sizes[2] == 0


def test_the_same_events_are_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for buffered in (False, True):
        logs = one_instance(tmp_path, buffered=buffered)
        logs.reports["db1"].scan_resumed(START - 86400)
        logs.sample()
        logs.close()
        files = ("events.jsonl", "counters.csv", "truth.json", "truth.jsonl")
        found.append([(tmp_path / name).read_bytes() for name in files])
        for name in files:
            (tmp_path / name).unlink()

    assert found[0] == found[1]
