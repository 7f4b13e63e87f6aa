"""The event log of Windows that the engine writes, as three readers read it."""

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import evtx
import msgspec
import pytest
from Evtx.Evtx import Evtx

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, CopyPlan, DatabasePlan, FaultPlan, MailPlan, Plan
from eselab.logs.binary.evtx.evtx_log import SMALLEST, EvtxLog
from eselab.logs.binary.evtx.record import Event, Source
from eselab.machine.machine import Machine
from esewatch import model
from esewatch.sources.evtx.evtx_source import EvtxSource
from tests.eselab.running import START, end_as_if_killed
from tests.support.engine_truth import CACHE, agent_families, differences

SOURCE = Source("ESE", "Application", "EX01")
TEXT = "x\u00fc\u2603"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAIL = DatabasePlan(name="a", pages=150, cache_pages=40, mail=MailPlan(kept=6.0))


def events(count: int, seed: int = 1) -> list[Event]:
    chance = random.Random(seed)
    return [
        Event(
            chance.randrange(1, 999),
            1_182_124_800_000_000 + number * 1_000_003,
            chance.choice((2, 3, 4)),
            chance.randrange(20),
            [
                "engine",
                "1",
                "mdb: ",
                *("x\u00fc\u2603\U0001f600" * at for at in range(number % 5 + 1)),
            ],
        )
        for number in range(count)
    ]


def written(path: Path, found: list[Event], *, size: int = SMALLEST, part: int = 0) -> None:
    """Append them; the log is opened anew after each `part`."""
    part = part or len(found)
    for at in range(0, len(found), part):
        log = EvtxLog(path, SOURCE, size)
        for event in found[at : at + part]:
            log.append(event)
        log.close()


def by_evtx(path: Path) -> list[tuple[int, Event]]:
    """Number and event of each record, by the Rust reader."""
    found = []
    for record in evtx.PyEvtxParser(str(path)).records_json():
        assert record is not None
        document = msgspec.json.decode(record["data"])["Event"]
        system = document["System"]
        assert system["Provider"]["#attributes"]["Name"] == SOURCE.provider
        assert (system["Channel"], system["Computer"]) == (SOURCE.channel, SOURCE.computer)
        time = datetime.fromisoformat(system["TimeCreated"]["#attributes"]["SystemTime"])
        event_id = system["EventID"]
        found.append(
            (
                system["EventRecordID"],
                Event(
                    event_id["#text"],
                    (time - EPOCH) // timedelta(microseconds=1),
                    system["Level"],
                    system["Task"],
                    document["EventData"]["Data"]["#text"],
                ),
            )
        )
    return sorted(found)


def by_python(path: Path) -> list[int]:
    """Numbers of the records, by the Python reader, which verifies all checksums."""
    with Evtx(str(path)) as log:
        assert log.get_file_header().verify()
        assert all(chunk.verify() for chunk in log.chunks())
        texts = [record.xml() for record in log.records()]
    return sorted(int(re.findall(r"<EventRecordID>(\d+)<", text)[0]) for text in texts)


def by_agent(path: Path) -> list[object]:
    """The records that the agent's own reader finds."""
    source, found = EvtxSource("events", [str(path)]), list[object]()
    for batch in source.poll(final=True):
        assert batch.unreadable == []
        found += [record for record in batch.records if isinstance(record, model.Event)]
    source.close()
    return found


@pytest.mark.parametrize("part", [0, 7, 100])
def test_every_event_is_read_as_it_was_written(tmp_path: Path, part: int) -> None:
    path, expected = tmp_path / "Application.evtx", events(700)
    written(path, expected, part=part)
    numbers = list(range(1, 701))
    assert by_evtx(path) == list(zip(numbers, expected, strict=True))
    assert len(by_agent(path)) == 700
    assert path.stat().st_size > 3 << 16


@pytest.mark.slow
def test_the_python_reader_finds_every_record_and_right_checksums(tmp_path: Path) -> None:
    path = tmp_path / "Application.evtx"
    # It cannot read an array with an empty string, or with some characters.
    simple = [event._replace(strings=["engine", "1", "mdb: "]) for event in events(900)]
    written(path, simple, part=250)
    assert by_python(path) == list(range(1, 901))


def test_a_log_that_has_its_size_overwrites_its_oldest_events(tmp_path: Path) -> None:
    path, expected = tmp_path / "Application.evtx", events(8000)
    written(path, expected, part=3000)
    assert path.stat().st_size <= SMALLEST + 4096
    found = by_evtx(path)
    numbers = [number for number, _ in found]
    assert numbers == list(range(numbers[0], 8001))
    assert 1 < numbers[0] < 5000
    assert [event for _, event in found] == expected[numbers[0] - 1 :]


def test_a_log_that_is_cleared_begins_with_1_again(tmp_path: Path) -> None:
    path, expected = tmp_path / "Application.evtx", events(300)
    log = EvtxLog(path, SOURCE)
    for event in expected[:200]:
        log.append(event)
    log.clear()
    log.close()
    assert by_evtx(path) == []
    written(path, expected[200:])
    assert by_evtx(path) == list(enumerate(expected[200:], 1))


def test_an_event_that_no_chunk_has_room_for_is_refused(tmp_path: Path) -> None:
    log = EvtxLog(tmp_path / "Application.evtx", SOURCE)
    with pytest.raises(ValueError, match="strings of 80002 bytes"):
        log.append(Event(1, 1, 4, 1, ["x" * 40_000]))
    log.close()


def machine(folder: Path, plan: Plan, *, binary: bool = False) -> Machine:
    clock = VirtualClock(START)
    made = Machine(folder, plan, clock=clock, seed=1, computer="EX01", binary=binary, evtx=1 << 20)
    made.open()
    return made


def lines_of(folder: Path) -> list[tuple[int, list[str]]]:
    """Id and strings of all events in `events.jsonl`."""
    found = []
    for line in (folder / "events.jsonl").read_bytes().splitlines():
        event = msgspec.json.decode(line)["Event"]
        found.append((event["System"]["EventID"], event["EventData"]["Data"]["#text"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["2007", "current"])
def test_windows_logs_of_a_run_lead_to_what_the_truth_says(tmp_path: Path, generation: str) -> None:
    changes = {"generation": generation, "copies": [{"computer": "EX02"}]}
    database = msgspec.convert(msgspec.to_builtins(MAIL) | changes, DatabasePlan)
    faults = [
        FaultPlan(at=DAY / 2, database="a", kind="flip_two"),
        FaultPlan(at=DAY / 3, database="a", kind="slow", seconds=20.0, count=2),
    ]
    running = machine(
        tmp_path, Plan(databases=[database], faults=faults, sample=300.0), binary=True
    )
    running.run(running.now() + 2 * DAY)
    running.close()
    for folder in (tmp_path, tmp_path / "EX02"):
        told = differences(
            folder / "truth.json", agent_families(folder, running.now(), binary=True, evtx=True)
        )
        # The binary log has the size of the cache in whole megabytes, as that of ESE.
        assert [line for line in told if not line.startswith(CACHE)] == []
        found = [(event.event_id, event.strings) for _, event in by_evtx_of(folder)]
        assert found == lines_of(folder)


def by_evtx_of(folder: Path) -> list[tuple[int, Event]]:
    """The same of a folder's log, of any computer."""
    found = []
    for record in evtx.PyEvtxParser(str(folder / "Application.evtx")).records_json():
        assert record is not None
        document = msgspec.json.decode(record["data"])["Event"]
        system = document["System"]
        found.append(
            (
                system["EventRecordID"],
                Event(system["EventID"]["#text"], 0, 0, 0, document["EventData"]["Data"]["#text"]),
            )
        )
    return sorted(found, key=lambda one: one[0])


def test_what_a_kill_took_is_there_after_the_next_opening(tmp_path: Path) -> None:
    folder, plan = tmp_path / "run", Plan(databases=[MAIL], sample=300.0)
    running = machine(folder, plan)
    running.run(running.now() + DAY)
    (folder / "Application.evtx").unlink()
    end_as_if_killed(running, folder)
    again = machine(folder, plan)
    again.close()
    found = [(event.event_id, event.strings) for _, event in by_evtx_of(folder)]
    assert found == lines_of(folder)
    assert len(found) > 10


def test_a_log_is_cleared_on_request_and_the_lines_are_kept(tmp_path: Path) -> None:
    clear = FaultPlan(at=DAY, database="a", kind="clear")
    copied = msgspec.structs.replace(MAIL, copies=[CopyPlan(computer="EX02")])
    running = machine(tmp_path, Plan(databases=[copied], faults=[clear], sample=300.0))
    running.run(running.now() + 2 * DAY)
    running.close()
    found = by_evtx_of(tmp_path)
    assert [number for number, _ in found] == list(range(1, len(found) + 1))
    lines = lines_of(tmp_path)
    assert 0 < len(found) < len(lines)
    assert [(event.event_id, event.strings) for _, event in found] == lines[-len(found) :]
